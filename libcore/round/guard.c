/* The watch over gamma. See guard.h. */
#include "libcore/round/guard.h"

enum guard_verdict guard_round(struct guard *g, double ratio)
{
	g->high = ratio > 1 ? g->high + 1 : 0;
	if (g->high < GUARD_ROUNDS)
		return GUARD_FINE;
	g->high = 0;
	return g->halved++ == 0 ? GUARD_HALVE : GUARD_STOP;
}
