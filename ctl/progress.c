/* How fast a job goes and when it will end. See progress.h. */
#include "ctl/progress.h"

#include <string.h>

void progress_init(struct progress *p)
{
	memset(p, 0, sizeof *p);
}

static const struct progress_sample *newest_bucket(const struct progress *p)
{
	return &p->samples[(p->first + p->n - 1) % PROGRESS_BUCKETS];
}

void progress_add(struct progress *p, uint64_t now_ms, uint64_t step)
{
	if (p->n > 0 && (step < p->last.step || now_ms < p->last.ms))
		progress_init(p);
	p->last = (struct progress_sample){now_ms, step};
	if (p->n > 0 && now_ms < newest_bucket(p)->ms + 1000)
		return;
	if (p->n == PROGRESS_BUCKETS) {
		p->first = (p->first + 1) % PROGRESS_BUCKETS;
		p->n--;
	}
	p->samples[(p->first + p->n++) % PROGRESS_BUCKETS] = p->last;
}

struct progress_estimate progress_estimate(const struct progress *p, uint64_t total)
{
	struct progress_estimate e = {PROGRESS_UNKNOWN, 0, 0};
	const struct progress_sample *oldest = &p->samples[p->first];
	uint64_t ms, steps;

	if (p->n == 0)
		return e;
	ms = p->last.ms - oldest->ms;
	steps = p->last.step - oldest->step;
	if (ms < PROGRESS_ROUGH_MS || steps == 0)
		return e;
	e.trust = p->n >= PROGRESS_SURE ? PROGRESS_GOOD : PROGRESS_ROUGH;
	e.steps_per_second = (double)steps * 1000 / (double)ms;
	if (total > p->last.step)
		e.seconds_left = (double)(total - p->last.step) / e.steps_per_second;
	return e;
}
