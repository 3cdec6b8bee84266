/* Schedules that change the neighbour in every round: one-peer exponential.
 *
 * In round c every rank receives from one and sends to one other, both with weight 1/2. Directed:
 * for uncompressed algorithms only. After log2(n) rounds everybody has the exact mean when n is a
 * power of two. Pure arithmetic on ranks; nothing here fails. */
#ifndef LIBCORE_TOPOLOGY_SCHEDULE_H
#define LIBCORE_TOPOLOGY_SCHEDULE_H

#include <stdint.h>

/* Rounds until the schedule repeats: ceil(log2 n), at least 1. */
uint32_t schedule_period(uint32_t n);

/* One-peer exponential, round c: rank receives from rank - 2^(c mod period), sends to rank + it. */
uint32_t schedule_exponential_source(uint32_t n, uint32_t rank, uint64_t round);
uint32_t schedule_exponential_target(uint32_t n, uint32_t rank, uint64_t round);

#endif
