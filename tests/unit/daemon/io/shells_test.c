/* The small shells: addresses, listeners, the clock, the resolver, child processes. */
#include "daemon/io/netaddr.h"
#include "daemon/io/child.h"
#include "daemon/io/clock.h"
#include "daemon/io/listener.h"
#include "daemon/io/resolver.h"

#include "tests/unit/daemon/io/sides.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

Test(netaddr, good_addresses_come_back_as_text)
{
	static const char *const rows[][2] = {
			{"127.0.0.1:17326", "127.0.0.1:17326"},
			{"[::1]:5", "[::1]:5"},
			{":80", "0.0.0.0:80"},
			{"0.0.0.0:0", "0.0.0.0:0"},
			{"[2001:db8::7]:65535", "[2001:db8::7]:65535"},
			{"[::ffff:10.0.0.7]:5", "10.0.0.7:5"},
			{"[fe80::7%lo]:5", "[fe80::7%lo]:5"},
			{"[fe80::7%1]:5", "[fe80::7%lo]:5"},
			{"[fe80::7%999999]:5", "[fe80::7%999999]:5"},
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct sockaddr_storage ss;
		char text[64];

		cr_assert_eq(netaddr_parse(&ss, rows[i][0], NULL), ST_OK, "%s", rows[i][0]);
		netaddr_text(text, &ss);
		cr_assert_str_eq(text, rows[i][1]);
		cr_assert_eq(netaddr_is_loopback(&ss), i < 2);
	}
}

Test(netaddr, bad_addresses_are_refused_with_an_example)
{
	static const char *const rows[] = {"", "127.0.0.1", "localhost:1", "1.2.3.4:", "1.2.3.4:70000",
			"1.2.3.4:-1", "::1:80", "[::1:80", "[]:1", "1.2.3.4:1x", "[1.2.3.4:9", "[fe80::1%]:1", "[fe80::1%0]:1",
			"[fe80::1%no-such-interface]:1", "[fe80::1%1x]:1", "1.2.3.4%lo:1",
			"11111111111111111111111111111111111111111111111111111111111111111111111:1"};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct sockaddr_storage ss;
		struct error err = {0};

		cr_assert_eq(netaddr_parse(&ss, rows[i], &err), ST_INVALID, "%s", rows[i]);
		cr_assert(strstr(err.hint, "17326") != NULL);
	}
}

Test(netaddr, public_addresses_are_told_from_those_of_a_private_network)
{
	static const struct {
		const char *text;
		enum ip_class class;
	} rows[] = {
		{"127.0.0.1:1", IP_LOOPBACK}, {"[::1]:1", IP_LOOPBACK}, {"[::ffff:127.0.0.1]:1", IP_LOOPBACK},
		{"10.1.2.3:1", IP_PRIVATE}, {"100.64.0.1:1", IP_PRIVATE}, {"192.168.0.1:1", IP_PRIVATE},
		{"172.31.0.1:1", IP_PRIVATE}, {"[fd00::1]:1", IP_PRIVATE}, {"[::ffff:10.0.0.1]:1", IP_PRIVATE},
		{"169.254.1.1:1", IP_LINK_LOCAL}, {"[fe80::1%lo]:1", IP_LINK_LOCAL}, {":1", IP_ANY}, {"[::]:1", IP_ANY},
		{"8.8.8.8:1", IP_PUBLIC}, {"172.32.0.1:1", IP_PUBLIC}, {"100.128.0.1:1", IP_PUBLIC},
		{"[2001:db8::1]:1", IP_PUBLIC}, {"[::ffff:8.8.8.8]:1", IP_PUBLIC}, {"0.1.2.3:1", IP_PUBLIC},
	};
	struct sockaddr_storage none = {.ss_family = AF_UNIX};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct sockaddr_storage ss;

		cr_assert_eq(netaddr_parse(&ss, rows[i].text, NULL), ST_OK, "%s", rows[i].text);
		cr_assert_eq(netaddr_class(&ss), rows[i].class, "%s", rows[i].text);
	}
	cr_assert_eq(netaddr_class(&none), IP_PUBLIC);
}

/* ---- listeners ---- */

static unsigned incoming;

static enum status refuse_first(void *data, uv_stream_t *h)
{
	struct conn *c;

	if (incoming++ == 0)
		return ST_NOMEM;
	return conn_accept(&c, h, &side_plain, side_owner(data), NULL);
}

Test(listener, a_connection_that_could_not_be_taken_is_offered_again)
{
	uv_loop_t loop;
	struct side a = {.loop = &loop}, b = {.loop = &loop};
	struct sockaddr_storage ss;
	struct listener *l;

	uv_loop_init(&loop);
	cr_assert_eq(listener_tcp(&l, &loop, "127.0.0.1:0", refuse_first, &b, NULL), ST_OK);
	cr_assert_eq(netaddr_parse(&ss, listener_address(l), NULL), ST_OK);
	cr_assert_eq(conn_connect(&a.conn, &loop, (struct sockaddr *)&ss, &side_plain, side_owner(&a), NULL), ST_OK);
	side_run_until(&loop, &b.opened, 1);
	cr_assert_eq(incoming, 2);
	conn_close(a.conn, 0, NULL);
	listener_close(l);
	side_run_until(&loop, &b.closed, 1);
	side_end_loop(&loop);
}

