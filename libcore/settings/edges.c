/* Lists of edges. See edges.h. */
#include "libcore/settings/edges.h"

#include "libcore/settings/value.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define MAX_RANKS 64U

struct reading {
	const char *source, *key;
	struct yaml_place at; /* of the pair, or of the list */
	uint32_t n_ranks;
	size_t n; /* pairs so far */
	uint64_t joined[MAX_RANKS]; /* joined[a], bit b: a and b are */
};

static enum status refuse(const struct reading *r, const char *found, struct error *err)
{
	(void)yaml_refuse(err, r->source, r->at, "%s: pair %zu: %s, allowed: two different ranks from 0 to %u, as [0, 1]", r->key, r->n,
			found, r->n_ranks - 1);
	return ST_INVALID;
}

/* One end of a pair. */
static enum status read_rank(uint32_t *out, struct reading *r, struct fy_node *item, struct error *err)
{
	char text[YAML_SHOW_SIZE], shown[YAML_SHOW_SIZE], found[YAML_SHOW_SIZE + 16];
	size_t len;
	uint64_t rank;
	enum status st;

	if (item == NULL || !fy_node_is_scalar(item) || fy_node_is_null(item))
		return refuse(r, "an end that is no number", err);
	if (yaml_place(item).line > 0)
		r->at = yaml_place(item);
	st = yaml_scalar(text, sizeof text, &len, item, err);
	if (st != ST_OK)
		return st;
	if (len < sizeof text && value_integer(&rank, text) && rank < r->n_ranks) {
		*out = (uint32_t)rank;
		return ST_OK;
	}
	yaml_show(shown, text, strlen(text));
	(void)snprintf(found, sizeof found, "found '%s'", shown);
	return refuse(r, found, err);
}

static enum status read_pair(uint32_t pair[2], struct reading *r, struct fy_node *node, struct error *err)
{
	char found[64];
	enum status st;

	if (node == NULL || !fy_node_is_sequence(node))
		return refuse(r, "it is no list", err);
	if (fy_node_sequence_item_count(node) != 2) {
		(void)snprintf(found, sizeof found, "it has %d ends", fy_node_sequence_item_count(node));
		return refuse(r, found, err);
	}
	st = read_rank(&pair[1], r, fy_node_sequence_get_by_index(node, 1), err);
	if (st == ST_OK)
		st = read_rank(&pair[0], r, fy_node_sequence_get_by_index(node, 0), err);
	if (st != ST_OK || pair[0] != pair[1])
		return st;
	(void)snprintf(found, sizeof found, "it joins rank %u to itself", pair[0]);
	return refuse(r, found, err);
}

static enum status check_repeat(struct reading *r, const uint32_t pair[2], struct error *err)
{
	bool again = (r->joined[pair[0]] >> pair[1] & 1) != 0;

	r->joined[pair[0]] |= UINT64_C(1) << pair[1];
	r->joined[pair[1]] |= UINT64_C(1) << pair[0];
	if (!again)
		return ST_OK;
	(void)yaml_refuse(err, r->source, r->at, "%s: pair %zu joins ranks %u and %u once more", r->key, r->n, pair[0], pair[1]);
	error_hint(err, "a link goes both ways: name each one once");
	return ST_INVALID;
}

enum status edges_read(char *out, size_t size, struct fy_node *list, uint32_t n_ranks, const char *source,
		struct yaml_place at, const char *key, struct error *err)
{
	struct reading r = {.source = source, .key = key, .at = at, .n_ranks = n_ranks};
	struct fy_node *item;
	void *iter = NULL;
	uint32_t pair[2];
	size_t used = 0;

	assert(n_ranks <= MAX_RANKS);
	while ((item = fy_node_sequence_iterate(list, &iter)) != NULL) {
		enum status st;

		r.n++;
		st = read_pair(pair, &r, item, err);
		if (st == ST_OK)
			st = check_repeat(&r, pair, err);
		if (st != ST_OK)
			return st;
		used += (size_t)snprintf(out + used, size - used, "%s%u-%u", r.n > 1 ? " " : "", pair[0], pair[1]);
		if (used >= size)
			return yaml_refuse(err, source, at, "%s: the first %zu pairs take more than the allowed %zu characters as text", key, r.n,
					size - 1);
	}
	if (r.n == 0)
		return yaml_refuse(err, source, at, "%s: no pair, allowed: a list as [[0, 1], [1, 2]] that joins all ranks", key);
	return ST_OK;
}
