/* What a record means: the table of phases, and the sentence that goes with each. */
#include "daemon/node/phase.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

/* Ranks in letters: Invited Starting rEady Running Trained Done Failed Lost stOpped. */
static const char letters[] = "?ISERTDFLO";

static const struct {
	const char *ranks;
	uint64_t gone;
	int stop, fail_on_loss, verdict;
	enum control_phase phase;
	const char *why;
} rows[] = {
	{"", 0, 0, 0, 0, CONTROL_WAITING, "peers 1/2"},
	{"", 0, 1, 0, 0, CONTROL_STOPPED, "stopped before it started"},
	{"", 0, 0, 0, 1, CONTROL_FAILED, "the verdict"},
	{"IIII", 0, 0, 0, 0, CONTROL_STARTING, "loaded on n0, n1, n2, n3"},
	{"ESER", 0, 0, 0, 0, CONTROL_STARTING, "loaded on n1"},
	{"EERR", 0, 0, 0, 0, CONTROL_STARTING, "links are being made by n0, n1"},
	{"RRRR", 0, 0, 0, 0, CONTROL_RUNNING, ""},
	{"RTTR", 0, 0, 0, 0, CONTROL_RUNNING, ""},
	{"TTTT", 0, 0, 0, 0, CONTROL_FINISHING, "waits for n0, n1, n2, n3"},
	{"DTDT", 0, 0, 0, 0, CONTROL_FINISHING, "waits for n1, n3"},
	{"DDDD", 0, 0, 0, 0, CONTROL_DONE, ""},
	{"RRRR", 4, 0, 0, 0, CONTROL_RUNNING, "goes on with 3 of 4 ranks; rank 2 (n2): its node cannot be reached"},
	{"RRRR", 4, 0, 1, 0, CONTROL_FAILED, "lost rank 2 (n2): its node cannot be reached"},
	{"RRLR", 0, 0, 0, 0, CONTROL_RUNNING, "goes on with 3 of 4 ranks; rank 2 (n2): reason 2"},
	{"RRLR", 0, 0, 1, 0, CONTROL_FAILED, "lost rank 2 (n2): reason 2"},
	{"RFLR", 0, 0, 1, 0, CONTROL_FAILED, "rank 1 (n1): reason 1"},
	{"RRRF", 7, 0, 0, 0, CONTROL_FAILED, "rank 3 (n3): reason 3"},
	{"RRTR", 4, 0, 0, 0, CONTROL_RUNNING, "goes on with 3 of 4 ranks; rank 2 (n2)"},
	{"DDTD", 4, 0, 0, 0, CONTROL_DONE, "3 of 4 ranks finished; rank 2 (n2): its node cannot be reached"},
	{"DDDD", 4, 0, 1, 0, CONTROL_DONE, ""},
	{"DDLD", 0, 0, 0, 0, CONTROL_DONE, "3 of 4 ranks finished; rank 2 (n2): reason 2"},
	{"LLLL", 0, 0, 0, 0, CONTROL_FAILED, "all 4 ranks were lost; rank 0 (n0): reason 0"},
	{"RRRR", 15, 0, 0, 0, CONTROL_FAILED, "all 4 ranks were lost; rank 0 (n0): its node cannot be reached"},
	{"RRTO", 0, 1, 0, 0, CONTROL_STOPPING, "waits for n0, n1, n2"},
	{"OOOO", 0, 1, 0, 0, CONTROL_STOPPED, "stopped by order"},
	{"OOLO", 0, 1, 0, 0, CONTROL_STOPPED, "stopped by order; 3 of 4 ranks finished; rank 2 (n2): reason 2"},
	{"DDDD", 0, 1, 0, 0, CONTROL_DONE, ""},
	{"DDOD", 0, 1, 0, 0, CONTROL_STOPPED, "stopped by order"},
	{"RRRR", 0, 1, 0, 1, CONTROL_FAILED, "the verdict"},
	/* the last one came late: it counts once it has run */
	{"RRRi", 0, 0, 0, 0, CONTROL_RUNNING, ""},
	{"RRRe", 8, 0, 1, 0, CONTROL_RUNNING, ""},
	{"RRRl", 0, 0, 1, 0, CONTROL_RUNNING, ""},
	{"TTTs", 0, 0, 0, 0, CONTROL_FINISHING, "waits for n0, n1, n2"},
	{"DDDe", 0, 0, 0, 0, CONTROL_DONE, ""},
	{"RRRr", 8, 0, 0, 0, CONTROL_RUNNING, "goes on with 3 of 4 ranks; rank 3 (n3)"},
	{"DDDr", 0, 0, 0, 0, CONTROL_RUNNING, ""},
};

/* Small letters are ranks that came late: iserdl. */
static char late_letter(char c)
{
	return c >= 'a' ? (char)(c - 'a' + 'A') : c;
}

