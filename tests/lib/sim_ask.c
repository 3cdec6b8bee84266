/* Knobs of the simulated cluster, and short questions to it. See sim_node.h. */
#include "tests/lib/sim_node_private.h"

#include "libcore/base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void sim_node_seed_is(struct sim_nodes *s, uint32_t node, uint32_t seed_node)
{
	s->nodes[node].seed_node = seed_node;
}

void sim_node_puppet(struct sim_nodes *s, uint32_t node, enum sim_puppet p)
{
	s->nodes[node].manner = p;
}

void sim_node_no_data(struct sim_nodes *s, uint32_t node, int missing)
{
	s->nodes[node].no_data = missing;
}

void sim_node_load_ms(struct sim_nodes *s, uint32_t node, uint64_t ms)
{
	s->nodes[node].load_ms = ms;
}

void sim_node_cluster(struct sim_nodes *s, uint32_t node, const char *name)
{
	(void)snprintf(s->nodes[node].cfg.cluster, sizeof s->nodes[node].cfg.cluster, "%s", name);
}

void sim_node_no_dial(struct sim_nodes *s, uint32_t node, int cannot)
{
	s->nodes[node].unreachable = cannot;
}

void sim_node_kill_at_send(struct sim_nodes *s, uint32_t node, uint64_t k)
{
	s->nodes[node].kill_at = k != 0 ? s->nodes[node].sent + k : 0;
}

void sim_node_kill_worker(struct sim_nodes *s, uint32_t node, int sig)
{
	for (uint32_t i = 0; i < SIM_PUPPETS; i++)
		if (s->nodes[node].puppets[i].serial != 0)
			sim_puppet_kill(s, node, &s->nodes[node].puppets[i].job, sig);
}

void sim_node_partition(struct sim_nodes *s, uint64_t side)
{
	s->side = side;
}

static void fill_terms(struct job_terms *t, const struct sim_job *job)
{
	(void)snprintf(t->name, sizeof t->name, "%s", job->name);
	(void)snprintf(t->algorithm, sizeof t->algorithm, "d-adam");
	(void)snprintf(t->plugin, sizeof t->plugin, "logreg");
	(void)snprintf(t->topology, sizeof t->topology, "%s", job->topology != NULL ? job->topology : "ring");
	t->workers_min = job->min;
	t->workers_max = job->max;
	t->wait_ms = job->wait_ms != 0 ? job->wait_ms : 20000;
	t->steps = 300;
	t->seed = 1;
	t->fail_on_loss = job->fail_on_loss != 0;
	(void)snprintf(t->place, sizeof t->place, "%s", job->place != NULL ? job->place : "");
	t->stages = job->place != NULL ? job->min : 0;
	t->elastic = job->elastic != 0;
	t->link_timeout_ms = 3000;
	t->step_timeout_ms = 2000;
}

struct id sim_node_submit(struct sim_nodes *s, uint32_t node, const struct sim_job *job)
{
	struct job_record r = {0};

	r.id.b[0] = 0xa0;
	r.id.b[15] = (uint8_t)++s->jobs;
	r.created_ms = 1700000000000 + s->now;
	(void)snprintf(r.digest, sizeof r.digest, "0123456789abcdef");
	r.spec = mem_strdup("name: test\n");
	if (r.spec == NULL)
		abort();
	fill_terms(&r.terms, job);
	sim_step(s, node, &(struct node_event){.type = NODE_EV_SUBMIT, .record = &r});
	return (struct id){{0xa0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, (uint8_t)s->jobs}};
}

void sim_node_stop_job(struct sim_nodes *s, uint32_t node, const struct id *job)
{
	sim_step(s, node, &(struct node_event){.type = NODE_EV_STOP_JOB, .job = *job});
}

uint64_t sim_node_now(const struct sim_nodes *s)
{
	return s->now;
}

int sim_node_has(const struct sim_nodes *s, uint32_t node)
{
	return node < s->n;
}

int sim_node_is_up(const struct sim_nodes *s, uint32_t node)
{
	return s->nodes[node].node != NULL;
}

const struct node *sim_node_at(const struct sim_nodes *s, uint32_t node)
{
	return s->nodes[node].node;
}

uint64_t sim_node_sent(const struct sim_nodes *s, uint32_t node)
{
	return s->nodes[node].sent;
}

uint64_t sim_node_ticks(const struct sim_nodes *s)
{
	return s->ticks;
}

uint32_t sim_node_dials(const struct sim_nodes *s, uint32_t node)
{
	return s->nodes[node].dials;
}

uint32_t sim_node_workers(const struct sim_nodes *s, uint32_t node)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < SIM_PUPPETS; i++)
		n += s->nodes[node].puppets[i].serial != 0;
	return n;
}

uint32_t sim_node_links(const struct sim_nodes *s)
{
	uint32_t n = 0;

	for (size_t i = 0; i < s->n_wires; i++)
		n += s->wires[i].end[0].open && s->wires[i].end[1].open && s->wires[i].end[0].handed && s->wires[i].end[1].handed;
	return n;
}

const char *sim_node_trace(const struct sim_nodes *s)
{
	return s->trace.data != NULL ? (const char *)s->trace.data : "";
}

uint32_t sim_node_bugs(const struct sim_nodes *s)
{
	return s->bugs;
}

static int view(struct sim_nodes *s, uint32_t node, const struct id *job, struct control_job *out)
{
	return s->nodes[node].node != NULL && node_view_job(s->nodes[node].node, job, out) == ST_OK;
}

enum control_phase sim_node_phase(struct sim_nodes *s, uint32_t node, const struct id *job)
{
	struct control_job j;

	if (!view(s, node, job, &j))
		return 0;
	mem_free(j.ranks);
	mem_free(j.spec);
	return j.phase;
}

const char *sim_node_why(struct sim_nodes *s, uint32_t node, const struct id *job)
{
	struct control_job j;

	s->why[0] = '\0';
	if (!view(s, node, job, &j))
		return s->why;
	mem_free(j.ranks);
	mem_free(j.spec);
	memcpy(s->why, j.why, sizeof s->why);
	return s->why;
}

uint32_t sim_node_alive(struct sim_nodes *s, uint32_t node)
{
	struct control_status st = {0};

	if (s->nodes[node].node == NULL)
		return 0;
	node_view_status(s->nodes[node].node, &st);
	return st.alive;
}

/* ---- links ---- */

void sim_node_cut_link(struct sim_nodes *s, uint32_t a, uint32_t b)
{
	for (uint32_t i = 0; i < SIM_PUPPETS; i++) {
		struct puppet *p = &s->nodes[a].puppets[i];

		for (uint32_t w = 0; p->serial != 0 && w < s->n_wires; w++)
			for (int e = 0; e < 2; e++)
				if (s->wires[w].end[e].node == a && s->wires[w].end[!e].node == b && s->wires[w].end[e].open && s->wires[w].end[e].handed)
					sim_puppet_close_link(s, a, p, s->wires[w].end[e].rank, "cut");
	}
}
