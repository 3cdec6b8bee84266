/* The daemon's log: a constant event, then key=value. Levels are meanings: BUG (our code is wrong),
 * WARN (odd, from outside), INFO (each change of state), DEBUG (each transition). */
#ifndef DAEMON_LOG_SINK_H
#define DAEMON_LOG_SINK_H

#include "libcore/base/err.h"

enum log_level { LOG_BUG, LOG_WARN, LOG_INFO, LOG_DEBUG };

struct log_sink {
	enum log_level least; /* what is said at all */
	int journal;          /* lines for the system's journal: "<4>", no time */
	void (*write)(const struct log_sink *s, const char *line); /* NULL: stderr */
	void *data;
};

#define LOG(sink, level, event, ...) log_line(sink, level, event, __VA_ARGS__)

/* One line; control characters become spaces. */
void log_line(const struct log_sink *s, enum log_level level, const char *event, const char *fmt, ...) PRINTF_LIKE(4, 5);

/* To stderr, as the journal likes it when stderr is the journal. */
void log_sink_stderr(struct log_sink *s, enum log_level least);

#endif
