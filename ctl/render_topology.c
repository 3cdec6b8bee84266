/* A job's graph as text and for Graphviz. See render_topology.h. */
#include "ctl/render_topology.h"

#include "ctl/render_arcs.h"
#include "ctl/show.h"
#include "ctl/table.h"
#include "libcore/base/mem.h"
#include "libcore/topology/weights.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const struct control_rank *find_rank(const struct control_job *job, uint32_t rank)
{
	for (uint32_t i = 0; i < job->n_ranks_sent; i++)
		if (job->ranks[i].rank == rank)
			return &job->ranks[i];
	return NULL;
}

void topology_label(char out[80], const struct control_job *job, uint32_t rank)
{
	const struct control_rank *r = find_rank(job, rank);

	if (r != NULL && *r->node_name != '\0')
		show_clean(out, 80, r->node_name);
	else
		(void)snprintf(out, 80, "rank %u", rank);
}

const char *topology_state(const struct control_job *job, uint32_t rank)
{
	const struct control_rank *r = find_rank(job, rank);

	return r != NULL ? control_rank_state_text(r->state) : "-";
}

static double edge_weight(const struct graph *g, uint32_t a, uint32_t b)
{
	return weights_metropolis(graph_degree(g, a), graph_degree(g, b));
}

static enum status gap_of(double *gap, const struct graph *g, struct error *err)
{
	size_t n = graph_n(g);
	double *w = mem_alloc(n * n, sizeof *w);
	enum status st;

	if (w == NULL)
		return error_set(err, ST_NOMEM, "out of memory for %zu x %zu weights", n, n);
	weights_matrix(w, g);
	st = weights_spectral_gap(gap, w, (uint32_t)n, err);
	mem_free(w);
	return st;
}

bool topology_has_place(const struct control_job *job, uint32_t rank)
{
	return job->active == 0 || (job->active >> rank & 1) != 0;
}

static uint32_t places(const struct control_job *job, uint32_t n)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < n; i++)
		count += topology_has_place(job, i);
	return count;
}

enum status topology_graph(struct graph **out, const struct topology *t, const struct control_job *job, uint64_t seed,
		struct error *err)
{
	if (job->active == 0)
		return graph_build(out, t, job->n_ranks, seed, err);
	return graph_build_over(out, t, job->n_ranks, job->active, seed, err);
}

bool topology_is_present(const struct control_job *job, uint32_t rank)
{
	const struct control_rank *r = find_rank(job, rank);

	return topology_has_place(job, rank) && (r == NULL || (r->state != CONTROL_RANK_LOST && r->state != CONTROL_RANK_FAILED));
}

/* Keep the edges between ranks that are there; number[] becomes their place among those. */
static size_t keep_edges(uint32_t (*edges)[2], size_t n_edges, const struct control_job *job, uint32_t n,
		uint32_t *number, uint32_t *n_present)
{
	size_t kept = 0;

	*n_present = 0;
	for (uint32_t i = 0; i < n; i++)
		number[i] = topology_is_present(job, i) ? (*n_present)++ : UINT32_MAX;
	for (size_t i = 0; i < n_edges; i++)
		if (number[edges[i][0]] != UINT32_MAX && number[edges[i][1]] != UINT32_MAX)
			memmove(edges[kept++], edges[i], sizeof *edges);
	return kept;
}

static enum status gap_of_present(double *gap, uint32_t (*edges)[2], size_t n_edges, const uint32_t *number,
		uint32_t n_present, struct error *err)
{
	struct graph *small = NULL;
	enum status st;

	*gap = 0;
	if (n_present == 0)
		return ST_OK;
	for (size_t i = 0; i < n_edges; i++)
		for (int end = 0; end < 2; end++)
			edges[i][end] = number[edges[i][end]];
	st = graph_from_edges(&small, n_present, (const uint32_t (*)[2])edges, n_edges, err);
	if (st == ST_OK && graph_connected(small))
		st = gap_of(gap, small, err);
	graph_destroy(small);
	return st;
}

enum status topology_present(struct graph **out, double *gap, const struct graph *g, const struct control_job *job,
		struct error *err)
{
	uint32_t (*edges)[2] = mem_alloc(graph_n_edges(g), sizeof *edges);
	uint32_t *number = mem_alloc(graph_n(g), sizeof *number), n_present;
	enum status st = ST_NOMEM;
	size_t kept;

	*out = NULL;
	if (edges == NULL || number == NULL) {
		(void)error_set(err, ST_NOMEM, "out of memory for a graph");
	} else {
		graph_edges(g, edges);
		kept = keep_edges(edges, graph_n_edges(g), job, graph_n(g), number, &n_present);
		st = graph_from_edges(out, graph_n(g), (const uint32_t (*)[2])edges, kept, err);
		if (st == ST_OK)
			st = gap_of_present(gap, edges, kept, number, n_present, err);
	}
	mem_free(edges);
	mem_free(number);
	if (st != ST_OK) {
		graph_destroy(*out);
		*out = NULL;
	}
	return st;
}

/* "node-2 0.333, node-4 0.333" and the weight that is left for itself. */
static double neighbours_text(char out[TABLE_CELL_SIZE], const struct control_job *job, const struct graph *g,
		uint32_t rank)
{
	const uint32_t *neighbours = graph_neighbours(g, rank);
	char label[80];
	double own = 1;
	size_t used = 0;

	out[0] = '\0';
	for (uint32_t i = 0; i < graph_degree(g, rank); i++) {
		double w = edge_weight(g, rank, neighbours[i]);

		own -= w;
		topology_label(label, job, neighbours[i]);
		if (used < TABLE_CELL_SIZE)
			used += (size_t)snprintf(out + used, TABLE_CELL_SIZE - used, "%s%s %.3f", i > 0 ? ", " : "", label, w);
	}
	return own;
}

