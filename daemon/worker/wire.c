/* Payloads of model frames. See wire.h. */
#include "daemon/worker/wire.h"

#include "daemon/worker/probe.h"
#include "daemon/worker/stage.h"

#include "libcore/base/mem.h"
#include "libcore/compress/lossless.h"

#include <string.h>
#include <uv.h>

#define POOL 32U

struct wire {
	enum wire_mode mode, delta;
	struct stage stage; /* auto */
	struct probe *probe; /* NULL until it is needed */
	char why[160];
	uint32_t segment;
	struct compress *identity;
	bool differences; /* MODEL_DELTA carries what `compress` makes */
	struct compress_config compress;
	struct lossless *lossless;
	uint8_t *scratch; /* an encoded segment, before or after the lossless stage */
	size_t scratch_len;
	uint32_t blob_cap; /* the stage wants room, although what grows is sent raw */
	struct blob *pool[POOL];
};

static size_t dense_bytes(uint32_t n)
{
	const struct compress_config identity = compress_config_default();

	return compress_bound(&identity, n);
}

/* The lossless stage never makes a payload longer: what would grow is sent raw. */
size_t wire_bound(const struct wire *w)
{
	size_t dense = dense_bytes(w->segment), packed = w->differences ? compress_bound(&w->compress, w->segment) : 0;

	return dense > packed ? dense : packed;
}

static enum status take_compressor(struct wire *w, const struct compress_config *compress, struct error *err)
{
	w->differences = compress != NULL;
	if (compress == NULL)
		return ST_OK;
	w->compress = *compress;
	return compress_config_check(compress, w->segment, err);
}

enum status wire_create(struct wire **out, enum wire_mode mode, const struct compress_config *compress, uint32_t segment,
		struct error *err)
{
	const struct compress_config identity = compress_config_default();
	struct wire *w = mem_alloc(1, sizeof *w);
	enum status st;

	if (w == NULL)
		return error_set(err, ST_NOMEM, "links: out of memory");
	w->mode = mode;
	w->delta = WIRE_OFF;
	w->segment = segment;
	st = take_compressor(w, compress, err);
	if (st != ST_OK) {
		mem_free(w);
		return st;
	}
	w->scratch_len = wire_bound(w);
	w->blob_cap = (uint32_t)lossless_bound(w->scratch_len);
	w->scratch = mem_alloc_big(w->scratch_len, 1);
	st = w->scratch != NULL ? lossless_create(&w->lossless, w->scratch_len, err)
				: error_set(err, ST_NOMEM, "links: out of memory");
	if (st == ST_OK)
		st = compress_create(&w->identity, &identity, segment, err);
	if (st != ST_OK) {
		wire_destroy(w);
		return st;
	}
	*out = w;
	return ST_OK;
}

void wire_destroy(struct wire *w)
{
	if (w == NULL)
		return;
	for (unsigned i = 0; i < POOL; i++)
		blob_unref(w->pool[i]);
	compress_destroy(w->identity);
	probe_destroy(w->probe);
	lossless_destroy(w->lossless);
	mem_free_big(w->scratch, w->scratch_len, 1);
	mem_free(w);
}

/* A blob that nobody else holds, from the pool while it has one. */
static struct blob *take_blob(struct wire *w)
{
	for (unsigned i = 0; i < POOL; i++) {
		if (w->pool[i] == NULL)
			w->pool[i] = blob_create(w->blob_cap);
		if (w->pool[i] == NULL)
			return NULL;
		if (w->pool[i]->refs == 1)
			return blob_ref(w->pool[i]);
	}
	return blob_create(w->blob_cap);
}

/* Is the stage judged by exact differences? Then it looks at nothing else. */
static int tries_differences(const struct wire *w)
{
	return w->mode == WIRE_AUTO && w->delta == WIRE_AUTO;
}

int wire_is_on(const struct wire *w)
{
	switch (w->mode) {
	case WIRE_AUTO:
		return w->stage.is_on || (w->stage.look && !tries_differences(w));
	case WIRE_ON:
		return 1;
	case WIRE_OFF:
		return 0;
	}
	return 0;
}

/* Parameters are words of four planes; what other compressors make has none. */
static unsigned word_of(const struct link_model_delta *d)
{
	return d->compressor == COMPRESS_IDENTITY ? sizeof(float) : 1;
}

