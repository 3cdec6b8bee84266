/* A job's graph as text and for Graphviz. Pure. */
#ifndef CTL_RENDER_TOPOLOGY_H
#define CTL_RENDER_TOPOLOGY_H

#include "ctl/page.h"
#include "libcore/settings/job_spec.h"
#include "libcore/topology/graph.h"
#include "proto/control.h"

#include <stdbool.h>

/* The graph that the workers build: over the ranks that the topology has a place for, which in an elastic job are those
 * that were there when the last one came. The caller owns *out. ST_INVALID as graph_build; ST_NOMEM. */
MUST_CHECK enum status topology_graph(struct graph **out, const struct topology *t, const struct control_job *job,
		uint64_t seed, struct error *err);

/* The links of g whose both ranks are still there, as a graph of all ranks, and the spectral gap of
 * the ranks that are there with Metropolis weights on those links (0: they are not connected). The
 * caller owns *out. ST_NOMEM. */
MUST_CHECK enum status topology_present(struct graph **out, double *gap, const struct graph *g,
		const struct control_job *job, struct error *err);

/* g: of topology_present(). */
void render_topology(struct page *p, const struct control_job *job, const struct graph *g, double gap);

/* Bytes that a round sends over a link, each way, before zstd and without moments; NAN: not known yet. g: NULL for a
 * one-peer schedule. */
double topology_round_bytes(const struct control_job *job, const struct job_spec *spec, const struct graph *g);

/* The same as sentences: by the spec; for compressed differences by what was sent so far.
 * Nothing before the model's size is known. */
void render_round_bytes(struct page *p, const struct control_job *job, const struct job_spec *spec, const struct graph *g);

/* What is said of a rank: its node's name, its state, whether the topology has a place for it, and whether it is
 * still there. */
void topology_label(char out[80], const struct control_job *job, uint32_t rank);
const char *topology_state(const struct control_job *job, uint32_t rank);
bool topology_has_place(const struct control_job *job, uint32_t rank);
bool topology_is_present(const struct control_job *job, uint32_t rank);

/* The head of a Graphviz text (kind is "graph " or "digraph ") and its n ranks; edges and "}" follow. */
void topology_dot_ranks(struct page *p, const char *kind, const struct control_job *job, uint32_t n);

void render_dot(struct page *p, const struct control_job *job, const struct graph *g);

#endif
