/* Handlers of SIGSEGV and its like. See crash.h. Only what is safe in a handler is done in it: no heap,
 * no locks, no stdio; snprintf of integers and strings does not allocate in glibc. */
#include "daemon/worker/crash.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#if defined(__has_feature)
#define HAS_FEATURE(x) __has_feature(x)
#else
#define HAS_FEATURE(x) 0
#endif

static const struct plugin *plugin;
static pthread_t plugin_thread;

static void on_crash(int sig)
{
	char what[120] = "worker", line[200];
	int n;

	if (pthread_equal(pthread_self(), plugin_thread)) {
		struct plugin_watch w = plugin_watch(plugin);

		plugin_watch_text(what, plugin, &w);
	}
	n = snprintf(line, sizeof line, "%s: crashed with signal %d\n", what, sig);
	if (n > 0)
		(void)!write(STDERR_FILENO, line, (size_t)n);
	raise(sig); /* the default action: SA_RESETHAND */
}

void crash_install(const struct plugin *p)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || HAS_FEATURE(address_sanitizer) || \
		HAS_FEATURE(thread_sanitizer)
	(void)on_crash;
	(void)p;
#else
	static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
	static char stack[64 * 1024]; /* the plugin may have used up its own */
	stack_t alternative = {.ss_sp = stack, .ss_size = sizeof stack};
	struct sigaction sa;

	plugin = p;
	plugin_thread = pthread_self();
	(void)sigaltstack(&alternative, NULL);
	memset(&sa, 0, sizeof sa);
	sa.sa_handler = on_crash;
	sa.sa_flags = (int)(SA_ONSTACK | SA_RESETHAND);
	for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
		(void)sigaction(signals[i], &sa, NULL);
#endif
}
