/* The daemon's log. See log_sink.h. */
#include "daemon/log_sink.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

static const struct {
	const char *name;
	int priority; /* of syslog */
} levels[] = {
		[LOG_BUG] = {"BUG", 3},
		[LOG_WARN] = {"WARN", 4},
		[LOG_INFO] = {"INFO", 6},
		[LOG_DEBUG] = {"DEBUG", 7},
};

static int put_head(char *out, size_t size, const struct log_sink *s, enum log_level level, const char *event)
{
	struct timespec ts;
	struct tm tm;
	char when[32] = "?";

	if (s->journal)
		return snprintf(out, size, "<%d>%s ", levels[level].priority, event);
	(void)clock_gettime(CLOCK_REALTIME, &ts);
	if (gmtime_r(&ts.tv_sec, &tm) != NULL)
		(void)strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%S", &tm);
	return snprintf(out, size, "%s.%03ldZ %-5s %s ", when, ts.tv_nsec / 1000000, levels[level].name, event);
}

void log_line(const struct log_sink *s, enum log_level level, const char *event, const char *fmt, ...)
{
	char line[1600];
	size_t used;
	va_list args;

	if (level > s->least)
		return;
	used = (size_t)put_head(line, sizeof line, s, level, event);
	va_start(args, fmt);
	(void)vsnprintf(line + used, sizeof line - used, fmt, args);
	va_end(args);
	for (char *p = line; *p != '\0'; p++)
		if ((unsigned char)*p < 32 || *p == 127)
			*p = ' ';
	if (s->write != NULL)
		s->write(s, line);
	else
		(void)fprintf(stderr, "%s\n", line);
}

void log_sink_stderr(struct log_sink *s, enum log_level least)
{
	const char *stream = getenv("JOURNAL_STREAM"); /* device:inode */
	unsigned long long dev, ino;
	struct stat sb;

	memset(s, 0, sizeof *s);
	s->least = least;
	s->journal = stream != NULL && sscanf(stream, "%llu:%llu", &dev, &ino) == 2 && fstat(2, &sb) == 0 &&
			sb.st_dev == dev && sb.st_ino == ino;
}