static void make(struct job_record *r, struct job_rank ranks[8], size_t i)
{
	memset(r, 0, sizeof *r);
	memset(ranks, 0, 8 * sizeof ranks[0]);
	r->ranks = ranks;
	r->n_ranks = (uint32_t)strlen(rows[i].ranks);
	(void)snprintf(r->why, sizeof r->why, "peers 1/2");
	r->order.kind = rows[i].stop ? JOB_ORDER_STOP : JOB_ORDER_NONE;
	r->terms.fail_on_loss = (uint8_t)rows[i].fail_on_loss;
	r->verdict.failed = (uint8_t)rows[i].verdict;
	(void)snprintf(r->verdict.why, sizeof r->verdict.why, "the verdict");
	for (uint32_t k = 0; k < r->n_ranks; k++) {
		struct control_rank *v = &ranks[k].view;

		v->rank = k;
		ranks[k].active = rows[i].ranks[k] >= 'a' ? 15 : 0;
		v->state = (enum control_rank_state)(strchr(letters, late_letter(rows[i].ranks[k])) - letters);
		(void)snprintf(v->node_name, sizeof v->node_name, "n%u", k);
		if (phase_rank_is_final(v->state))
			(void)snprintf(v->why, sizeof v->why, "reason %u", k);
	}
}

Test(phase, follows_from_the_ranks_and_from_who_is_dead)
{
	struct job_rank ranks[8];
	struct job_record r;
	struct phase p;

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		make(&r, ranks, i);
		phase_derive(&p, &r, rows[i].gone);
		cr_assert_eq(p.phase, rows[i].phase, "row %zu (%s): %s (%s)", i, rows[i].ranks, control_phase_text(p.phase), p.why);
		cr_assert(rows[i].why[0] == '\0' ? p.why[0] == '\0' : strstr(p.why, rows[i].why) != NULL, "row %zu (%s): \"%s\"", i, rows[i].ranks, p.why);
		cr_assert_eq(p.by_loss, rows[i].fail_on_loss && strncmp(rows[i].why, "lost", 4) == 0, "row %zu", i);
	}
}

Test(phase, links_that_are_missing_are_named_by_their_ends)
{
	struct job_rank ranks[8];
	struct job_record r;
	struct phase p;

	make(&r, ranks, 5); /* EERR */
	ranks[0].view.links_down = 4;
	ranks[1].view.links_down = 4;
	ranks[2].view.links_down = 2; /* one link, missed at both ends */
	phase_derive(&p, &r, 0);
	cr_assert_eq(p.phase, CONTROL_STARTING);
	cr_assert_str_eq(p.why, "links are being made: n0 - n2, n1 - n2");
	phase_derive(&p, &r, 4); /* to a lost rank none is made */
	cr_assert_str_eq(p.why, "links are being made by n0, n1");
}

Test(phase, waits_for_those_without_the_mean_and_then_for_those_that_save_it)
{
	struct job_rank ranks[8];
	struct job_record r;
	struct phase p;

	make(&r, ranks, 8); /* TTTT */
	ranks[0].view.mean_of = ranks[2].view.mean_of = 4;
	phase_derive(&p, &r, 0);
	cr_assert_eq(p.lack, 10);
	cr_assert_eq(p.trained, 15);
	cr_assert_str_eq(p.why, "the mean of the models is being computed; waits for n1, n3");
	ranks[1].view.mean_of = ranks[3].view.mean_of = 4;
	phase_derive(&p, &r, 0);
	cr_assert_eq(p.lack, 0);
	cr_assert_str_eq(p.why, "the mean of the models is being saved; waits for n0, n1, n2, n3");
}

Test(phase, names_who_ended_without_the_mean_and_why)
{
	struct job_rank ranks[8];
	struct job_record r;
	struct phase p;

	make(&r, ranks, 10); /* DDDD */
	for (uint32_t k = 0; k < 4; k++)
		ranks[k].view.mean_of = k < 2 ? 2 : 0;
	ranks[3].view.no_mean = 1;
	(void)snprintf(ranks[3].view.why, sizeof ranks[3].view.why, "without the mean: nobody reached");
	phase_derive(&p, &r, 0);
	cr_assert_eq(p.phase, CONTROL_DONE);
	cr_assert_str_eq(p.why, "rank 3 (n3) ended without the mean: nobody reached", "rank 2 is of an older release: it says nothing");
	ranks[2].view.no_mean = 1;
	(void)snprintf(ranks[2].view.why, sizeof ranks[2].view.why, "without the mean: cut off");
	phase_derive(&p, &r, 0);
	cr_assert_str_eq(p.why, "rank 2 (n2) and 1 more ended without the mean: cut off");
	(void)snprintf(ranks[2].view.why, sizeof ranks[2].view.why, "was told to stop and got nowhere in 30 s: killed");
	phase_derive(&p, &r, 0);
	cr_assert_str_eq(p.why, "rank 2 (n2) and 1 more ended without the mean: was told to stop and got nowhere in 30 s: killed");
}

