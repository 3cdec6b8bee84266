/* A list of edges in a spec, `[[0, 1], [1, 2]]`, as the text that topology_parse() reads: "0-1 1-2". */
#ifndef LIBCORE_SETTINGS_EDGES_H
#define LIBCORE_SETTINGS_EDGES_H

#include "libcore/settings/yaml.h"

#include <stddef.h>
#include <stdint.h>

/* Write the pairs of the sequence `list` to out (size bytes). Every pair is two different ranks below
 * n_ranks (at most 64), and none comes twice, in either order. source and key are for messages, at is where the key's
 * value stands.
 *
 * ST_INVALID: "source:line:col: key: ..." at the pair that is wrong, or the text has no room. ST_NOMEM */
MUST_CHECK enum status edges_read(char *out, size_t size, struct fy_node *list, uint32_t n_ranks, const char *source,
		struct yaml_place at, const char *key, struct error *err);

#endif
