/* The real dadamctl against a fake daemon: what it prints, where, and how it exits.
 *
 * The fake is a child process that answers each request by a scenario, so that every way in which a
 * daemon can misbehave is tried without one. */
#include "libcore/base/buf.h"
#include "proto/control.h"
#include "proto/frame.h"
#include "tests/unit/ctl/fixture.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum scenario {
	PLAIN,     /* a healthy cluster with a running, a waiting and a done job */
	REFUSING,  /* every job is unknown */
	AMBIGUOUS,
	SILENT,    /* takes the request and never answers */
	GARBAGE,
	HANGUP,
	OTHER,     /* answers another request */
	ENDS_DONE, /* the job runs at the first question and has ended at the second */
	ENDS_FAILED,
	ENDS_UNSTARTED,
	ENDS_STOPPED,
	BROKEN_EXPORT /* half a model, then an error */
};

static char dir[64] = "/tmp/dadamctl-test-XXXXXX";
static pid_t fake;

/* ---- the fake daemon ---- */

static void take_job(struct control_response *r, struct control_job *job)
{
	r->jobs = job;
	r->n_jobs = 1;
}

static void end_job(struct control_job *j, enum scenario s)
{
	j->ended_ms = FIXTURE_NOW;
	j->phase = s == ENDS_DONE ? CONTROL_DONE : s == ENDS_STOPPED ? CONTROL_STOPPED : CONTROL_FAILED;
	if (s == ENDS_UNSTARTED)
		j->started_ms = 0;
	if (s != ENDS_DONE)
		(void)snprintf(j->why, sizeof j->why, "%s", s == ENDS_STOPPED ? "by request at node-1" : "node-3 has no data x.csv");
}

static void answer_export(struct control_response *r, const struct control_request *q, enum scenario s)
{
	static uint8_t model[300000];

	r->total = sizeof model;
	r->chunk = model + q->offset;
	r->chunk_len = sizeof model - q->offset < CONTROL_MAX_CHUNK ? sizeof model - q->offset : CONTROL_MAX_CHUNK;
	if (s == BROKEN_EXPORT && q->offset > 0) {
		r->chunk = NULL;
		r->chunk_len = 0;
		r->status = error_set(&r->error, ST_IO, "cannot read the model: disk says no");
	}
}

static void answer_log(struct control_response *r, const struct control_request *q)
{
	static uint8_t text[] = "one\ntwo\nthree\n";
	uint64_t at = q->offset < sizeof text - 1 ? q->offset : sizeof text - 1;

	r->total = sizeof text - 1;
	r->chunk = text + at;
	r->chunk_len = (size_t)(r->total - at);
	r->ended = 1;
}

static void answer(struct control_response *r, const struct control_request *q, enum scenario s, int n)
{
	static struct control_rank ranks[4], more[4];
	static struct control_job jobs[3];
	static struct control_member members[3];

	fixture_job(&jobs[0], ranks);
	fixture_waiting(&jobs[1]);
	fixture_done(&jobs[2], more);
	r->type = s == OTHER ? CONTROL_PEERS : q->type;
	if (q->job[0] != '\0' && (s == REFUSING || s == AMBIGUOUS)) {
		r->status = error_set(&r->error, s == REFUSING ? ST_NOT_FOUND : ST_INVALID,
				s == REFUSING ? "no job '%s'" : "'%s' fits two jobs: 030e19, 030fff", q->job);
		error_hint(&r->error, "dadamctl ls -a");
		return;
	}
	if (q->type == CONTROL_STATUS || q->type == CONTROL_VERSION_INFO)
		fixture_status(&r->info);
	if (q->node[0] != '\0' && s == REFUSING) {
		r->status = error_set(&r->error, ST_NOT_FOUND, "no node '%s'", q->node);
		error_hint(&r->error, "see dadamctl peers");
		return;
	}
	if (q->node[0] != '\0' && s == PLAIN) {
		static struct control_place places[3];

		fixture_members(members);
		fixture_places(places);
		r->members = &members[2];
		r->n_members = 1;
		r->places = places;
		r->n_places = 3;
	} else if (q->type == CONTROL_PEERS || s == OTHER) {
		fixture_members(members);
		r->members = members;
		r->n_members = 3;
	}
	if (q->type == CONTROL_JOBS) {
		r->jobs = jobs;
		r->n_jobs = 3;
		for (int i = 0; i < 3; i++)
			jobs[i].n_ranks_sent = 0;
	}
	if (q->type == CONTROL_JOB || q->type == CONTROL_SUBMIT || q->type == CONTROL_STOP)
		take_job(r, &jobs[0]);
	if (q->type == CONTROL_JOB) {
		static char spec[] = "model: {plugin: deepfm}\nsteps: 1\n";

		jobs[0].spec = spec;
		if (s >= ENDS_DONE && s <= ENDS_STOPPED && n > 1)
			end_job(&jobs[0], s);
	}
	if (q->type == CONTROL_EXPORT)
		answer_export(r, q, s);
	if (q->type == CONTROL_LOG)
		answer_log(r, q);
}

