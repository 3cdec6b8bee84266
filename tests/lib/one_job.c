/* Jobs for the one node under test. See one_job.h. */
#include "tests/lib/one_job.h"

#include "libcore/base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct id one_job_id(void)
{
	return one_id(0xa0);
}

static void fill(struct job_record *r, uint32_t workers)
{
	r->id = one_job_id();
	r->created_ms = 77;
	r->spec = mem_strdup("name: ctr\n");
	if (r->spec == NULL)
		abort();
	(void)snprintf(r->terms.name, sizeof r->terms.name, "ctr");
	(void)snprintf(r->terms.topology, sizeof r->terms.topology, "ring");
	r->terms.workers_min = r->terms.workers_max = workers;
	r->terms.wait_ms = 20000;
	r->terms.link_timeout_ms = 3000;
	r->terms.step_timeout_ms = 2000;
}

struct peer_msg one_record(uint8_t proposer, uint32_t attempt, uint32_t workers)
{
	struct peer_msg m = {.type = PEER_JOB_RECORD};

	fill(&m.u.record, workers);
	m.u.record.submitter = one_id(proposer);
	m.u.record.ballot.attempt = attempt;
	m.u.record.ballot.proposer = one_id(proposer);
	return m;
}

struct peer_msg one_roster(uint8_t proposer, uint32_t attempt, const uint8_t *ranks, uint32_t n)
{
	struct peer_msg m = one_record(proposer, attempt, n);
	struct job_record *r = &m.u.record;

	r->n_ranks = n;
	r->ranks = mem_alloc(n, sizeof *r->ranks);
	if (r->ranks == NULL)
		abort();
	for (uint32_t i = 0; i < n; i++) {
		r->ranks[i].version = 1;
		r->ranks[i].view.rank = i;
		r->ranks[i].view.node = one_id(ranks[i]);
		r->ranks[i].view.state = CONTROL_RANK_INVITED;
		(void)snprintf(r->ranks[i].view.node_name, 64, "peer-%02x", ranks[i]);
	}
	return m;
}

struct node_event one_submit(struct job_record *out, uint32_t workers)
{
	memset(out, 0, sizeof *out);
	fill(out, workers);
	return (struct node_event){.type = NODE_EV_SUBMIT, .record = out};
}

void one_checked(struct one *o, int ok, const char *why)
{
	struct node_event ev = {.type = NODE_EV_CHECKED, .job = one_job_id(), .ok = (uint8_t)ok};

	(void)snprintf(ev.why.msg, sizeof ev.why.msg, "%s", why);
	one_step(o, &ev);
}

void one_take_part(struct one *o, uint64_t conn, uint8_t proposer, uint32_t attempt, const uint8_t *ranks, uint32_t n)
{
	struct peer_msg record = one_record(proposer, attempt, n), roster = one_roster(proposer, attempt, ranks, n);
	struct peer_msg offer = {.type = PEER_JOB_OFFER};

	offer.u.job_offer.job = one_job_id();
	offer.u.job_offer.ballot = record.u.record.ballot;
	one_msg(o, conn, &record);
	one_msg(o, conn, &offer);
	one_checked(o, 1, "");
	one_msg(o, conn, &roster);
}

void one_worker(struct one *o, const struct worker_msg *msg)
{
	struct worker_msg m = *msg;

	one_step(o, &(struct node_event){.type = NODE_EV_WORKER_MSG, .job = one_job_id(), .worker = &m});
}

void one_ready(struct one *o)
{
	one_worker(o, &(struct worker_msg){.type = WORKER_READY, .u.progress.state = CONTROL_RANK_READY});
}

void one_progress(struct one *o, enum control_rank_state state)
{
	one_worker(o, &(struct worker_msg){.type = WORKER_PROGRESS, .u.progress.state = state});
}

void one_exit(struct one *o, int status, int signal)
{
	one_step(o, &(struct node_event){.type = NODE_EV_WORKER_EXIT, .job = one_job_id(), .exit_status = status, .exit_signal = signal});
}

void one_rank_is(struct one *o, uint64_t conn, uint8_t proposer, uint32_t attempt, uint32_t rank, uint8_t node, enum control_rank_state state, const char *why)
{
	static uint64_t version = 1;
	struct peer_msg m = {.type = PEER_JOB_RANK};

	m.u.job_rank.job = one_job_id();
	m.u.job_rank.ballot.attempt = attempt;
	m.u.job_rank.ballot.proposer = one_id(proposer);
	m.u.job_rank.rank.version = ++version;
	m.u.job_rank.rank.view.rank = rank;
	m.u.job_rank.rank.view.node = one_id(node);
	m.u.job_rank.rank.view.state = state;
	(void)snprintf(m.u.job_rank.rank.view.node_name, 64, "peer-%02x", node);
	(void)snprintf(m.u.job_rank.rank.view.why, 200, "%s", why);
	one_msg(o, conn, &m);
}

static struct control_job view(const struct one *o)
{
	struct id id = one_job_id();
	struct control_job j;

	if (node_view_job(o->node, &id, &j) != ST_OK)
		abort();
	return j;
}

struct control_rank one_rank(const struct one *o, uint32_t r)
{
	struct control_job j = view(o);
	struct control_rank rank = {0};

	if (r < j.n_ranks)
		rank = j.ranks[r];
	mem_free(j.ranks);
	mem_free(j.spec);
	return rank;
}

enum control_phase one_phase(const struct one *o, char why[256])
{
	struct control_job j = view(o);

	if (why != NULL)
		memcpy(why, j.why, 256);
	mem_free(j.ranks);
	mem_free(j.spec);
	return j.phase;
}
