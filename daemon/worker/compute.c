/* One thread, one order. See compute.h. */
#include "daemon/worker/compute.h"

#include "libcore/base/mem.h"

#include <assert.h>

struct compute {
	uv_thread_t thread;
	uv_mutex_t lock; /* guards run, run_data, finished, quit */
	uv_cond_t wake;
	compute_fn run; /* NULL: no order */
	void *run_data;
	int finished;
	int quit;
	uv_async_t async;
	int busy; /* loop thread only */
	compute_fn done;
	void *done_data;
};

static void on_async(uv_async_t *async);
static void on_async_closed(uv_handle_t *h);

static void thread_main(void *arg)
{
	struct compute *c = arg;

	uv_mutex_lock(&c->lock);
	for (;;) {
		compute_fn run = c->run;
		void *data = c->run_data;

		if (c->quit)
			break;
		if (run == NULL) {
			uv_cond_wait(&c->wake, &c->lock);
			continue;
		}
		c->run = NULL;
		uv_mutex_unlock(&c->lock);
		run(data);
		uv_mutex_lock(&c->lock);
		c->finished = 1;
		uv_async_send(&c->async);
	}
	uv_mutex_unlock(&c->lock);
}

enum status compute_create(struct compute **out, uv_loop_t *loop, compute_fn done, void *data, struct error *err)
{
	struct compute *c = mem_alloc(1, sizeof *c);
	/* plugins are foreign code: give them the usual room, whatever the limits say */
	uv_thread_options_t options = {.flags = UV_THREAD_HAS_STACK_SIZE, .stack_size = 8U << 20};
	int rc;

	if (c == NULL)
		return error_set(err, ST_NOMEM, "compute thread: out of memory");
	c->done = done;
	c->done_data = data;
	if (uv_mutex_init(&c->lock) != 0 || uv_cond_init(&c->wake) != 0) {
		mem_free(c);
		return error_set(err, ST_IO, "compute thread: no mutex");
	}
	rc = uv_async_init(loop, &c->async, on_async);
	if (rc != 0) {
		mem_free(c);
		return error_set(err, ST_IO, "compute thread: %s", uv_strerror(rc));
	}
	c->async.data = c;
	rc = uv_thread_create_ex(&c->thread, &options, thread_main, c);
	if (rc != 0) {
		uv_close((uv_handle_t *)&c->async, on_async_closed); /* frees c */
		return error_set(err, ST_IO, "compute thread: %s", uv_strerror(rc));
	}
	*out = c;
	return ST_OK;
}

void compute_order(struct compute *c, compute_fn run, void *data)
{
	assert(!c->busy);
	c->busy = 1;
	uv_mutex_lock(&c->lock);
	c->run = run;
	c->run_data = data;
	uv_cond_signal(&c->wake);
	uv_mutex_unlock(&c->lock);
}

int compute_at_rest(const struct compute *c)
{
	return !c->busy;
}

static void on_async(uv_async_t *async)
{
	struct compute *c = async->data;
	int finished;

	uv_mutex_lock(&c->lock);
	finished = c->finished;
	c->finished = 0;
	uv_mutex_unlock(&c->lock);
	if (!finished)
		return;
	c->busy = 0;
	c->done(c->done_data);
}

void compute_destroy(struct compute *c)
{
	if (c == NULL)
		return;
	assert(!c->busy);
	uv_mutex_lock(&c->lock);
	c->quit = 1;
	uv_cond_signal(&c->wake);
	uv_mutex_unlock(&c->lock);
	uv_thread_join(&c->thread);
	uv_close((uv_handle_t *)&c->async, on_async_closed);
}

static void on_async_closed(uv_handle_t *h)
{
	struct compute *c = h->data;

	uv_cond_destroy(&c->wake);
	uv_mutex_destroy(&c->lock);
	mem_free(c);
}