/* One connection, until the other side hangs up or the scenario does. */
static void serve(int fd, enum scenario s)
{
	struct frame_limits limits = {FRAME_MAX_HEAD, FRAME_MAX_PAYLOAD_CONTROL};
	struct frame_parser *parser = NULL;
	struct frame f;
	uint8_t *dst;
	size_t len;
	ssize_t n;
	int done, count = 0;

	if (frame_parser_create(&parser, &limits, NULL) != ST_OK)
		_exit(9);
	for (;;) {
		struct control_request q = {0};
		struct control_response r = {0};
		struct buf b = {0};

		frame_parser_want(parser, &dst, &len);
		n = read(fd, dst, len);
		if (n <= 0 || frame_parser_put(parser, (size_t)n, &f, &done, NULL) != ST_OK)
			break;
		if (!done || s == SILENT)
			continue;
		if (s == HANGUP || control_request_decode(&q, &f, NULL) != ST_OK)
			break;
		answer(&r, &q, s, ++count);
		if (s == GARBAGE ? buf_printf(&b, "HTTP/1.1 400 Bad Request\r\n\r\n") != ST_OK
				: control_response_encode(&b, &r, NULL) != ST_OK)
			_exit(8);
		if (write(fd, b.data, b.len) < 0)
			break;
		buf_fini(&b);
		control_request_fini(&q);
	}
	frame_parser_destroy(parser);
	(void)close(fd);
}

static void start_fake(enum scenario s)
{
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	int listener = socket(AF_UNIX, SOCK_STREAM, 0), fd;

	(void)snprintf(sa.sun_path, sizeof sa.sun_path, "%s/s", dir);
	(void)unlink(sa.sun_path);
	cr_assert_eq(bind(listener, (struct sockaddr *)&sa, sizeof sa), 0);
	cr_assert_eq(listen(listener, 8), 0);
	fake = fork();
	cr_assert_geq(fake, 0);
	if (fake > 0) {
		(void)close(listener);
		return;
	}
	(void)signal(SIGPIPE, SIG_IGN);
	while ((fd = accept(listener, NULL, NULL)) >= 0)
		serve(fd, s);
	_exit(0);
}

static void stop_fake(void)
{
	if (fake <= 0)
		return;
	(void)kill(fake, SIGKILL);
	(void)waitpid(fake, NULL, 0);
	fake = 0;
}

/* ---- running dadamctl ---- */

static char out[65536], err[65536];

static void slurp(const char *name, char *text, size_t size)
{
	char path[128];
	FILE *f;
	size_t n;

	(void)snprintf(path, sizeof path, "%s/%s", dir, name);
	f = fopen(path, "r");
	n = f != NULL ? fread(text, 1, size - 1, f) : 0;
	text[n] = '\0';
	if (f != NULL)
		(void)fclose(f);
}

