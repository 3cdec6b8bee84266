/* Activations and their gradients on links (pipeline jobs): cut into parts that a frame can hold. See links.h.
 *
 *   links_send_tensor ─► parts, each a blob that points into the sender's numbers ─► links_on_sent after the last
 *   payload_at ─► links_tensor_at (the owner's place + what is there already) ─► links_tensor_here ─► TENSOR event
 *
 * The bytes are copied neither here nor there: the kernel takes them from where the sender computed them and puts
 * them where the receiver needs them. */
#include "daemon/worker/links_private.h"

#define PART_BYTES FRAME_MAX_PAYLOAD_LINK /* whole numbers of either format */

static struct links_tensor *coming(struct link *k, enum link_type type)
{
	return type == LINK_ACTIVATION ? &k->down : &k->up;
}

enum status links_check_direction(const struct link *k, enum link_type type, struct error *err)
{
	const struct links_config *cfg = &k->all->cfg;
	int is_down = k->rank + 1 == cfg->rank, is_up = k->rank == cfg->rank + 1;

	if (cfg->place == NULL)
		return error_set(err, ST_PROTO, "%s in a job that is no pipeline", link_type_text(type));
	if (type == LINK_ACTIVATION_GRAD || type == LINK_PIPELINE_ASK_STOP)
		is_down = 0;
	else if (type != LINK_PIPELINE_LOST)
		is_up = 0;
	if (!is_down && !is_up)
		return error_set(err, ST_PROTO, "%s came to rank %u from rank %u", link_type_text(type), cfg->rank, k->rank);
	return ST_OK;
}

static enum status check_part(const struct link *k, const struct link_msg *m, struct error *err)
{
	const struct links_config *cfg = &k->all->cfg;

	if (!k->up_heard)
		return error_set(err, ST_PROTO, "%s before LINK_UP", link_type_text(m->type));
	if (m->u.activation.format != cfg->format)
		return error_set(err, ST_PROTO, "%s in format %d, the job has %d (wire.activations)", link_type_text(m->type),
				(int)m->u.activation.format, (int)cfg->format);
	return links_check_direction(k, m->type, err);
}

static int is_same(const struct link_activation *a, const struct link_activation *b)
{
	return a->iteration == b->iteration && a->sample == b->sample && a->pass == b->pass && a->total == b->total;
}

/* WIRE.md 4: "The parts of one follow each other, in order and without another one of the same type between them." */
static enum status check_order(const struct links_tensor *t, const struct link_msg *m, struct error *err)
{
	const struct link_activation *a = &m->u.activation;

	if (a->offset == t->got && (t->got == 0 || is_same(a, &t->head)))
		return ST_OK;
	return error_set(err, ST_PROTO, "%s of iteration %llu, sample %u from number %llu on, where number %llu of iteration %llu, "
			"sample %u was due", link_type_text(m->type), (unsigned long long)a->iteration, a->sample,
			(unsigned long long)a->offset, (unsigned long long)t->got, (unsigned long long)t->head.iteration,
			t->head.sample);
}

enum status links_tensor_at(struct link *k, const struct link_msg *m, uint8_t **dst, struct error *err)
{
	struct links_tensor *t = coming(k, m->type);
	enum status st = check_part(k, m, err);

	if (st == ST_OK)
		st = check_order(t, m, err);
	if (st == ST_OK && t->got == 0) {
		t->head = m->u.activation;
		st = k->all->cfg.place(k->all->cfg.place_data, m, &t->place, err);
	}
	if (st == ST_OK)
		*dst = t->place + t->got * link_format_bytes(m->u.activation.format);
	return st;
}

void links_tensor_here(struct link *k, const struct link_msg *m, uint32_t payload_len)
{
	struct links_tensor *t = coming(k, m->type);

	t->got += payload_len / link_format_bytes(m->u.activation.format);
	if (t->got < t->head.total)
		return;
	t->got = 0;
	links_tell(k->all, (struct links_event){.type = LINKS_TENSOR, .slot = k->slot, .rank = k->rank, .msg = m});
}

/* One part, of len bytes. `last`: SENT follows. */
static enum status send_part(struct link *k, const struct link_msg *m, const uint8_t *bytes, uint32_t len, int last,
		struct error *err)
{
	struct blob *b = blob_wrap(bytes, len);
	uint64_t tag = (uint64_t)m->type << 56 | (m->u.activation.iteration & LINKS_ROUND_BITS) << 32 | m->u.activation.sample;
	enum status st = b != NULL ? link_seal(b, m, err) : error_set(err, ST_NOMEM, "an activation: out of memory");

	if (st == ST_OK && conn_send_blob(k->conn, b, last ? links_on_sent : NULL, k, tag, err) != ST_OK)
		links_close(k->all, k->slot, err->msg);
	if (st == ST_OK)
		k->all->bytes.payload += len;
	blob_unref(b);
	return st;
}

enum status links_send_tensor(struct links *l, uint32_t slot, const struct link_msg *m, const uint8_t *numbers,
		struct error *err)
{
	struct link_msg part = *m;
	uint32_t width = link_format_bytes(l->cfg.format);
	uint64_t left = m->u.activation.total * width, len;
	enum status st = ST_OK;

	part.u.activation.format = l->cfg.format;
	part.u.activation.offset = 0;
	while (st == ST_OK && left > 0 && links_alive(l, slot) != NULL) {
		len = left < PART_BYTES ? left : PART_BYTES;
		st = send_part(l->slots[slot], &part, numbers, (uint32_t)len, len == left, err);
		numbers += len;
		left -= len;
		part.u.activation.offset += len / width;
	}
	return st;
}
