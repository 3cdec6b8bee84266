/* Differences over real links. See differences.h. */
#include "daemon/worker/differences.h"

#include "libcore/base/mem.h"

struct differences {
	struct differences_config cfg;
	struct exchange *exchange;
	struct guard guard;
};

enum status differences_create(struct differences **out, const struct differences_config *cfg, struct error *err)
{
	struct differences *d = mem_alloc(1, sizeof *d);
	enum status st;

	if (d == NULL)
		return error_set(err, ST_NOMEM, "differences: out of memory");
	d->cfg = *cfg;
	st = exchange_create(&d->exchange, &cfg->exchange, cfg->x, err);
	if (st != ST_OK) {
		mem_free(d);
		return st;
	}
	*out = d;
	return ST_OK;
}

void differences_destroy(struct differences *d)
{
	if (d == NULL)
		return;
	exchange_destroy(d->exchange);
	mem_free(d);
}

void differences_restart(struct differences *d)
{
	exchange_restart(d->exchange, d->cfg.x);
}

enum status differences_open(struct differences *d, uint32_t slot, struct error *err)
{
	return exchange_open(d->exchange, slot, err);
}

static enum status send_frame(struct differences *d, const struct gossip_action *a, uint32_t segment, uint64_t slots,
		const struct exchange_frame *f, struct error *err)
{
	struct link_msg m = {.type = LINK_MODEL_DELTA,
			.u.delta = {.round = a->round, .segment = segment, .seq = f->seq, .hash = f->hash, .dense = f->dense}};

	return slots != 0 ? links_send_bytes(d->cfg.links, slots, &m, f->bytes, f->len, err) : ST_OK;
}

static enum status send_segment(struct differences *d, const struct gossip_action *a, uint32_t segment, struct error *err)
{
	uint64_t dense = a->dense ? a->slots : a->dense_slots;
	struct exchange_frame f;
	enum status st = ST_OK;

	if (!a->dense) {
		st = exchange_advance(d->exchange, &f, a->round, segment, d->cfg.x, err);
		if (st == ST_OK)
			st = send_frame(d, a, segment, a->slots & ~dense, &f, err);
	}
	if (st != ST_OK || dense == 0)
		return st;
	exchange_dense(d->exchange, &f, segment);
	return send_frame(d, a, segment, dense, &f, err);
}

/* Its step and tensor beside what libcore says of the round. */
static void name_culprit(const struct differences *d, uint64_t round, uint32_t segment, struct error *err)
{
	size_t i = exchange_culprit(d->exchange, segment, d->cfg.x);
	char where[160];

	d->cfg.where(d->cfg.data, i, where, sizeof where);
	(void)error_set(err, ST_NOT_FINITE, "rank %u, round %llu: the value of %s is not finite, or too far from its replica (element %zu of x is %g)",
			d->cfg.exchange.rank, (unsigned long long)round, where, i, (double)d->cfg.x[i]);
	error_hint(err, "a smaller learning_rate or gossip_step often helps; nothing of this was sent to other ranks");
}

enum status differences_send(struct differences *d, const struct gossip_action *a, struct error *err)
{
	enum status st = ST_OK;

	for (uint32_t i = a->segment; st == ST_OK && i < a->segment + a->n_segments; i++) {
		st = send_segment(d, a, i, err);
		if (st == ST_NOT_FINITE)
			name_culprit(d, a->round, i, err);
	}
	return st;
}

enum status differences_take(struct differences *d, const struct links_event *ev, struct error *err)
{
	const struct link_model_delta *m = &ev->msg->u.delta;
	struct exchange_frame f = {.seq = m->seq, .hash = m->hash, .dense = m->dense != 0, .bytes = ev->bytes,
			.len = m->encoded_len};

	if (d->cfg.order == GOSSIP_LAGGED) /* it is applied at once: its place is free */
		links_release(d->cfg.links, ev->slot, m->segment);
	return exchange_receive(d->exchange, ev->slot, ev->rank, m->round, m->segment, &f, err);
}

void differences_mix(struct differences *d, const struct gossip_action *a)
{
	for (uint32_t i = a->segment; i < a->segment + a->n_segments; i++)
		exchange_mix(d->exchange, d->cfg.x, i, a->mix);
}

enum guard_verdict differences_round_over(struct differences *d, struct error *text)
{
	double ratio = exchange_residual(d->exchange), gamma = d->cfg.exchange.gamma;
	enum guard_verdict v = guard_round(&d->guard, ratio);

	switch (v) {
	case GUARD_FINE:
		break;
	case GUARD_HALVE:
		(void)error_set(text, ST_OK, "rank %u: |x - replica| is %.2f of |x| for %u rounds: the gossip step %g is halved",
				d->cfg.exchange.rank, ratio, GUARD_ROUNDS, gamma);
		break;
	case GUARD_STOP:
		(void)error_set(text, ST_NOT_FINITE, "rank %u diverges: |x - replica| is %.2f of |x| for %u rounds, also after the gossip "
				"step %g was halved", d->cfg.exchange.rank, ratio, GUARD_ROUNDS, gamma);
		error_hint(text, "write `gossip_step: auto`, or a smaller number, or compress less");
		break;
	}
	return v;
}
