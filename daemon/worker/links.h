/* The links of one worker: TCP connections to its neighbours' workers, numbered by slot.
 *
 *   handover ─► links_take ─► OPEN event ─► LINK_UP both ways ─► frames ─► CLOSED event, exactly once
 *
 * Decides nothing about rounds: frames become events for the owner (the machines' shells), bytes that
 * the owner wants to send are encoded once and queued on every slot asked for. Everything that a peer
 * says is checked here before anybody believes it: types, ranks, sizes, segment numbers, and that the
 * place where a payload goes is free. A peer that breaks a rule is closed with the reason.
 *
 * Places: per slot, `window` segments of memory; segment s of a model frame lands in place s % window
 * (straight from the socket when it comes raw) and stays until links_release. The numbers of an activation (pipeline
 * jobs) go straight to where the owner's `place` says, part after part. Loop thread only. */
#ifndef DAEMON_WORKER_LINKS_H
#define DAEMON_WORKER_LINKS_H

#include "daemon/io/conn.h"
#include "daemon/worker/wire.h"
#include "libcore/base/real.h"
#include "libcore/round/gossip.h"
#include "proto/link.h"

#include <stddef.h>
#include <stdint.h>

#define LINKS_MAX GOSSIP_MAX_LINKS
#define LINKS_ROUND_BITS 0xffffffU

enum links_event_type {
	LINKS_OPEN,   /* slot, rank, accepted */
	LINKS_UP,     /* slot, msg */
	LINKS_BEGIN,  /* slot, msg */
	LINKS_MODEL,  /* slot, msg (MODEL_DELTA, _SUM, _MEAN, _HELD): decoded, in its place; or as bytes */
	LINKS_ALIVE,  /* slot, msg */
	LINKS_BYE,    /* slot, msg */
	LINKS_PIPELINE, /* slot, msg: PIPELINE_BEGIN, _END, _ASK_STOP, _LOST; from the right side */
	LINKS_TENSOR, /* slot, msg: the last part of an ACTIVATION or ACTIVATION_GRAD; all of it is in its place */
	LINKS_COPY,   /* slot, msg: the last part of a MODEL_COPY; all of it is in its room */
	LINKS_SENT,   /* slot, model (its type), round, segment (activations: iteration, sample): left for the kernel */
	LINKS_CLOSED  /* slot, rank, link, why */
};

struct links_event {
	enum links_event_type type;
	uint32_t slot, rank;
	uint8_t accepted;
	uint64_t link;
	const struct link_msg *msg;
	const uint8_t *bytes;   /* MODEL of a job with replicas, MODEL_DELTA: msg->u.delta.encoded_len of the compressor's */
	enum link_type model;
	uint64_t round; /* SENT: its low LINKS_ROUND_BITS */
	uint32_t segment;
	const char *why;
};

/* Pipeline jobs: where does this activation or gradient belong? m: its first part, from the right side, in the job's
 * format. *place: room for m->u.activation.total numbers of that format, until LINKS_TENSOR. ST_PROTO: it is not
 * due, has another size, or its place is still in use. */
typedef enum status (*links_place_fn)(void *data, const struct link_msg *m, uint8_t **place, struct error *err);

struct links_config {
	uint32_t rank, n_ranks; /* own */
	size_t n_params;
	uint32_t segment;       /* parameters per segment */
	uint32_t window;
	uint64_t timeout_ms;    /* without a byte while reading is on */
	char congestion[16];
	enum wire_mode zstd, delta;
	const struct compress_config *compress; /* jobs with replicas: copied; NULL: parameters travel */
	enum link_format format; /* of activations */
	void *data;
	void (*on_event)(void *data, const struct links_event *ev);
	links_place_fn place;   /* NULL: no pipeline job, activations are refused */
	void *place_data;
};

struct links;

/* ST_NOMEM. */
MUST_CHECK enum status links_create(struct links **out, uv_loop_t *loop, const struct links_config *cfg,
		struct error *err);

/* After every slot is closed. */
void links_destroy(struct links *l);

/* The socket that came with a LINK_HANDOVER over conn `from`. busy: bit set of slots that must not be
 * given now. A link that cannot be taken (no slot, no memory, wrong rank) is closed and told by ST_*. */