/* Fill the payload from d->encoded_len bytes; says in d whether the lossless stage made it shorter. */
static void fill_staged(struct wire *w, struct blob *b, struct link_model_delta *d, const uint8_t *bytes, uint64_t begin)
{
	size_t len = lossless_encode(w->lossless, b->payload, b->payload_cap, bytes, d->encoded_len, word_of(d));

	stage_saw(&w->stage, (double)(uv_hrtime() - begin) * 1e-9, d->encoded_len, len > 0 ? len : d->encoded_len);
	d->lossless = len == 0 ? LINK_RAW : LINK_PLANES_ZSTD;
	if (len == 0)
		memcpy(b->payload, bytes, d->encoded_len);
	b->payload_len = len == 0 ? d->encoded_len : (uint32_t)len;
}

static enum status seal(struct blob *b, struct blob **out, const struct link_msg *m, struct error *err)
{
	enum status st = link_seal(b, m, err);

	if (st != ST_OK) {
		blob_unref(b);
		return st;
	}
	*out = b;
	return ST_OK;
}

enum status wire_encode(struct wire *w, struct blob **out, struct link_msg *m, const real *x, struct error *err)
{
	struct link_model_delta *d = &m->u.delta;
	uint64_t begin = uv_hrtime();
	struct blob *b = take_blob(w);

	if (b == NULL)
		return error_set(err, ST_NOMEM, "a segment to send: out of memory");
	d->compressor = COMPRESS_IDENTITY;
	d->lossless = LINK_RAW;
	if (wire_is_on(w)) {
		d->encoded_len = (uint32_t)compress_encode(w->identity, w->scratch, x, d->n, NULL);
		fill_staged(w, b, d, w->scratch, begin);
	} else {
		d->encoded_len = (uint32_t)compress_encode(w->identity, b->payload, x, d->n, NULL);
		b->payload_len = d->encoded_len;
	}
	return seal(b, out, m, err);
}

enum status wire_encode_bytes(struct wire *w, struct blob **out, struct link_msg *m, const uint8_t *bytes, size_t len,
		struct error *err)
{
	struct link_model_delta *d = &m->u.delta;
	struct blob *b = take_blob(w);

	if (b == NULL)
		return error_set(err, ST_NOMEM, "a segment to send: out of memory");
	d->compressor = d->dense ? COMPRESS_IDENTITY : w->compress.kind;
	d->lossless = LINK_RAW;
	d->encoded_len = b->payload_len = (uint32_t)len;
	if (wire_is_on(w))
		fill_staged(w, b, d, bytes, uv_hrtime());
	else
		memcpy(b->payload, bytes, len);
	return seal(b, out, m, err);
}

void wire_set_delta(struct wire *w, enum wire_mode mode)
{
	w->delta = mode;
}

enum status wire_probe(struct wire *w, const struct link_model_delta *d, uint32_t n_segments, const real *x, struct error *err)
{
	enum status st = ST_OK;
	double seconds;
	size_t len;

	if (!tries_differences(w) || !w->stage.look || w->stage.is_on)
		return ST_OK;
	if (w->probe == NULL)
		st = probe_create(&w->probe, w->segment, err);
	if (st == ST_OK && probe_try(w->probe, d->round, d->segment, n_segments, x, d->n, &seconds, &len))
		stage_saw(&w->stage, seconds, dense_bytes(d->n), len);
	return st;
}

int wire_uses_delta(const struct wire *w)
{
	switch (w->delta) {
	case WIRE_AUTO:
		return w->mode == WIRE_AUTO ? w->stage.is_on : w->mode == WIRE_ON;
	case WIRE_ON:
		return 1;
	case WIRE_OFF:
		return 0;
	}
	return 0;
}

enum status wire_encode_delta(struct wire *w, struct blob **out, struct link_msg *m, struct bases *bases, const real *x,
		struct error *err)
{
	struct link_model_delta *d = &m->u.delta;
	uint64_t begin = uv_hrtime();
	struct blob *b = take_blob(w);
	size_t len;

