/* The shell of a rank's pipeline stages: events in, actions out. See pipe.h.
 *
 *   pipe_link, pipe_place ◄── links         on_done (pipe.c) ◄── compute
 *        │ pipe_push                              │
 *        ▼                                        ▼
 *   pipe_pump: one event ─► the stage's machine ─► carry_out: frames, orders, events for a stage in this process
 *
 * What is sent within the process is held first and taken when no event is under way, one after another: so a
 * stage that has just said READ off gets nothing more. */
#include "daemon/worker/pipe_private.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

void pipe_push(struct pipe *p, uint32_t node, struct pipeline_event ev)
{
	assert(p->queue_n < PIPE_QUEUE);
	p->queue[(p->queue_first + p->queue_n++) % PIPE_QUEUE] = (struct pipe_queued){.node = node, .ev = ev};
}

/* ---- actions ---- */

/* The slot of the link on that side; -1: the neighbour is in this process, or the link is gone. */
static int slot_of(const struct pipe_node *node, enum pipeline_side side)
{
	const struct pipe *p = node->all;
	uint32_t i = node->stage - p->first;

	if (side == PIPELINE_UPSTREAM)
		return i == 0 ? p->slot_up : -1;
	return i + 1 == p->n ? p->slot_down : -1;
}

/* The neighbour in this process; NULL: it is another rank's. */
static struct pipe_node *local(const struct pipe_node *node, enum pipeline_side side)
{
	struct pipe *p = node->all;
	uint32_t i = node->stage - p->first;

	if (side == PIPELINE_UPSTREAM)
		return i > 0 ? &p->nodes[i - 1] : NULL;
	return i + 1 < p->n ? &p->nodes[i + 1] : NULL;
}

static enum pipeline_side other(enum pipeline_side side)
{
	return side == PIPELINE_UPSTREAM ? PIPELINE_DOWNSTREAM : PIPELINE_UPSTREAM;
}

/* A small frame to the rank on that side, or its event to the stage in this process. */
static void tell(struct pipe_node *node, enum pipeline_side side, const struct link_msg *m, struct pipeline_event ev)
{
	struct pipe_node *to = local(node, side);
	int slot = slot_of(node, side);

	ev.side = other(side);
	if (to != NULL)
		pipe_push(node->all, to->stage - node->all->first, ev);
	else if (slot >= 0)
		links_send(node->all->links, (uint32_t)slot, m);
}

static uint32_t data_crc(const struct pipe *p)
{
	struct pipe_stage_plan plan;

	pipe_stage_plan(p->nodes[0].work, &plan);
	return plan.data_crc;
}

static void tell_begin(struct pipe_node *node)
{
	struct pipe *p = node->all;
	const struct dadam_info *info = plugin_info(pipe_stage_plugin(p->nodes[0].work));
	struct link_msg m = {.type = LINK_PIPELINE_BEGIN, .u.pipeline = {.n_stages = p->cfg.spec->pipeline.stages,
			.train_rows = info->train_rows, .test_rows = info->test_rows,
			.data_crc = data_crc(p)}};

	for (uint32_t s = 0; s < m.u.pipeline.n_stages; s++)
		m.u.pipeline.stages[s].layer = p->cut[s];
	tell(node, PIPELINE_DOWNSTREAM, &m, (struct pipeline_event){.type = PIPELINE_EV_BEGIN});
}

static void tell_end(struct pipe_node *node, enum pipeline_side side, enum link_type type, enum pipeline_event_type event,
		uint64_t iteration)
{
	struct link_msg m = {.type = type, .u.end = {.iteration = iteration}};

	tell(node, side, &m, (struct pipeline_event){.type = event, .iteration = iteration});
}

static void tell_lost(struct pipe_node *node, const struct pipeline_action *a)
{
	struct link_msg m = {.type = LINK_PIPELINE_LOST, .u.lost = {.stage = a->stage}};

	tell(node, a->side, &m, (struct pipeline_event){.type = PIPELINE_EV_TOLD_LOST, .stage = a->stage});
}

