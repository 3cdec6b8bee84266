/* One-peer schedules. See schedule.h. */
#include "libcore/topology/schedule.h"

uint32_t schedule_period(uint32_t n)
{
	uint32_t period = 0;

	while (((uint64_t)1 << period) < n)
		period++;
	return period > 0 ? period : 1;
}

static uint32_t shift_of(uint32_t n, uint64_t round)
{
	return ((uint32_t)1 << (round % schedule_period(n))) % n;
}

uint32_t schedule_exponential_source(uint32_t n, uint32_t rank, uint64_t round)
{
	return (rank + n - shift_of(n, round)) % n;
}

uint32_t schedule_exponential_target(uint32_t n, uint32_t rank, uint64_t round)
{
	return (rank + shift_of(n, round)) % n;
}
