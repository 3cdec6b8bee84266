/* The commands with a fake host: who may, what comes back, what is said when there is nothing. */
#include "daemon/control/control.h"

#include "libcore/base/buf.h"
#include "libcore/base/mem.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

/* What the fake host has, and what was asked of it. */
static struct {
	enum control_phase phase;
	enum status file_status;
	const char *file;
	unsigned stops, submits;
	control_chunk_fn done;
	void *done_data;
	enum control_file asked;
	uint64_t offset;
	enum control_rank_state rest; /* of all ranks but 0, which is lost */
	uint32_t means;               /* bit r: rank r has the mean */
	uint8_t self;                 /* rank of this node */
} fake;

static struct control_response got;
static unsigned answers;
static char chunk[300];

static void on_answer(void *data, const struct control_response *resp)
{
	cr_assert_eq(data, &answers);
	got = *resp; /* lists are only looked at for NULL afterwards */
	if (resp->chunk_len > 0)
		memcpy(chunk, resp->chunk, resp->chunk_len);
	chunk[resp->chunk_len] = '\0';
	answers++;
}

static void fake_status(void *data, struct control_status *out)
{
	(void)data;
	strcpy(out->node_name, "node-a");
	out->node.b[0] = (uint8_t)(1 + fake.self);
}

static enum status fake_members(void *data, struct control_member **out, size_t *n, struct error *err)
{
	(void)data, (void)err;
	*out = mem_alloc(2, sizeof **out);
	*n = 2;
	return ST_OK;
}

static enum status fake_peer(void *data, const char *node, struct control_member *out, struct control_place *places, size_t *n,
		struct error *err)
{
	(void)data;
	if (strcmp(node, "node-b") != 0)
		return error_set(err, ST_NOT_FOUND, "no node \"%s\"", node);
	strcpy(out->name, "node-b");
	strcpy(places[CONTROL_MAX_PLACES - 1].address, "10.0.0.2:17326");
	*n = CONTROL_MAX_PLACES;
	return ST_OK;
}

static enum status fake_jobs(void *data, struct control_job **out, size_t *n, struct error *err)
{
	(void)data;
	*out = NULL;
	*n = 0;
	return error_set(err, ST_NOMEM, "no memory for the list of jobs");
}

static enum status fake_job(void *data, const char *job, struct control_job *out, struct error *err)
{
	(void)data;
	if (strcmp(job, "ctr") != 0)
		return error_set(err, ST_NOT_FOUND, "no job \"%s\"", job);
	strcpy(out->name, "ctr");
	out->id.b[0] = 42;
	out->phase = fake.phase;
	out->spec = mem_strdup("name: ctr");
	out->ranks = mem_alloc(3, sizeof *out->ranks);
	out->n_ranks_sent = 3;
	for (uint32_t i = 0; i < 3; i++) {
		(void)snprintf(out->ranks[i].node_name, sizeof out->ranks[i].node_name, "node-%c", 'a' + (char)i);
		out->ranks[i].node.b[0] = (uint8_t)(1 + i);
		out->ranks[i].step = 7;
		out->ranks[i].mean_of = fake.means >> i & 1 ? 3 : 0;
		strcpy(out->ranks[i].why, out->ranks[i].mean_of > 0 ? "" : "without the mean: nobody reached");
		out->ranks[i].state = i == 0 ? CONTROL_RANK_LOST : fake.rest;
	}
	return ST_OK;
}

static enum status fake_submit(void *data, const struct control_request *req, struct control_job *out,
		struct error *warning, struct error *err)
{
	(void)data, (void)err;
	cr_assert_str_eq(req->spec, "name: ctr");
	(void)error_set(warning, ST_OK, "few rows");
	fake.submits++;
	return fake_job(NULL, "ctr", out, NULL);
}

static enum status fake_stop(void *data, const char *job, struct control_job *out, struct error *err)
{
	(void)data;
	if (strcmp(job, "ctr") != 0)
		return error_set(err, ST_NOT_FOUND, "no job \"%s\"", job);
	if (fake.phase == CONTROL_DONE)
		return error_set(err, ST_STATE, "job ctr is DONE already");
	fake.stops++;
	fake.phase = CONTROL_STOPPING;
	return fake_job(NULL, "ctr", out, NULL);
}

static enum status fake_read(void *data, const struct id *job, enum control_file file, uint64_t offset, size_t cap,
		control_chunk_fn done, void *done_data, struct error *err)
{
	(void)data;
	cr_assert_eq(job->b[0], 42);
	cr_assert_eq(cap, CONTROL_MAX_CHUNK);
	if (fake.file_status == ST_UNAVAILABLE)
		return error_set(err, ST_UNAVAILABLE, "the disk is behind");
	fake.asked = file;
	fake.offset = offset;
	fake.done = done;
	fake.done_data = done_data;
	return ST_OK;
}

static const struct control_host host = {NULL, fake_status, fake_members, fake_peer, fake_jobs, fake_job, fake_submit, fake_stop, fake_read};
static const struct control_caller root = {0, 500}, owner = {500, 500}, stranger = {501, 500};