/* Start `dadamctl --socket ... words` in the shell; its process id. */
static pid_t start(const char *words)
{
	char line[1024];
	pid_t pid;

	(void)snprintf(line, sizeof line, "cd %s && exec %s/ctl/dadamctl --socket %s/s %s >out 2>err </dev/null", dir,
			getenv("DADAM_BUILD"), dir, words);
	pid = fork();
	cr_assert_geq(pid, 0);
	if (pid == 0) {
		(void)execl("/bin/sh", "sh", "-c", line, (char *)NULL);
		_exit(99);
	}
	return pid;
}

static int finish(pid_t pid)
{
	int status = 0;

	cr_assert_eq(waitpid(pid, &status, 0), pid);
	slurp("out", out, sizeof out);
	slurp("err", err, sizeof err);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static void write_file(const char *name, const char *text)
{
	char path[128];
	FILE *f;

	(void)snprintf(path, sizeof path, "%s/%s", dir, name);
	f = fopen(path, "w");
	cr_assert_not_null(f);
	(void)fputs(text, f);
	(void)fclose(f);
}

static int exists(const char *name)
{
	char path[128];

	(void)snprintf(path, sizeof path, "%s/%s", dir, name);
	return access(path, F_OK) == 0;
}

static void setup(void)
{
	char link[sizeof dir + 16];

	(void)unsetenv("DADAM_OUTPUT");
	cr_assert_not_null(mkdtemp(dir));
	write_file("good.yaml", "model: {plugin: deepfm}\nsteps: 10\nworkers: {min: 4}\n");
	write_file("bad.yaml", "model: {plugin: deepfm}\nsteps: 10\nbathc: 3\n");
	cr_assert_eq(symlink("no such file", strcat(strcpy(link, dir), "/nowhere")), 0);
	write_file("cube.yaml", "model: {plugin: deepfm}\nsteps: 10\nworkers: {min: 3}\ntopology: hypercube\n");
}

static void teardown(void)
{
	char line[128];

	stop_fake();
	(void)snprintf(line, sizeof line, "rm -rf %s", dir);
	cr_assert_eq(system(line), 0);
}

TestSuite(verbs, .init = setup, .fini = teardown);

static const struct {
	enum scenario scenario;
	const char *words;
	int exit;
	const char *out, *err; /* must be in it; "" : must be empty */
} rows[] = {
	{PLAIN, "status", 0, "next: dadamctl --socket ", ""},
	{PLAIN, "peers", 0, "connection refused, 14 tries", ""},
	{PLAIN, "peers node-3", 0, "nobody listens at 192.168.7.20:17326", ""},
	{REFUSING, "peers zzz", 3, "", "no node 'zzz'\n  see dadamctl --socket /"},
	{AMBIGUOUS, "peers node-3", 11, "", "older than this dadamctl"}, /* such a daemon answers with all */
	{PLAIN, "ls", 0, "pprs-cifar", ""},
	{PLAIN, "ls -a", 0, "deepfm-old", ""},
	{PLAIN, "show 030e", 0, "parameters 5 033 164", ""},
	{PLAIN, "show 030e --spec", 0, "steps: 1", ""},
	{PLAIN, "stop 030e", 0, "deepfm-criteo", ""},
	{PLAIN, "version", 0, "dadamd    0.1.0", ""},
	{PLAIN, "topology 030e", 0, "spectral gap 0.6667", ""},
	{PLAIN, "topology 030e --dot", 0, "r0 -- r1", ""},
	{PLAIN, "logs 030e", 0, "one\ntwo\nthree\n", ""},
	{PLAIN, "logs 030e -f -n 1", 0, "three\n", ""},
	{PLAIN, "submit good.yaml", 0, "submitted  030e19", ""},
	{PLAIN, "submit good.yaml --id-only", 0, "030e19242f3a45505b66717c87929da8\n", ""},
	{PLAIN, "submit good.yaml --set batch=7", 0, "submitted", ""},
	{PLAIN, "submit bad.yaml", 6, "", "bad.yaml:3:1: unknown key 'bathc'\n  did you mean 'batch'?"},
	{PLAIN, "submit bad.yaml --set bathc=", 0, "submitted", ""},
	{PLAIN, "submit bad.yaml --set batch=7", 6, "", "bad.yaml:3:1: unknown key 'bathc'"},
	{PLAIN, "submit good.yaml --set batch=0", 6, "", "with --set:"},
	{PLAIN, "submit good.yaml --set batch", 6, "", "--set: 'batch': no '=', allowed: KEY=VALUE"},
	{PLAIN, "submit missing.yaml", 6, "", "missing.yaml: No such file or directory"},
	{PLAIN, "submit cube.yaml", 6, "", "cube.yaml: topology: "},
	{PLAIN, "submit - --id-only", 6, "", "stdin: model.plugin: missing"},
	{PLAIN, "export 030e -o m.safetensors", 0, "wrote m.safetensors  300 kB", ""},
	{PLAIN, "export 030e -o m.safetensors", 1, "", "m.safetensors is there already\n  choose another -o FILE, or add --force"},
	{PLAIN, "export 030e -o m.safetensors --force", 0, "/m.safetensors  300 kB", ""},
	{PLAIN, "export 030e -o .", 2, "", "is a folder"},
	{PLAIN, "export 030e -o ./", 2, "", "./ is a folder\n  -o ./model.safetensors\n"},
	{PLAIN, "export 030e -o nowhere", 1, "", "nowhere is a symbolic link to a file that is not there\n  choose another -o FILE, or add --force"},
	{PLAIN, "export 030e -o nowhere --force", 0, "wrote nowhere  300 kB", ""},
	{PLAIN, "export 030e -o no/such/m", 1, "", "no/such/m.tmp: No such file or directory"},
	{PLAIN, "help help", 0, "help [VERB|exit|spec|config]\n", ""},
	{PLAIN, "help exit", 0, "130  interrupted; the job goes on", ""},
	{PLAIN, "help spec", 0, "  learning_rate: 1e-3", ""},
	{PLAIN, "help spec", 0, "\n#   criteo: train, test, test_fraction, min_count, buckets, cache\n", ""},
	{PLAIN, "help spec", 0, "\n  #   deepfm: factors, hidden, init_scale, l2\n", ""},
	{PLAIN, "help show", 0, "MISSED: segments", ""},
	{PLAIN, "help config", 0, "listen: 127.0.0.1:17326", ""},
	{PLAIN, "help lsx", 2, "", "did you mean 'help ls'?"},
	{PLAIN, "lss", 2, "", "did you mean 'ls'?"},
	{PLAIN, "", 2, "", "no verb\n  dadamctl --socket /"},
	{REFUSING, "show zzz", 3, "", "no job 'zzz'\n  dadamctl --socket /"},
	{REFUSING, "watch zzz", 3, "", "no job 'zzz'"},
	{REFUSING, "logs zzz", 3, "", "no job 'zzz'"},
	{REFUSING, "export zzz -o m", 3, "", "no job 'zzz'"},
	{AMBIGUOUS, "stop 030", 3, "", "'030' fits two jobs: 030e19, 030fff"},
	{SILENT, "--timeout 100ms status", 8, "", "no answer from the daemon"},
	{GARBAGE, "status", 11, "", "does not speak as dadamd"},
	{HANGUP, "status", 4, "", "closed the connection"},
	{OTHER, "status", 11, "", "answered request 1 with 2"},
	{ENDS_DONE, "watch 030e", 0, "DONE", ""},
	{ENDS_FAILED, "watch 030e", 1, "FAILED", "job deepfm-criteo failed: node-3 has no data x.csv"},
	{ENDS_UNSTARTED, "submit good.yaml --wait", 7, "submitted", "job deepfm-criteo failed: node-3 has no data x.csv"},
	{ENDS_STOPPED, "submit good.yaml --wait", 12, "STOPPED", "was stopped: by request at node-1"},
	{BROKEN_EXPORT, "export 030e -o half", 1, "", "disk says no"},
};

static void check_text(const char *what, const char *words, const char *got, const char *want)
{
	if (*want == '\0')
		cr_expect_str_eq(got, "", "%s: %s should be empty:\n%s", words, what, got);
	else
		cr_expect_not_null(strstr(got, want), "%s: %s lacks '%s':\n%s", words, what, want, got);
}

Test(verbs, each_verb_prints_and_exits_as_promised, .timeout = 100)
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		int got;

		if (i == 0 || rows[i].scenario != rows[i - 1].scenario) {
			stop_fake();
			start_fake(rows[i].scenario);
		}
		got = finish(start(rows[i].words));
		cr_expect_eq(got, rows[i].exit, "%s: exit %d, wanted %d\n%s%s", rows[i].words, got, rows[i].exit, out, err);
		check_text("stdout", rows[i].words, out, rows[i].out);
		check_text("stderr", rows[i].words, err, rows[i].err);
	}
	cr_expect(exists("m.safetensors"));
	cr_expect_not(exists("m.safetensors.tmp"));
	cr_expect_not(exists("half"));
	cr_expect_not(exists("half.tmp"));
}

