/* What may come from a neighbour, and where it belongs. See pipeline.h.
 *
 * `next` stands at the next input in the stream that the upstream stage sends: samples 0 .. K-1 of
 * iteration t, the chunks of an evaluation when one is due, samples of t+1 ... So one comparison
 * refuses what is early, late, repeated or out of order. Room needs one more: an honest upstream stage
 * is never more than the in places ahead (it waits for gradients), but in an evaluation, where READ
 * holds it back. */
#include "libcore/round/pipeline_internal.h"

static const char *const name_of[] = {
		[PIPELINE_ACTIVATION] = "activation", [PIPELINE_GRADIENT] = "gradient", [PIPELINE_CHUNK] = "test chunk"};

static enum status out_of_turn(const struct pipeline_event *ev, enum pipeline_what what, uint64_t iteration,
		uint32_t sample, struct error *err)
{
	return error_set(err, ST_PROTO, "%s %u of iteration %llu, the next one is %s %u of iteration %llu", name_of[ev->what],
			ev->sample, (unsigned long long)ev->iteration, name_of[what], sample, (unsigned long long)iteration);
}

static enum status gradient_may_come(const struct pipeline *p, const struct pipeline_event *ev, struct error *err)
{
	if (ev->side != PIPELINE_DOWNSTREAM || p->cfg.stage + 1 == p->cfg.n_stages)
		return error_set(err, ST_PROTO, "a gradient from upstream, they come from downstream only");
	if (p->work.evaluating || p->gradients >= p->forwards)
		return error_set(err, ST_PROTO, "gradient %u of iteration %llu, none is due", ev->sample,
				(unsigned long long)ev->iteration);
	if (ev->iteration != p->work.t || ev->sample != p->gradients)
		return out_of_turn(ev, PIPELINE_GRADIENT, p->work.t, p->gradients, err);
	return ST_OK;
}

/* All backwards of the iterations before t are done here (the step may not be). */
static bool backwards_done(const struct pipeline *p, uint64_t t)
{
	return p->work.t >= t || (p->work.t + 1 == t && p->backwards == p->cfg.samples);
}

static bool stream_is_over(const struct pipeline *p)
{
	return p->next.t == p->end && !p->next.evaluating;
}

static enum status activation_may_come(const struct pipeline *p, const struct pipeline_event *ev, struct error *err)
{
	enum pipeline_what due = p->next.evaluating ? PIPELINE_CHUNK : PIPELINE_ACTIVATION;

	if (ev->side != PIPELINE_UPSTREAM || p->cfg.stage == 0)
		return error_set(err, ST_PROTO, "an activation from downstream, they come from upstream only");
	if (!p->begun)
		return error_set(err, ST_PROTO, "an activation before the cut was told");
	if (stream_is_over(p))
		return error_set(err, ST_PROTO, "%s %u of iteration %llu, but %llu iterations are all", name_of[ev->what],
				ev->sample, (unsigned long long)ev->iteration, (unsigned long long)p->end);
	if (ev->what != due || ev->iteration != p->next.t || ev->sample != p->next.i)
		return out_of_turn(ev, due, p->next.t, p->next.i, err);
	if (p->next.i == 0 && !backwards_done(p, p->next.t))
		return error_set(err, ST_PROTO, "%s 0 of iteration %llu before all gradients of the one before", name_of[due],
				(unsigned long long)p->next.t);
	if (p->got - p->finished >= p->places_in)
		return error_set(err, ST_PROTO, "%s %u of iteration %llu, but %u are here unused, no more is allowed",
				name_of[due], ev->sample, (unsigned long long)ev->iteration, p->places_in);
	return ST_OK;
}

enum status pipeline_may_come(const struct pipeline *p, const struct pipeline_event *ev, struct error *err)
{
	return ev->what == PIPELINE_GRADIENT ? gradient_may_come(p, ev, err) : activation_may_come(p, ev, err);
}

/* END{iterations} from upstream: only where iteration `iterations` would begin. */
enum status pipeline_may_end(const struct pipeline *p, uint64_t iterations, struct error *err)
{
	if (p->cfg.stage == 0)
		return error_set(err, ST_PROTO, "an end from downstream, it comes from upstream only");
	if (p->has_end)
		return error_set(err, ST_PROTO, "an end after %llu iterations, %llu were said before",
				(unsigned long long)iterations, (unsigned long long)p->end);
	if (iterations != p->next.t || p->next.i != 0 || p->next.evaluating || stream_is_over(p))
		return error_set(err, ST_PROTO, "an end after %llu iterations in front of sample %u of iteration %llu",
				(unsigned long long)iterations, p->next.i, (unsigned long long)p->next.t);
	return ST_OK;
}

/* ev was found to be allowed. */
void pipeline_take_input(struct pipeline *p, const struct pipeline_event *ev)
{
	if (ev->what == PIPELINE_GRADIENT) {
		p->gradients++;
		return;
	}
	p->got++;
	p->next.i++;
	if (p->next.evaluating) {
		p->chunks++;
		if (p->next.i == p->cfg.test_chunks)
			p->next = (struct pipeline_position){.t = p->next.t, .evaluated = true};
	} else if (p->next.i == p->cfg.samples) {
		p->next = (struct pipeline_position){.t = p->next.t + 1};
		(void)pipeline_boundary(p, &p->next);
	}
}

enum status pipeline_place(const struct pipeline *p, uint32_t *place, const struct pipeline_event *ev, struct error *err)
{
	enum status st = pipeline_may_come(p, ev, err);

	*place = 0;
	if (st != ST_OK)
		return st;
	*place = ev->what == PIPELINE_GRADIENT ? ev->sample % p->places_kept : (uint32_t)(p->got % p->places_in);
	return ST_OK;
}
