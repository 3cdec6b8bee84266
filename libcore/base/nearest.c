/* Edit distance (Damerau, optimal string alignment) over short words. See nearest.h. */
#include "libcore/base/nearest.h"

#include <ctype.h>
#include <string.h>

#define WORD_MAX 63

static int lower(char c)
{
	return tolower((unsigned char)c);
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static size_t distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
	size_t rows[3][WORD_MAX + 1]; /* rows i-2, i-1 and i of the table, in turn */

	for (size_t j = 0; j <= b_len; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= a_len; i++) {
		size_t *now = rows[i % 3], *last = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];

		now[0] = i;
		for (size_t j = 1; j <= b_len; j++) {
			size_t differ = lower(a[i - 1]) != lower(b[j - 1]);

			now[j] = least(least(last[j], now[j - 1]) + 1, last[j - 1] + differ);
			if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
			    lower(a[i - 2]) == lower(b[j - 1]))
				now[j] = least(now[j], before[j - 2] + 1);
		}
	}
	return rows[a_len % 3][b_len];
}

const char *nearest_word(const char *text, const char *const *words, size_t n_words)
{
	size_t text_len = strnlen(text, WORD_MAX);
	size_t best = (text_len + 2) / 3 + 1; /* the first distance that is too far */
	const char *found = NULL;

	for (size_t i = 0; i < n_words; i++) {
		size_t d = distance(text, text_len, words[i], strnlen(words[i], WORD_MAX));

		if (d < best) {
			best = d;
			found = words[i];
		}
	}
	return found;
}
