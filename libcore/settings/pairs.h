/* Settings that dadam passes on as text: model options and data keys. A list is a repeated key. */
#ifndef LIBCORE_SETTINGS_PAIRS_H
#define LIBCORE_SETTINGS_PAIRS_H

#include "libcore/base/err.h"

#include <stddef.h>

#define JOB_PAIRS_MAX 1024U /* in one map */

struct job_pair {
	char *key;
	char *value;
};

struct job_pairs {
	struct job_pair *items;
	size_t n_items;
};

/* The value of the first pair with that key, or NULL. */
const char *job_pairs_get(const struct job_pairs *pairs, const char *key);

/* Put a pair at the end; both texts are copied. On failure nothing has changed.
 * ST_INVALID: there are JOB_PAIRS_MAX already. ST_NOMEM. */
MUST_CHECK enum status job_pairs_add(struct job_pairs *pairs, const char *key, const char *value,
		struct error *err);

/* Free all pairs; the list is empty and usable again. A zeroed list is allowed. */
void job_pairs_fini(struct job_pairs *pairs);

#endif