static void send_on(struct pipe_node *node, const struct pipeline_action *a)
{
	struct pipe *p = node->all;
	struct link_msg m = {.type = a->what == PIPELINE_GRADIENT ? LINK_ACTIVATION_GRAD : LINK_ACTIVATION,
			.u.activation = {.iteration = a->iteration, .sample = a->sample,
					.pass = a->what == PIPELINE_CHUNK ? LINK_PASS_TEST : LINK_PASS_TRAIN,
					.total = pipe_stage_numbers_out(node->work, a->what, a->sample)}};
	int slot = slot_of(node, a->side);
	struct error err = {0};

	if (local(node, a->side) != NULL) {
		assert(node->n_held < PIPE_HELD);
		node->held[node->n_held++] = *a;
		return;
	}
	if (slot < 0)
		return; /* LOST is on its way */
	if (links_send_tensor(p->links, (uint32_t)slot, &m, pipe_stage_output(node->work, a->what, a->out), &err) != ST_OK)
		pipe_fail(p, &err);
}

static void set_reading(struct pipe_node *node, int on)
{
	int slot = slot_of(node, PIPELINE_UPSTREAM);

	node->reading_off = !on;
	if (slot >= 0)
		links_read(node->all->links, (uint32_t)slot, on);
}

static void close_side(struct pipe_node *node, const struct pipeline_action *a)
{
	int slot = slot_of(node, a->side);
	struct error err;

	if (slot >= 0) {
		links_close(node->all->links, (uint32_t)slot, a->why);
		return;
	}
	(void)error_set(&err, ST_BUG, "stage %u and its neighbour in this worker do not agree: %s", node->stage, a->why);
	if (local(node, a->side) != NULL)
		pipe_fail(node->all, &err);
}

static void operate(struct pipe_node *node, const struct pipeline_action *a)
{
	struct pipe *p = node->all;

	if (!p->has_begun) {
		p->has_begun = 1;
		p->window_stepped_ns = uv_hrtime();
		p->cfg.host.begun(p->cfg.host.data);
	}
	node->op = *a;
	pipe_give_order(node, PIPE_OPERATION);
}

static void on_trained(struct pipe_node *node, const struct pipeline_action *a)
{
	struct pipe *p = node->all;
	int stopped = 0;

	node->trained = 1;
	node->stopped = a->stopped;
	for (uint32_t i = 0; i < p->n; i++) {
		if (!p->nodes[i].trained)
			return;
		stopped |= p->nodes[i].stopped;
	}
	p->cfg.host.trained(p->cfg.host.data, stopped);
}

static void on_failed(struct pipe_node *node, const struct pipeline_action *a)
{
	struct pipe *p = node->all;

	char why[240];

	if (p->is_over)
		return;
	p->is_over = 1;
	(void)snprintf(why, sizeof why, "%s%s%s", a->why, p->ended_why[0] != '\0' && p->ended_stage == a->stage ? ": " : "",
			p->ended_stage == a->stage ? p->ended_why : "");
	p->cfg.host.lost(p->cfg.host.data, pipe_rank_of(p, a->stage), why);
}

static void carry_out(struct pipe_node *node, const struct pipeline_action *a)
{
	switch (a->type) {
	case PIPELINE_DO_BEGIN:
		tell_begin(node);
		break;
	case PIPELINE_DO_FORWARD:
	case PIPELINE_DO_BACKWARD:
	case PIPELINE_DO_STEP:
	case PIPELINE_DO_EVALUATE:
		operate(node, a);
		break;
	case PIPELINE_DO_SEND:
		send_on(node, a);
		break;
	case PIPELINE_DO_READ:
		set_reading(node, a->on);
		break;
	case PIPELINE_DO_END:
		tell_end(node, PIPELINE_DOWNSTREAM, LINK_PIPELINE_END, PIPELINE_EV_END, a->iteration);
		break;
	case PIPELINE_DO_ASK_STOP:
		tell_end(node, PIPELINE_UPSTREAM, LINK_PIPELINE_ASK_STOP, PIPELINE_EV_ASK_STOP,
				node->shown.iterations);
		break;
	case PIPELINE_DO_TELL_LOST:
		tell_lost(node, a);
		break;
	case PIPELINE_DO_CLOSE:
		close_side(node, a);
		break;
	case PIPELINE_DO_TRAINED:
		on_trained(node, a);
		break;
	case PIPELINE_DO_FAILED:
		on_failed(node, a);
		break;
	}
}

