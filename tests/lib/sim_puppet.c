/* Workers of the simulated cluster: they say what a worker says and compute nothing.
 *
 *   spawn ─load_ms─► READY ─links up─► RUNNING ─TRAIN_MS─► TRAINED ─COLLECT, sim_mean.c─► MEAN, DONE ─► exit 0 */
#include "tests/lib/sim_node_private.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#define TRAIN_MS 3000U
#define BEAT_MS 500U

static struct puppet *of_job(struct sim_nodes *s, uint32_t node, const struct id *job)
{
	for (uint32_t i = 0; i < SIM_PUPPETS; i++)
		if (s->nodes[node].puppets[i].serial != 0 && id_equal(&s->nodes[node].puppets[i].job, job))
			return &s->nodes[node].puppets[i];
	return NULL;
}

static struct sim_event *soon(struct sim_event *e, struct sim_nodes *s, uint32_t node, const struct puppet *p, uint64_t in_ms, enum sim_puppet_event what)
{
	*e = (struct sim_event){.at = s->now + in_ms, .type = SIM_PUPPET, .node = node, .life = s->nodes[node].life, .job = p->job, .serial = p->serial, .what = what};
	return e;
}

void sim_puppet_later(struct sim_nodes *s, uint32_t node, const struct puppet *p, uint64_t in_ms, enum sim_puppet_event what)
{
	struct sim_event e;

	sim_push(s, *soon(&e, s, node, p, in_ms, what));
}

static void ends(struct sim_nodes *s, uint32_t node, const struct puppet *p, uint64_t in_ms, int status, int sig)
{
	struct sim_event e;

	soon(&e, s, node, p, in_ms, SIM_P_EXIT);
	e.status = status;
	e.sig = sig;
	sim_push(s, e);
}

static void say(struct sim_nodes *s, uint32_t node, const struct id *job, struct worker_msg *msg)
{
	sim_step(s, node, &(struct node_event){.type = NODE_EV_WORKER_MSG, .job = *job, .worker = msg});
}

static void say_progress(struct sim_nodes *s, uint32_t node, const struct puppet *p, enum worker_type type)
{
	struct worker_msg m = {.type = type};
	struct id job = p->job;

	m.u.progress.state = p->state;
	m.u.progress.view.step = p->step;
	m.u.progress.view.loss = 1.0 / (1.0 + (double)p->step);
	m.u.progress.view.links_up = (uint32_t)__builtin_popcountll(p->up);
	m.u.progress.view.waiting_for = -1;
	m.u.progress.steps_total = 300;
	sim_mean_view(p->mean, &m.u.progress.view);
	say(s, node, &job, &m);
}

/* Close all links of a puppet; the far ends see it. */
static void close_links(struct sim_nodes *s, uint32_t node, const struct id *job, uint64_t but_rank, uint64_t newest)
{
	for (uint32_t w = 0; w < s->n_wires; w++)
		for (int e = 0; e < 2; e++) {
			struct sim_end *end = &s->wires[w].end[e];

			if (end->node == node && end->open && end->handed && id_equal(&end->job, job) &&
					(newest == 0 || (end->rank == but_rank && end->link < newest)))
				sim_close(s, w, e);
		}
}

void sim_puppet_close_link(struct sim_nodes *s, uint32_t node, struct puppet *p, uint32_t rank, const char *why)
{
	struct id job = p->job;
	struct sim_end end = {.node = node, .job = job, .rank = rank};

	sim_trace(s, node, "closes a link:", why);
	for (uint32_t w = 0; w < s->n_wires; w++)
		for (int e = 0; e < 2; e++)
			if (s->wires[w].end[e].node == node && s->wires[w].end[e].open && s->wires[w].end[e].handed &&
					id_equal(&s->wires[w].end[e].job, &job) && s->wires[w].end[e].rank == rank) {
				end.link = s->wires[w].end[e].link;
				sim_close(s, w, e);
			}
	sim_puppet_link_lost(s, &end, why);
}