MUST_CHECK enum status links_take(struct links *l, struct conn *from, uint64_t link, uint32_t rank, int accepted,
		uint64_t busy, struct error *err);

/* A small frame. Nothing happens on a slot that is closed or closing. */
void links_send(struct links *l, uint32_t slot, const struct link_msg *m);

/* Segment m->u.delta.segment of a model frame: encode x (n parameters) once, send it to all slots of
 * the set; n, compressor, lossless and encoded_len of m are filled here. SENT follows for each slot
 * that stays open. ST_NOMEM. */
MUST_CHECK enum status links_send_model(struct links *l, uint64_t slots, struct link_msg *m, const real *x,
		struct error *err);

/* The same for a MODEL_DELTA whose len bytes a compressor made; m->u.delta.seq, hash, dense are filled. */
MUST_CHECK enum status links_send_bytes(struct links *l, uint64_t slots, struct link_msg *m, const uint8_t *bytes,
		size_t len, struct error *err);

/* Pipeline jobs: an ACTIVATION or ACTIVATION_GRAD with iteration, sample, pass and total filled; format and offset
 * are filled here. The numbers, in the job's format, are not copied: they must stay until SENT, or CLOSED of the
 * slot. ST_NOMEM. Nothing happens on a slot that is closed or closing. */
MUST_CHECK enum status links_send_tensor(struct links *l, uint32_t slot, const struct link_msg *m,
		const uint8_t *numbers, struct error *err);

/* A copy of n_vectors vectors of n parameters each, after `step` steps, to one slot. All is copied before this
 * returns: as much memory again until it has left. ST_NOMEM. */
MUST_CHECK enum status links_send_copy(struct links *l, uint32_t slot, uint64_t step, const real *const *vectors,
		uint32_t n_vectors, size_t n, struct error *err);

/* The one MODEL_COPY that may come goes to room (total numbers, the caller's until COPY). */
void links_want_copy(struct links *l, real *room, size_t total);

/* There are more ranks now. */
void links_set_ranks(struct links *l, uint32_t n_ranks);

void links_read(struct links *l, uint32_t slot, int on);
void links_close(struct links *l, uint32_t slot, const char *why);

/* Where segment s of that slot lies; valid between its MODEL event and links_release. */
const real *links_place(const struct links *l, uint32_t slot, uint32_t segment);
void links_release(struct links *l, uint32_t slot, uint32_t segment);
void links_release_all(struct links *l, uint32_t segment); /* of every slot */

/* Another plan for the closing mean: what lies in places is of the ones before, and they are free; but for a segment
 * (one a link, the owner then stops reading) that came early and is of this plan or a later one. */
void links_set_plan(struct links *l, uint64_t plan);

/* Twice a second: ALIVE to all, and close who has been silent. */
void links_tick(struct links *l, uint64_t round, int32_t waiting_for);

/* End in order: shut down every writing side; each closes at its peer's end, or after limit_ms. */
void links_finish(struct links *l, unsigned limit_ms);

/* A round is over: the lossless stage may change its mind; then a sentence for the log, else NULL. */
const char *links_round_over(struct links *l);

uint32_t links_n_params(const struct links *l, uint32_t segment); /* of that segment */
uint32_t links_n_segments(const struct links *l);
size_t links_total_params(const struct links *l);
uint64_t links_open(const struct links *l);                        /* bit set of slots */
uint64_t links_up(const struct links *l);                          /* both have said LINK_UP */
int links_up_said(const struct links *l, uint32_t slot);           /* this end has sent LINK_UP */
uint32_t links_rank(const struct links *l, uint32_t slot);
int links_slot_of(const struct links *l, uint32_t rank);           /* an open slot, or -1 */

struct links_bytes {
	uint64_t payload;      /* of MODEL_DELTA before the lossless stage, all links that ever were */
	uint64_t wire;         /* all bytes sent but those of the closing mean */
	uint64_t mean_wire;    /* bytes of MODEL_SUM, MODEL_MEAN and MODEL_HELD frames */
};
void links_bytes(const struct links *l, struct links_bytes *out);

#endif
