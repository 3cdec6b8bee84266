/* The rows. See algo.h. */
#include "libcore/round/algo.h"

#include <string.h>

struct algo algo_row(enum algo_kind kind)
{
	switch (kind) {
	case ALGO_D_ADAM: /* Gao & Huang, arXiv 2008.10422, algorithm 1 */
		return (struct algo){"d-adam", OPTIM_ADAM, ALGO_PARAMETERS};
	}
	return (struct algo){"", OPTIM_ADAM, ALGO_PARAMETERS};
}

enum status algo_parse(enum algo_kind *out, const char *name, struct error *err)
{
	static const enum algo_kind kinds[] = {ALGO_D_ADAM};

	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
		if (strcmp(algo_row(kinds[i]).name, name) == 0) {
			*out = kinds[i];
			return ST_OK;
		}
	(void)error_set(err, ST_INVALID, "algorithm \"%s\" is not known", name);
	error_hint(err, "known: d-adam");
	return ST_INVALID;
}
