/* Errors: a code for the program, a sentence for the person. See err.h. */
#include "libcore/base/err.h"

#include "libcore/base/cut.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *status_text(enum status st)
{
	switch (st) {
#define X(name, value, text)                                                                       \
	case name:                                                                                 \
		return text;
		STATUS_MAP(X)
#undef X
	}
	return "unknown status";
}

enum status error_set(struct error *err, enum status st, const char *fmt, ...)
{
	va_list args;

	if (err == NULL)
		return st;
	err->status = st;
	err->hint[0] = '\0';
	va_start(args, fmt);
	cut_mark(err->msg, sizeof err->msg, vsnprintf(err->msg, sizeof err->msg, fmt, args));
	va_end(args);
	return st;
}

enum status error_wrap(struct error *err, enum status st, const char *fmt, ...)
{
	char what[sizeof err->msg];
	size_t used;
	va_list args;

	if (err == NULL)
		return st;
	memcpy(what, err->msg, sizeof what);
	err->status = st;
	va_start(args, fmt);
	cut_mark(err->msg, sizeof err->msg, vsnprintf(err->msg, sizeof err->msg, fmt, args));
	va_end(args);
	used = strlen(err->msg);
	cut_mark(err->msg, sizeof err->msg, (int)used + snprintf(err->msg + used, sizeof err->msg - used, ": %s", what));
	return st;
}

void error_hint(struct error *err, const char *fmt, ...)
{
	va_list args;

	if (err == NULL)
		return;
	va_start(args, fmt);
	cut_mark(err->hint, sizeof err->hint, vsnprintf(err->hint, sizeof err->hint, fmt, args));
	va_end(args);
}
