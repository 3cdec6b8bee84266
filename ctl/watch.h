/* What `watch` knows beyond the last answer: how things moved in the last seconds. Pure. */
#ifndef CTL_WATCH_H
#define CTL_WATCH_H

#include "ctl/page.h"
#include "ctl/progress.h"
#include "proto/control.h"

#define WATCH_SAMPLES 10U /* of a rank, at least a second apart */

struct watch_sample {
	uint64_t ms, step, wire_bytes;
	double compute_s, wait_s;
};

struct watch_rank {
	struct watch_sample samples[WATCH_SAMPLES]; /* a ring */
	uint32_t first, n;
};

struct watch {
	struct progress progress;
	struct watch_rank ranks[CONTROL_MAX_RANKS];
	uint64_t now_ms; /* of the last update */
};

/* How a rank spent the last seconds. */
struct watch_pace {
	double compute, wait;   /* shares of 1; both 0: nothing known */
	double bytes_per_second; /* negative: not known yet */
	double step_s;          /* seconds computing per step; 0: not known */
};

void watch_init(struct watch *w);

/* Take in an answer to CONTROL_JOB that came at now_ms (monotonic). */
void watch_update(struct watch *w, const struct control_job *job, uint64_t now_ms);

struct watch_pace watch_pace(const struct watch *w, const struct control_rank *rank);

/* The updating view, for a terminal; and one line, for a log. */
void watch_render(struct page *p, const struct watch *w, const struct control_job *job);
void watch_render_line(struct page *p, const struct watch *w, const struct control_job *job);

#endif
