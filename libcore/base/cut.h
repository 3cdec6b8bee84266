/* A text that was too long for its place: cut at the end of a character, and marked. */
#ifndef LIBCORE_BASE_CUT_H
#define LIBCORE_BASE_CUT_H

#include <stddef.h>

/* text holds what fitted into size bytes (the closing zero included) of a text of `wanted` bytes, as snprintf()
 * returns it. When that was too much, the end of text becomes "…", after a whole character. */
void cut_mark(char *text, size_t size, int wanted);

/* A copy of text in dst (size bytes, the closing zero included); one that is too long ends in "…". */
void cut_copy(char *dst, size_t size, const char *text);

/* "a, b, c" in dst (size bytes, the closing zero included, more than `more` and its comma take): all n items, or as many as
 * leave room for `more` behind them. */
void cut_list(char *dst, size_t size, const char *const *items, size_t n, const char *more);

#endif
