/* Links between workers. See links.h.
 *
 * The life of a link, in the order of this file:
 *
 *   links_take ─► on_open ─► payload_at, on_frame ─► events
 *   (sending: links_send.c; activations: links_tensor.c)
 *   links_tick (silence), links_close, links_finish ─► on_close ─► CLOSED, free */
#include "daemon/worker/links_private.h"

#include "libcore/base/mem.h"
#include "libcore/optim/optim.h"

#include <stdio.h>
#include <string.h>

#define FLOATS_PER_LINE 16U /* places begin at cache lines */
#define TICK_LATE_MS 1500U  /* a tick this late says something of us, not of the peers */

static void on_open(void *data, struct conn *c);
static enum status payload_at(void *data, const struct frame *f, uint8_t **dst, struct error *err);
static void on_frame(void *data, struct conn *c, const struct frame *f);
static void on_close(void *data, struct conn *c, const struct error *why);

enum status links_create(struct links **out, uv_loop_t *loop, const struct links_config *cfg, struct error *err)
{
	uint32_t longest = cfg->n_params < cfg->segment ? (uint32_t)cfg->n_params : cfg->segment; /* of all segments */
	struct links *l = mem_alloc(1, sizeof *l);
	enum status st;

	if (l == NULL)
		return error_set(err, ST_NOMEM, "links: out of memory");
	l->loop = loop;
	l->cfg = *cfg; /* of `compress` only whether it is NULL counts: wire has its own copy */
	l->n_segments = (uint32_t)((cfg->n_params + cfg->segment - 1) / cfg->segment);
	l->stride = (longest + FLOATS_PER_LINE - 1) / FLOATS_PER_LINE * FLOATS_PER_LINE;
	st = wire_create(&l->wire, cfg->zstd, cfg->compress, longest, err);
	if (st == ST_OK && cfg->compress == NULL && cfg->delta != WIRE_OFF) {
		wire_set_delta(l->wire, cfg->delta);
		st = bases_create(&l->bases, cfg->n_params, cfg->segment, err);
	}
	if (st != ST_OK) {
		links_destroy(l);
		return st;
	}
	*out = l;
	return ST_OK;
}

void links_destroy(struct links *l)
{
	if (l == NULL)
		return;
	for (uint32_t s = 0; s < LINKS_MAX; s++)
		mem_free_big(l->places[s], (size_t)l->cfg.window * l->stride, sizeof(real));
	wire_destroy(l->wire);
	bases_destroy(l->bases);
	mem_free(l);
}

void links_tell(struct links *l, struct links_event ev)
{
	l->cfg.on_event(l->cfg.data, &ev);
}

struct link *links_alive(const struct links *l, uint32_t slot)
{
	struct link *k = slot < LINKS_MAX ? l->slots[slot] : NULL;

	return k != NULL && !k->closing ? k : NULL;
}

/* ---- birth ---- */

static int free_slot(const struct links *l, uint64_t busy)
{
	for (uint32_t s = 0; s < LINKS_MAX; s++)
		if (l->slots[s] == NULL && (busy >> s & 1) == 0)
			return (int)s;
	return -1;
}

static enum status make_link(struct link **out, struct links *l, uint32_t slot, struct error *err)
{
	struct link *k = mem_alloc(1, sizeof *k);

	if (l->places[slot] == NULL)
		l->places[slot] = mem_alloc_big((size_t)l->cfg.window * l->stride, sizeof(real));
	if (k == NULL || l->places[slot] == NULL) {
		mem_free(k);
		return error_set(err, ST_NOMEM, "a link: out of memory");
	}
	k->all = l;
	k->slot = slot;
	k->reading = 1;
	k->read_on_ms = uv_now(l->loop);
	*out = k;
	return ST_OK;
}

static enum status check_take(const struct links *l, uint32_t rank, int slot, struct error *err)
{
	if (rank >= l->cfg.n_ranks || rank == l->cfg.rank)
		return error_set(err, ST_PROTO, "a link to rank %u came to rank %u of %u", rank, l->cfg.rank, l->cfg.n_ranks);
	if (slot < 0)
		return error_set(err, ST_UNAVAILABLE, "a link to rank %u came, all %u slots are taken", rank, LINKS_MAX);
	return ST_OK;
}

