/* The machines' timer and the loop's lag. See clock.h.
 *
 * Lag: a timer fires every half second; by how much it is late is what anything else in the loop
 * would have had to wait. The worst of six buckets of ten seconds is told. */
#include "daemon/io/clock.h"

#include "libcore/base/mem.h"

#include <time.h>

#define BEAT_MS 500U
#define BEATS_PER_BUCKET 20U
#define BUCKETS 6U

struct clock {
	uv_timer_t wake, beat;
	clock_fn on_time;
	void *data;
	unsigned n_handles, beats;
	uint64_t due_ns;
	uint32_t worst_us[BUCKETS];
};

static void on_wake(uv_timer_t *t)
{
	struct clock *c = t->data;

	c->on_time(c->data);
}

static void on_beat(uv_timer_t *t)
{
	struct clock *c = t->data;
	uint64_t now = uv_hrtime();
	uint32_t late = now > c->due_ns ? (uint32_t)((now - c->due_ns) / 1000) : 0;
	uint32_t *worst;

	c->beats++;
	worst = &c->worst_us[c->beats / BEATS_PER_BUCKET % BUCKETS];
	if (c->beats % BEATS_PER_BUCKET == 0)
		*worst = 0;
	if (late > *worst)
		*worst = late;
	c->due_ns = now + (uint64_t)BEAT_MS * 1000000;
	(void)uv_timer_start(&c->beat, on_beat, BEAT_MS, 0);
}

enum status clock_create(struct clock **out, uv_loop_t *loop, clock_fn on_time, void *data, struct error *err)
{
	struct clock *c = mem_alloc(1, sizeof *c);

	*out = c;
	if (c == NULL)
		return error_set(err, ST_NOMEM, "no memory for a clock");
	(void)uv_timer_init(loop, &c->wake);
	(void)uv_timer_init(loop, &c->beat);
	c->wake.data = c->beat.data = c;
	c->n_handles = 2;
	c->on_time = on_time;
	c->data = data;
	c->due_ns = UINT64_MAX; /* the first beat measures nothing */
	(void)uv_timer_start(&c->beat, on_beat, 0, 0);
	return ST_OK;
}

void clock_arm(struct clock *c, uint64_t wake_ms)
{
	uint64_t now = uv_now(c->wake.loop);

	if (wake_ms == UINT64_MAX)
		(void)uv_timer_stop(&c->wake);
	else
		(void)uv_timer_start(&c->wake, on_wake, wake_ms > now ? wake_ms - now : 0, 0);
}

uint32_t clock_lag_us(const struct clock *c)
{
	uint32_t worst = 0;

	for (unsigned i = 0; i < BUCKETS; i++)
		worst = c->worst_us[i] > worst ? c->worst_us[i] : worst;
	return worst;
}

static void on_closed(uv_handle_t *h)
{
	struct clock *c = h->data;

	if (--c->n_handles == 0)
		mem_free(c);
}

void clock_close(struct clock *c)
{
	if (c == NULL)
		return;
	uv_close((uv_handle_t *)&c->wake, on_closed);
	uv_close((uv_handle_t *)&c->beat, on_closed);
}

uint64_t clock_wall_ms(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}