#define RUNNING_ROW 6 /* RRRR */

Test(phase, a_rank_whose_model_has_another_size_fails_the_job_and_is_named)
{
	struct job_rank ranks[8];
	struct job_record r;
	struct phase p;

	make(&r, ranks, RUNNING_ROW);
	for (uint32_t k = 1; k < 4; k++)
		ranks[k].view.n_params = 592;
	phase_derive(&p, &r, 0);
	cr_assert_eq(p.phase, CONTROL_RUNNING, "rank 0 has not said it yet: %s", p.why);
	ranks[0].view.n_params = 127;
	phase_derive(&p, &r, 0);
	cr_assert_eq(p.phase, CONTROL_FAILED);
	cr_assert_str_eq(p.why, "rank 0 (n0) has a model of 127 parameters, rank 1 (n1) one of 592");
	cr_assert_not_null(strstr(p.hint, "data.buckets"), "%s", p.hint);
	ranks[0].view.n_params = 592;
	ranks[3].view.n_params = 127;
	phase_derive(&p, &r, 4);
	cr_assert_str_eq(p.why, "rank 3 (n3) has a model of 127 parameters, rank 0 (n0) one of 592", "also when another is lost");
}

Test(phase, one_that_comes_late_with_another_model_is_unlike_the_others_and_they_go_on)
{
	struct job_rank ranks[8];
	struct job_record r;
	struct phase p;
	char why[200];

	make(&r, ranks, RUNNING_ROW);
	ranks[3].active = 15;
	for (uint32_t k = 0; k < 4; k++)
		ranks[k].view.n_params = 592;
	cr_assert(!phase_late_is_unlike(&r, 3, why, sizeof why));
	ranks[3].view.n_params = 0;
	cr_assert(!phase_late_is_unlike(&r, 3, why, sizeof why), "it has not said it yet");
	ranks[3].view.n_params = 127;
	cr_assert(phase_late_is_unlike(&r, 3, why, sizeof why));
	cr_assert_str_eq(why, "rank 3 (n3) has a model of 127 parameters, rank 0 (n0) one of 592");
	phase_derive(&p, &r, 0);
	cr_assert_eq(p.phase, CONTROL_RUNNING);
}

Test(phase, knows_who_is_left_lost_and_waiting_for_the_mean)
{
	struct job_rank ranks[8];
	struct job_record r;
	struct phase p;

	make(&r, ranks, 9); /* DTDT */
	phase_derive(&p, &r, 8);
	cr_assert_eq(p.left, 7);
	cr_assert_eq(p.lost, 8);
	cr_assert_eq(p.trained, 2);
}

Test(phase, a_pipeline_puts_stages_together_and_is_not_told_to_go_on_without_one)
{
	struct job_rank ranks[8];
	struct job_record r;
	struct phase p;

	make(&r, ranks, 8); /* TTTT */
	r.terms.stages = 4;
	r.terms.fail_on_loss = 1;
	phase_derive(&p, &r, 0);
	cr_assert_str_eq(p.why, "the stages are being put together; waits for n0, n1, n2, n3");
	phase_derive(&p, &r, 2);
	cr_assert_eq(p.phase, CONTROL_FAILED);
	cr_assert_not_null(strstr(p.hint, "needs all its stages"), "%s", p.hint);
	cr_assert_null(strstr(p.hint, "continue"), "%s", p.hint);
}

Test(phase, a_sentence_that_is_too_long_is_cut_and_never_overflows)
{
	struct job_rank ranks[64] = {0};
	struct job_record r = {.ranks = ranks, .n_ranks = 64};
	struct phase p;

	for (uint32_t k = 0; k < 64; k++) {
		ranks[k].view.state = CONTROL_RANK_INVITED;
		memset(ranks[k].view.node_name, 'n', sizeof ranks[k].view.node_name - 1);
	}
	phase_derive(&p, &r, 0);
	cr_assert_eq(p.phase, CONTROL_STARTING);
	cr_assert_eq(strlen(p.why), sizeof p.why - 1);
}

Test(phase, a_failed_job_hints_what_its_worker_did_or_else_where_the_log_is)
{
	struct job_rank ranks[8];
	struct job_record r;
	struct phase p;

	make(&r, ranks, 8); /* TTTT */
	r.id.b[0] = 0x3f;
	ranks[2].view.state = CONTROL_RANK_FAILED;
	phase_derive(&p, &r, 0);
	cr_assert_eq(p.phase, CONTROL_FAILED);
	cr_assert_str_eq(p.hint, "see the job's log on n2: run `dadamctl logs 3f0000` there");
	(void)snprintf(ranks[2].view.hint, sizeof ranks[2].view.hint, "a smaller learning_rate often helps");
	phase_derive(&p, &r, 0);
	cr_assert_str_eq(p.hint, "a smaller learning_rate often helps");
}