enum status links_take(struct links *l, struct conn *from, uint64_t link, uint32_t rank, int accepted, uint64_t busy,
		struct error *err)
{
	struct conn_config cfg = {.limits = {.max_head = FRAME_MAX_HEAD, .max_payload = FRAME_MAX_PAYLOAD_LINK}};
	struct conn_owner owner = {.on_open = on_open, .on_frame = on_frame, .on_close = on_close};
	int slot = free_slot(l, busy);
	enum status st = check_take(l, rank, slot, err);
	struct link *k = NULL;

	if (st == ST_OK)
		st = make_link(&k, l, (uint32_t)slot, err);
	if (st != ST_OK)
		return st;
	memcpy(cfg.congestion, l->cfg.congestion, sizeof cfg.congestion);
	k->link = link;
	k->rank = rank;
	owner.data = k;
	k->conn = conn_take_passenger(from, &cfg, owner, err);
	if (k->conn == NULL) {
		mem_free(k);
		return ST_IO;
	}
	conn_set_sink(k->conn, (struct frame_sink){.data = k, .payload_at = payload_at});
	l->slots[slot] = k;
	links_tell(l, (struct links_event){.type = LINKS_OPEN, .slot = k->slot, .rank = rank, .link = link, .accepted = accepted != 0});
	return ST_OK;
}

static void on_open(void *data, struct conn *c)
{
	(void)data, (void)c;
}

/* ---- what comes in ---- */

static int is_of_mean(enum link_type type)
{
	return type == LINK_MODEL_SUM || type == LINK_MODEL_HELD || type == LINK_MODEL_MEAN;
}

/* A neighbour may hear of a plan first, while its segment of the plan at hand waits here for those of others. */
static int is_early(const struct link *k, const struct link_msg *m)
{
	return is_of_mean(m->type) && m->u.delta.round > k->all->plan;
}

static int is_occupied(const struct link *k, uint32_t segment)
{
	return (k->occupied >> segment % k->all->cfg.window & 1) != 0;
}

static enum status check_room(struct link *k, const struct link_msg *m, struct error *err)
{
	k->goes_aside = is_occupied(k, m->u.delta.segment);
	if (!k->goes_aside)
		return ST_OK;
	if (!is_early(k, m) || k->is_aside)
		return error_set(err, ST_PROTO, "segment %u came before there was room for it (window %u)", m->u.delta.segment,
				k->all->cfg.window);
	if (k->aside == NULL)
		k->aside = mem_alloc(k->all->stride, sizeof *k->aside);
	return k->aside != NULL ? ST_OK : error_set(err, ST_NOMEM, "no memory for a segment of %u parameters", k->all->stride);
}

static enum status check_segment(struct link *k, const struct link_msg *m, struct error *err)
{
	const struct link_model_delta *d = &m->u.delta;

	if (!k->up_heard)
		return error_set(err, ST_PROTO, "a segment before LINK_UP");
	if (d->segment >= k->all->n_segments)
		return error_set(err, ST_PROTO, "segment %u of %u", d->segment, k->all->n_segments);
	if (d->n != links_n_params(k->all, d->segment))
		return error_set(err, ST_PROTO, "segment %u has %u parameters, %u are right", d->segment, d->n,
				links_n_params(k->all, d->segment));
	return check_room(k, m, err);
}

static real *place(const struct links *l, uint32_t slot, uint32_t segment)
{
	return l->places[slot] + (size_t)(segment % l->cfg.window) * l->stride;
}

/* Where a segment goes that has passed check_segment(). */
static real *place_for(const struct link *k, const struct link_msg *m)
{
	return k->goes_aside ? k->aside : place(k->all, k->slot, m->u.delta.segment);
}

static uint32_t put_in_place(struct link *k, const struct link_model_delta *d)
{
	memcpy(place(k->all, k->slot, d->segment), k->aside, d->n * sizeof(real));
	return 1U << d->segment % k->all->cfg.window;
}

