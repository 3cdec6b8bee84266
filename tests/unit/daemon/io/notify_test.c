/* The supervisor's datagrams, read at the other end of its socket. */
#include "daemon/io/notify.h"

#include <criterion/criterion.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static char dir[] = "/tmp/dadam-notify-XXXXXX", path[64];

/* The supervisor's end; its address is in NOTIFY_SOCKET. */
static int supervisor(const char *name, int abstract)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);

	(void)snprintf(to.sun_path, sizeof to.sun_path, "%s", name);
	if (abstract)
		to.sun_path[0] = '\0';
	cr_assert_eq(bind(fd, (struct sockaddr *)&to, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name))), 0);
	cr_assert_eq(setenv("NOTIFY_SOCKET", name, 1), 0);
	return fd;
}

static const char *heard(int fd)
{
	static char text[1000];
	ssize_t n = recv(fd, text, sizeof text - 1, 0);

	text[n > 0 ? n : 0] = '\0';
	return text;
}

static void make_dir(void)
{
	cr_assert(mkdtemp(dir) != NULL);
	(void)snprintf(path, sizeof path, "%s/notify", dir);
}

static void remove_dir(void)
{
	(void)unlink(path);
	(void)rmdir(dir);
}

Test(notify, without_a_supervisor_nothing_is_made)
{
	struct notify *n;

	(void)unsetenv("NOTIFY_SOCKET");
	cr_assert_eq(notify_create(&n, NULL), ST_OK);
	cr_assert_null(n);
	notify_send(n, "READY=1");
	cr_assert_eq(notify_watchdog_ms(n), 0);
	notify_destroy(n);
}

Test(notify, each_message_is_one_datagram_and_workers_do_not_inherit_the_address, .init = make_dir, .fini = remove_dir)
{
	int fd = supervisor(path, 0);
	struct notify *n;

	cr_assert_eq(notify_create(&n, NULL), ST_OK);
	cr_assert_null(getenv("NOTIFY_SOCKET"));
	notify_send(n, "READY=1");
	notify_send(n, "STOPPING=1\nSTATUS=%s", "leaving");
	cr_assert_str_eq(heard(fd), "READY=1");
	cr_assert_str_eq(heard(fd), "STOPPING=1\nSTATUS=leaving");
	cr_assert_str_eq(heard(fd), "");
	notify_destroy(n);
	(void)close(fd);
}

Test(notify, a_name_of_the_abstract_space_works)
{
	char name[64];
	struct notify *n;
	int fd;

	(void)snprintf(name, sizeof name, "@dadam-test-%ld", (long)getpid());
	fd = supervisor(name, 1);
	cr_assert_eq(notify_create(&n, NULL), ST_OK);
	notify_send(n, "WATCHDOG=1");
	cr_assert_str_eq(heard(fd), "WATCHDOG=1");
	notify_destroy(n);
	(void)close(fd);
}

Test(notify, a_supervisor_that_does_not_read_or_is_gone_blocks_nobody, .init = make_dir, .fini = remove_dir)
{
	int fd = supervisor(path, 0);
	struct notify *n;

	cr_assert_eq(notify_create(&n, NULL), ST_OK);
	for (int i = 0; i < 100000; i++) /* far more than its queue holds */
		notify_send(n, "STATUS=%d", i);
	(void)close(fd);
	notify_send(n, "WATCHDOG=1");
	notify_destroy(n);
}

Test(notify, bad_addresses_are_refused_with_what_is_allowed)
{
	static const char *const rows[] = {"relative/path", "@", "/",
			"/01234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789"};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct error err = {0};
		struct notify *n;

		cr_assert_eq(setenv("NOTIFY_SOCKET", rows[i], 1), 0);
		cr_assert_eq(notify_create(&n, &err), ST_INVALID, "%s", rows[i]);
		cr_assert_null(n);
		cr_assert(strstr(err.msg, "allowed: an absolute path or @name") != NULL, "%s", err.msg);
	}
}

Test(notify, the_watchdog_is_half_of_what_is_allowed_and_for_this_process_only)
{
	static const struct {
		const char *usec;
		int pid; /* 0 none, 1 ours, 2 another's */
		uint64_t ms;
	} rows[] = {{"30000000", 1, 15000}, {"30000000", 0, 15000}, {"30000000", 2, 0}, {"10", 1, 1}, {"0", 1, 0}, {"x", 1, 0}};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char pid[32];
		struct notify *n;

		(void)snprintf(pid, sizeof pid, "%ld", (long)getpid() + (rows[i].pid == 2));
		cr_assert_eq(setenv("NOTIFY_SOCKET", "@dadam-nobody", 1), 0);
		cr_assert_eq(setenv("WATCHDOG_USEC", rows[i].usec, 1), 0);
		if (rows[i].pid != 0)
			cr_assert_eq(setenv("WATCHDOG_PID", pid, 1), 0);
		cr_assert_eq(notify_create(&n, NULL), ST_OK);
		cr_assert_eq(notify_watchdog_ms(n), rows[i].ms, "row %zu: %llu", i, (unsigned long long)notify_watchdog_ms(n));
		cr_assert_null(getenv("WATCHDOG_USEC"));
		notify_destroy(n);
	}
}
