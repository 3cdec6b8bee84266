/* Exact means over the tree of links. See means.h. */
#include "daemon/worker/means.h"

#include "libcore/base/mem.h"
#include "libcore/mix/mix.h"

#include <stdio.h>
#include <string.h>

struct means {
	struct means_config cfg;
	size_t n, n_sums;
	real *mean, *sums;
	uint64_t ranks; /* in the last mean */
};

enum status means_create(struct means **out, const struct means_config *cfg, struct error *err)
{
	struct means *m = mem_alloc(1, sizeof *m);

	*out = NULL;
	if (m == NULL)
		return error_set(err, ST_NOMEM, "means: out of memory");
	m->cfg = *cfg;
	m->ranks = cfg->n_ranks >= 64 ? UINT64_MAX : ((uint64_t)1 << cfg->n_ranks) - 1;
	m->n = links_total_params(cfg->links);
	m->n_sums = (size_t)cfg->window * cfg->segment;
	m->mean = mem_alloc_big(m->n, sizeof *m->mean);
	m->sums = mem_alloc_big(m->n_sums, sizeof *m->sums);
	if (m->mean == NULL || m->sums == NULL) {
		means_destroy(m);
		(void)error_set(err, ST_NOMEM, "no memory for the mean of %zu parameters", links_total_params(cfg->links));
		error_hint(err, "give this node less to do");
		return ST_NOMEM;
	}
	*out = m;
	return ST_OK;
}

void means_destroy(struct means *m)
{
	if (m == NULL)
		return;
	mem_free_big(m->mean, m->n, sizeof *m->mean);
	mem_free_big(m->sums, m->n_sums, sizeof *m->sums);
	mem_free(m);
}

static size_t first_of(const struct means *m, uint32_t segment)
{
	return (size_t)segment * m->cfg.segment;
}

static enum status send_segment(struct means *m, const struct gossip_action *a, const real *from, struct error *err)
{
	struct link_msg msg = {.type = LINK_MODEL_DELTA,
			.u.delta = {.round = a->round, .segment = a->segment, .mean = a->mean}};

	return links_send_model(m->cfg.links, a->slots, &msg, from, err);
}

static const real *term_vector(const struct means *m, const struct gossip_action *a, const struct gossip_term *t)
{
	if (t->slot != GOSSIP_SELF)
		return links_place(m->cfg.links, t->slot, a->segment);
	return (a->mean ? m->mean : m->cfg.exchanged) + first_of(m, a->segment);
}

enum status means_sum(struct means *m, const struct gossip_action *a, struct error *err)
{
	real *out = a->slots == 0 ? m->mean + first_of(m, a->segment)
				  : m->sums + (size_t)(a->segment % m->cfg.window) * m->cfg.segment;
	const real *vectors[GOSSIP_MAX_LINKS + 1];
	real weights[GOSSIP_MAX_LINKS + 1];

	for (uint32_t i = 0; i < a->mix->n_terms; i++) {
		vectors[i] = term_vector(m, a, &a->mix->terms[i]);
		weights[i] = (real)a->mix->terms[i].weight;
	}
	mix_weighted(out, vectors, weights, a->mix->n_terms, links_n_params(m->cfg.links, a->segment));
	for (uint32_t s = 0; s < LINKS_MAX; s++)
		if ((a->slots_read >> s & 1) != 0)
			links_release(m->cfg.links, s, a->segment);
	return a->slots != 0 ? send_segment(m, a, out, err) : ST_OK;
}

void means_take(struct means *m, const struct gossip_action *a)
{
	if (a->on)
		memcpy(m->mean + first_of(m, a->segment), links_place(m->cfg.links, a->slot, a->segment),
				links_n_params(m->cfg.links, a->segment) * sizeof *m->mean);
	links_release(m->cfg.links, a->slot, a->segment);
}

enum status means_spread(struct means *m, const struct gossip_action *a, struct error *err)
{
	return send_segment(m, a, m->mean + first_of(m, a->segment), err);
}

/* "round 17: the mean is over ranks 0 1 3, not over 2" */
static void log_ranks(const struct means *m, const struct gossip_action *a)
{
	char line[480];
	size_t len;

	len = (size_t)snprintf(line, sizeof line, "round %llu: the mean is over ranks", (unsigned long long)a->round);
	for (uint32_t r = 0; r < m->cfg.n_ranks; r++)
		if ((a->ranks >> r & 1) != 0)
			len += (size_t)snprintf(line + len, sizeof line - len, " %u", r);
	len += (size_t)snprintf(line + len, sizeof line - len, ", no more over");
	for (uint32_t r = 0; r < m->cfg.n_ranks; r++)
		if ((m->ranks & ~a->ranks) >> r & 1)
			len += (size_t)snprintf(line + len, sizeof line - len, " %u", r);
	m->cfg.log(m->cfg.data, 2, line);
}

void means_round_over(struct means *m, const struct gossip_action *a)
{
	size_t n = (size_t)a->n_segments * m->cfg.segment;

	if (a->on)
		memcpy(m->cfg.exchanged, m->mean, (n < m->n ? n : m->n) * sizeof *m->mean);
	if (a->ranks != m->ranks)
		log_ranks(m, a);
	m->ranks = a->ranks;
}
