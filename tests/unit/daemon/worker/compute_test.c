/* The hand-over between the two threads: one order at a time, done on the loop thread. */
#include "daemon/worker/compute.h"

#include <criterion/criterion.h>

#define ORDERS 200

struct shop {
	uv_loop_t loop;
	struct compute *compute;
	uv_thread_t loop_thread, compute_thread;
	unsigned run, done;
	unsigned long sum; /* written by both threads in turn: no lock but the hand-over */
};

static void run(void *data)
{
	struct shop *s = data;

	s->compute_thread = uv_thread_self();
	s->run++;
	s->sum = s->sum * 3 + 1;
}

static void done(void *data)
{
	struct shop *s = data;
	uv_thread_t self = uv_thread_self();

	cr_assert(uv_thread_equal(&self, &s->loop_thread));
	cr_assert(compute_at_rest(s->compute));
	s->done++;
	s->sum = s->sum * 5 + 2;
	if (s->done < ORDERS)
		compute_order(s->compute, run, s);
	else
		compute_destroy(s->compute);
}

Test(compute, orders_run_on_their_own_thread_and_end_on_the_loop_one_after_the_other)
{
	struct shop s = {.loop_thread = uv_thread_self()};
	unsigned long right = 0;

	cr_assert_eq(uv_loop_init(&s.loop), 0);
	cr_assert_eq(compute_create(&s.compute, &s.loop, done, &s, NULL), ST_OK);
	cr_assert(compute_at_rest(s.compute));
	compute_order(s.compute, run, &s);
	cr_assert_not(compute_at_rest(s.compute));
	uv_run(&s.loop, UV_RUN_DEFAULT);
	for (int i = 0; i < ORDERS; i++)
		right = (right * 3 + 1) * 5 + 2;
	cr_assert_eq(s.run, ORDERS);
	cr_assert_eq(s.done, ORDERS);
	cr_assert_eq(s.sum, right);
	cr_assert_not(uv_thread_equal(&s.compute_thread, &s.loop_thread));
	cr_assert_eq(uv_loop_close(&s.loop), 0, "the thread's handle is closed");
}

Test(compute, destroy_is_allowed_without_an_order)
{
	struct shop s = {.run = 0};

	cr_assert_eq(uv_loop_init(&s.loop), 0);
	cr_assert_eq(compute_create(&s.compute, &s.loop, done, &s, NULL), ST_OK);
	compute_destroy(s.compute);
	compute_destroy(NULL);
	uv_run(&s.loop, UV_RUN_DEFAULT);
	cr_assert_eq(uv_loop_close(&s.loop), 0);
}
