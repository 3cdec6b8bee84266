/* The state directory on a real disk: identity, lock, what survives, what is set aside. */
#include "daemon/store/store.h"

#include "daemon/store/files.h"

#include "libcore/base/mem.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char dir[100];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t woken = PTHREAD_COND_INITIALIZER;
static unsigned wakes, polled;

static struct {
	unsigned n;
	char last[600];
	char hint[300];
} troubles;

static void wake(void *data)
{
	(void)data;
	pthread_mutex_lock(&lock);
	wakes++;
	pthread_cond_signal(&woken);
	pthread_mutex_unlock(&lock);
}

static void trouble(void *data, const struct error *err)
{
	(void)data;
	troubles.n++;
	(void)snprintf(troubles.last, sizeof troubles.last, "%s", err->msg);
	(void)snprintf(troubles.hint, sizeof troubles.hint, "%s", err->hint);
}

static struct {
	unsigned failed, worked;
	char last[600];
	char hint[300];
} writes;

static void on_writes(void *data, const struct error *err)
{
	(void)data;
	if (err == NULL) {
		writes.worked++;
		return;
	}
	writes.failed++;
	(void)snprintf(writes.last, sizeof writes.last, "%s", err->msg);
	(void)snprintf(writes.hint, sizeof writes.hint, "%s", err->hint);
}

static const struct store_host host = {NULL, wake, trouble, on_writes};

static void make_dir(void)
{
	strcpy(dir, "/tmp/dadam-store-XXXXXX");
	cr_assert_not_null(mkdtemp(dir));
	strcat(dir, "/a/b"); /* does not exist yet */
}

static void remove_dir(void)
{
	char cmd[200];

	*strstr(dir, "/a/b") = '\0';
	(void)snprintf(cmd, sizeof cmd, "rm -rf %s", dir);
	cr_assert_eq(system(cmd), 0);
}

static struct store *open_store(void)
{
	struct store *s;
	struct error err = {0};

	cr_assert_eq(store_open(&s, dir, &host, 1000, &err), ST_OK, "%s", err.msg);
	return s;
}

/* Until the thread has done one more task. */
static void poll_once(struct store *s)
{
	pthread_mutex_lock(&lock);
	while (wakes == polled)
		pthread_cond_wait(&woken, &lock);
	polled = wakes;
	pthread_mutex_unlock(&lock);
	store_poll(s);
}

static void write_file(const char *name, const char *text)
{
	char path[300];
	FILE *f;

	(void)snprintf(path, sizeof path, "%s/%s", dir, name);
	f = fopen(path, "w");
	cr_assert_not_null(f);
	fputs(text, f);
	fclose(f);
}

static int exists(const char *name)
{
	char path[300];

	(void)snprintf(path, sizeof path, "%s/%s", dir, name);
	return access(path, F_OK) == 0;
}

TestSuite(store, .init = make_dir, .fini = remove_dir);

Test(store, the_identity_lasts_and_the_incarnation_grows_even_when_the_clock_does_not)
{
	struct store *s = open_store();
	struct id first = store_node_id(s);
	struct stat sb;

	cr_assert_not(id_is_zero(&first));
	cr_assert_eq(store_incarnation(s), 1000);
	cr_assert_eq(stat(dir, &sb), 0);
	cr_assert_eq(sb.st_mode & 0777, 0700);
	store_close(s);
	s = open_store();
	cr_assert(id_equal(&first, &(struct id){0}) == 0);
	cr_assert_eq(store_incarnation(s), 1001);
	cr_assert_arr_eq(store_node_id(s).b, first.b, ID_BYTES);
	cr_assert_eq(troubles.n, 0);
	store_close(s);
}

Test(store, a_second_daemon_is_refused_with_the_pid_of_the_first)
{
	struct store *s = open_store(), *second;
	struct error err = {0};
	char pid[40];

	cr_assert_eq(store_open(&second, dir, &host, 1, &err), ST_STATE);
	cr_assert_null(second);
	(void)snprintf(pid, sizeof pid, "process %ld ", (long)getpid());
	cr_assert(strstr(err.msg, pid) != NULL, "%s", err.msg);
	cr_assert(strstr(err.hint, "state:") != NULL);
	store_close(s);
	store_close(open_store());
}