void pipe_carry_out(struct pipe_node *node, const struct pipeline_actions *actions)
{
	for (uint32_t i = 0; i < actions->n; i++)
		carry_out(node, &actions->list[i]);
}

/* ---- the pump ---- */

/* Does the machine belong to compute now? What comes waits in the queue. */
static int is_computes(const struct pipe *p)
{
	return pipe_is_alone(p) && !compute_at_rest(p->nodes[0].compute) && p->nodes[0].order == PIPE_OPERATION;
}

/* The oldest thing that this stage sends within the process: from its place out to the neighbour's place in. Returns
 * 0 when there is none, or the neighbour does not read. */
static int take_held(struct pipe_node *node)
{
	struct pipeline_action a = node->held[0];
	struct pipeline_event ev = {.type = PIPELINE_EV_INPUT, .what = a.what, .iteration = a.iteration, .sample = a.sample};
	struct pipe_node *to = node->n_held > 0 ? local(node, a.side) : NULL;
	struct error err = {0};
	uint32_t place;

	if (to == NULL || (a.side == PIPELINE_DOWNSTREAM && to->reading_off))
		return 0;
	memmove(node->held, node->held + 1, --node->n_held * sizeof *node->held);
	ev.side = other(a.side);
	if (pipeline_place(to->machine, &place, &ev, &err) == ST_OK) /* if not, it says so itself */
		memcpy(pipe_stage_input(to->work, a.what, place), pipe_stage_output(node->work, a.what, a.out),
				pipe_stage_bytes_out(node->work, a.what, a.sample));
	pipe_push(node->all, to->stage - node->all->first, ev);
	pipe_push(node->all, node->stage - node->all->first,
			(struct pipeline_event){.type = PIPELINE_EV_SENT, .side = a.side, .what = a.what});
	return 1;
}

static int take_one_held(struct pipe *p)
{
	for (uint32_t i = 0; i < p->n; i++)
		if (take_held(&p->nodes[i]))
			return 1;
	return 0;
}

void pipe_pump(struct pipe *p)
{
	struct pipeline_actions actions;

	if (p->pumping)
		return;
	p->pumping = 1;
	while (!p->is_over && !is_computes(p) && (p->queue_n > 0 || take_one_held(p))) {
		struct pipe_queued q = p->queue[p->queue_first];
		struct pipe_node *node = &p->nodes[q.node];

		p->queue_first = (p->queue_first + 1) % PIPE_QUEUE;
		p->queue_n--;
		pipeline_step(node->machine, &q.ev, &actions);
		pipe_account(node);
		pipe_carry_out(node, &actions);
	}
	p->pumping = 0;
}

/* ---- links ---- */

static struct pipe_node *node_of(struct pipe *p, enum pipeline_side side)
{
	return side == PIPELINE_UPSTREAM ? &p->nodes[0] : &p->nodes[p->n - 1];
}

static enum pipeline_side side_of(const struct pipe *p, uint32_t rank)
{
	return rank < p->cfg.rank ? PIPELINE_UPSTREAM : PIPELINE_DOWNSTREAM;
}

static struct pipeline_event input_of(const struct link_msg *m)
{
	struct pipeline_event ev = {.type = PIPELINE_EV_INPUT, .side = PIPELINE_UPSTREAM,
			.iteration = m->u.activation.iteration, .sample = m->u.activation.sample};

