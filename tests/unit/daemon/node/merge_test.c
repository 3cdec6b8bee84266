/* Merging records: associative, commutative, idempotent, whatever the copies are; and out of memory. */
#include "daemon/node/merge.h"

#include "libcore/base/buf.h"
#include "libcore/base/mem.h"
#include "libcore/base/rng.h"
#include "tests/lib/fail_mem.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static uint64_t seed, draws;

static uint32_t draw(uint32_t below)
{
	struct rng_stream s = rng_stream(seed, RNG_TEST, 0, 0, 0);

	return rng_below(&s, draws++, below);
}

static void fill(struct job_rank *k, uint32_t rank, uint32_t node)
{
	k->version = 1 + draw(4); /* what a version says is the writer's, so it is the same everywhere */
	k->view.rank = rank;
	k->view.node.b[0] = (uint8_t)node;
	k->view.state = (enum control_rank_state)(CONTROL_RANK_INVITED + k->version);
	k->view.step = 10 * k->version;
}

static void roster(struct job_record *r)
{
	uint32_t start, late = draw(3);

	start = 2 + r->ballot.attempt % 2; /* one ballot has one roster ... */
	r->n_ranks = start + late; /* ... which grows; two nodes may have been let in under one number */
	r->ranks = mem_alloc(r->n_ranks, sizeof *r->ranks);
	r->started_ms = 1000 + r->ballot.attempt;
	for (uint32_t i = 0; i < r->n_ranks; i++) {
		fill(&r->ranks[i], i, i < start ? i + 1 : 20 + 2 * i + draw(2));
		r->ranks[i].active = i < start ? 0 : (UINT64_C(2) << i) - 1;
	}
}

/* A copy that one of the nodes could hold. */
static struct job_record random_copy(void)
{
	struct job_record r = {.created_ms = 5};

	r.id.b[0] = 1;
	r.spec = mem_strdup("name: x\n");
	r.ballot.attempt = draw(3);
	r.ballot.proposer.b[0] = (uint8_t)(r.ballot.attempt > 0 ? 1 + draw(2) : 0);
	if (r.ballot.attempt > 0 && draw(2) == 0)
		roster(&r);
	r.order.counter = draw(3);
	r.order.kind = r.order.counter > 0 ? JOB_ORDER_STOP : JOB_ORDER_NONE;
	r.order.node.b[0] = (uint8_t)draw(2);
	r.collect.plan = draw(3);
	r.collect.ranks = r.collect.plan > 0 ? draw(4) : 0;
	r.mean.of = draw(3);
	r.mean.n_metrics = r.mean.of > 0 ? draw(2) : 0;
	r.mean.metrics[0].value = r.mean.n_metrics > 0 ? draw(3) : 0;
	r.verdict.failed = (uint8_t)draw(2);
	(void)snprintf(r.verdict.why, sizeof r.verdict.why, "%s", r.verdict.failed && draw(2) == 0 ? "b" : r.verdict.failed ? "a" : "");
	r.ended_ms = draw(3);
	return r;
}

static struct job_record merged(const struct job_record *a, const struct job_record *b, enum merge_change *change)
{
	struct job_record out;

	cr_assert_eq(merge_copy(&out, a), ST_OK);
	cr_assert_eq(merge_record(&out, b, change), ST_OK);
	return out;
}

static int same(const struct job_record *a, const struct job_record *b)
{
	struct buf x = {0}, y = {0};
	int equal;

	cr_assert_eq(job_record_encode(&x, a, NULL), ST_OK);
	cr_assert_eq(job_record_encode(&y, b, NULL), ST_OK);
	equal = x.len == y.len && memcmp(x.data, y.data, x.len) == 0;
	buf_fini(&x);
	buf_fini(&y);
	return equal;
}

static void fini(struct job_record *list, int n)
{
	for (int i = 0; i < n; i++)
		job_record_fini(&list[i]);
}