Test(store, a_directory_that_cannot_be_made_is_refused)
{
	struct store *s;
	struct error err = {0};

	cr_assert_eq(store_open(&s, "/dev/null/state", &host, 1, &err), ST_IO);
	cr_assert(strstr(err.msg, "/dev/null") && strstr(err.hint, "state:"));
}

Test(store, a_broken_identity_is_set_aside_and_told)
{
	struct store *s;

	store_close(open_store());
	write_file("node_id", "not an id\n");
	s = open_store();
	cr_assert_eq(troubles.n, 1);
	cr_assert(strstr(troubles.last, "node_id") && strstr(troubles.hint, "node_id.corrupt"));
	cr_assert(exists("node_id.corrupt"));
	store_close(s);
	store_close(open_store());
	cr_assert_eq(troubles.n, 1);
}

/* ---- records and members ---- */

static struct job_record make_record(uint8_t k)
{
	struct job_record r = {.created_ms = k};

	memset(r.id.b, k, ID_BYTES);
	r.spec = mem_strdup("name: x\n");
	strcpy(r.terms.name, "x");
	strcpy(r.terms.algorithm, "d-adam");
	return r;
}

static struct {
	unsigned n;
	uint64_t created[10];
	char spec[10];
} loaded;

static void on_record(void *data, struct job_record *r)
{
	(void)data;
	loaded.created[loaded.n++] = r->created_ms;
	strcpy(loaded.spec, r->spec);
	job_record_fini(r);
}

Test(store, records_come_back_and_the_last_write_counts)
{
	struct store *s = open_store();
	struct job_record r = make_record(7);

	for (uint64_t i = 0; i < 50; i++) {
		r.created_ms = i;
		cr_assert_eq(store_put_record(s, &r, NULL), ST_OK);
	}
	store_close(s);
	s = open_store();
	store_load_records(s, on_record, NULL);
	cr_assert_eq(loaded.n, 1);
	cr_assert_eq(loaded.created[0], 49);
	cr_assert_str_eq(loaded.spec, "name: x\n");
	job_record_fini(&r);
	store_close(s);
	cr_assert_eq(troubles.n, 0);
}

#define RECORD "jobs/07070707070707070707070707070707/record"

Test(store, a_record_with_any_byte_changed_or_cut_is_set_aside)
{
	struct store *s = open_store();
	struct job_record r = make_record(7);
	struct buf good = {0};
	char path[300];

	(void)snprintf(path, sizeof path, "%s/" RECORD, dir);
	cr_assert_eq(store_put_record(s, &r, NULL), ST_OK);
	store_close(s);
	cr_assert_eq(files_read(&good, path, 100000, NULL), ST_OK);
	s = open_store();
	for (size_t i = 0; i < good.len; i += 3) {
		good.data[i] ^= 0x10;
		cr_assert_eq(files_replace(path, good.data, i % 2 ? good.len : i, NULL), ST_OK);
		good.data[i] ^= 0x10;
		store_load_records(s, on_record, NULL);
		cr_assert_eq(loaded.n, 0);
		cr_assert(!exists(RECORD) && exists(RECORD ".corrupt"));
	}
	cr_assert_gt(troubles.n, 10);
	cr_assert_eq(files_replace(path, good.data, good.len, NULL), ST_OK);
	store_load_records(s, on_record, NULL);
	cr_assert_eq(loaded.n, 1);
	buf_fini(&good);
	job_record_fini(&r);
	store_close(s);
}

Test(store, a_record_in_the_directory_of_another_job_is_set_aside)
{
	struct store *s = open_store();
	struct job_record r = make_record(7);
	char from[300], to[300];

	cr_assert_eq(store_put_record(s, &r, NULL), ST_OK);
	store_close(s);
	(void)snprintf(from, sizeof from, "%s/jobs/07070707070707070707070707070707", dir);
	(void)snprintf(to, sizeof to, "%s/jobs/08080808080808080808080808080808", dir);
	cr_assert_eq(rename(from, to), 0);
	s = open_store();
	store_load_records(s, on_record, NULL);
	cr_assert_eq(loaded.n, 0);
	cr_assert(strstr(troubles.last, "another job") != NULL);
	job_record_fini(&r);
	store_close(s);
}

