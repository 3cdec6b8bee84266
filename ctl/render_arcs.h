/* A small graph drawn as text. */
#ifndef CTL_RENDER_ARCS_H
#define CTL_RENDER_ARCS_H

#include "ctl/page.h"
#include "libcore/topology/graph.h"
#include "proto/control.h"

/* The links of the graph as arcs under its ranks, after an empty line; nothing where there are no links, more than
 * 16 ranks, more arcs than 24 lines hold, or the terminal is too narrow. */
void render_arcs(struct page *p, const struct control_job *job, const struct graph *g);

#endif
