/* The one timer of the machines, and how late the loop is. */
#ifndef DAEMON_IO_CLOCK_H
#define DAEMON_IO_CLOCK_H

#include "libcore/base/err.h"

#include <stdint.h>
#include <uv.h>

struct clock;

typedef void (*clock_fn)(void *data);

MUST_CHECK enum status clock_create(struct clock **out, uv_loop_t *loop, clock_fn on_time, void *data, struct error *err);

/* Call on_time once at that time of uv_now() (at once when it has passed); UINT64_MAX: never. */
void clock_arm(struct clock *c, uint64_t wake_ms);

/* The worst delay of the loop within the last minute. */
uint32_t clock_lag_us(const struct clock *c);

void clock_close(struct clock *c); /* the memory is freed by the loop */

/* Milliseconds of Unix time. */
uint64_t clock_wall_ms(void);

#endif