	ev.what = m->u.activation.pass == LINK_PASS_TEST ? PIPELINE_CHUNK : PIPELINE_ACTIVATION;
	if (m->type == LINK_ACTIVATION_GRAD) {
		ev.what = PIPELINE_GRADIENT;
		ev.side = PIPELINE_DOWNSTREAM;
	}
	return ev;
}

enum status pipe_place(void *data, const struct link_msg *m, uint8_t **place, struct error *err)
{
	struct pipe *p = data;
	struct pipeline_event ev = input_of(m);
	struct pipe_node *node = node_of(p, ev.side);
	uint64_t total;
	uint32_t i;
	enum status st;

	if (node->machine == NULL || !node->has_places)
		return error_set(err, ST_PROTO, "%s before the cut was told", link_type_text(m->type));
	if (m->type == LINK_ACTIVATION_GRAD && m->u.activation.pass != LINK_PASS_TRAIN)
		return error_set(err, ST_PROTO, "a gradient of test rows");
	st = pipeline_place(node->machine, &i, &ev, err);
	if (st != ST_OK)
		return st;
	total = pipe_stage_numbers_in(node->work, ev.what, ev.sample);
	if (m->u.activation.total != total)
		return error_set(err, ST_PROTO, "%s of %llu numbers, %llu are right", link_type_text(m->type),
				(unsigned long long)m->u.activation.total, (unsigned long long)total);
	*place = pipe_stage_input(node->work, ev.what, i);
	return ST_OK;
}

static enum status check_begin(const struct pipe *p, const struct link_pipeline_begin *b, struct error *err)
{
	const struct dadam_info *info = plugin_info(pipe_stage_plugin(p->nodes[0].work));

	if (b->n_stages != p->cfg.spec->pipeline.stages || p->has_cut)
		return error_set(err, ST_PROTO, "a cut into %u stages, the job has %u%s", b->n_stages, p->cfg.spec->pipeline.stages,
				p->has_cut ? ", and it was told before" : "");
	if (b->train_rows != info->train_rows || b->test_rows != info->test_rows)
		return error_set(err, ST_DATA, "rank %u has %llu training and %llu test rows, rank %u has %llu and %llu", p->cfg.rank - 1,
				(unsigned long long)b->train_rows, (unsigned long long)b->test_rows, p->cfg.rank,
				(unsigned long long)info->train_rows, (unsigned long long)info->test_rows);
	if (b->data_crc != data_crc(p)) {
		(void)error_set(err, ST_DATA, "the data files of rank %u are not those of rank %u", p->cfg.rank, p->cfg.rank - 1);
		error_hint(err, "copy the same files to all nodes of a pipeline; compare them by sha256sum");
		return ST_DATA;
	}
	return ST_OK;
}

static void on_begin(struct pipe *p, const struct link_pipeline_begin *b)
{
	uint32_t cut[LINK_MAX_STAGES];
	struct error err = {0};
	enum status st = check_begin(p, b, &err);

	for (uint32_t s = 0; s < b->n_stages; s++)
		cut[s] = b->stages[s].layer;
	if (st == ST_OK)
		st = pipe_take_cut(p, cut, &err);
	if (st == ST_OK)
		pipe_push(p, 0, (struct pipeline_event){.type = PIPELINE_EV_BEGIN, .side = PIPELINE_UPSTREAM});
	else
		pipe_fail(p, &err);
}

static void on_pipeline(struct pipe *p, const struct links_event *from)
{
	const struct link_msg *m = from->msg;
	struct pipeline_event ev = {.side = side_of(p, from->rank)};

	if (m->type == LINK_PIPELINE_BEGIN) {
		on_begin(p, &m->u.pipeline);
		return;
	}
	if (m->type == LINK_PIPELINE_LOST) {
		ev.type = PIPELINE_EV_TOLD_LOST;
		ev.stage = m->u.lost.stage;
	} else {
		ev.type = m->type == LINK_PIPELINE_END ? PIPELINE_EV_END : PIPELINE_EV_ASK_STOP;
		ev.iteration = m->u.end.iteration;
	}
	pipe_push(p, node_of(p, ev.side)->stage - p->first, ev);
}