Test(listener, a_port_in_use_is_refused_with_a_way_to_find_who)
{
	uv_loop_t loop;
	struct listener *l, *second;
	struct error err = {0};

	uv_loop_init(&loop);
	cr_assert_eq(listener_tcp(&l, &loop, "127.0.0.1:0", refuse_first, NULL, NULL), ST_OK);
	cr_assert_eq(listener_tcp(&second, &loop, listener_address(l), refuse_first, NULL, &err), ST_IO);
	cr_assert_null(second);
	cr_assert(strstr(err.msg, listener_address(l)) && strstr(err.msg, "in use"));
	cr_assert(strstr(err.hint, "ss -ltnp"));
	listener_close(l);
	side_end_loop(&loop);
}

static void temp_path(char out[200], const char *name)
{
	char dir[] = "/tmp/dadam-test-XXXXXX";

	cr_assert_not_null(mkdtemp(dir));
	(void)snprintf(out, 200, "%s/%s", dir, name);
}

static void remove_temp(char *path)
{
	unlink(path);
	*strrchr(path, '/') = '\0';
	cr_assert_eq(rmdir(path), 0);
}

Test(listener, a_unix_socket_has_its_mode_and_is_removed_at_the_end)
{
	uv_loop_t loop;
	struct listener *l, *second;
	struct error err = {0};
	struct stat sb;
	char path[200], pid[32];

	uv_loop_init(&loop);
	temp_path(path, "ctl.sock");
	cr_assert_eq(listener_unix(&l, &loop, path, 0660, refuse_first, NULL, NULL), ST_OK);
	cr_assert_eq(lstat(path, &sb), 0);
	cr_assert_eq(sb.st_mode & 0777, 0660);
	cr_assert_eq(listener_unix(&second, &loop, path, 0600, refuse_first, NULL, &err), ST_IO);
	(void)snprintf(pid, sizeof pid, "process %d ", (int)getpid());
	cr_assert(strstr(err.msg, pid) != NULL, "%s", err.msg);
	listener_close(l);
	cr_assert_neq(lstat(path, &sb), 0);
	remove_temp(path);
	side_end_loop(&loop);
}

Test(listener, a_stale_socket_file_is_replaced_and_another_file_is_not)
{
	uv_loop_t loop;
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	struct listener *l;
	struct error err = {0};
	char path[200];
	FILE *f;
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	uv_loop_init(&loop);
	temp_path(path, "ctl.sock");
	strcpy(addr.sun_path, path);
	cr_assert_eq(bind(fd, (struct sockaddr *)&addr, sizeof addr), 0);
	close(fd); /* as a killed daemon leaves it */
	cr_assert_eq(listener_unix(&l, &loop, path, 0600, refuse_first, NULL, NULL), ST_OK);
	listener_close(l);
	f = fopen(path, "w");
	fclose(f);
	cr_assert_eq(listener_unix(&l, &loop, path, 0600, refuse_first, NULL, &err), ST_IO);
	cr_assert(strstr(err.msg, "no socket") != NULL);
	remove_temp(path);
	side_end_loop(&loop);
}

Test(listener, a_path_that_would_be_cut_is_refused)
{
	uv_loop_t loop;
	struct listener *l;
	struct error err = {0};
	char path[150];

	uv_loop_init(&loop);
	memset(path, 'a', sizeof path);
	path[0] = '/';
	path[108] = '\0';
	cr_assert_eq(listener_unix(&l, &loop, path, 0600, refuse_first, NULL, &err), ST_INVALID);
	cr_assert(strstr(err.msg, "108") && strstr(err.msg, "107"));
	side_end_loop(&loop);
}

/* ---- clock ---- */

static unsigned rung;

static void on_time(void *data)
{
	(void)data;
	rung++;
}

Test(clock, it_rings_when_armed_and_measures_a_blocked_loop)
{
	uv_loop_t loop;
	struct clock *c;
	unsigned never = 0;

	uv_loop_init(&loop);
	cr_assert_eq(clock_create(&c, &loop, on_time, NULL, NULL), ST_OK);
	clock_arm(c, UINT64_MAX);
	uv_run(&loop, UV_RUN_NOWAIT);
	cr_assert_eq(rung, 0);
	clock_arm(c, uv_now(&loop) + 30);
	side_run_until(&loop, &rung, 1);
	cr_assert_lt(clock_lag_us(c), 300000);
	uv_sleep(900); /* the fault that is measured */
	while (clock_lag_us(c) < 300000 && never++ < 100000)
		uv_run(&loop, UV_RUN_NOWAIT);
	cr_assert_geq(clock_lag_us(c), 300000);
	clock_close(c);
	side_end_loop(&loop);
}

/* ---- resolver ---- */

static unsigned passes;
static char found[4][64], not_found[400];
static size_t n_found;