Test(verbs, with_id_only_stdout_has_the_id_alone_and_progress_goes_to_stderr)
{
	static const char id[] = "030e19242f3a45505b66717c87929da8\n";

	start_fake(ENDS_DONE);
	cr_expect_eq(finish(start("submit good.yaml --wait --id-only")), 0);
	cr_expect_str_eq(out, id);
	cr_expect_not_null(strstr(err, "deepfm-criteo 030e19  DONE"), "%s", err);
	stop_fake();
	start_fake(ENDS_FAILED);
	cr_expect_eq(finish(start("-o json submit good.yaml --wait --id-only")), 1);
	cr_expect_str_eq(out, id);
	cr_expect_not_null(strstr(err, "node-3 has no data x.csv"), "%s", err);
}

Test(verbs, without_a_daemon_every_verb_says_where_it_looked)
{
	cr_expect_eq(finish(start("ls")), 4);
	cr_expect_not_null(strstr(err, "/s (No such file or directory)\n"), "%s", err);
	cr_expect_eq(finish(start("version")), 4);
	cr_expect_not_null(strstr(out, "not reachable"), "%s", out);
	cr_expect_eq(finish(start("--version")), 0);
}

static const struct {
	enum scenario scenario;
	const char *words, *schema;
	int exit;
} documents[] = {
	{PLAIN, "-o json status", "dadam.status/1", 0}, {PLAIN, "-o json peers", "dadam.peers/1", 0},
	{PLAIN, "-o json peers node-3", "dadam.peer/1", 0},
	{PLAIN, "-o json ls", "dadam.jobs/1", 0}, {PLAIN, "-o json show x", "dadam.jobs/1", 0},
	{PLAIN, "-o json logs x", "dadam.logs/1", 0}, {PLAIN, "-o json logs x -n 1", "dadam.logs/1", 0},
	{PLAIN, "-o json version", "dadam.version/1", 0}, {PLAIN, "-o json topology x", "dadam.topology/1", 0},
	{PLAIN, "-o json submit good.yaml", "dadam.jobs/1", 0}, {PLAIN, "-o json stop x", "dadam.jobs/1", 0},
	{PLAIN, "-o json export x -o m --force", "dadam.export/1", 0}, {ENDS_DONE, "-o json watch x", "dadam.jobs/1", 0},
	{ENDS_FAILED, "-o json submit good.yaml --wait", "dadam.jobs/1", 1},
};

