/* A job's one-peer schedule as text, for Graphviz and as JSON: who hears from whom in which round. Pure. */
#ifndef CTL_RENDER_SCHEDULE_H
#define CTL_RENDER_SCHEDULE_H

#include "ctl/page.h"
#include "proto/control.h"

/* The spectral gap of all rounds of one turn of the schedule over n ranks: 1 when everybody then has the
 * exact mean. ST_NOMEM. */
MUST_CHECK enum status schedule_gap(double *gap, uint32_t n, struct error *err);

void render_schedule(struct page *p, const struct control_job *job, double gap);
void render_schedule_dot(struct page *p, const struct control_job *job);

#endif