static void ask(const struct control_caller *who, enum control_request_type type, const char *job)
{
	char spec[] = "name: ctr";
	struct control_request req = {.type = type, .spec = spec, .spec_len = 9, .take = fake.asked == CONTROL_FILE_LOCAL};

	(void)snprintf(req.job, sizeof req.job, "%s", job);
	control_handle(&host, who, &req, on_answer, &answers);
}

/* The disk's answer to the last read. */
static void disk_says(enum status st, const char *text)
{
	struct control_chunk c = {.len = strlen(text), .total = strlen(text) + fake.offset};

	c.bytes = mem_alloc(c.len, 1);
	memcpy(c.bytes, text, c.len);
	if (st != ST_OK)
		(void)error_set(&c.error, st, "not there");
	fake.done(fake.done_data, &c);
}

Test(control, peers_of_a_name_is_one_member_with_its_places)
{
	struct control_request req = {.type = CONTROL_PEERS, .node = "node-b"};

	control_handle(&host, &stranger, &req, on_answer, &answers);
	cr_assert(got.status == ST_OK && got.n_members == 1 && got.n_places == CONTROL_MAX_PLACES);
	(void)snprintf(req.node, sizeof req.node, "node-c");
	control_handle(&host, &stranger, &req, on_answer, &answers);
	cr_assert(got.status == ST_NOT_FOUND && got.n_members == 0 && got.n_places == 0);
	cr_assert_null(got.places);
}

Test(control, every_reading_command_answers_a_stranger)
{
	fake.phase = CONTROL_RUNNING;
	ask(&stranger, CONTROL_STATUS, "");
	cr_assert(answers == 1 && got.status == ST_OK && got.type == CONTROL_STATUS);
	cr_assert_str_eq(got.info.node_name, "node-a");
	ask(&stranger, CONTROL_VERSION_INFO, "");
	cr_assert(answers == 2 && got.type == CONTROL_VERSION_INFO);
	ask(&stranger, CONTROL_PEERS, "");
	cr_assert(answers == 3 && got.status == ST_OK && got.n_members == 2);
	ask(&stranger, CONTROL_JOB, "ctr");
	cr_assert(answers == 4 && got.status == ST_OK && got.n_jobs == 1);
}

Test(control, writing_takes_root_or_the_daemons_user)
{
	static const enum control_request_type writing[] = {CONTROL_SUBMIT, CONTROL_STOP};

	fake.phase = CONTROL_RUNNING;
	for (int i = 0; i < 2; i++) {
		ask(&stranger, writing[i], "ctr");
		cr_assert_eq(got.status, ST_DENIED);
		cr_assert(strstr(got.error.msg, "501") && strstr(got.error.msg, "500") && got.error.hint[0] != '\0');
		cr_assert(fake.stops == 0 && fake.submits == 0);
	}
	ask(&root, CONTROL_SUBMIT, "");
	cr_assert(got.status == ST_OK && fake.submits == 1);
	cr_assert_str_eq(got.warning.msg, "few rows");
	ask(&owner, CONTROL_STOP, "ctr");
	cr_assert(got.status == ST_OK && fake.stops == 1);
	cr_assert_eq(answers, 4);
}

Test(control, a_refusal_of_the_host_comes_back_with_its_sentence)
{
	ask(&root, CONTROL_JOB, "nope");
	cr_assert_eq(got.status, ST_NOT_FOUND);
	cr_assert_str_eq(got.error.msg, "no job \"nope\"");
	ask(&root, CONTROL_JOBS, "");
	cr_assert_eq(got.status, ST_NOMEM);
	fake.phase = CONTROL_DONE;
	ask(&root, CONTROL_STOP, "ctr");
	cr_assert(got.status == ST_STATE && fake.stops == 0);
	ask(&root, CONTROL_LOG, "nope");
	cr_assert_eq(got.status, ST_NOT_FOUND);
	fake.file_status = ST_UNAVAILABLE;
	ask(&root, CONTROL_LOG, "ctr");
	cr_assert_eq(got.status, ST_UNAVAILABLE);
	cr_assert_eq(answers, 5);
}

Test(control, a_refusal_carries_no_half_filled_job_and_can_be_sent)
{
	static const enum control_request_type types[] = {CONTROL_JOB, CONTROL_STOP};

	for (size_t i = 0; i < 2; i++) {
		struct control_request req = {.type = types[i], .job = "nope"};
		struct buf bytes = {0};

		control_handle(&host, &root, &req, on_answer, &answers);
		cr_assert_eq(got.status, ST_NOT_FOUND);
		cr_assert_eq(got.n_jobs, 0);
		got.jobs = NULL;
		cr_assert_eq(control_response_encode(&bytes, &got, NULL), ST_OK);
		buf_fini(&bytes);
	}
}

Test(control, an_unknown_request_is_refused)
{
	ask(&root, (enum control_request_type)77, "");
	cr_assert(answers == 1 && got.status == ST_INVALID);
	cr_assert(strstr(got.error.msg, "77") != NULL);
}