Test(merge, is_commutative_associative_and_idempotent)
{
	enum merge_change c;

	for (seed = 1; seed <= 3000; seed++) {
		struct job_record r[3], m[7];

		draws = 0;
		for (int i = 0; i < 3; i++)
			r[i] = random_copy();
		m[0] = merged(&r[0], &r[1], &c);
		m[1] = merged(&r[1], &r[0], &c);
		m[2] = merged(&m[0], &r[2], &c);
		m[3] = merged(&r[1], &r[2], &c);
		m[4] = merged(&r[0], &m[3], &c);
		cr_assert(same(&m[0], &m[1]), "not commutative, seed %lu", (unsigned long)seed);
		cr_assert(same(&m[2], &m[4]), "not associative, seed %lu", (unsigned long)seed);
		m[5] = merged(&m[2], &m[2], &c);
		cr_assert(same(&m[5], &m[2]) && c == MERGE_NOTHING, "not idempotent, seed %lu", (unsigned long)seed);
		m[6] = merged(&m[2], &r[1], &c);
		cr_assert(same(&m[6], &m[2]) && c == MERGE_NOTHING, "an old copy changes it, seed %lu", (unsigned long)seed);
		fini(r, 3);
		fini(m, 7);
	}
}

static struct job_record with_roster(uint32_t attempt)
{
	struct job_record r = {.ballot.attempt = attempt};

	seed = 1;
	draws = 0;
	r.id.b[0] = 1;
	r.spec = mem_strdup("x");
	roster(&r);
	return r;
}

Test(merge, a_change_of_state_is_told_from_progress)
{
	struct job_record r = with_roster(1);
	struct job_rank news = r.ranks[1];

	cr_assert_eq(merge_rank(&r, &r.ballot, &news), MERGE_NOTHING);
	news.version++;
	news.view.step++;
	cr_assert_eq(merge_rank(&r, &r.ballot, &news), MERGE_PROGRESS);
	news.version++;
	news.view.state = CONTROL_RANK_FAILED;
	cr_assert_eq(merge_rank(&r, &r.ballot, &news), MERGE_STATE);
	cr_assert_eq(r.ranks[1].view.state, CONTROL_RANK_FAILED);
	job_record_fini(&r);
}

Test(merge, news_of_another_ballot_another_node_or_no_such_rank_are_dropped)
{
	struct job_record r = with_roster(2);
	struct job_ballot older = {.attempt = 1}, same_ballot = r.ballot;
	struct job_rank news = r.ranks[1];

	news.version = 99;
	cr_assert_eq(merge_rank(&r, &older, &news), MERGE_NOTHING);
	news.view.node.b[0] = 77;
	cr_assert_eq(merge_rank(&r, &same_ballot, &news), MERGE_NOTHING);
	news.view.rank = r.n_ranks;
	cr_assert_eq(merge_rank(&r, &same_ballot, &news), MERGE_NOTHING);
	job_record_fini(&r);
}

Test(merge, a_stop_is_never_taken_back_and_an_older_attempt_brings_no_roster)
{
	struct job_record a = with_roster(2), b = with_roster(1);
	enum merge_change c;

	a.order.kind = JOB_ORDER_STOP;
	a.order.counter = 1;
	b.order.counter = 9;
	cr_assert_eq(merge_record(&a, &b, &c), ST_OK);
	cr_assert_eq(c, MERGE_NOTHING);
	cr_assert_eq(a.order.kind, JOB_ORDER_STOP);
	cr_assert_eq(a.ballot.attempt, 2);
	job_record_fini(&a);
	job_record_fini(&b);
}

Test(merge, plan_mean_and_end_go_with_their_ballot)
{
	struct job_record old = with_roster(1), newer = with_roster(2);
	enum merge_change c;

	old.collect.plan = 70;
	old.collect.ranks = 1;
	old.mean.of = 3;
	old.ended_ms = 5;
	cr_assert_eq(merge_record(&newer, &old, &c), ST_OK);
	cr_assert_eq(newer.collect.plan, 0);
	cr_assert_eq(merge_record(&old, &newer, &c), ST_OK);
	cr_assert_eq(old.collect.plan, 0);
	cr_assert_eq(old.mean.of, 0);
	cr_assert_eq(old.ended_ms, 0);
	job_record_fini(&old);
	job_record_fini(&newer);
}

Test(merge, without_memory_the_record_stays_as_it_was)
{
	struct job_record a = with_roster(1), b = with_roster(2), copy;
	enum merge_change c;

	fail_mem_at(0);
	cr_assert_eq(merge_record(&a, &b, &c), ST_NOMEM);
	cr_assert_eq(merge_copy(&copy, &a), ST_NOMEM);
	fail_mem_at(1);
	cr_assert_eq(merge_copy(&copy, &a), ST_NOMEM);
	cr_assert_eq(fail_mem_outstanding(), 0);
	fail_mem_off();
	cr_assert_eq(a.ballot.attempt, 1);
	cr_assert(a.n_ranks >= 3 && a.n_ranks <= 5);
	job_record_fini(&a);
	job_record_fini(&b);
}