	if (b == NULL)
		return error_set(err, ST_NOMEM, "a segment to send: out of memory");
	d->compressor = COMPRESS_IDENTITY;
	d->encoded_len = (uint32_t)dense_bytes(d->n);
	len = bases_difference(bases, b->payload, b->payload_cap, d, x);
	d->lossless = len > 0 ? LINK_DELTA_ZSTD : LINK_RAW;
	b->payload_len = len > 0 ? (uint32_t)len : (uint32_t)compress_encode(w->identity, b->payload, x, d->n, NULL);
	stage_saw(&w->stage, (double)(uv_hrtime() - begin) * 1e-9, d->encoded_len, b->payload_len);
	return seal(b, out, m, err);
}

/* A difference: any length up to the compressor's bound; its decoder looks at the rest. */
static enum status check_difference(const struct wire *w, const struct link_model_delta *d, size_t payload_len,
		struct error *err)
{
	size_t most = compress_bound(&w->compress, d->n);

	if (d->compressor != (uint32_t)w->compress.kind)
		return error_set(err, ST_PROTO, "segment %u with compressor %u, this job uses %d", d->segment, d->compressor,
				(int)w->compress.kind);
	if (d->lossless == LINK_DELTA_ZSTD)
		return error_set(err, ST_PROTO, "segment %u is an exact difference, this job compresses", d->segment);
	if (d->encoded_len > most || payload_len > d->encoded_len)
		return error_set(err, ST_PROTO, "segment %u of %u bytes, allowed for %u parameters: at most %zu", d->segment,
				d->encoded_len, d->n, most);
	return ST_OK;
}

enum status wire_check(const struct wire *w, const struct link_msg *m, size_t payload_len, struct error *err)
{
	const struct link_model_delta *d = &m->u.delta;
	size_t expected = dense_bytes(d->n);

	if (w->differences && m->type == LINK_MODEL_DELTA && !d->dense)
		return check_difference(w, d, payload_len, err);
	if (d->compressor != COMPRESS_IDENTITY)
		return error_set(err, ST_PROTO, "segment %u with compressor %u, this job uses %d", d->segment, d->compressor,
				COMPRESS_IDENTITY);
	if ((d->lossless == LINK_DELTA_ZSTD || (d->seq != 0 && !w->differences)) &&
			(w->delta == WIRE_OFF || m->type != LINK_MODEL_DELTA || d->seq == 0))
		return error_set(err, ST_PROTO, "segment %u with number %llu, lossless %d: this job sends no exact differences here",
				d->segment, (unsigned long long)d->seq, (int)d->lossless);
	if (d->encoded_len != expected)
		return error_set(err, ST_PROTO, "segment %u of %u bytes, %zu are right for %u parameters", d->segment,
				d->encoded_len, expected, d->n);
	if (d->lossless == LINK_RAW ? payload_len != expected : payload_len > expected)
		return error_set(err, ST_PROTO, "segment %u with a payload of %zu bytes for %zu", d->segment, payload_len,
				expected);
	return ST_OK;
}

int wire_is_plain(const struct link_model_delta *d)
{
	return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ && sizeof(real) == sizeof(float)
		&& d->compressor == COMPRESS_IDENTITY && d->lossless == LINK_RAW;
}

enum status wire_unpack(struct wire *w, const uint8_t **out, const struct link_model_delta *d, const uint8_t *payload,
		size_t len, struct error *err)
{
	*out = payload;
	if (d->lossless == LINK_RAW)
		return ST_OK;
	*out = w->scratch;
	return lossless_decode(w->lossless, w->scratch, d->encoded_len, payload, len, word_of(d), err);
}

enum status wire_decode(struct wire *w, real *out, const struct link_model_delta *d, const uint8_t *payload, size_t len,
		struct error *err)
{
	const uint8_t *bytes;
	enum status st = wire_unpack(w, &bytes, d, payload, len, err);

	return st == ST_OK ? compress_decode(w->identity, out, d->n, bytes, d->encoded_len, NULL, err) : st;
}

const char *wire_round_over(struct wire *w, double speed)
{
	if (w->mode != WIRE_AUTO || !stage_judge(&w->stage, speed))
		return NULL;
	stage_text(&w->stage, tries_differences(w) ? "zstd of exact differences" : "zstd", w->why);
	return w->why;
}
