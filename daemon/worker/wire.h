/* From parameters to the payload of a model frame and back: compressor, then the lossless stage.
 *
 * The lossless stage costs more than a fast wire; with `wire.zstd: auto` stage.h decides after every
 * round, for all links of this rank (a segment is encoded once for all of them).
 * Blobs come from a pool: memory of a quarter of a MiB that is new for every segment would cost more
 * than what is done with it. Loop thread only. */
#ifndef DAEMON_WORKER_WIRE_H
#define DAEMON_WORKER_WIRE_H

#include "daemon/worker/bases.h"
#include "libcore/base/err.h"
#include "libcore/base/real.h"
#include "libcore/compress/compress.h"
#include "proto/link.h"

#include <stddef.h>
#include <stdint.h>

enum wire_mode { WIRE_AUTO, WIRE_ON, WIRE_OFF };

struct wire;

/* compress: of MODEL_DELTA frames that are not dense; NULL: they carry parameters like all others.
 * segment: the most parameters in one. ST_INVALID, ST_NOMEM. */
MUST_CHECK enum status wire_create(struct wire **out, enum wire_mode mode, const struct compress_config *compress,
		uint32_t segment, struct error *err);
void wire_destroy(struct wire *w);

/* A sealed frame of m (a model type with round, segment, ranks and n filled; the rest is filled here)
 * that carries x. The caller gets a reference. ST_NOMEM, ST_BUG. */
MUST_CHECK enum status wire_encode(struct wire *w, struct blob **out, struct link_msg *m, const real *x,
		struct error *err);

/* The same for len bytes that a compressor made already. */
MUST_CHECK enum status wire_encode_bytes(struct wire *w, struct blob **out, struct link_msg *m, const uint8_t *bytes,
		size_t len, struct error *err);

/* wire.delta, of jobs whose MODEL_DELTA frames carry parameters (WIRE_OFF before this is called). AUTO: differences travel
 * while the lossless stage is on, and when that is `auto` too they are what it is judged by. They pay wherever byte planes
 * alone do (tests/bench/delta.c): fewer bytes in about the same time. */
void wire_set_delta(struct wire *w, enum wire_mode mode);

/* Before the segment is sent: while the stage is off it may be tried on it (probe.h). ST_NOMEM. */
MUST_CHECK enum status wire_probe(struct wire *w, const struct link_model_delta *d, uint32_t n_segments, const real *x,
		struct error *err);

int wire_uses_delta(const struct wire *w);

/* A sealed frame of m that carries the difference from the base to x, which becomes the base; begun by
 * bases_begin(). A difference that is not shorter than x goes as x. ST_NOMEM, ST_BUG. */
MUST_CHECK enum status wire_encode_delta(struct wire *w, struct blob **out, struct link_msg *m, struct bases *b,
		const real *x, struct error *err);

/* Do the announced sizes fit n parameters of segment? Before a byte of the payload is read. ST_PROTO. */
MUST_CHECK enum status wire_check(const struct wire *w, const struct link_msg *m, size_t payload_len, struct error *err);

/* 1: the payload is the parameters themselves, so it can be read straight to where they belong. */
int wire_is_plain(const struct link_model_delta *d);

/* The most bytes that a payload may have. */
size_t wire_bound(const struct wire *w);

/* Undo the lossless stage only: what the compressor made, d->encoded_len bytes, in the payload itself or
 * valid until the next call. ST_PROTO. */
MUST_CHECK enum status wire_unpack(struct wire *w, const uint8_t **out, const struct link_model_delta *d,
		const uint8_t *payload, size_t len, struct error *err);

/* Decode a payload that is not plain into out (n parameters). ST_PROTO. */
MUST_CHECK enum status wire_decode(struct wire *w, real *out, const struct link_model_delta *d, const uint8_t *payload,
		size_t len, struct error *err);

/* A round is over; speed of the slowest link in bytes/s, 0: not known. With auto the stage may change
 * its mind: then a sentence for the log, valid until the next call; else NULL. */
const char *wire_round_over(struct wire *w, double speed);

int wire_is_on(const struct wire *w);

#endif