Test(control, a_log_comes_in_chunks_and_ends_with_the_job)
{
	fake.phase = CONTROL_RUNNING;
	ask(&stranger, CONTROL_LOG, "ctr");
	cr_assert_eq(answers, 0, "the disk has not answered yet");
	cr_assert_eq(fake.asked, CONTROL_FILE_LOG);
	disk_says(ST_OK, "line\n");
	cr_assert(answers == 1 && got.status == ST_OK && !got.ended && got.total == 5);
	cr_assert_str_eq(chunk, "line\n");
	ask(&stranger, CONTROL_LOG, "ctr");
	disk_says(ST_NOT_FOUND, "");
	cr_assert(answers == 2 && got.status == ST_OK && got.chunk_len == 0 && !got.ended);
	fake.phase = CONTROL_FAILED;
	ask(&stranger, CONTROL_LOG, "ctr");
	disk_says(ST_OK, "last\n");
	cr_assert(answers == 3 && got.ended);
}

Test(control, an_export_without_a_model_says_what_to_do)
{
	static const struct {
		enum control_phase phase;
		enum status status;
		enum control_rank_state rest;
		uint32_t means;
		uint8_t self;
		const char *word;
	} rows[] = {{CONTROL_RUNNING, ST_STATE, CONTROL_RANK_RUNNING, 0, 0, "watch 2a0000"},
			{CONTROL_WAITING, ST_STATE, CONTROL_RANK_INVITED, 0, 0, "watch 2a0000"},
			{CONTROL_DONE, ST_NOT_FOUND, CONTROL_RANK_DONE, 7, 0, "saved one: node-b, node-c"},
			{CONTROL_DONE, ST_NOT_FOUND, CONTROL_RANK_DONE, 7, 1, "saved one: node-c"},
			{CONTROL_DONE, ST_NOT_FOUND, CONTROL_RANK_DONE, 2, 2, "saved one: node-b"},
			{CONTROL_DONE, ST_NOT_FOUND, CONTROL_RANK_DONE, 0, 1, "show 2a0000"},
			{CONTROL_DONE, ST_NOT_FOUND, CONTROL_RANK_LOST, 7, 0, "show 2a0000"},
			{CONTROL_FAILED, ST_NOT_FOUND, CONTROL_RANK_STOPPED, 7, 0, "show 2a0000"},
			{CONTROL_STOPPED, ST_NOT_FOUND, CONTROL_RANK_STOPPED, 7, 0, "saved one: node-b, node-c"},
			{CONTROL_STOPPED, ST_NOT_FOUND, CONTROL_RANK_LOST, 7, 0, "show 2a0000"}};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		fake.phase = rows[i].phase;
		fake.rest = rows[i].rest;
		fake.means = rows[i].means;
		fake.self = rows[i].self;
		fake.asked = CONTROL_FILE_MEAN;
		ask(&stranger, CONTROL_EXPORT, "ctr");
		disk_says(ST_NOT_FOUND, "");
		cr_assert_eq(got.status, rows[i].status);
		cr_assert(strstr(got.error.hint, rows[i].word) != NULL, "row %zu: %s", i, got.error.hint);
		cr_assert_eq(strstr(got.error.msg, "node: without the mean: nobody reached") != NULL, strstr(rows[i].word, "saved") != NULL &&
				(rows[i].means >> rows[i].self & 1) == 0, "row %zu: %s", i, got.error.msg);
		cr_assert(strstr(got.error.msg, control_phase_text(rows[i].phase)) != NULL);
	}
}

Test(control, a_rank_that_was_killed_on_its_way_to_a_stop_has_saved_no_model)
{
	fake.phase = CONTROL_STOPPED;
	fake.rest = CONTROL_RANK_STOPPED;
	fake.asked = CONTROL_FILE_LOCAL;
	fake.means = 0;
	ask(&stranger, CONTROL_EXPORT, "ctr");
	disk_says(ST_NOT_FOUND, "");
	cr_assert_not_null(strstr(got.error.hint, "show 2a0000"), "%s", got.error.hint);
	fake.means = 2;
	ask(&stranger, CONTROL_EXPORT, "ctr");
	disk_says(ST_NOT_FOUND, "");
	cr_assert_not_null(strstr(got.error.hint, "saved one: node-b"), "%s", got.error.hint);
}

Test(control, an_export_gives_the_file_that_was_asked_for)
{
	fake.phase = CONTROL_DONE;
	fake.asked = CONTROL_FILE_LOCAL;
	ask(&stranger, CONTROL_EXPORT, "ctr");
	cr_assert_eq(fake.asked, CONTROL_FILE_LOCAL);
	disk_says(ST_OK, "model bytes");
	cr_assert(answers == 1 && got.status == ST_OK);
	cr_assert_str_eq(chunk, "model bytes");
	fake.asked = CONTROL_FILE_LOG;
	ask(&stranger, CONTROL_EXPORT, "ctr");
	cr_assert_eq(fake.asked, CONTROL_FILE_MEAN);
	disk_says(ST_IO, "");
	cr_assert(answers == 2 && got.status == ST_IO);
}
