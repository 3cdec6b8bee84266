/* Last words of a process that dies of a signal: one line on stderr (the daemon puts it into the job's
 * log), then the signal as if nobody had looked. Says which call of the plugin it was in. */
#ifndef DAEMON_WORKER_CRASH_H
#define DAEMON_WORKER_CRASH_H

#include "daemon/worker/plugin.h"

/* On the thread that calls the plugin, before the first call; p lives as long as the process. Nothing is
 * done under a sanitizer, which has its own words. Failing is no harm. */
void crash_install(const struct plugin *p);

#endif