/* The place may have become free while the segment was read. */
static void is_here(struct link *k, const struct link_msg *m)
{
	uint32_t bit = 1U << m->u.delta.segment % k->all->cfg.window;

	k->is_aside = k->goes_aside && is_occupied(k, m->u.delta.segment);
	if (k->goes_aside && !k->is_aside)
		(void)put_in_place(k, &m->u.delta);
	if (is_early(k, m)) {
		k->early = k->is_aside ? 0 : bit;
		k->early_head = m->u.delta;
	}
	k->occupied |= bit;
}

static void free_places(struct link *k, uint64_t plan)
{
	k->occupied = k->early;
	if (k->is_aside)
		k->occupied = k->early = put_in_place(k, &k->early_head);
	k->is_aside = 0;
	if (k->early_head.round <= plan)
		k->early = 0;
}

void links_set_plan(struct links *l, uint64_t plan)
{
	l->plan = plan;
	for (uint32_t s = 0; s < LINKS_MAX; s++)
		if (l->slots[s] != NULL)
			free_places(l->slots[s], plan);
}

/* Does the owner get the payload as bytes, not as parameters in their place? */
static int is_for_replica(const struct links *l, const struct link_msg *m)
{
	return l->cfg.compress != NULL && m->type == LINK_MODEL_DELTA;
}

/* Before the payload is read: everything about it is checked, and its place chosen. */
static enum status payload_at(void *data, const struct frame *f, uint8_t **dst, struct error *err)
{
	struct link *k = data;
	struct link_msg m;
	enum status st = link_decode(&m, f, err);

	if (st == ST_OK && (m.type == LINK_ACTIVATION || m.type == LINK_ACTIVATION_GRAD || m.type == LINK_MODEL_COPY)) {
		st = m.type == LINK_MODEL_COPY ? links_copy_at(k, &m, dst, err) : links_tensor_at(k, &m, dst, err);
		return st == ST_OK ? ST_OK : error_wrap(err, st, "rank %u", k->rank);
	}
	if (st == ST_OK)
		st = check_segment(k, &m, err);
	if (st == ST_OK)
		st = wire_check(k->all->wire, &m, f->payload_len, err);
	if (st != ST_OK)
		return error_wrap(err, st, "rank %u", k->rank);
	if (wire_is_plain(&m.u.delta) && !is_for_replica(k->all, &m)) {
		*dst = (uint8_t *)place_for(k, &m);
		return ST_OK;
	}
	if (k->packed == NULL)
		k->packed = mem_alloc(wire_bound(k->all->wire), 1);
	*dst = k->packed; /* NULL: the parser finds its own room, or says that there is none */
	return ST_OK;
}

static enum status check_up(const struct link *k, const struct link_up *up, struct error *err)
{
	const struct links_config *cfg = &k->all->cfg;

	if (k->up_heard)
		return error_set(err, ST_PROTO, "a second LINK_UP");
	if (up->rank != k->rank)
		return error_set(err, ST_PROTO, "says that it is rank %u", up->rank);
	if (up->n_params != cfg->n_params)
		return error_set(err, ST_PROTO, "has a model of %llu parameters, here it has %zu",
				(unsigned long long)up->n_params, cfg->n_params);
	if (up->segment != cfg->segment)
		return error_set(err, ST_PROTO, "has segments of %u parameters, here they have %u", up->segment, cfg->segment);
	return ST_OK;
}

/* A neighbour's poison would be ours after the next mix, and in the last round nobody would look any more. */
static enum status check_numbers(const struct link_model_delta *d, const real *x, struct error *err)
{
	size_t i = optim_first_not_finite(x, d->n);

	return i == d->n ? ST_OK : error_set(err, ST_PROTO, "segment %u of round %llu: number %zu is %g, it must be finite", d->segment,
			(unsigned long long)d->round, i, (double)x[i]);
}

static enum status take_model(struct link *k, const struct frame *f, const struct link_msg *m, struct error *err)
{
	const struct link_model_delta *d = &m->u.delta;
	struct links_event ev = {.type = LINKS_MODEL, .slot = k->slot, .rank = k->rank, .msg = m};
	real *x = place_for(k, m);
	enum status st = ST_OK;