void render_topology(struct page *p, const struct control_job *job, const struct graph *g, double gap)
{
	static const struct table_column columns[] = {{"RANK", true, 0}, {"NODE", false, 0}, {"STATE", false, 2},
		{"DEGREE", true, 3}, {"OWN", true, 1}, {"NEIGHBOURS", false, 0}};
	char id[ID_SHORT_SIZE], text[TABLE_CELL_SIZE], label[80];
	struct table t;

	id_short(id, &job->id);
	page_clean(p, job->name);
	page_put(p, " %s  ", id);
	page_clean(p, job->topology);
	page_put(p, " of %u  %zu links  Metropolis weights  spectral gap %.4f\n\n", places(job, graph_n(g)), graph_n_edges(g), gap);
	table_init(&t, columns, sizeof columns / sizeof *columns);
	for (uint32_t i = 0; i < graph_n(g); i++) {
		double own = neighbours_text(text, job, g, i);

		if (!topology_has_place(job, i))
			continue;
		topology_label(label, job, i);
		table_put(&t, PAINT_PLAIN, "%u", i);
		table_put(&t, PAINT_PLAIN, "%s", label);
		table_put(&t, PAINT_PLAIN, "%s", topology_state(job, i));
		table_put(&t, PAINT_PLAIN, "%u", graph_degree(g, i));
		if (topology_is_present(job, i))
			table_put(&t, PAINT_PLAIN, "%.3f", own);
		else
			table_put(&t, PAINT_PLAIN, "-");
		table_put(&t, PAINT_PLAIN, "%s", text);
	}
	table_render(p, &t, 0);
	render_arcs(p, job, g);
}

/* Bytes of a round over a directed link, as the ranks that stand in the graph have counted them. */
static double measured(const struct control_job *job, const struct graph *g)
{
	double sent = 0, times = 0;

	for (uint32_t i = 0; i < job->n_ranks_sent; i++) {
		const struct control_rank *r = &job->ranks[i];
		uint32_t degree = r->rank < graph_n(g) ? graph_degree(g, r->rank) : 0;

		sent += degree > 0 ? (double)r->payload_bytes : 0;
		times += (double)r->round * degree;
	}
	return times > 0 ? sent / times : (double)NAN;
}

static bool sends_differences(const struct job_spec *spec)
{
	return spec->algorithm == JOB_CD_ADAM || spec->algorithm == JOB_CHOCO_SGD;
}

double topology_round_bytes(const struct control_job *job, const struct job_spec *spec, const struct graph *g)
{
	uint64_t n = job->n_ranks_sent > 0 ? job->ranks[0].n_params : 0;

	if (n == 0 || job->n_ranks < 2)
		return (double)NAN;
	return g != NULL && sends_differences(spec) ? measured(job, g) : (double)n * sizeof(float);
}

void render_round_bytes(struct page *p, const struct control_job *job, const struct job_spec *spec, const struct graph *g)
{
	double bytes = topology_round_bytes(job, spec, g);
	bool exact = spec->algorithm >= JOB_LOCAL_ADAM && spec->algorithm <= JOB_CENTRAL_SGD;
	char count[SHOW_SIZE];

	if (g != NULL && graph_n_edges(g) == 0 && job->n_ranks > 1) {
		page_put(p, "\nNo link is left: nothing is sent.\n");
		return;
	}
	if (isnan(bytes))
		return;
	show_count(count, (uint64_t)(bytes + 0.5));
	if (g == NULL)
		page_put(p, "\nA round sends %s bytes from each rank to one other.\n", count);
	else if (sends_differences(spec))
		page_put(p, "\nA round has sent %s bytes each way on a link (%s).\n", count, spec->compress);
	else
		page_put(p, "\nA round sends %s bytes each way on %s%s.\n", count, exact ? "the links of a spanning tree"
				: "every link", exact && graph_n_edges(g) >= graph_n(g) ? ", none on the others" : "");
	show_count(count, (uint64_t)(3 * bytes));
	if (!sends_differences(spec) && spec->moments == JOB_MOMENTS_MIXED)
		page_put(p, "With the moments %s, in one round of %u.\n", count, spec->mix_moments_every);
}

/* A Graphviz string: quotes and backslashes are escaped. */
static void put_quoted(struct page *p, const char *text)
{
	page_put(p, "\"");
	for (; *text != '\0'; text++)
		page_put(p, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
	page_put(p, "\"");
}

void topology_dot_ranks(struct page *p, const char *kind, const struct control_job *job, uint32_t n)
{
	char label[80];

	page_put(p, "%s", kind);
	show_clean(label, sizeof label, job->name);
	put_quoted(p, label);
	page_put(p, " {\n");
	for (uint32_t i = 0; i < n; i++) {
		if (!topology_has_place(job, i))
			continue;
		topology_label(label, job, i);
		page_put(p, "\tr%u [label=", i);
		put_quoted(p, label);
		page_put(p, "%s];\n", topology_is_present(job, i) ? "" : ", color=red");
	}
}

void render_dot(struct page *p, const struct control_job *job, const struct graph *g)
{
	topology_dot_ranks(p, "graph ", job, graph_n(g));
	for (uint32_t i = 0; i < graph_n(g); i++)
		for (uint32_t k = 0; k < graph_degree(g, i); k++) {
			uint32_t j = graph_neighbours(g, i)[k];

			if (i < j)
				page_put(p, "\tr%u -- r%u [label=\"%.3f\"];\n", i, j, edge_weight(g, i, j));
		}
	page_put(p, "}\n");
}
