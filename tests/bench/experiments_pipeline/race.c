/* pipeline_race linf|icnn SEED NOISE_SEED gd|agd|pprs K RATE GAMMA DEPTH LIMIT
 *
 * One run in double precision, as the reference's: prints the least value, and the pipeline time until the
 * relative gap is 3 % and 1 %, 0 when that is not so within LIMIT units. Statements 14 and 15 of the
 * acceptance list are checked with it (tests/integration/acceptance.py). */
#include "tests/bench/experiments_pipeline/descent.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double number(const char *text)
{
	char *end;
	double x = strtod(text, &end);

	must(end != text && *end == '\0' && x >= 0, "not a number");
	return x;
}

static enum method method_of(const char *name)
{
	for (enum method m = GD; m <= ADAM; m++)
		if (strcmp(method_name(m), name) == 0)
			return m;
	must(false, "no such method");
	return GD;
}

static void race(const struct problem *p, const struct settings *s, uint64_t seed, uint32_t depth, uint32_t limit)
{
	struct descent *d = descent_create(p, s, seed);
	double start = p->value(p->own, p->x0);
	uint32_t each = ticks(s, depth), reached[2] = {0};

	for (uint32_t t = each; t <= limit && reached[1] == 0; t += each) {
		double gap = (descent_step(d) - p->fstar) / (start - p->fstar);

		if (gap <= .03 && reached[0] == 0)
			reached[0] = t;
		if (gap <= .01)
			reached[1] = t;
	}
	(void)printf("%.7f %u %u\n", p->fstar, reached[0], reached[1]);
	descent_destroy(d);
}

int main(int argc, char **argv)
{
	struct problem p;
	struct settings s;

	must(argc == 10, "usage: pipeline_race linf|icnn SEED NOISE_SEED gd|agd|pprs K RATE GAMMA DEPTH LIMIT");
	must(strcmp(argv[1], "linf") == 0 || strcmp(argv[1], "icnn") == 0, "the problem is linf or icnn");
	s = (struct settings){method_of(argv[4]), (uint32_t)number(argv[5]), number(argv[6]), number(argv[7])};
	must(s.samples >= 1, "K is at least 1");
	(argv[1][0] == 'l' ? problem_linf : problem_icnn)(&p, (uint64_t)number(argv[2]));
	race(&p, &s, (uint64_t)number(argv[3]), (uint32_t)number(argv[8]), (uint32_t)number(argv[9]));
	problem_close(&p);
	return 0;
}
