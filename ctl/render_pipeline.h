/* A pipeline job as text: its schedule as a small Gantt, what each stage does, the chain of its ranks. Pure. */
#ifndef CTL_RENDER_PIPELINE_H
#define CTL_RENDER_PIPELINE_H

#include "ctl/page.h"
#include "libcore/topology/pipeline_schedule.h"
#include "proto/control.h"

#include <stdbool.h>

struct pipeline_shape {
	enum pipeline_schedule schedule;
	uint32_t depth;
	uint32_t samples; /* K; 0: the workers have not said yet what follows from the theory */
};

/* From the job's spec and what its ranks say. False: no pipeline, or the spec was not sent. */
bool pipeline_shape_of(struct pipeline_shape *out, const struct control_job *job);

/* Does any rank say yet which stages it has? */
bool pipeline_has_stages(const struct control_job *job);

/* "1f1b", "fill-drain" */
const char *pipeline_schedule_text(enum pipeline_schedule schedule);

/* "4 stages, K 8, 1f1b: 22 units an iteration, 6 of them idle (27 %)" */
void render_shape(struct page *p, const struct pipeline_shape *shape);

/* One line per stage, one cell per unit of time; as many units as the view is wide. */
void render_gantt(struct page *p, const struct pipeline_shape *shape);

/* A table, one row per stage: where it is, how it spends its time, what it keeps. */
void render_stages(struct page *p, const struct control_job *job);

/* The ranks from the rows of data down to the loss. */
void render_chain(struct page *p, const struct control_job *job);

/* The same for Graphviz: an edge is named after the layer that begins behind it. */
void render_chain_dot(struct page *p, const struct control_job *job);

#endif