static void on_result(void *data, const char (*addresses)[64], size_t n, const char *trouble)
{
	(void)data;
	n_found = n;
	for (size_t i = 0; i < n && i < 4; i++)
		memcpy(found[i], addresses[i], 64);
	(void)snprintf(not_found, sizeof not_found, "%s", trouble);
	passes++;
}

Test(resolver, names_and_addresses_are_resolved_again_and_again)
{
	static const char names[4][256] = {"127.0.0.1:5000", "[::1]:7", "127.0.0.2", "no-such-host.invalid:1"};
	uv_loop_t loop;
	struct resolver *r;

	uv_loop_init(&loop);
	cr_assert_eq(resolver_start(&r, &loop, names, 4, "17326", on_result, NULL, NULL), ST_OK);
	side_run_until(&loop, &passes, 2);
	cr_assert_eq(n_found, 3);
	cr_assert_str_eq(found[0], "127.0.0.1:5000");
	cr_assert_str_eq(found[1], "[::1]:7");
	cr_assert_str_eq(found[2], "127.0.0.2:17326");
	cr_assert(strstr(not_found, "no-such-host.invalid") != NULL);
	resolver_close(r);
	side_end_loop(&loop);
}

/* ---- children ---- */

static struct {
	unsigned exited, lines;
	int status, signum;
	char last[CHILD_MAX_LINE];
	size_t bytes;
} seen;

static void on_line(void *data, const char *line)
{
	(void)data;
	seen.lines++;
	seen.bytes += strlen(line);
	(void)snprintf(seen.last, sizeof seen.last, "%s", line);
}

static void on_exit_of_child(void *data, int status, int signum)
{
	(void)data;
	seen.exited++;
	seen.status = status;
	seen.signum = signum;
}

static const struct child_owner watcher = {NULL, on_line, on_exit_of_child};

static struct child *run_shell(uv_loop_t *loop, const char *script, int *fd)
{
	char sh[] = "sh", c[] = "-c", text[300];
	char *args[] = {sh, c, text, NULL};
	struct child *child;

	(void)snprintf(text, sizeof text, "%s", script);
	memset(&seen, 0, sizeof seen);
	cr_assert_eq(child_spawn(&child, fd, loop, "/bin/sh", args, NULL, watcher, NULL), ST_OK);
	return child;
}

Test(child, its_last_words_and_status_are_told)
{
	uv_loop_t loop;
	int fd;

	uv_loop_init(&loop);
	(void)run_shell(&loop, "echo one; printf 'tab\\there\\n' >&2; printf 'no newline'; exit 7", &fd);
	side_run_until(&loop, &seen.exited, 1);
	cr_assert_eq(seen.lines, 3);
	cr_assert(seen.status == 7 && seen.signum == 0);
	close(fd);
	side_end_loop(&loop);
	cr_assert_eq(seen.exited, 1);
}

Test(child, descriptor_3_is_ours_and_nothing_else_is_open)
{
	uv_loop_t loop;
	char byte[3];
	int fd;

	for (int i = 3; i < 64; i++)
		(void)fcntl(i, F_SETFD, FD_CLOEXEC); /* the test framework's */
	uv_loop_init(&loop);
	(void)run_shell(&loop, "printf hi! >&3; ls -m /proc/$$/fd; :", &fd);
	side_run_until(&loop, &seen.exited, 1);
	cr_assert_eq(read(fd, byte, 3), 3);
	cr_assert_str_eq(seen.last, "0, 1, 2, 3"); /* no pipe in the script: its shell would have it open */
	close(fd);
	side_end_loop(&loop);
}

Test(child, a_killed_child_is_told_with_its_signal_even_when_a_grandchild_holds_the_pipes)
{
	uv_loop_t loop;
	struct child *c;
	int fd;

	uv_loop_init(&loop);
	c = run_shell(&loop, "sleep 2 & echo up; wait", &fd);
	side_run_until(&loop, &seen.lines, 1);
	child_kill(c, SIGKILL);
	side_run_until(&loop, &seen.exited, 1);
	cr_assert_eq(seen.signum, SIGKILL);
	close(fd);
	side_end_loop(&loop);
}

Test(child, a_flood_of_output_is_cut)
{
	uv_loop_t loop;
	int fd;

	uv_loop_init(&loop);
	(void)run_shell(&loop, "head -c 300000 /dev/zero | tr '\\0' 'x'; yes | head -n 100000", &fd);
	side_run_until(&loop, &seen.exited, 1);
	cr_assert_gt(seen.lines, 0);
	cr_assert_lt(seen.lines, 2000);
	close(fd);
	side_end_loop(&loop);
}

Test(child, a_program_that_is_not_there_is_named)
{
	uv_loop_t loop;
	char name[] = "x", *args[] = {name, NULL};
	struct child *c;
	struct error err = {0};
	int fd;

	uv_loop_init(&loop);
	cr_assert_eq(child_spawn(&c, &fd, &loop, "/no/such/worker", args, NULL, watcher, &err), ST_NOT_FOUND);
	cr_assert(strstr(err.msg, "/no/such/worker") != NULL);
	cr_assert_null(c);
	side_end_loop(&loop);
	cr_assert_eq(seen.exited, 0);
}
