/* What links.c (the life of a link, what comes in), links_send.c (what goes out), links_tensor.c (activations) and
 * links_copy.c (the copy for a late rank) share. Nobody else includes this. */
#ifndef DAEMON_WORKER_LINKS_PRIVATE_H
#define DAEMON_WORKER_LINKS_PRIVATE_H

#include "daemon/worker/links.h"

struct links_tensor { /* of which parts are coming in */
	struct link_activation head;
	uint64_t got; /* numbers of it that are here; 0: none is coming */
	uint8_t *place;
};

struct link {
	struct links *all;
	uint32_t slot, rank;
	uint64_t link; /* the daemons' number */
	struct conn *conn;
	int closing, up_sent, up_heard;
	int reading;
	uint64_t read_on_ms; /* when reading was last turned on */
	uint32_t occupied;   /* bit set of places */
	uint32_t early;      /* the place of a segment of a closing mean's plan that is still to come, as a bit ... */
	real *aside;         /* ... or where it lies when that place is in use; NULL: it never was */
	int is_aside, goes_aside; /* it lies there; the one that is being read does */
	struct link_model_delta early_head;
	uint8_t *packed;     /* a payload that is not plain, wire_bound bytes */
	uint64_t counted;    /* conn's bytes that are in the totals already */
	struct bases_link base;
	uint64_t timed;      /* conn's bytes whose time is in busy_s, or before it */
	double busy_s, busy_bytes; /* this round: what the network took for what was sent */
	struct links_tensor down, up; /* ACTIVATION, ACTIVATION_GRAD */
	char why[160];
};

struct links {
	uv_loop_t *loop;
	struct links_config cfg;
	uint32_t n_segments, stride; /* parameters from place to place */
	struct wire *wire;
	struct bases *bases; /* NULL: no exact differences in this job */
	struct link *slots[LINKS_MAX];
	real *places[LINKS_MAX]; /* window * stride, kept from link to link */
	struct links_bytes bytes; /* of links that are gone, and payload */
	real *copy;          /* room for MODEL_COPY; NULL: none is wanted */
	size_t copy_total, copy_got;
	uint64_t plan;       /* for the closing mean: the one at hand */
	uint64_t last_tick_ms, round_over_ns;
};

void links_tell(struct links *l, struct links_event ev);

/* links_tensor.c. Is this frame of pipeline jobs one that may come from this side? */
MUST_CHECK enum status links_check_direction(const struct link *k, enum link_type type, struct error *err);

/* The place of a part, before it is read; and that it is there. */
MUST_CHECK enum status links_tensor_at(struct link *k, const struct link_msg *m, uint8_t **dst, struct error *err);
void links_tensor_here(struct link *k, const struct link_msg *m, uint32_t payload_len);

/* links_copy.c: the same for the parts of a copy. */
MUST_CHECK enum status links_copy_at(struct link *k, const struct link_msg *m, uint8_t **dst, struct error *err);
void links_copy_here(struct link *k, const struct link_msg *m, uint32_t payload_len);

/* A frame with payload has left: SENT. conn_sent_fn; data: the link. */
void links_on_sent(void *data, struct conn *c, uint64_t tag, int status);

/* The link in that slot; NULL when there is none, or it is closing. */
struct link *links_alive(const struct links *l, uint32_t slot);

#endif
