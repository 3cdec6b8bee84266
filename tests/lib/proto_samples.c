/* See proto_samples.h. */
#include "tests/lib/proto_samples.h"

#include "tests/lib/sample_values.h"

#include <math.h>

const uint8_t sample_peer_types[] = {PEER_HELLO, PEER_PING, PEER_PONG, PEER_MEMBERS, PEER_BYE,
		PEER_JOB_RECORD, PEER_JOB_RANK, PEER_JOB_OFFER, PEER_JOB_ANSWER, PEER_LINK_OFFER,
		PEER_LINK_ANSWER, PEER_LINK_HELLO, PEER_LINK_ACCEPT, 0};
const uint8_t sample_worker_types[] = {WORKER_SETUP, WORKER_LINK_HANDOVER, WORKER_RANK_GONE, WORKER_ORDER,
		WORKER_COLLECT, WORKER_QUIT, WORKER_READY, WORKER_PROGRESS, WORKER_LOG, WORKER_LINK_STATE,
		WORKER_MEAN, WORKER_DONE, WORKER_FAILED, WORKER_ROSTER, 0};

int sample_is_greatest;
uint32_t sample_last;

static uint32_t fill_metrics(struct control_metric metrics[CONTROL_MAX_METRICS])
{
	uint32_t n = sample_is_greatest ? CONTROL_MAX_METRICS : 2;

	for (uint32_t i = 0; i < n; i++) {
		TEXT(metrics[i].name);
		metrics[i].value = real_number();
	}
	return n;
}

static void fill_stage(struct control_stage *s)
{
	s->stage = within(0, CONTROL_STAGES - 1);
	s->first_layer = within(0, CONTROL_MAX_LAYERS - 1);
	s->n_layers = within(0, CONTROL_MAX_LAYERS);
	s->busy_permille = within(0, 1000);
	s->wait_up_permille = within(0, 1000);
	s->wait_down_permille = within(0, 1000);
	s->kept = u32();
	s->kept_most = u32();
}

static void fill_progress(struct control_rank *r)
{
	r->step = u64();
	r->round = u64();
	r->loss = real_number();
	r->payload_bytes = u64();
	r->wire_bytes = u64();
	r->compute_s = real_number();
	r->wait_s = real_number();
	r->waiting_for = sample_is_greatest ? (int32_t)CONTROL_MAX_RANKS - 1 : -1;
	r->links_up = within(1, CONTROL_MAX_RANKS);
	r->links_wanted = within(1, CONTROL_MAX_RANKS);
	r->missed_segments = u64();
	r->metrics_step = u64();
	r->n_metrics = fill_metrics(r->metrics);
	r->n_params = u64();
	r->train_rows = u64();
	r->test_rows = u64();
	r->n_stages = sample_is_greatest ? 1 : 2;
	for (uint32_t i = 0; i < r->n_stages; i++)
		fill_stage(&r->stages[i]);
	r->samples = u32();
	r->iteration_s = real_number();
	r->links_down = u64();
	r->mean_of = within(1, CONTROL_MAX_RANKS);
	r->plan = u32();
	r->no_mean = 1;
}

static void fill_rank(struct control_rank *r, uint32_t rank)
{
	r->rank = rank;
	r->node = id();
	TEXT(r->node_name);
	r->state = within(CONTROL_RANK_INVITED, CONTROL_RANK_STOPPED);
	TEXT(r->why);
	TEXT(r->hint);
	fill_progress(r);
	r->news_ms = u64();
}

static void fill_job(struct control_job *j, int with_ranks)
{
	j->id = id();
	TEXT(j->name);
	TEXT(j->algorithm);
	TEXT(j->topology);
	TEXT(j->plugin);
	j->phase = within(CONTROL_WAITING, CONTROL_STOPPED);
	TEXT(j->why);
	TEXT(j->hint);
	j->steps_total = u64();
	j->created_ms = u64();
	j->started_ms = u64();
	j->ended_ms = u64();
	j->submitter = id();
	TEXT(j->digest);
	j->workers_min = within(1, CONTROL_MAX_RANKS);
	j->workers_max = within(1, CONTROL_MAX_RANKS);
	j->n_ranks = within(1, CONTROL_MAX_RANKS);
	j->n_left = within(1, CONTROL_MAX_RANKS);
	j->active = u64();
	j->step_min = u64();
	j->step_max = u64();
	j->loss = real_number();
	j->mean_of = within(1, CONTROL_MAX_RANKS);
	j->n_mean_metrics = fill_metrics(j->mean_metrics);
	j->stages = within(1, CONTROL_STAGES);
	if (!with_ranks)
		return;
	j->n_ranks_sent = sample_is_greatest ? CONTROL_MAX_RANKS : 2;
	j->ranks = mem_alloc(j->n_ranks_sent, sizeof *j->ranks);
	for (uint32_t i = 0; i < j->n_ranks_sent; i++)
		fill_rank(&j->ranks[i], i);
	j->spec = string(JOB_MAX_SPEC);
}

