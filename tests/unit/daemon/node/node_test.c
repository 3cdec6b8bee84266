/* The door: configurations, hostile bytes, no memory at any allocation, limits, views. */
#include "tests/lib/one_job.h"

#include "libcore/base/buf.h"
#include "libcore/base/mem.h"
#include "libcore/base/rng.h"
#include "tests/lib/fail_mem.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static const uint8_t ranks[] = {0x10, 0x50, 0x90};

Test(node, bad_configurations_are_refused)
{
	struct node_config cfg;
	struct error err = {0};
	struct node *n = NULL;

	node_config_default(&cfg);
	cr_assert_eq(node_create(&n, &cfg, &err), ST_INVALID);
	cfg.id = one_id(1);
	cfg.silence_ms = cfg.ping_ms;
	cr_assert_eq(node_create(&n, &cfg, &err), ST_INVALID);
	cr_assert_not_null(strstr(err.msg, "ping (1000 ms) less than silence"), "%s", err.msg);
	node_destroy(NULL);
}

/* A whole life in a few steps: seed, peers, a job from the offer to its mean. */
static void story(struct one *o)
{
	one_seed(o, "10.0.0.9:17326");
	one_peer(o, 1, 0x10);
	one_peer(o, 2, 0x90);
	one_take_part(o, 1, 0x10, 1, ranks, 3);
	one_rank_is(o, 1, 0x10, 1, 0, 0x10, CONTROL_RANK_READY, "");
	one_rank_is(o, 2, 0x10, 1, 2, 0x90, CONTROL_RANK_READY, "");
	one_ready(o);
	one_progress(o, CONTROL_RANK_RUNNING);
	one_lost(o, 1, "reset");
	one_tick(o, o->now + 2900);
	one_msg(o, 2, &(struct peer_msg){.type = PEER_PING});
	one_tick(o, o->now + 2200);
	one_progress(o, CONTROL_RANK_TRAINED);
	one_rank_is(o, 2, 0x10, 1, 2, 0x90, CONTROL_RANK_TRAINED, "");
	one_tick(o, o->now + 100);
}

Test(node, any_allocation_may_fail_and_nothing_breaks_or_leaks)
{
	struct one o;

	for (int k = 0; k < 60; k++) {
		one_init(&o);
		one_start(&o);
		fail_mem_at(k);
		one_seed(&o, "10.0.0.9:17326");
		one_peer(&o, 1, 0x20);
		one_msg(&o, 1, &(struct peer_msg){.type = PEER_PING});
		one_tick(&o, o.now + 1000);
		one_tick(&o, o.now + 5000);
		fail_mem_off();
		story(&o); /* with memory again, all goes on */
		cr_assert_eq(one_phase(&o, NULL), CONTROL_FINISHING);
		one_fini(&o);
	}
}

/* One allocation after another fails in every single step of the story's job. */
static void with_failures(struct one *o, struct node_event *ev, const struct peer_msg *msg)
{
	for (int k = 0; k < 12; k++) {
		struct peer_msg m = *msg;

		if (msg->type == PEER_JOB_RECORD && (m.u.record.spec = mem_strdup(msg->u.record.spec)) != NULL) {
			m.u.record.ranks = mem_alloc(m.u.record.n_ranks, sizeof *m.u.record.ranks);
			memcpy(m.u.record.ranks, msg->u.record.ranks, m.u.record.n_ranks * sizeof *m.u.record.ranks);
		}
		ev->msg = &m;
		fail_mem_at(k);
		one_step(o, ev);
		fail_mem_off();
		peer_msg_fini(&m);
		one_tick(o, o->now + 10);
	}
}

Test(node, a_step_without_memory_is_made_up_for_later)
{
	struct peer_msg record = one_record(0x10, 1, 3), roster = one_roster(0x10, 1, ranks, 3), offer = {.type = PEER_JOB_OFFER};
	struct node_event ev = {.type = NODE_EV_CONN_MSG, .conn = 1};
	struct one o;

	one_init(&o);
	one_start(&o);
	one_peer(&o, 1, 0x10);
	one_peer(&o, 2, 0x90);
	offer.u.job_offer.job = one_job_id();
	offer.u.job_offer.ballot = record.u.record.ballot;
	record.u.record.ranks = mem_alloc(0, 1);
	with_failures(&o, &ev, &record);
	with_failures(&o, &ev, &offer);
	one_checked(&o, 1, "");
	with_failures(&o, &ev, &roster);
	cr_assert_eq(one_rank(&o, 1).state, CONTROL_RANK_STARTING);
	peer_msg_fini(&record);
	peer_msg_fini(&roster);
	one_fini(&o);
}

/* Messages of every type with any content, as the codec lets them pass. */
static struct peer_msg noise(const struct rng_stream *s, uint64_t *i)
{
	struct peer_msg m = {0};
	uint32_t type = 1 + rng_below(s, (*i)++, 13);

	if (type == PEER_JOB_RECORD)
		m = rng_below(s, (*i)++, 2) == 0 ? one_record(0x10, rng_below(s, (*i)++, 4), 2) : one_roster(0x90, rng_below(s, (*i)++, 4), ranks, 3);
	else if (type != PEER_MEMBERS)
		for (size_t k = 0; k < sizeof m.u.job_rank; k++, (*i)++)
			((uint8_t *)&m.u)[k] = (uint8_t)(rng_below(s, *i, 256) & (k % 3 == 0 ? 3 : 255));
	m.type = (enum peer_type)type;
	if (type == PEER_JOB_RECORD)
		return m;
	m.u.job_rank.rank.view.why[199] = m.u.job_rank.rank.view.node_name[63] = '\0';
	if (type == PEER_JOB_RANK || type == PEER_JOB_OFFER || type == PEER_JOB_ANSWER || type == PEER_LINK_OFFER || type == PEER_LINK_ANSWER)
		m.u.job_rank.job = one_job_id();
	if (type == PEER_JOB_RANK)
		m.u.job_rank.rank.view.n_metrics %= CONTROL_MAX_METRICS;
	return m;
}

