/* Plays the daemon for 1..8 real dadam-worker processes, without any dadamd: starts them, hands over TCP
 * sockets on loopback, tells them of the dead, asks for the mean. Blocking C with poll, one thread.
 *
 * Links go through a proxy when asked for (driver.proxy): the driver then sees every frame that workers
 * say to each other, and may kill a worker at the k-th of them, before it, or in its middle. */
#ifndef TESTS_INTEGRATION_WORKER_DRIVER_H
#define TESTS_INTEGRATION_WORKER_DRIVER_H

#include "libcore/base/buf.h"
#include "proto/frame.h"
#include "proto/worker.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define DRIVER_MAX_RANKS 8U
#define DRIVER_MAX_PROXIES 32U

struct driver_rank {
	pid_t pid;
	int fd;     /* -1: the worker's end is closed */
	int status; /* of waitpid, once fd is -1 */
	struct frame_parser *parser;
	int ready, done, failed, has_mean;
	struct worker_progress last;
	struct worker_failed why;
	struct job_mean mean;
	struct buf log; /* all lines */
	unsigned n_rows;  /* lines with a row of weights */
	double worst_row; /* greatest |row sum - 1| of them */
	uint32_t collect_plan; /* sent to it */
	uint64_t links_up; /* by rank, as LINK_STATE says */
	uint64_t links_ended; /* not made anew yet */
	char link_why[DRIVER_MAX_RANKS][160]; /* of the last end */
};

struct driver_pipe { /* one direction of a proxied link */
	int from, to; /* descriptors; -1: over */
	uint32_t rank, peer; /* of the sender, of the receiver */
	size_t left;   /* of the frame at hand, after its header */
	uint8_t header[FRAME_HEADER_BYTES];
	size_t header_len;
	struct buf queue;
};

struct driver;

struct driver {
	uint32_t n;
	uint32_t n_said;         /* ranks that the workers are told of; 0: n */
	uint32_t said_first;     /* the rank that worker 0 is told to be, worker 1 the next one, ... */
	const char *worker;      /* path of dadam-worker */
	const char *plugin_path;
	const char *spec;
	char dir[64];            /* rank directories are made below it */
	uint64_t neighbours[DRIVER_MAX_RANKS];
	int proxy;

	/* Kill `victim` when so many frames were seen of all kinds on links (proxy) and from workers. */
	int victim;              /* -1: nobody, the frame's link is cut instead (kill_at > 0) */
	uint64_t kill_at;
	int kill_middle;         /* the frame is cut in half */
	int kill_signal;         /* SIGKILL, SIGSTOP */
	uint64_t frames;         /* seen so far */
	int killed;
	int no_links;            /* the test makes the links */
	int keep_stderr;         /* the workers' stderr goes to DIR/stderr */
	uint64_t joins;          /* bit set of ranks that come late */
	int no_mean;             /* nobody is asked for the mean: workers stay TRAINED */
	/* After every message of a worker, for those that measure. */
	void (*on_msg)(struct driver *d, uint32_t rank, const struct worker_msg *m, void *data);
	void *on_msg_data;

	struct driver_rank ranks[DRIVER_MAX_RANKS];
	struct driver_pipe pipes[2 * DRIVER_MAX_PROXIES];
	unsigned n_pipes;
	uint64_t link_number;
	unsigned n_mended;       /* links made anew between two that live */
	int linked;
	uint64_t gone;           /* bit set of ranks */
};

/* A ring of n workers for this spec; the paths come from DADAM_BUILD. Makes dir. */
void driver_init(struct driver *d, uint32_t n, const char *plugin, const char *spec);
void driver_start(struct driver *d);
/* The next rank comes late: started with `joins`; neighbours are set before. */
void driver_late(struct driver *d);

/* One connection between two ranks, handed over to both. */
void driver_link(struct driver *d, uint32_t a, uint32_t b);
/* One end of a connection (taken) to rank `to`, as a link to rank peer. */
void driver_hand_over(struct driver *d, uint32_t to, uint32_t peer, int accepted, int fd);
void driver_tcp_pair(int fd[2]);
void driver_send(struct driver *d, uint32_t rank, const struct worker_msg *m);
void driver_kill(struct driver *d, uint32_t rank, int sig);

/* Look after everything for at most wait_ms; the daemon's part (links, gone ranks, plans) is done here. */
void driver_poll(struct driver *d, int wait_ms);

/* Until every rank's worker has ended. 0, or -1 at the deadline (the workers are killed then). */
int driver_run(struct driver *d, int deadline_ms);

/* Poll until cond(d, data), or the deadline: -1. */
int driver_until(struct driver *d, int (*cond)(const struct driver *d, void *data), void *data, int deadline_ms);

/* Kill who is left, free everything, remove dir. */
void driver_fini(struct driver *d);

/* The floats of DIR/RANK/TAKE.safetensors (malloc); NULL when it is not there or is not whole. */
float *driver_model(const struct driver *d, uint32_t rank, const char *take, size_t *n);

uint64_t driver_now_ms(void);

/* TAP: one sub-test that holds, with its sentence; the plan, at the end. */
void driver_ok(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void driver_plan(void);
_Noreturn void driver_die(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