static void fill_member(struct control_member *m)
{
	m->id = id();
	TEXT(m->name);
	TEXT(m->address);
	m->state = within(CONTROL_ALIVE, CONTROL_LEFT);
	m->self = 1;
	m->inbound = 1;
	TEXT(m->flags);
	m->rtt_us = u32();
	m->seen_ms = u64();
	TEXT(m->version);
	TEXT(m->note);
	TEXT(m->local);
	m->state_ms = u64();
	m->session_ms = u64();
	m->protocol_min = u32();
	m->protocol_max = u32();
}

static void fill_places(struct control_response *m)
{
	m->n_places = 3;
	m->places = mem_alloc(m->n_places, sizeof *m->places);
	for (size_t i = 0; i < m->n_places; i++) {
		struct control_place *p = &m->places[i];

		TEXT(p->address);
		TEXT(p->flags);
		p->current = 1;
		p->trying = 1;
		p->reach = within(CONTROL_REACH_REFUSED, CONTROL_REACH_OTHER);
		p->tries = u32();
		p->worked_ms = u64();
		p->failed_ms = u64();
		p->next_ms = u64();
		TEXT(p->note);
	}
}

static void fill_error(struct error *e, enum status st)
{
	e->status = st;
	TEXT(e->msg);
	TEXT(e->hint);
}

static void fill_status(struct control_status *s)
{
	s->node = id();
	TEXT(s->node_name);
	TEXT(s->cluster);
	TEXT(s->listen);
	TEXT(s->version);
	s->up_ms = u64();
	s->alive = u32();
	s->suspect = u32();
	s->dead = u32();
	s->jobs_running = u32();
	s->jobs_waiting = u32();
	s->loop_lag_us = u32();
	s->resident_bytes = u64();
	s->open = 1;
	TEXT(s->state_dir);
	TEXT(s->data_roots);
	fill_error(&s->unwritten, ST_IO);
	s->unwritten_ms = u64();
}

void sample_request(struct control_request *m, enum control_request_type type, enum sample_size size)
{
	start(size);
	memset(m, 0, sizeof *m);
	m->type = type;
	TEXT(m->job);
	TEXT(m->source);
	m->offset = u64();
	m->take = CONTROL_TAKE_LOCAL;
	TEXT(m->node);
	if (type != CONTROL_SUBMIT)
		return;
	m->spec = string(JOB_MAX_SPEC);
	m->spec_len = strlen(m->spec);
}

static void fill_chunk(struct control_response *m)
{
	m->chunk_len = sample_is_greatest ? CONTROL_MAX_CHUNK : 100;
	m->chunk = mem_alloc(m->chunk_len, 1);
	fill_bytes(m->chunk, m->chunk_len);
}

void sample_response(struct control_response *m, enum control_request_type type, enum sample_size size)
{
	start(size);
	memset(m, 0, sizeof *m);
	m->type = type;
	m->status = within(ST_NOMEM, ST_BUG);
	fill_error(&m->error, m->status);
	fill_error(&m->warning, ST_INVALID);
	fill_status(&m->info);
	m->total = u64();
	m->ended = 1;
	if (type == CONTROL_PEERS) {
		m->n_members = sample_is_greatest ? CONTROL_MAX_MEMBERS : 3;
		m->members = mem_alloc(m->n_members, sizeof *m->members);
		for (size_t i = 0; i < m->n_members; i++)
			fill_member(&m->members[i]);
		if (!sample_is_greatest) /* one node's places never come with the whole list */
			fill_places(m);
	}
	if (type == CONTROL_JOBS || type == CONTROL_JOB) {
		m->n_jobs = type == CONTROL_JOB ? 1 : sample_is_greatest ? CONTROL_MAX_JOBS : 3;
		m->jobs = mem_alloc(m->n_jobs, sizeof *m->jobs);
		for (size_t i = 0; i < m->n_jobs; i++)
			fill_job(&m->jobs[i], type == CONTROL_JOB);
	}
	if (type == CONTROL_LOG || type == CONTROL_EXPORT)
		fill_chunk(m);
}

