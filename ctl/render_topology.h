/* A job's graph as text and for Graphviz. Pure. */
#ifndef CTL_RENDER_TOPOLOGY_H
#define CTL_RENDER_TOPOLOGY_H

#include "ctl/page.h"
#include "libcore/topology/graph.h"
#include "proto/control.h"

void render_topology(struct page *p, const struct control_job *job, const struct graph *g, double gap);
void render_dot(struct page *p, const struct control_job *job, const struct graph *g);

/* The spectral gap of the graph with Metropolis weights. ST_NOMEM. */
MUST_CHECK enum status topology_gap(double *gap, const struct graph *g, struct error *err);

#endif