static int *slot_at(struct pipe *p, enum pipeline_side side)
{
	return side == PIPELINE_UPSTREAM ? &p->slot_up : &p->slot_down;
}

/* WIRE.md 4: "The side that accepted the connection sends `LINK_UP` first; the other answers with its own." */
static void say_up(struct pipe *p, uint32_t slot)
{
	struct link_msg m = {.type = LINK_UP, .u.up = {.rank = p->cfg.rank, .n_params = pipe_n_params(p),
			.segment = p->cfg.spec->segment}};

	links_send(p->links, slot, &m);
}

static void on_open(struct pipe *p, const struct links_event *from)
{
	if (from->rank + 1 != p->cfg.rank && from->rank != p->cfg.rank + 1)
		links_close(p->links, from->slot, "it is no neighbour in the path of the ranks");
	else if (from->accepted)
		say_up(p, from->slot);
}

static void on_up(struct pipe *p, const struct links_event *from)
{
	enum pipeline_side side = side_of(p, from->rank);

	if (*slot_at(p, side) >= 0) {
		links_close(p->links, from->slot, "a second link between the same two ranks");
		return;
	}
	if (!links_up_said(p->links, from->slot))
		say_up(p, from->slot);
	*slot_at(p, side) = (int)from->slot;
	pipe_push(p, node_of(p, side)->stage - p->first, (struct pipeline_event){.type = PIPELINE_EV_UP, .side = side});
}

static void on_closed(struct pipe *p, const struct links_event *from)
{
	enum pipeline_side side = side_of(p, from->rank);
	char text[240];

	if (*slot_at(p, side) != (int)from->slot)
		return; /* it was never up: the daemons make another one */
	*slot_at(p, side) = -1;
	(void)snprintf(text, sizeof text, "the link to rank %u ended: %s", from->rank, from->why);
	p->ended_stage = side == PIPELINE_UPSTREAM ? p->first - 1 : p->first + p->n;
	(void)snprintf(p->ended_why, sizeof p->ended_why, "%.119s", from->why);
	if (!p->nodes[0].trained)
		p->cfg.host.log(p->cfg.host.data, 2, text);
	pipe_push(p, node_of(p, side)->stage - p->first, (struct pipeline_event){.type = PIPELINE_EV_LOST, .side = side});
}

static void on_sent(struct pipe *p, const struct links_event *from)
{
	enum pipeline_side side = from->model == LINK_ACTIVATION ? PIPELINE_DOWNSTREAM : PIPELINE_UPSTREAM;
	struct pipeline_event ev = {.type = PIPELINE_EV_SENT, .side = side,
			.what = side == PIPELINE_UPSTREAM ? PIPELINE_GRADIENT : PIPELINE_ACTIVATION};

	pipe_push(p, node_of(p, side)->stage - p->first, ev);
}

void pipe_link(struct pipe *p, const struct links_event *from)
{
	struct pipeline_event ev;

	if (p->is_over)
		return;
	switch (from->type) {
	case LINKS_OPEN:
		on_open(p, from);
		break;
	case LINKS_UP:
		on_up(p, from);
		break;
	case LINKS_PIPELINE:
		on_pipeline(p, from);
		break;
	case LINKS_TENSOR:
		ev = input_of(from->msg);
		pipe_push(p, node_of(p, ev.side)->stage - p->first, ev);
		break;
	case LINKS_SENT:
		on_sent(p, from);
		break;
	case LINKS_CLOSED:
		on_closed(p, from);
		break;
	case LINKS_BEGIN:
		links_close(p->links, from->slot, "ROUND_BEGIN in a pipeline job");
		break;
	case LINKS_MODEL:
		links_close(p->links, from->slot, "MODEL_DELTA in a pipeline job");
		break;
	case LINKS_ALIVE:
	case LINKS_BYE:
	case LINKS_COPY:
		break;
	}
	pipe_pump(p);
}
