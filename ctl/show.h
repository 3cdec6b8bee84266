/* Numbers and foreign texts as people read them. Pure; results go to the caller's array. */
#ifndef CTL_SHOW_H
#define CTL_SHOW_H

#include <stddef.h>
#include <stdint.h>

#define SHOW_SIZE 40

void show_count(char out[SHOW_SIZE], uint64_t n);           /* 41 216 */
void show_bytes(char out[SHOW_SIZE], double bytes);         /* 512 B, 1.2 MB, 17.6 GB (powers of 1000) */
void show_seconds(char out[SHOW_SIZE], double seconds);     /* 0.4s 12s 3m 05s 2h 07m 3d 04h */
void show_number(char out[SHOW_SIZE], double x);            /* four digits after the point; NAN: - */
void show_time(char out[SHOW_SIZE], uint64_t unix_ms);      /* RFC 3339 UTC with milliseconds */
void show_clock(char out[SHOW_SIZE], uint64_t unix_ms);     /* 14:51:57 of the local day */

/* Copy text that came from elsewhere: control characters (also U+0080..9F) and bytes that are not
 * UTF-8 become '?', so that no node can write to somebody's terminal. size > 0. */
void show_clean(char *out, size_t size, const char *text);

/* Copy a hint with "dadamctl VERB" as this program was called: prefix ("dadamctl --socket S") takes the place of
 * "dadamctl", but for help, where a socket is given already, and within `...`: that is for another host. Cut at size. size > 0. */
void show_commands(char *out, size_t size, const char *hint, const char *prefix);

/* Columns that text takes on a terminal: code points, for text that was cleaned. */
size_t show_width(const char *text);

/* Bytes of the longest part that takes at most width columns. */
size_t show_fit(const char *text, size_t width);

/* WIDTH characters: `share` (0..1) of them '#', the rest '-'. size > width. */
void show_bar(char *out, size_t width, double share);

#endif
