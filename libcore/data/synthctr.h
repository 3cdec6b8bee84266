/* Generated click data: 26 fields of Zipf-like values, 4 690 values together, and labels drawn from a
 * hidden factorisation machine plus noise. Every sample is addressed by its number; the bits are those
 * of the reference (only + - * / and sqrt).
 *
 *   value of field f in sample n: the smallest r with u < cdf_f[r], u = DATA stream (0,0,0), element 26n+f
 *   s(n) = sum_f w_f + 1/2 sum_c ((sum_f e_fc)^2 - sum_f e_fc^2),  w = .25 z, e = .22 z
 *   label = s(n) + b0 + 1.5 z(n) > 0; b0 makes about 30 % of them 1 */
#ifndef LIBCORE_DATA_SYNTHCTR_H
#define LIBCORE_DATA_SYNTHCTR_H

#include "libcore/base/err.h"

#include <stdint.h>

#define SYNTHCTR_FIELDS 26U
#define SYNTHCTR_VALUES 4690U
#define SYNTHCTR_TEST_BASE ((uint64_t)1 << 24) /* number of the first test sample */

struct synthctr;

/* ST_NOMEM. */
MUST_CHECK enum status synthctr_create(struct synthctr **out, uint64_t seed, struct error *err);
void synthctr_destroy(struct synthctr *s); /* NULL is allowed */

/* Sample n < 2^27: its feature ids over all fields, ascending with the field. */
void synthctr_ids(const struct synthctr *s, uint64_t n, uint32_t ids[SYNTHCTR_FIELDS]);

/* s(n) + b0 of a sample with these ids. */
double synthctr_score(const struct synthctr *s, const uint32_t ids[SYNTHCTR_FIELDS]);

/* The label of sample n, whose score is given. */
int synthctr_label(const struct synthctr *s, uint64_t n, double score);

double synthctr_offset(const struct synthctr *s); /* b0 */

#endif