static void fill_terms(struct job_terms *t)
{
	TEXT(t->name);
	TEXT(t->algorithm);
	TEXT(t->topology);
	TEXT(t->plugin);
	t->workers_min = within(1, JOB_MAX_RANKS);
	t->workers_max = within(1, JOB_MAX_RANKS);
	t->wait_ms = u64();
	t->steps = u64();
	t->seed = u64();
	t->fail_on_loss = 1;
	t->link_timeout_ms = u64();
	t->step_timeout_ms = u64();
	t->stages = within(1, CONTROL_STAGES);
	TEXT(t->place);
	t->elastic = 1;
}

static struct job_ballot ballot(void)
{
	uint32_t attempt = u32();

	return (struct job_ballot){attempt, id()};
}

/* Who was there when rank i came: itself, and some of those before it. */
static uint64_t late(uint32_t i)
{
	uint64_t own = (uint64_t)1 << i;

	return i > 0 ? own | (u64() & (own - 1)) : 0;
}

static void fill_record(struct job_record *m)
{
	m->id = id();
	m->submitter = id();
	m->created_ms = u64();
	TEXT(m->digest);
	m->spec = string(JOB_MAX_SPEC);
	fill_terms(&m->terms);
	m->ballot = ballot();
	m->n_ranks = sample_is_greatest ? JOB_MAX_RANKS : 3;
	m->ranks = mem_alloc(m->n_ranks, sizeof *m->ranks);
	for (uint32_t i = 0; i < m->n_ranks; i++) {
		m->ranks[i].version = u64();
		fill_rank(&m->ranks[i].view, i);
		m->ranks[i].active = late(i);
	}
	m->started_ms = u64();
	m->ended_ms = u64();
	m->order = (struct job_order){.counter = u64(), .kind = JOB_ORDER_STOP};
	m->order.node = id();
	m->order.at_ms = u64();
	m->collect.plan = within(1, JOB_MAX_RANKS);
	m->collect.ranks = u64();
	m->mean.of = within(1, JOB_MAX_RANKS);
	m->mean.n_metrics = fill_metrics(m->mean.metrics);
	m->verdict.failed = 1;
	TEXT(m->verdict.why);
	TEXT(m->verdict.hint);
	TEXT(m->why);
}

void sample_record(struct job_record *m, enum sample_size size)
{
	start(size);
	memset(m, 0, sizeof *m);
	fill_record(m);
}

static void fill_hello(struct peer_hello *h)
{
	h->protocol_min = u32();
	h->protocol_max = u32();
	h->node = id();
	h->incarnation = u64();
	TEXT(h->name);
	TEXT(h->cluster);
	TEXT(h->address);
	TEXT(h->version);
}

static void fill_members(struct peer_members *m)
{
	m->n_items = sample_is_greatest ? PEER_MAX_MEMBERS : 3;
	m->items = mem_alloc(m->n_items, sizeof *m->items);
	for (size_t i = 0; i < m->n_items; i++) {
		m->items[i].id = id();
		m->items[i].incarnation = u64();
		TEXT(m->items[i].name);
		TEXT(m->items[i].address);
		m->items[i].state = within(CONTROL_ALIVE, CONTROL_LEFT);
	}
}

static void fill_link_offer(struct peer_link_offer *o)
{
	o->job = id();
	o->ballot = ballot();
	o->link = u64();
	fill_bytes(o->secret, sizeof o->secret);
	o->rank_from = within(1, JOB_MAX_RANKS - 1);
	o->rank_to = within(1, JOB_MAX_RANKS - 1);
	o->dial = PEER_ANSWERER_DIALS;
}

static void fill_link_hello(struct peer_link_hello *h)
{
	h->protocol_min = u32();
	h->protocol_max = u32();
	TEXT(h->cluster);
	h->job = id();
	h->link = u64();
	h->rank_from = within(1, JOB_MAX_RANKS - 1);
	fill_bytes(h->secret, sizeof h->secret);
}

