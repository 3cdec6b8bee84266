/* Orders of operations and their clock. See pipeline_schedule.h.
 *
 * The clock needs no event queue: in sweeps over the stages each goes on until an input has no time
 * yet. One sweep runs at least one operation, or the order would be one that nobody can follow. */
#include "libcore/topology/pipeline_schedule.h"

#include <stdbool.h>
#include <stddef.h>

uint32_t pipeline_kept_max(enum pipeline_schedule schedule, uint32_t depth, uint32_t samples, uint32_t stage)
{
	uint32_t below = depth - stage;

	if (schedule == PIPELINE_FILL_DRAIN)
		return samples;
	return samples < below ? samples : below;
}

struct pipeline_op pipeline_op_at(enum pipeline_schedule schedule, uint32_t depth, uint32_t samples, uint32_t stage,
		uint32_t i)
{
	uint32_t warm = pipeline_kept_max(schedule, depth, samples, stage);
	uint32_t turns = 2 * (samples - warm); /* B0, F(warm), B1, F(warm+1) ... F(samples-1) */

	if (i < warm)
		return (struct pipeline_op){0, i};
	i -= warm;
	if (i >= turns)
		return (struct pipeline_op){1, samples - warm + (i - turns)};
	return i % 2 == 0 ? (struct pipeline_op){1, i / 2} : (struct pipeline_op){0, warm + i / 2};
}

/* Which operation of a stage this one is. */
static uint32_t index_of(enum pipeline_schedule schedule, uint32_t depth, uint32_t samples, uint32_t stage,
		struct pipeline_op op)
{
	uint32_t warm = pipeline_kept_max(schedule, depth, samples, stage);

	if (op.backward)
		return op.sample < samples - warm ? warm + 2 * op.sample : samples + op.sample;
	return op.sample < warm ? op.sample : 2 * op.sample - warm + 1;
}

struct clock {
	enum pipeline_schedule schedule;
	uint32_t depth, samples;
	const double *forward, *backward;
	double *start;
	uint32_t done[PIPELINE_MAX_STAGES]; /* operations that have a time */
};

static double time_of(const double *times, uint32_t stage)
{
	return times == NULL ? 1.0 : times[stage];
}

/* When the input of op is there; false: its operation has no time yet. */
static bool input_at(const struct clock *c, uint32_t stage, struct pipeline_op op, double *at)
{
	uint32_t from = op.backward ? stage + 1 : stage - 1;
	uint32_t i;

	*at = 0;
	if (op.backward ? from >= c->depth : stage == 0)
		return true; /* rows, or the own forward, which stands before it in the order */
	i = index_of(c->schedule, c->depth, c->samples, from, op);
	if (i >= c->done[from])
		return false;
	*at = c->start[(uint64_t)from * 2 * c->samples + i] + time_of(op.backward ? c->backward : c->forward, from);
	return true;
}

/* Runs what can be run of one stage; free_at: when it has done so. Says whether that was anything. */
static bool run_stage(struct clock *c, uint32_t stage, double *free_at)
{
	bool any = false;

	while (c->done[stage] < 2 * c->samples) {
		struct pipeline_op op = pipeline_op_at(c->schedule, c->depth, c->samples, stage, c->done[stage]);
		double at;

		if (!input_at(c, stage, op, &at))
			break;
		if (at < *free_at)
			at = *free_at;
		c->start[(uint64_t)stage * 2 * c->samples + c->done[stage]] = at;
		*free_at = at + time_of(op.backward ? c->backward : c->forward, stage);
		c->done[stage]++;
		any = true;
	}
	return any;
}

double pipeline_clock(enum pipeline_schedule schedule, uint32_t depth, uint32_t samples, const double *forward,
		const double *backward, double *start)
{
	struct clock c = {.schedule = schedule, .depth = depth, .samples = samples, .forward = forward,
			.backward = backward, .start = start};
	double free_at[PIPELINE_MAX_STAGES] = {0};
	double end = 0;
	bool any;

	do {
		any = false;
		for (uint32_t s = 0; s < depth; s++)
			any |= run_stage(&c, s, &free_at[s]);
	} while (any);
	for (uint32_t s = 0; s < depth; s++)
		end = free_at[s] > end ? free_at[s] : end;
	return end;
}
