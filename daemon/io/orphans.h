/* Ended processes that nobody waits for. As process 1 of a container the daemon inherits every process whose
 * parent has ended; unless they are waited for they stay as zombies until the container's processes run out. */
#ifndef DAEMON_IO_ORPHANS_H
#define DAEMON_IO_ORPHANS_H

#include <uv.h>

/* Wait for every child that has ended and is no uv_process_t of the loop. Never blocks; libuv's own children
 * are left to libuv. The number of them: more may come to light once libuv has had its turn. */
unsigned orphans_reap(uv_loop_t *loop);

#endif