Test(verbs, json_is_exactly_one_document_with_its_schema, .timeout = 100)
{
	for (size_t i = 0; i < sizeof documents / sizeof *documents; i++) {
		json_t *doc;

		stop_fake();
		start_fake(documents[i].scenario);
		cr_expect_eq(finish(start(documents[i].words)), documents[i].exit, "%s: %s", documents[i].words, err);
		doc = json_loads(out, JSON_REJECT_DUPLICATES, NULL);
		cr_assert_not_null(doc, "%s: %s", documents[i].words, out);
		cr_expect_str_eq(json_string_value(json_object_get(doc, "schema")), documents[i].schema);
		json_decref(doc);
	}
}

Test(verbs, an_error_in_json_is_one_object_on_stderr)
{
	char hint[sizeof dir + 40];
	json_t *doc, *e;

	start_fake(REFUSING);
	cr_assert_eq(finish(start("-o json show zzz")), 3);
	cr_assert_str_eq(out, "");
	doc = json_loads(err, 0, NULL);
	cr_assert_not_null(doc, "%s", err);
	e = json_object_get(doc, "error");
	cr_assert_str_eq(json_string_value(json_object_get(e, "message")), "no job 'zzz'");
	(void)snprintf(hint, sizeof hint, "dadamctl --socket %s/s ls -a", dir);
	cr_assert_str_eq(json_string_value(json_object_get(e, "hint")), hint);
	cr_assert_eq(json_integer_value(json_object_get(e, "exit")), 3);
	json_decref(doc);
}