Test(store, members_come_back)
{
	struct peer_member in[3] = {{.incarnation = 5, .name = "node-a", .address = "127.0.0.1:1", .state = CONTROL_ALIVE},
			{.name = "node-b", .address = "127.0.0.1:2", .state = CONTROL_DEAD},
			{.name = "node-c", .address = "127.0.0.1:3", .state = CONTROL_ALIVE}};
	struct peer_member out[2];
	struct store *s = open_store();

	for (uint8_t i = 0; i < 3; i++)
		memset(in[i].id.b, i + 1, ID_BYTES);
	cr_assert_eq(store_load_members(s, out, 2), 0);
	cr_assert_eq(store_put_members(s, in, 3, NULL), ST_OK);
	store_close(s);
	s = open_store();
	cr_assert_eq(store_load_members(s, out, 2), 2);
	cr_assert_str_eq(out[1].address, "127.0.0.1:2");
	cr_assert_eq(out[0].incarnation, 5);
	cr_assert_eq(troubles.n, 0);
	store_close(s);
}

Test(store, a_broken_table_of_members_is_set_aside)
{
	static const char *const broken[] = {"garbage garbage garbage garbage", "DADM", ""};
	struct peer_member out[2];
	struct store *s = open_store();

	for (unsigned i = 0; i < 3; i++) {
		write_file("members", broken[i]);
		cr_assert_eq(store_load_members(s, out, 2), 0);
		cr_assert_eq(troubles.n, i + 1);
		cr_assert(!exists("members"));
	}
	store_close(s);
}

/* ---- logs and chunks ---- */

static struct queue_chunk got;
static unsigned n_got;

static void on_chunk(void *data, const struct queue_chunk *chunk)
{
	cr_assert_eq(data, &got);
	got = *chunk;
	n_got++;
}

Test(store, a_log_has_one_line_per_event_and_is_read_in_chunks)
{
	static const char want[] = "2026-11-30T11:52:03.412Z info  node-a  worker started\n"
				   "2026-11-30T11:52:03.413Z warn  rank 1  two lines are one\n";
	struct store *s = open_store();
	struct id job = {{9}};

	store_log(s, &job, 1796039523412, "info", "node-a", "worker started");
	store_log(s, &job, 1796039523413, "warn", "rank 1", "two lines\nare one");
	store_close(s);
	s = open_store();
	polled = wakes;
	cr_assert_eq(store_read(s, &job, "log", 10, 30, on_chunk, &got, NULL), ST_OK);
	poll_once(s);
	cr_assert(n_got == 1 && got.error.status == ST_OK && got.len == 30 && got.total == sizeof want - 1);
	cr_assert_eq(memcmp(got.bytes, want + 10, 30), 0);
	mem_free(got.bytes);
	cr_assert_eq(store_read(s, &job, "mean.safetensors", 0, 30, on_chunk, &got, NULL), ST_OK);
	poll_once(s);
	cr_assert_eq(got.error.status, ST_NOT_FOUND);
	mem_free(got.bytes);
	store_close(s);
}

/* The record of job 7 cannot be written: its temporary file is a directory. r was written with created_ms 7; 99 failed. */
static struct store *with_unwritten(struct job_record *r, char path[300])
{
	struct store *s = open_store();

	*r = make_record(7);
	cr_assert_eq(store_put_record(s, r, NULL), ST_OK);
	store_close(s);
	s = open_store();
	(void)snprintf(path, 300, "%s/" RECORD ".tmp", dir);
	cr_assert_eq(mkdir(path, 0700), 0);
	r->created_ms = 99;
	polled = wakes;
	cr_assert_eq(store_put_record(s, r, NULL), ST_OK);
	poll_once(s);
	cr_assert_eq(writes.failed, 1);
	cr_assert_eq(writes.worked, 0);
	return s;
}

Test(store, a_write_that_fails_is_told_and_the_old_file_stays)
{
	struct job_record r;
	char path[300];
	struct store *s = with_unwritten(&r, path);

	cr_assert(strstr(writes.last, "record.tmp") != NULL);
	store_load_records(s, on_record, NULL);
	cr_assert(loaded.n == 1 && loaded.created[0] == 7);
	cr_assert_eq(troubles.n, 0);
	job_record_fini(&r);
	store_close(s);
}