/* The link for the copy is up: it is here at once, and that link is over. */
static void got_copy(struct sim_nodes *s, uint32_t node, struct puppet *p)
{
	struct id job = p->job;

	if (p->up == 0)
		return;
	p->state = CONTROL_RANK_RUNNING;
	p->step = 100;
	p->joins = 2;
	p->up = 0;
	close_links(s, node, &job, 0, 0);
	say_progress(s, node, p, WORKER_PROGRESS);
}

/* Links to all that are there: training begins. */
static void try_run(struct sim_nodes *s, uint32_t node, struct puppet *p)
{
	enum sim_puppet manner = s->nodes[node].manner;

	if (p->state == CONTROL_RANK_READY && p->joins) {
		got_copy(s, node, p);
		return;
	}
	if (p->joins == 2 && (p->up != 0 || (p->wanted & ~p->gone) == 0)) {
		p->joins = 3;
		sim_puppet_later(s, node, p, TRAIN_MS / 2, SIM_P_TRAINED);
	}
	if (p->state != CONTROL_RANK_READY || (p->wanted & ~p->up & ~p->gone) != 0)
		return;
	p->state = CONTROL_RANK_RUNNING;
	sim_puppet_later(s, node, p, TRAIN_MS + sim_random(s, 200), SIM_P_TRAINED);
	if (manner != SIM_PUPPET_GOOD && manner != SIM_PUPPET_DEAF && manner != SIM_PUPPET_CANNOT_SAVE && manner != SIM_PUPPET_NEVER_READY)
		sim_puppet_later(s, node, p, TRAIN_MS / 2, SIM_P_MISHAP);
	say_progress(s, node, p, WORKER_PROGRESS);
}

void sim_puppet_spawn(struct sim_nodes *s, uint32_t node, const struct worker_setup *setup)
{
	struct sim_host *h = &s->nodes[node];

	for (uint32_t i = 0; i < SIM_PUPPETS; i++) {
		struct puppet *p = &h->puppets[i];

		if (p->serial != 0)
			continue;
		memset(p, 0, sizeof *p);
		p->serial = ++s->serials;
		p->job = setup->job;
		p->rank = setup->rank;
		p->n_ranks = setup->n_ranks;
		p->wanted = setup->neighbours;
		p->joins = setup->joins;
		p->mean = sim_mean_create(setup->rank, setup->n_ranks, setup->active);
		p->state = CONTROL_RANK_STARTING;
		if (h->manner != SIM_PUPPET_NEVER_READY)
			sim_puppet_later(s, node, p, h->load_ms, SIM_P_LOADED);
		return;
	}
}

void sim_puppet_msg(struct sim_nodes *s, uint32_t node, const struct id *job, const struct worker_msg *msg)
{
	struct puppet *p = of_job(s, node, job);

	sim_trace(s, node, "orders worker", worker_type_text(msg->type));
	if (p == NULL)
		return;
	if (msg->type == WORKER_RANK_GONE) {
		p->gone |= UINT64_C(1) << msg->u.gone.rank;
		sim_puppet_later(s, node, p, 0, SIM_P_BEAT);
	} else if (msg->type == WORKER_COLLECT) {
		sim_mean_plan(p, &msg->u.collect);
		sim_puppet_later(s, node, p, 0, SIM_P_PLAN);
	} else if (msg->type == WORKER_QUIT) {
		ends(s, node, p, 20, 0, 0);
	} else if (msg->type == WORKER_ORDER && s->nodes[node].manner != SIM_PUPPET_DEAF) {
		p->told_stop = 1;
		sim_puppet_later(s, node, p, 200, SIM_P_STOPPED);
	}
}

static void forget(struct puppet *p)
{
	sim_mean_destroy(p->mean);
	memset(p, 0, sizeof *p);
}

static void over(struct sim_nodes *s, uint32_t node, struct puppet *p, int status, int sig)
{
	struct id job = p->job;

	close_links(s, node, &job, 0, 0);
	forget(p);
	sim_step(s, node, &(struct node_event){.type = NODE_EV_WORKER_EXIT, .job = job, .exit_status = status, .exit_signal = sig});
}

void sim_puppet_kill(struct sim_nodes *s, uint32_t node, const struct id *job, int sig)
{
	struct puppet *p = of_job(s, node, job);

	if (p != NULL)
		ends(s, node, p, 1, 0, sig);
}

