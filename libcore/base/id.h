/* 128-bit names of nodes, jobs and links. All zero means "none". */
#ifndef LIBCORE_BASE_ID_H
#define LIBCORE_BASE_ID_H

#include "libcore/base/err.h"

#include <stdbool.h>
#include <stdint.h>

#define ID_BYTES 16
#define ID_HEX_SIZE 33  /* 32 digits and the zero */
#define ID_SHORT_SIZE 7 /* 6 digits and the zero */

struct id {
	uint8_t b[ID_BYTES];
};

/* Read exactly 32 hexadecimal digits of either case. ST_INVALID: anything else; out is untouched.
 */
MUST_CHECK enum status id_from_hex(struct id *out, const char *text, struct error *err);

/* 32 small digits; the first 6 of them, for people. */
void id_to_hex(char out[ID_HEX_SIZE], const struct id *id);
void id_short(char out[ID_SHORT_SIZE], const struct id *id);

/* Below, at or above zero, by bytes: the order in which ids rank everywhere. */
int id_cmp(const struct id *a, const struct id *b);
bool id_equal(const struct id *a, const struct id *b);
bool id_is_zero(const struct id *id);

#endif