static void fill_peer(struct peer_msg *m)
{
	switch (m->type) {
	case PEER_HELLO:
		fill_hello(&m->u.hello);
		break;
	case PEER_PING:
	case PEER_PONG:
		m->u.ping.seq = u64();
		m->u.ping.sent_us = u64();
		break;
	case PEER_MEMBERS:
		fill_members(&m->u.members);
		break;
	case PEER_BYE:
		m->u.bye.status = within(ST_NOMEM, ST_BUG);
		TEXT(m->u.bye.why);
		break;
	case PEER_JOB_RECORD:
		fill_record(&m->u.record);
		break;
	case PEER_JOB_RANK:
		m->u.job_rank.job = id();
		m->u.job_rank.ballot = ballot();
		m->u.job_rank.rank.version = u64();
		fill_rank(&m->u.job_rank.rank.view, within(1, JOB_MAX_RANKS - 1));
		m->u.job_rank.rank.active = late(m->u.job_rank.rank.view.rank);
		break;
	case PEER_JOB_OFFER:
		m->u.job_offer.job = id();
		m->u.job_offer.ballot = ballot();
		break;
	case PEER_JOB_ANSWER:
		m->u.job_answer.job = id();
		m->u.job_answer.ballot = ballot();
		m->u.job_answer.accepted = 1;
		TEXT(m->u.job_answer.why);
		break;
	case PEER_LINK_OFFER:
		fill_link_offer(&m->u.link_offer);
		break;
	case PEER_LINK_ANSWER:
		m->u.link_answer.job = id();
		m->u.link_answer.link = u64();
		m->u.link_answer.accepted = 1;
		TEXT(m->u.link_answer.why);
		break;
	case PEER_LINK_HELLO:
		fill_link_hello(&m->u.link_hello);
		break;
	case PEER_LINK_ACCEPT:
		m->u.link_accept.link = u64();
		break;
	}
}

void sample_peer(struct peer_msg *m, enum peer_type type, enum sample_size size)
{
	start(size);
	memset(m, 0, sizeof *m);
	m->type = type;
	fill_peer(m);
}

static void fill_setup(struct worker_setup *s)
{
	s->job = id();
	TEXT(s->job_name);
	s->n_ranks = JOB_MAX_RANKS;
	s->rank = within(1, JOB_MAX_RANKS - 1);
	s->neighbours = u64();
	s->spec = string(JOB_MAX_SPEC);
	s->names = string(JOB_MAX_RANKS * (size_t)64);
	TEXT(s->plugin_path);
	TEXT(s->data_roots);
	TEXT(s->job_dir);
	s->joins = 1;
	s->rows_rank = within(1, JOB_MAX_RANKS - 1);
	s->rows_of = within(1, JOB_MAX_RANKS);
	s->active = u64();
}

static void fill_worker(struct worker_msg *m)
{
	switch (m->type) {
	case WORKER_SETUP:
		fill_setup(&m->u.setup);
		break;
	case WORKER_LINK_HANDOVER:
		m->u.handover.link = u64();
		m->u.handover.rank = within(1, JOB_MAX_RANKS - 1);
		m->u.handover.accepted = 1;
		break;
	case WORKER_RANK_GONE:
		m->u.gone.rank = within(1, JOB_MAX_RANKS - 1);
		TEXT(m->u.gone.why);
		break;
	case WORKER_ROSTER:
		m->u.roster = (struct worker_roster){.n_ranks = within(1, JOB_MAX_RANKS)};
		m->u.roster.active = u64();
		m->u.roster.neighbours = u64();
		break;
	case WORKER_ORDER:
		m->u.order.kind = JOB_ORDER_STOP;
		break;
	case WORKER_COLLECT:
		m->u.collect.plan = within(1, JOB_MAX_RANKS);
		m->u.collect.ranks = u64();
		m->u.collect.lack = u64();
		m->u.collect.least = within(1, JOB_MAX_RANKS + 1);
		break;
	case WORKER_READY:
	case WORKER_PROGRESS:
		m->u.progress.state = within(CONTROL_RANK_INVITED, CONTROL_RANK_STOPPED);
		fill_progress(&m->u.progress.view);
		m->u.progress.steps_total = u64();
		break;
	case WORKER_LOG:
		m->u.log.level = (uint8_t)within(1, 2);
		TEXT(m->u.log.text);
		break;
	case WORKER_LINK_STATE:
		m->u.link_state.link = u64();
		m->u.link_state.rank = within(1, JOB_MAX_RANKS - 1);
		m->u.link_state.up = 1;
		TEXT(m->u.link_state.why);
		break;
	case WORKER_MEAN:
		m->u.mean.of = within(1, JOB_MAX_RANKS);
		m->u.mean.n_metrics = fill_metrics(m->u.mean.metrics);
		break;
	case WORKER_FAILED:
		m->u.failed.status = within(ST_NOMEM, ST_BUG);
		TEXT(m->u.failed.why);
		TEXT(m->u.failed.hint);
		break;
	case WORKER_DONE:
		TEXT(m->u.done.why);
		break;
	case WORKER_QUIT:
		break;
	}
}

void sample_worker(struct worker_msg *m, enum worker_type type, enum sample_size size)
{
	start(size);
	memset(m, 0, sizeof *m);
	m->type = type;
	fill_worker(m);
}
