/* Ranks that come while the others run: the one that comes, and those that are there. See worker_private.h.
 *
 *   joiner: loaded ─► READY ─► a link for the copy ─► MODEL_COPY, all parts ─► RUNNING ─► its own links ─► rounds
 *   others: ROSTER (more ranks) ─► LINK_UP with joining ─► a copy behind the next round ─► ROSTER (another graph)
 *
 * The copy is as old as it takes to travel and to make links: the joiner's first round replaces x by the mean of
 * its neighbours and brings their step; moments stay those of the copy. */
#include "daemon/worker/worker_private.h"

#include "libcore/base/mem.h"
#include "libcore/optim/optim.h"

void late_want_copy(struct worker *w)
{
	const real *vectors[3];
	size_t total = trainer_vectors(w->trainer, vectors) * trainer_n(w->trainer);
	struct error err = {0};

	w->copy = mem_alloc(total, sizeof *w->copy);
	if (w->copy == NULL) {
		(void)error_set(&err, ST_NOMEM, "no memory for a copy of %zu parameters and moments", total);
		worker_fail(w, &err);
		return;
	}
	links_want_copy(w->links, w->copy, total);
}

/* x, m, v behind one another. */
static enum status check_copy(struct worker *w, uint64_t step, struct error *err)
{
	const real *vectors[3];
	size_t n = trainer_n(w->trainer), total = trainer_vectors(w->trainer, vectors) * n;
	size_t i = optim_first_not_finite(w->copy, total);

	if (i == total)
		return ST_OK;
	return error_set(err, ST_NOT_FINITE, "in the copy of step %llu that this rank starts from, %c of tensor %s is not finite (element "
			"%zu is %g)", (unsigned long long)step, "xmv"[i / n], plugin_tensor_at(worker_plugin(w, 0), i % n), i % n,
			(double)w->copy[i]);
}

void late_copied(struct worker *w, const struct link_msg *m)
{
	struct error err = {0};

	if (check_copy(w, m->u.activation.iteration, &err) != ST_OK) {
		worker_fail(w, &err);
		return;
	}
	trainer_take_copy(w->trainer, w->copy, m->u.activation.iteration);
	mem_free(w->copy);
	w->copy = NULL;
	w->phase = WORKER_PHASE_RUNNING;
	w->rest_since_ns = uv_hrtime();
	report_log_f(w, 1, "joins with a copy made after step %llu", (unsigned long long)m->u.activation.iteration);
	rounds_copied(w->rounds, m->u.activation.iteration);
	report_progress(w);
}

void late_serve(void *data, uint32_t slot, uint64_t step)
{
	struct worker *w = data;
	const real *vectors[3];
	uint32_t n_vectors = trainer_vectors(w->trainer, vectors);
	struct error err = {0};

	report_log_f(w, 1, "rank %u joins: it gets a copy of step %llu", links_rank(w->links, slot), (unsigned long long)step);
	if (links_send_copy(w->links, slot, step, vectors, n_vectors, trainer_n(w->trainer), &err) != ST_OK)
		links_close(w->links, slot, err.msg);
}

enum status late_graph(struct worker *w, uint32_t n_ranks, uint64_t active, struct error *err)
{
	struct graph *graph;
	enum status st = graph_build_over(&graph, &w->topology, n_ranks, active, w->spec.seed, err);

	if (st != ST_OK)
		return st;
	gather_set_graph(w->gather, graph, n_ranks);
	graph_destroy(w->graph);
	w->graph = graph;
	return ST_OK;
}

void late_roster(struct worker *w)
{
	const struct worker_roster *r = &w->roster;
	struct error err = {0};

	if (r->n_ranks == 0 || w->roster_told)
		return;
	w->roster_told = 1;
	if (late_graph(w, r->n_ranks, r->active, &err) != ST_OK) {
		worker_fail(w, &err);
		return;
	}
	w->setup.n_ranks = r->n_ranks;
	w->setup.neighbours = r->neighbours;
	links_set_ranks(w->links, r->n_ranks);
	report_log_f(w, 1, "%u ranks have a place in the graph now", (unsigned)__builtin_popcountll(r->active));
	rounds_neighbours(w->rounds, r->n_ranks, r->neighbours);
}