	if (is_for_replica(k->all, m))
		st = wire_unpack(k->all->wire, &ev.bytes, d, f->payload, f->payload_len, err);
	else if (d->lossless == LINK_DELTA_ZSTD)
		st = bases_take(k->all->bases, &k->base, x, d, f->payload, f->payload_len, err);
	else if (!wire_is_plain(d))
		st = wire_decode(k->all->wire, x, d, f->payload, f->payload_len, err);
	if (st == ST_OK && d->seq != 0 && d->lossless != LINK_DELTA_ZSTD && !is_for_replica(k->all, m))
		st = bases_keep(k->all->bases, &k->base, d, x, err);
	if (st == ST_OK && !is_for_replica(k->all, m))
		st = check_numbers(d, x, err);
	if (st != ST_OK)
		return st;
	is_here(k, m);
	links_tell(k->all, ev);
	return ST_OK;
}

static enum status dispatch(struct link *k, const struct frame *f, const struct link_msg *m, struct error *err)
{
	struct links_event ev = {.slot = k->slot, .rank = k->rank, .msg = m};
	enum status st;

	if (!k->up_heard && m->type != LINK_UP)
		return error_set(err, ST_PROTO, "%s before LINK_UP", link_type_text(m->type));
	switch (m->type) {
	case LINK_UP:
		st = check_up(k, &m->u.up, err);
		if (st != ST_OK)
			return st;
		k->up_heard = 1;
		ev.type = LINKS_UP;
		break;
	case LINK_ROUND_BEGIN:
		ev.type = LINKS_BEGIN;
		break;
	case LINK_MODEL_DELTA:
	case LINK_MODEL_SUM:
	case LINK_MODEL_MEAN:
	case LINK_MODEL_HELD:
		return take_model(k, f, m, err);
	case LINK_ACTIVATION:
	case LINK_ACTIVATION_GRAD:
		links_tensor_here(k, m, f->payload_len);
		return ST_OK;
	case LINK_MODEL_COPY:
		links_copy_here(k, m, f->payload_len);
		return ST_OK;
	case LINK_PIPELINE_BEGIN:
	case LINK_PIPELINE_END:
	case LINK_PIPELINE_ASK_STOP:
	case LINK_PIPELINE_LOST:
		st = links_check_direction(k, m->type, err);
		if (st != ST_OK)
			return st;
		ev.type = LINKS_PIPELINE;
		break;
	case LINK_ALIVE:
		ev.type = LINKS_ALIVE;
		break;
	case LINK_BYE:
		ev.type = LINKS_BYE;
		break;
	}
	links_tell(k->all, ev);
	return ST_OK;
}

static void on_frame(void *data, struct conn *c, const struct frame *f)
{
	struct link *k = data;
	struct error err = {0};
	struct link_msg m;
	enum status st;

	(void)c;
	if (k->closing)
		return;
	st = link_decode(&m, f, &err);
	if (st == ST_OK)
		st = dispatch(k, f, &m, &err);
	if (st != ST_OK)
		links_close(k->all, k->slot, err.msg);
}

/* ---- time and the end ---- */

void links_read(struct links *l, uint32_t slot, int on)
{
	struct link *k = links_alive(l, slot);

	if (k == NULL || k->reading == on)
		return;
	k->reading = on;
	if (on)
		k->read_on_ms = uv_now(l->loop);
	conn_read(k->conn, on);
}

static void tick_one(struct link *k, const struct link_msg *m, uint64_t now, int late)
{
	uint64_t heard = conn_heard_ms(k->conn), since = heard > k->read_on_ms ? heard : k->read_on_ms;
	char why[160];

	if (late)
		k->read_on_ms = now;
	else if (k->reading && now > since + k->all->cfg.timeout_ms) {
		snprintf(why, sizeof why, "nothing heard for %.1f s (timeouts.link)", (double)(now - since) / 1000);
		links_close(k->all, k->slot, why);
		return;
	}
	if (k->up_sent && !conn_is_full(k->conn))
		links_send(k->all, k->slot, m);
}

void links_tick(struct links *l, uint64_t round, int32_t waiting_for)
{
	struct link_msg m = {.type = LINK_ALIVE, .u.alive = {.round = round, .waiting_for = waiting_for}};
	uint64_t now = uv_now(l->loop);
	int late = l->last_tick_ms != 0 && now > l->last_tick_ms + TICK_LATE_MS; /* we were stopped: ask the sockets first */

	l->last_tick_ms = now;
	for (uint32_t s = 0; s < LINKS_MAX; s++)
		if (links_alive(l, s) != NULL)
			tick_one(l->slots[s], &m, now, late);
}

