/* Text that travels: valid UTF-8 without control characters, so that a name from another host can be
 * printed on a terminal and put into a log line as it is. */
#ifndef PROTO_TEXT_H
#define PROTO_TEXT_H

#include <stddef.h>

enum text_kind {
	TEXT_LINE, /* no control character at all */
	TEXT_LINES /* newline, tab and carriage return are fine */
};

/* Bytes of the longest good beginning of s; len when all of it is good. */
size_t text_good(const char *s, size_t len, enum text_kind kind);

/* Make dst (len + 1 bytes) from s: every bad byte becomes '?', control characters become spaces, and a
 * character that was cut off at the end is dropped. Returns the bytes written; dst ends in 0. */
size_t text_clean(char *dst, const char *s, size_t len, enum text_kind kind);

#endif