void sim_puppet_all_die(struct sim_nodes *s, uint32_t node)
{
	for (uint32_t i = 0; i < SIM_PUPPETS; i++)
		forget(&s->nodes[node].puppets[i]);
}

/* The newest link to that rank that both ends have. */
static int wire_to(const struct sim_nodes *s, uint32_t node, const struct puppet *p, uint32_t rank, uint32_t *wire)
{
	for (uint32_t w = (uint32_t)s->n_wires; w-- > 0;)
		for (int e = 0; e < 2; e++) {
			const struct sim_end *end = &s->wires[w].end[e];

			if (end->node != node || !end->open || !end->handed || !s->wires[w].end[!e].handed || end->rank != rank || !id_equal(&end->job, &p->job))
				continue;
			*wire = w;
			return e;
		}
	return -1;
}

void sim_puppet_send(struct sim_nodes *s, uint32_t node, struct puppet *p, uint32_t rank, struct sim_frame f)
{
	struct sim_event sent;
	uint32_t w;
	int end = wire_to(s, node, p, rank, &w);

	if (end < 0)
		return;
	sim_frame_put(s, w, !end, &f);
	soon(&sent, s, node, p, sim_random(s, 3), SIM_P_SENT);
	sent.frame = f;
	sent.rank = rank;
	sim_push(s, sent);
}

void sim_puppet_frame(struct sim_nodes *s, const struct sim_end *to, const struct sim_frame *f)
{
	struct puppet *p = of_job(s, to->node, &to->job);

	if (p != NULL)
		sim_mean_frame(s, to->node, p, to->rank, f);
}

/* A link has been handed to this end; once both ends have it, it is up at both. */
void sim_puppet_link_new(struct sim_nodes *s, uint32_t wire, int end)
{
	struct sim_wire *w = &s->wires[wire];

	close_links(s, w->end[end].node, &w->end[end].job, w->end[end].rank, w->end[end].link);
	for (int e = 0; w->end[0].handed && w->end[1].handed && e < 2; e++) {
		struct sim_end *x = &w->end[e];
		struct puppet *p = of_job(s, x->node, &x->job);
		struct sim_event ev;

		if (!x->open || p == NULL)
			continue;
		soon(&ev, s, x->node, p, 5, SIM_P_LINK_UP);
		ev.link = x->link;
		ev.rank = x->rank;
		sim_push(s, ev);
	}
}

void sim_puppet_link_lost(struct sim_nodes *s, const struct sim_end *e, const char *why)
{
	struct puppet *p = of_job(s, e->node, &e->job);
	struct sim_event ev;

	(void)why;
	if (p == NULL)
		return;
	soon(&ev, s, e->node, p, 0, SIM_P_LINK_DOWN);
	ev.link = e->link;
	ev.rank = e->rank;
	sim_push(s, ev);
}

static void on_link(struct sim_nodes *s, uint32_t node, struct puppet *p, const struct sim_event *e, int up)
{
	struct worker_msg m = {.type = WORKER_LINK_STATE};
	uint64_t bit = UINT64_C(1) << e->rank;
	struct id job = p->job;

	p->up = up ? p->up | bit : p->up & ~bit;
	if (up)
		p->gone &= ~bit;
	sim_mean_link(s, node, p, e->rank, up);
	m.u.link_state.link = e->link;
	m.u.link_state.rank = e->rank;
	m.u.link_state.up = up != 0;
	(void)snprintf(m.u.link_state.why, sizeof m.u.link_state.why, "%s", up ? "" : "end of file");
	say(s, node, &job, &m);
	p = of_job(s, node, &job);
	if (p != NULL)
		try_run(s, node, p);
}

