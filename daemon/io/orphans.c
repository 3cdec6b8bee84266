/* Ended processes that nobody waits for. See orphans.h.
 *
 * The kernel names one ended child at a time, and names it again until it is waited for. So when that one is
 * libuv's, the rest is left to the next call: by then libuv has waited for it. */
#include "daemon/io/orphans.h"

#include <sys/wait.h>

struct search {
	pid_t pid;
	int found;
};

static void on_handle(uv_handle_t *h, void *data)
{
	struct search *s = data;

	if (h->type == UV_PROCESS && uv_process_get_pid((const uv_process_t *)h) == s->pid)
		s->found = 1;
}

static int is_of_loop(uv_loop_t *loop, pid_t pid)
{
	struct search s = {pid, 0};

	uv_walk(loop, on_handle, &s);
	return s.found;
}

unsigned orphans_reap(uv_loop_t *loop)
{
	for (unsigned n = 0;; n++) {
		siginfo_t info = {0};

		if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0)
			return n;
		if (is_of_loop(loop, info.si_pid) || waitpid(info.si_pid, NULL, WNOHANG) != info.si_pid)
			return n;
	}
}
