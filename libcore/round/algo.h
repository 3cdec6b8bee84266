/* Algorithms as rows: which half-step a rank takes between rounds, and what a round exchanges.
 *
 * The round machine itself is the same for all of them; a new algorithm is a new row, and a new kind
 * of exchange where it sends something else than its parameters. */
#ifndef LIBCORE_ROUND_ALGO_H
#define LIBCORE_ROUND_ALGO_H

#include "libcore/optim/optim.h"

enum algo_kind { ALGO_D_ADAM };

enum algo_exchange {
	ALGO_PARAMETERS /* x of the half-step, dense, mixed with the weights of the round */
};

struct algo {
	const char *name; /* as in a job's algorithm.name */
	enum optim_kind optim;
	enum algo_exchange exchange;
};

/* The row of a kind. */
struct algo algo_row(enum algo_kind kind);

/* The kind with that name. ST_INVALID: unknown, with the known names. */
MUST_CHECK enum status algo_parse(enum algo_kind *out, const char *name, struct error *err);

#endif
