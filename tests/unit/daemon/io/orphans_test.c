/* Ended processes that nobody waits for: they are waited for, libuv's own are left to libuv. */
#include "daemon/io/orphans.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Until pid (0: any child) has ended, without waiting for it in its parent's stead. */
static void until_ended(pid_t pid)
{
	siginfo_t info;

	cr_assert_eq(waitid(pid == 0 ? P_ALL : P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
}

static pid_t end_at_once(void)
{
	pid_t pid = fork();

	cr_assert(pid >= 0);
	if (pid == 0)
		_exit(3);
	return pid;
}

Test(orphans, all_that_have_ended_are_waited_for)
{
	uv_loop_t loop;
	pid_t pids[3];

	cr_assert_eq(uv_loop_init(&loop), 0);
	for (unsigned i = 0; i < 3; i++)
		pids[i] = end_at_once();
	for (unsigned i = 0; i < 3; i++)
		until_ended(pids[i]);
	cr_assert_eq(orphans_reap(&loop), 3U);
	cr_assert_eq(waitpid(-1, NULL, WNOHANG), -1);
	cr_assert_eq(errno, ECHILD);
	cr_assert_eq(orphans_reap(&loop), 0U);
	cr_assert_eq(uv_loop_close(&loop), 0);
}

Test(orphans, one_that_runs_is_left_alone)
{
	int gate[2];
	uv_loop_t loop;
	pid_t pid;
	char byte;

	cr_assert_eq(uv_loop_init(&loop), 0);
	cr_assert_eq(pipe(gate), 0);
	pid = fork();
	if (pid == 0) {
		(void)close(gate[1]);
		_exit((int)read(gate[0], &byte, 1));
	}
	cr_assert_eq(orphans_reap(&loop), 0U);
	(void)close(gate[1]);
	until_ended(pid);
	cr_assert_eq(orphans_reap(&loop), 1U);
	(void)close(gate[0]);
	cr_assert_eq(uv_loop_close(&loop), 0);
}

static int told = -1;

static void on_exit_of(uv_process_t *p, int64_t status, int signum)
{
	(void)signum;
	told = (int)status;
	uv_close((uv_handle_t *)p, NULL);
}

Test(orphans, a_child_of_libuv_is_left_to_libuv)
{
	char sh[] = "sh", c[] = "-c", script[] = "exit 7";
	char *args[] = {sh, c, script, NULL};
	uv_process_options_t opt = {.exit_cb = on_exit_of, .file = "/bin/sh", .args = args};
	uv_process_t process;
	uv_loop_t loop;

	cr_assert_eq(uv_loop_init(&loop), 0);
	cr_assert_eq(uv_spawn(&loop, &process, &opt), 0);
	until_ended(uv_process_get_pid(&process));
	cr_assert_eq(orphans_reap(&loop), 0U);
	(void)uv_run(&loop, UV_RUN_DEFAULT);
	cr_assert_eq(told, 7);
	cr_assert_eq(uv_loop_close(&loop), 0);
}
