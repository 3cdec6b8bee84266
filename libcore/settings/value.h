/* Texts to numbers and back, with units. Pure; a text that is not wholly such a value gives false and
 * leaves out alone. */
#ifndef LIBCORE_SETTINGS_VALUE_H
#define LIBCORE_SETTINGS_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

bool value_integer(uint64_t *out, const char *text); /* decimal digits only */
bool value_real(double *out, const char *text);      /* finite; 1, .5, 1e-3, -2.5E+4 */
bool value_switch(int *out, const char *text);       /* on off yes no true false */
bool value_time_ms(uint64_t *out, const char *text); /* 500ms 5s 1.5m 2h 3d; 0 needs no unit */
bool value_size(uint64_t *out, const char *text);    /* 512 64KiB 1.5MiB 2GiB 1TiB, kB MB GB TB */
bool value_name(const char *text);                   /* one or more of a-z 0-9 . _ -, not . or .. */

/* The shortest exact form: 90000 -> "90s", 600000 -> "10m", 0 -> "0s"; 65536 -> "64KiB". */
#define VALUE_TEXT_SIZE 32
void value_time_text(char out[VALUE_TEXT_SIZE], uint64_t ms);
void value_size_text(char out[VALUE_TEXT_SIZE], uint64_t bytes);

#endif