static void on_mishap(struct sim_nodes *s, uint32_t node, struct puppet *p)
{
	struct worker_msg m = {.type = WORKER_FAILED};
	struct id job = p->job;

	switch (s->nodes[node].manner) {
	case SIM_PUPPET_CRASHES:
		over(s, node, p, 0, SIGSEGV);
		break;
	case SIM_PUPPET_KILLED:
		over(s, node, p, 0, SIGKILL);
		break;
	case SIM_PUPPET_FAILS:
		m.u.failed.status = ST_NOT_FINITE;
		(void)snprintf(m.u.failed.why, sizeof m.u.failed.why, "loss is not finite at step 42");
		(void)snprintf(m.u.failed.hint, sizeof m.u.failed.hint, "take smaller steps");
		ends(s, node, p, 10, 1, 0);
		say(s, node, &job, &m);
		break;
	case SIM_PUPPET_HANGS:
		p->mute = 1;
		break;
	case SIM_PUPPET_GOOD:
	case SIM_PUPPET_DEAF:
	case SIM_PUPPET_NEVER_READY:
	case SIM_PUPPET_CANNOT_SAVE:
		break;
	}
}

static void on_saved(struct sim_nodes *s, uint32_t node, struct puppet *p)
{
	struct id job = p->job;
	struct worker_msg m;

	if (sim_mean_saved(s, node, p, &m))
		say(s, node, &job, &m);
}

static void on_leaves(struct sim_nodes *s, uint32_t node, struct puppet *p)
{
	struct id job = p->job;
	struct worker_msg m;

	sim_mean_last_word(p->mean, &m);
	ends(s, node, p, 10, m.type == WORKER_FAILED, 0);
	say(s, node, &job, &m);
}

static void beat(struct sim_nodes *s, uint32_t node, struct puppet *p)
{
	uint32_t serial = p->serial;
	struct id job = p->job;

	if (p->mute)
		return;
	p->step += p->state == CONTROL_RANK_RUNNING ? 50 : 0;
	say_progress(s, node, p, WORKER_PROGRESS);
	p = of_job(s, node, &job);
	if (p == NULL || p->serial != serial)
		return;
	sim_mean_look(s, node, p);
	try_run(s, node, p);
}

static void on_state(struct sim_nodes *s, uint32_t node, struct puppet *p, enum control_rank_state state, enum worker_type type)
{
	uint32_t serial = p->serial;
	struct id job = p->job;

	if (p->mute || p->state >= state)
		return;
	p->state = state;
	if (state == CONTROL_RANK_TRAINED)
		sim_mean_trained(s, node, p);
	say_progress(s, node, p, type);
	p = of_job(s, node, &job);
	if (p != NULL && p->serial == serial && type == WORKER_READY) {
		sim_puppet_later(s, node, p, BEAT_MS, SIM_P_BEAT);
		try_run(s, node, p);
	}
}

void sim_puppet_on(struct sim_nodes *s, const struct sim_event *e)
{
	struct puppet *p = s->nodes[e->node].life == e->life ? of_job(s, e->node, &e->job) : NULL;

	if (p == NULL || p->serial != e->serial || s->nodes[e->node].node == NULL)
		return;
	switch (e->what) {
	case SIM_P_LOADED:
		on_state(s, e->node, p, CONTROL_RANK_READY, WORKER_READY);
		break;
	case SIM_P_BEAT:
		sim_puppet_later(s, e->node, p, BEAT_MS, SIM_P_BEAT);
		beat(s, e->node, p);
		break;
	case SIM_P_TRAINED:
	case SIM_P_STOPPED:
		on_state(s, e->node, p, CONTROL_RANK_TRAINED, WORKER_PROGRESS);
		break;
	case SIM_P_MISHAP:
		on_mishap(s, e->node, p);
		break;
	case SIM_P_PLAN:
		sim_mean_look(s, e->node, p);
		break;
	case SIM_P_SENT:
		sim_mean_sent(s, e->node, p, e->rank, e->frame.plan, e->frame.segment);
		break;
	case SIM_P_NEWS:
		if (!p->mute)
			say_progress(s, e->node, p, WORKER_PROGRESS);
		break;
	case SIM_P_SAVED:
		on_saved(s, e->node, p);
		break;
	case SIM_P_LEAVES:
		on_leaves(s, e->node, p);
		break;
	case SIM_P_EXIT:
		over(s, e->node, p, e->status, e->sig);
		break;
	case SIM_P_LINK_UP:
	case SIM_P_LINK_DOWN:
		on_link(s, e->node, p, e, e->what == SIM_P_LINK_UP);
		break;
	}
}
