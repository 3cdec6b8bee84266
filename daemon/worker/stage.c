/* The rule of `wire.zstd: auto`. See stage.h. */
#include "daemon/worker/stage.h"

#include <stdio.h>

void stage_saw(struct stage *s, double seconds, size_t len, size_t out_len)
{
	s->seconds += seconds;
	s->in += (double)len;
	s->out += (double)out_len;
	s->look = 0;
	s->since_look = 0;
}

/* The figures of what was staged since the last time, if anything was. */
static void settle(struct stage *s)
{
	if (s->in > 0) {
		s->cost = STAGE_BOTH_ENDS * s->seconds / s->in;
		s->saved = 1 - s->out / s->in;
	}
	s->seconds = s->in = s->out = 0;
}

/* Time that is won for each second that it takes. */
static double worth(const struct stage *s)
{
	return s->speed > 0 && s->cost > 0 ? s->saved / s->speed / s->cost : 0;
}

static int wants_change(const struct stage *s)
{
	return s->is_on ? worth(s) < 1 : worth(s) > STAGE_SOME;
}

static void plan_look(struct stage *s)
{
	if (s->is_on || s->speed <= 0 || s->speed > STAGE_TOO_FAST)
		s->look = 0;
	else if (s->cost <= 0 || s->otherwise > 0 || ++s->since_look >= STAGE_LOOK_EVERY)
		s->look = 1;
}

int stage_judge(struct stage *s, double speed)
{
	int change;

	if (speed > 0)
		s->speed = speed;
	settle(s);
	s->otherwise = wants_change(s) ? s->otherwise + 1 : 0;
	change = s->otherwise >= STAGE_SURE || (s->otherwise > 0 && !s->is_on && worth(s) >= STAGE_MUCH);
	if (change) {
		s->is_on = !s->is_on;
		s->otherwise = 0;
		s->since_look = 0;
	}
	plan_look(s);
	return change;
}

void stage_text(const struct stage *s, const char *what, char out[160])
{
	snprintf(out, 160, "wire.zstd %s: the slowest link takes %.1f MB/s, %s %.0f MB/s (both ends) and saves %.0f %%",
			s->is_on ? "on" : "off", s->speed / 1e6, what, s->cost > 0 ? 1e-6 / s->cost : 0.0, 100 * s->saved);
}
