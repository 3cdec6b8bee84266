/* "Did you mean ...?": the known word that lies nearest to a mistyped one. */
#ifndef LIBCORE_BASE_NEAREST_H
#define LIBCORE_BASE_NEAREST_H

#include <stddef.h>

/* The word at the least edit distance (insert, delete, replace, swap of neighbours; case counts for
 * nothing), the first of equals; NULL when none is near: more than a third of the letters differ.
 * Only the first 63 characters of text and words are looked at. The result is one of words. */
const char *nearest_word(const char *text, const char *const *words, size_t n_words);

#endif