/* Poll until `file` holds text; the deadline fails the test. */
static void wait_for_output(const char *file)
{
	for (int i = 0; i < 500; i++) {
		struct timespec nap = {0, 10000000};

		slurp(file, out, sizeof out);
		if (out[0] != '\0')
			return;
		(void)nanosleep(&nap, NULL);
	}
	cr_assert_fail("no output in 5 s");
}

Test(verbs, an_interrupted_watch_says_that_the_job_goes_on)
{
	pid_t pid;

	start_fake(PLAIN);
	pid = start("watch 030e");
	wait_for_output("out");
	cr_assert_eq(kill(pid, SIGINT), 0);
	cr_assert_eq(finish(pid), 130);
	cr_assert_not_null(strstr(err, "interrupted; the job goes on"), "%s", err);
	cr_assert_not_null(strstr(err, "watch 030e19"), "%s", err);
}

Test(verbs, a_watch_whose_daemon_goes_away_gives_up_after_the_timeout)
{
	pid_t pid;

	start_fake(PLAIN);
	pid = start("--timeout 300ms watch 030e");
	wait_for_output("out");
	stop_fake();
	cr_assert_eq(finish(pid), 4);
	cr_assert_not_null(strstr(err, "follow it again"), "%s", err);
}

Test(verbs, lines_come_as_often_as_the_environment_says)
{
	pid_t pid;
	size_t lines = 0;

	cr_assert_eq(setenv("DADAM_PROGRESS_SECONDS", "0.05", 1), 0);
	start_fake(PLAIN);
	pid = start("watch 030e");
	for (int i = 0; i < 500 && lines < 3; i++) {
		struct timespec nap = {0, 10000000};

		slurp("out", out, sizeof out);
		lines = 0;
		for (const char *c = out; *c != '\0'; c++)
			lines += *c == '\n';
		(void)nanosleep(&nap, NULL);
	}
	cr_assert_geq(lines, 3);
	cr_assert_eq(kill(pid, SIGINT), 0);
	cr_assert_eq(finish(pid), 130);
}

Test(verbs, a_reader_that_goes_away_ends_it_quietly)
{
	char line[512];
	int status;

	start_fake(PLAIN);
	(void)snprintf(line, sizeof line, "cd %s; { sleep 0.2; %s/ctl/dadamctl --socket s ls -a; echo $? >rc; } 2>err | true", dir,
			getenv("DADAM_BUILD"));
	status = system(line);
	cr_assert_eq(WEXITSTATUS(status), 0);
	slurp("rc", out, sizeof out);
	slurp("err", err, sizeof err);
	cr_assert_str_eq(out, "141\n");
	cr_assert_str_eq(err, "");
}

Test(verbs, a_full_disk_is_an_error)
{
	char line[512];
	int status;

	start_fake(PLAIN);
	(void)snprintf(line, sizeof line, "cd %s; %s/ctl/dadamctl --socket s ls -a >/dev/full 2>err", dir, getenv("DADAM_BUILD"));
	status = system(line);
	slurp("err", err, sizeof err);
	cr_assert_eq(WEXITSTATUS(status), 1);
	cr_assert_not_null(strstr(err, "cannot write to stdout: No space left"), "%s", err);
}