Test(store, what_could_not_be_written_is_written_by_a_later_retry)
{
	struct job_record r;
	char path[300];
	struct store *s = with_unwritten(&r, path);

	store_retry(s);
	poll_once(s);
	cr_assert_eq(writes.failed, 2, "it is tried again, and fails again");
	cr_assert_eq(rmdir(path), 0);
	store_retry(s);
	poll_once(s);
	cr_assert(writes.failed == 2 && writes.worked == 1);
	store_load_records(s, on_record, NULL);
	cr_assert(loaded.n == 1 && loaded.created[0] == 99);
	job_record_fini(&r);
	store_close(s);
	cr_assert_eq(writes.worked, 1, "told once");
}

Test(store, writes_do_not_work_again_while_another_file_is_owed)
{
	struct peer_member m = {.name = "node-a", .address = "127.0.0.1:1", .state = CONTROL_ALIVE, .id = {{1}}};
	struct job_record r;
	char path[300];
	struct store *s = with_unwritten(&r, path);

	cr_assert_eq(store_put_members(s, &m, 1, NULL), ST_OK);
	poll_once(s);
	cr_assert_eq(writes.worked, 0, "the members were written, the record was not");
	cr_assert_eq(rmdir(path), 0);
	store_retry(s);
	poll_once(s);
	cr_assert_eq(writes.worked, 1);
	job_record_fini(&r);
	store_close(s);
}

Test(store, newer_bytes_take_the_place_of_those_that_could_not_be_written)
{
	struct job_record r;
	char path[300];
	struct store *s = with_unwritten(&r, path);

	cr_assert_eq(rmdir(path), 0);
	r.created_ms = 100;
	cr_assert_eq(store_put_record(s, &r, NULL), ST_OK);
	poll_once(s);
	cr_assert_eq(writes.worked, 1, "nothing is owed");
	store_retry(s); /* 99 must not come back */
	job_record_fini(&r);
	store_close(s);
	s = open_store();
	store_load_records(s, on_record, NULL);
	cr_assert(loaded.n == 1 && loaded.created[0] == 100);
	store_close(s);
}

Test(store, the_end_tries_once_more_what_could_not_be_written)
{
	struct job_record r;
	char path[300];
	struct store *s = with_unwritten(&r, path);

	cr_assert_eq(rmdir(path), 0);
	job_record_fini(&r);
	store_close(s);
	s = open_store();
	store_load_records(s, on_record, NULL);
	cr_assert(loaded.n == 1 && loaded.created[0] == 99);
	store_close(s);
}

Test(store, a_full_disk_comes_with_what_to_do)
{
	struct error err = {0};

	cr_assert_eq(files_append("/dev/full", "12345", 5, 9, &err), ST_IO);
	cr_assert(strstr(err.msg, "No space left") != NULL && strstr(err.hint, "make room") != NULL, "%s: %s", err.msg, err.hint);
}

Test(store, a_log_stops_at_its_limit)
{
	struct store *s = open_store();
	char path[300];
	struct error err = {0};

	(void)snprintf(path, sizeof path, "%s/limited", dir);
	cr_assert_eq(files_append(path, "12345", 5, 9, NULL), ST_OK);
	cr_assert_eq(files_append(path, "12345", 5, 9, &err), ST_STATE);
	cr_assert_eq(files_append(path, "1234", 4, 9, NULL), ST_OK);
	store_close(s);
}

/* ---- power loss ---- */

Test(store, a_daemon_killed_at_any_moment_leaves_a_whole_record)
{
	char path[300];

	store_close(open_store());
	(void)snprintf(path, sizeof path, "%s/" RECORD, dir);
	for (int round = 0; round < 15; round++) {
		pid_t pid = fork();

		if (pid == 0) {
			struct store *s;
			struct job_record r = make_record(7);

			if (store_open(&s, dir, &host, 1000, NULL) != ST_OK)
				_exit(1);
			for (uint64_t i = 1;; i++) {
				r.created_ms = i;
				if (store_put_record(s, &r, NULL) != ST_OK)
					_exit(2);
				usleep(50);
			}
		}
		for (int ms = 0; round == 0 && ms < 20000 && access(path, F_OK) != 0; ms++)
			usleep(1000); /* one record is there, however slow the machine is */
		usleep((useconds_t)(3000 + 1300 * round)); /* kill at another moment each time */
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		struct store *s = open_store();

		loaded.n = 0;
		store_load_records(s, on_record, NULL);
		cr_assert_leq(loaded.n, 1);
		cr_assert_eq(troubles.n, 0, "%s", troubles.last);
		store_close(s);
	}
	cr_assert_eq(loaded.n, 1, "no round came as far as a record");
}