void links_close(struct links *l, uint32_t slot, const char *why)
{
	struct link *k = links_alive(l, slot);
	struct error err;

	if (k == NULL)
		return;
	k->closing = 1;
	(void)error_set(&err, ST_CLOSED, "%s", why);
	conn_close(k->conn, 0, &err);
}

void links_finish(struct links *l, unsigned limit_ms)
{
	for (uint32_t s = 0; s < LINKS_MAX; s++) {
		struct link *k = links_alive(l, s);

		if (k == NULL)
			continue;
		k->closing = 1; /* nothing that comes now counts */
		conn_close(k->conn, limit_ms, NULL);
	}
}

static void settle(struct link *k)
{
	uint64_t sent = conn_bytes_sent(k->conn);

	k->all->bytes.wire += sent - k->counted;
	k->counted = sent;
}

static void on_close(void *data, struct conn *c, const struct error *why)
{
	struct link *k = data;
	struct links *l = k->all;
	struct links_event ev = {.type = LINKS_CLOSED, .slot = k->slot, .rank = k->rank, .link = k->link};

	(void)c;
	settle(k);
	snprintf(k->why, sizeof k->why, "%.150s", why != NULL && why->msg[0] != 0 ? why->msg : "closed in order");
	ev.why = k->why;
	l->slots[k->slot] = NULL;
	links_tell(l, ev);
	mem_free(k->packed);
	mem_free(k->aside);
	bases_link_fini(&k->base);
	mem_free(k);
}

/* ---- small things ---- */

const real *links_place(const struct links *l, uint32_t slot, uint32_t segment)
{
	return place(l, slot, segment);
}

void links_release(struct links *l, uint32_t slot, uint32_t segment)
{
	if (l->slots[slot] != NULL)
		l->slots[slot]->occupied &= ~(1U << segment % l->cfg.window);
}

void links_release_all(struct links *l, uint32_t segment)
{
	for (uint32_t s = 0; s < LINKS_MAX; s++)
		links_release(l, s, segment);
}

uint32_t links_n_params(const struct links *l, uint32_t segment)
{
	size_t first = (size_t)segment * l->cfg.segment, left = l->cfg.n_params - first;

	return left < l->cfg.segment ? (uint32_t)left : l->cfg.segment;
}

void links_set_ranks(struct links *l, uint32_t n_ranks)
{
	l->cfg.n_ranks = n_ranks;
}

uint32_t links_n_segments(const struct links *l)
{
	return l->n_segments;
}

size_t links_total_params(const struct links *l)
{
	return l->cfg.n_params;
}

uint64_t links_open(const struct links *l)
{
	uint64_t set = 0;

	for (uint32_t s = 0; s < LINKS_MAX; s++)
		if (links_alive(l, s) != NULL)
			set |= (uint64_t)1 << s;
	return set;
}

uint64_t links_up(const struct links *l)
{
	uint64_t set = links_open(l);

	for (uint32_t s = 0; s < LINKS_MAX; s++)
		if ((set >> s & 1) != 0 && !(l->slots[s]->up_sent && l->slots[s]->up_heard))
			set &= ~((uint64_t)1 << s);
	return set;
}

int links_up_said(const struct links *l, uint32_t slot)
{
	return l->slots[slot] != NULL && l->slots[slot]->up_sent;
}

uint32_t links_rank(const struct links *l, uint32_t slot)
{
	return l->slots[slot] != NULL ? l->slots[slot]->rank : UINT32_MAX;
}

int links_slot_of(const struct links *l, uint32_t rank)
{
	for (uint32_t s = 0; s < LINKS_MAX; s++)
		if (links_alive(l, s) != NULL && l->slots[s]->rank == rank)
			return (int)s;
	return -1;
}

void links_bytes(const struct links *l, struct links_bytes *out)
{
	*out = l->bytes;
	for (uint32_t s = 0; s < LINKS_MAX; s++)
		if (l->slots[s] != NULL)
			out->wire += conn_bytes_sent(l->slots[s]->conn) - l->slots[s]->counted;
	out->wire -= out->mean_wire < out->wire ? out->mean_wire : out->wire;
}
