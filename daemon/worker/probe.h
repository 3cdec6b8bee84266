/* What exact differences (`wire.delta`) would save, tried on one segment of a round, of which nothing is sent.
 *
 *   round c: the segment is copied ─► round c+1: it is encoded against the copy: seconds, bytes
 *
 * Byte planes alone save too little to pay on a gigabit; differences of a table of which few rows have moved save nearly
 * everything. So `auto` has to try what it would use. Which segment: one of four places of the vector, in turn. */
#ifndef DAEMON_WORKER_PROBE_H
#define DAEMON_WORKER_PROBE_H

#include "libcore/base/err.h"
#include "libcore/base/real.h"

#include <stddef.h>
#include <stdint.h>

struct probe;

/* Of segments of up to max_n parameters. ST_NOMEM. */
MUST_CHECK enum status probe_create(struct probe **out, size_t max_n, struct error *err);
void probe_destroy(struct probe *p); /* NULL is allowed */

/* x: `segment` of n_segments, n parameters, in this round. 1: it was tried, in *seconds, and would have had *len bytes. */
int probe_try(struct probe *p, uint64_t round, uint32_t segment, uint32_t n_segments, const real *x, size_t n, double *seconds, size_t *len);

#endif