static void end_texts(struct peer_msg *m)
{
	if (m->type == PEER_HELLO) {
		m->u.hello.name[63] = m->u.hello.cluster[63] = m->u.hello.address[63] = m->u.hello.version[15] = '\0';
	} else if (m->type == PEER_BYE) {
		m->u.bye.why[199] = '\0';
	} else if (m->type == PEER_JOB_ANSWER) {
		m->u.job_answer.why[199] = '\0';
	} else if (m->type == PEER_LINK_ANSWER) {
		m->u.link_answer.why[159] = '\0';
	} else if (m->type == PEER_LINK_HELLO) {
		m->u.link_hello.cluster[63] = '\0';
	}
}

Test(node, any_message_at_any_time_is_survived)
{
	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct rng_stream s = rng_stream(seed, RNG_TEST, 1, 2, 3);
		uint64_t i = 0;
		struct one o;

		one_init(&o);
		one_start(&o);
		one_peer(&o, 1, 0x10);
		one_take_part(&o, 1, 0x10, 1, ranks, 3);
		one_ready(&o);
		for (uint64_t conn = 10; conn < 200; conn++) {
			struct peer_msg m = noise(&s, &i);

			end_texts(&m);
			if (conn % 3 == 0)
				one_peer(&o, conn, (uint8_t)(1 + rng_below(&s, i++, 250)));
			else
				one_opened(&o, conn, 1, "10.0.0.9:1");
			one_msg(&o, conn, &m);
			one_tick(&o, o.now + rng_below(&s, i++, 400));
		}
		one_fini(&o);
	}
}

Test(node, of_two_hundred_and_fifty_six_jobs_the_oldest_that_ended_makes_room)
{
	struct control_job *list;
	struct one o;
	size_t n;

	one_init(&o);
	one_start(&o);
	for (uint32_t k = 0; k < 300; k++) {
		struct job_record r;
		struct node_event ev = one_submit(&r, 1);

		r.id.b[1] = (uint8_t)(k >> 8);
		r.id.b[2] = (uint8_t)k;
		r.created_ms = k;
		if (k != 7)
			r.order.kind = JOB_ORDER_STOP;
		r.order.counter = 1;
		o.now += 10;
		one_step(&o, &ev);
	}
	cr_assert_eq(node_view_jobs(o.node, &list, &n), ST_OK);
	cr_assert_eq(n, 256);
	cr_assert_eq(list[0].created_ms, 299);
	cr_assert_eq(list[255].created_ms, 7, "a job that is not over stays");
	mem_free(list);
	one_fini(&o);
}

Test(node, views_give_copies_and_say_what_is_unknown)
{
	struct control_job job;
	struct id unknown = one_id(3);
	struct error err;
	struct one o;

	one_init(&o);
	one_start(&o);
	story(&o);
	cr_assert_eq(node_view_job(o.node, &unknown, &job), ST_NOT_FOUND);
	cr_assert_null(node_record(o.node, &unknown));
	cr_assert_eq(node_find_to_stop(o.node, "nope", &unknown, &err), ST_NOT_FOUND);
	unknown = one_job_id();
	cr_assert_eq(node_view_job(o.node, &unknown, &job), ST_OK);
	cr_assert_eq(job.n_ranks_sent, 3);
	cr_assert_str_eq(job.spec, "name: ctr\n");
	cr_assert_eq(job.phase, CONTROL_FINISHING);
	mem_free(job.ranks);
	mem_free(job.spec);
	one_fini(&o);
}

static void submit_as(struct one *o, uint8_t first, int stopped)
{
	struct job_record r;
	struct node_event ev = one_submit(&r, 1);

	r.id.b[0] = first;
	r.created_ms = first;
	r.order.kind = stopped ? JOB_ORDER_STOP : JOB_ORDER_NONE;
	r.order.counter = (uint64_t)stopped;
	one_step(o, &ev);
}

Test(node, a_stop_by_name_means_the_one_job_that_has_not_ended_and_never_one_of_several)
{
	struct error err = {0};
	struct id found;
	struct one o;

	one_init(&o);
	one_start(&o);
	submit_as(&o, 0xa1, 0);
	submit_as(&o, 0xb2, 1); /* newer, and over */
	cr_assert_eq(node_find_to_stop(o.node, "ctr", &found, &err), ST_OK);
	cr_assert_eq(found.b[0], 0xa1);
	submit_as(&o, 0xc3, 0);
	cr_assert_eq(node_find_to_stop(o.node, "ctr", &found, &err), ST_INVALID);
	cr_assert(strstr(err.msg, "\"ctr\" can mean 2 jobs that have not ended: a1") != NULL && strstr(err.msg, "), c3") != NULL, "%s", err.msg);
	cr_assert_null(strstr(err.msg, "b2"), "%s", err.msg);
	cr_assert_not_null(strstr(err.hint, "give the id"));
	cr_assert_eq(node_find_to_stop(o.node, "a1", &found, &err), ST_OK, "an id is exact");
	cr_assert_eq(node_find_to_stop(o.node, "b2", &found, &err), ST_STATE);
	one_fini(&o);
}
