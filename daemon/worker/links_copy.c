/* The copy of a model for a rank that comes late: x, m, v in parts. See links.h.
 *
 *   links_send_copy ─► all parts at once, copied into blobs: the sender's vectors move on
 *   payload_at ─► links_copy_at (the receiver's room, at the part's offset) ─► links_copy_here ─► COPY event at the end */
#include "daemon/worker/links_private.h"

#include <string.h>

#define PART_NUMBERS 65536U

/* The numbers from `offset` on of vectors that lie behind one another in thought. */
static void fill(real *out, const real *const *vectors, size_t n, size_t offset, size_t len)
{
	while (len > 0) {
		size_t at = offset % n, take = n - at < len ? n - at : len;

		memcpy(out, vectors[offset / n] + at, take * sizeof *out);
		out += take;
		offset += take;
		len -= take;
	}
}

static enum status send_part(struct link *k, const struct link_msg *m, const real *const *vectors, size_t n, size_t len,
		struct error *err)
{
	struct blob *b = blob_create((uint32_t)(len * sizeof(real)));
	enum status st;

	if (b == NULL)
		return error_set(err, ST_NOMEM, "out of memory for a part of %zu parameters", len);
	b->payload_len = (uint32_t)(len * sizeof(real));
	fill((real *)(void *)b->payload, vectors, n, m->u.activation.offset, len);
	st = link_seal(b, m, err);
	if (st == ST_OK)
		st = conn_send_blob(k->conn, b, NULL, NULL, 0, err);
	blob_unref(b);
	return st;
}

enum status links_send_copy(struct links *l, uint32_t slot, uint64_t step, const real *const *vectors, uint32_t n_vectors,
		size_t n, struct error *err)
{
	struct link *k = links_alive(l, slot);
	struct link_msg m = {.type = LINK_MODEL_COPY, .u.activation = {.iteration = step, .total = (uint64_t)n * n_vectors}};
	enum status st = ST_OK;

	while (st == ST_OK && k != NULL && m.u.activation.offset < m.u.activation.total) {
		uint64_t left = m.u.activation.total - m.u.activation.offset;
		size_t len = left < PART_NUMBERS ? (size_t)left : PART_NUMBERS;

		st = send_part(k, &m, vectors, n, len, err);
		m.u.activation.offset += len;
	}
	return st;
}

void links_want_copy(struct links *l, real *room, size_t total)
{
	l->copy = room;
	l->copy_total = total;
	l->copy_got = 0;
}

enum status links_copy_at(struct link *k, const struct link_msg *m, uint8_t **dst, struct error *err)
{
	const struct link_activation *a = &m->u.activation;
	struct links *l = k->all;

	if (l->copy == NULL || !k->up_heard)
		return error_set(err, ST_PROTO, "MODEL_COPY, which nobody asked for");
	if (a->offset == 0)
		l->copy_got = 0; /* over a new link, from the start */
	if (a->total != l->copy_total || a->offset != l->copy_got || a->format != LINK_FLOAT32)
		return error_set(err, ST_PROTO, "MODEL_COPY from number %llu on of %llu, where number %zu of %zu was due",
				(unsigned long long)a->offset, (unsigned long long)a->total, l->copy_got, l->copy_total);
	*dst = (uint8_t *)(l->copy + l->copy_got);
	return ST_OK;
}

void links_copy_here(struct link *k, const struct link_msg *m, uint32_t payload_len)
{
	struct links *l = k->all;

	l->copy_got += payload_len / sizeof(real);
	if (l->copy_got < l->copy_total)
		return;
	l->copy = NULL;
	links_tell(l, (struct links_event){.type = LINKS_COPY, .slot = k->slot, .rank = k->rank, .msg = m});
}
