/* See codec_check.h. */
#include "tests/lib/codec_check.h"

#include "libcore/base/mem.h"
#include "proto/control.h"
#include "proto/link.h"
#include "proto/peer.h"
#include "proto/worker.h"
#include "tests/lib/fail_mem.h"

#include <string.h>

#define FRONT(name, prefix) \
	static enum status name##_encode(struct buf *out, const void *m, struct error *err) \
	{ \
		return prefix##_encode(out, m, err); \
	} \
	static enum status name##_decode(void *m, const struct frame *f, struct error *err) \
	{ \
		return prefix##_decode(m, f, err); \
	}
#define FINI(name, fini) \
	static void name##_fini(void *m) \
	{ \
		fini(m); \
	}
FRONT(request, control_request)
FINI(request, control_request_fini)
FRONT(response, control_response)
FINI(response, control_response_fini)
FRONT(any_peer, peer)
FINI(peer, peer_msg_fini)
FRONT(any_worker, worker)
FINI(worker, worker_msg_fini)

/* Model frames get a payload as long as the head says, when raw; activations one number. */
static uint32_t payload_of(const struct link_msg *m)
{
	if (m->type == LINK_ACTIVATION || m->type == LINK_ACTIVATION_GRAD || m->type == LINK_MODEL_COPY)
		return link_format_bytes(m->u.activation.format);
	return m->u.delta.encoded_len - (m->u.delta.lossless == LINK_RAW ? 0 : 1);
}

static enum status any_link_encode(struct buf *out, const void *m, struct error *err)
{
	const struct link_msg *link = m;
	struct blob *b;
	enum status st;

	if (!link_has_payload(link->type))
		return link_encode(out, link, err);
	b = blob_create(payload_of(link));
	if (b == NULL)
		return error_set(err, ST_NOMEM, "no blob");
	b->payload_len = payload_of(link);
	st = link_seal(b, link, err);
	if (st == ST_OK)
		st = buf_append(out, b->bytes, (size_t)b->head_len + b->payload_len);
	blob_unref(b);
	return st;
}

static enum status any_link_decode(void *m, const struct frame *f, struct error *err)
{
	return link_decode(m, f, err);
}

const struct codec_ops codec_request = {
		sizeof(struct control_request), request_encode, request_decode, request_fini};
const struct codec_ops codec_response = {
		sizeof(struct control_response), response_encode, response_decode, response_fini};
const struct codec_ops codec_peer = {sizeof(struct peer_msg), any_peer_encode, any_peer_decode, peer_fini};
const struct codec_ops codec_link = {sizeof(struct link_msg), any_link_encode, any_link_decode, NULL};
const struct codec_ops codec_worker = {sizeof(struct worker_msg), any_worker_encode, any_worker_decode, worker_fini};

int codec_read_frame(const uint8_t *data, size_t len, struct frame *out, struct frame_parser **keep)
{
	static const struct frame_limits limits = {FRAME_MAX_HEAD, FRAME_MAX_PAYLOAD_LINK};
	int done = 0;

	if (frame_parser_create(keep, &limits, NULL) != ST_OK)
		return 0;
	if (frame_parser_feed(*keep, &data, &len, out, &done, NULL) != ST_OK)
		done = 0;
	return done && len == 0;
}

static void fini(const struct codec_ops *ops, void *m)
{
	if (ops->fini != NULL)
		ops->fini(m);
}

const char *codec_check_frame(const struct codec_ops *ops, const struct frame *f)
{
	struct error err = {0};
	struct buf first = {0}, second = {0};
	struct frame_parser *p = NULL;
	struct frame again;
	void *m = mem_alloc(1, ops->size);
	const char *wrong = NULL;
	enum status st = ops->decode(m, f, &err);

	if (st != ST_OK) {
		mem_free(m);
		return st != ST_PROTO ? "refused with another status than ST_PROTO"
				: err.msg[0] == 0 ? "refused without words" : NULL;
	}
	if (ops->encode(&first, m, &err) != ST_OK)
		wrong = "what was decoded cannot be encoded";
	fini(ops, m);
	if (wrong == NULL && !codec_read_frame(first.data, first.len, &again, &p))
		wrong = "what was encoded is no frame";
	if (wrong == NULL && ops->decode(m, &again, &err) != ST_OK) {
		wrong = "what was encoded cannot be decoded";
	} else if (wrong == NULL) {
		if (ops->encode(&second, m, &err) != ST_OK || first.len != second.len ||
				memcmp(first.data, second.data, first.len) != 0)
			wrong = "the second encoding differs from the first";
		fini(ops, m);
	}
	frame_parser_destroy(p);
	buf_fini(&first);
	buf_fini(&second);
	mem_free(m);
	return wrong;
}

/* Encode m and hand its frame to check(). */
static const char *with_frame(const struct codec_ops *ops, const void *m,
		const char *(*check)(const struct codec_ops *ops, const struct frame *f))
{
	struct buf b = {0};
	struct frame_parser *p = NULL;
	struct frame f;
	struct error err;
	const char *wrong = "cannot be encoded";

	if (ops->encode(&b, m, &err) == ST_OK)
		wrong = codec_read_frame(b.data, b.len, &f, &p) ? check(ops, &f) : "is no frame";
	frame_parser_destroy(p);
	buf_fini(&b);
	return wrong;
}

static const char *decodes(const struct codec_ops *ops, const struct frame *f)
{
	void *m = mem_alloc(1, ops->size);
	enum status st = ops->decode(m, f, NULL);

	if (st == ST_OK)
		fini(ops, m);
	mem_free(m);
	return st == ST_OK ? codec_check_frame(ops, f) : "cannot be decoded";
}

const char *codec_check_round_trip(const struct codec_ops *ops, const void *m)
{
	return with_frame(ops, m, decodes);
}

static const char *cut_short(const struct codec_ops *ops, const struct frame *f)
{
	const char *wrong = NULL;

	for (uint32_t n = 0; n < f->head_len && wrong == NULL; n++) {
		struct frame part = *f;
		uint8_t *head = mem_alloc(n, 1); /* its own block, so that a sanitizer sees its end */

		memcpy(head, f->head, n);
		part.head = head;
		part.head_len = n;
		wrong = codec_check_frame(ops, &part);
		mem_free(head);
	}
	return wrong;
}

const char *codec_check_cut_short(const struct codec_ops *ops, const void *m)
{
	return with_frame(ops, m, cut_short);
}

static const char *changed(const struct codec_ops *ops, const struct frame *f)
{
	static const uint8_t flips[] = {0x01, 0x07, 0x08, 0x80, 0xff};
	const char *wrong = NULL;
	struct frame other = *f;
	uint8_t *head = mem_alloc(f->head_len, 1);

	other.head = head;
	for (uint32_t i = 0; i < f->head_len && wrong == NULL; i++) {
		for (size_t k = 0; k < sizeof flips && wrong == NULL; k++) {
			memcpy(head, f->head, f->head_len);
			head[i] ^= flips[k];
			wrong = codec_check_frame(ops, &other);
		}
	}
	mem_free(head);
	return wrong;
}

const char *codec_check_changed(const struct codec_ops *ops, const void *m)
{
	return with_frame(ops, m, changed);
}

static const char *decode_without_memory(const struct codec_ops *ops, const struct frame *f)
{
	const char *wrong = NULL;
	enum status st = ST_NOMEM;
	void *m = mem_alloc(1, ops->size);

	for (int k = 0; st != ST_OK && wrong == NULL; k++) {
		fail_mem_at(k);
		st = ops->decode(m, f, NULL);
		if (st == ST_OK)
			fini(ops, m);
		else if (st != ST_NOMEM)
			wrong = "without memory decode says another thing than ST_NOMEM";
		if (fail_mem_outstanding() != 0)
			wrong = "decode without memory leaks";
	}
	fail_mem_off();
	mem_free(m);
	return wrong;
}

const char *codec_check_no_memory(const struct codec_ops *ops, const void *m)
{
	enum status st = ST_NOMEM;

	for (int k = 0; st != ST_OK; k++) {
		struct buf b = {0};

		fail_mem_at(k);
		st = ops->encode(&b, m, NULL);
		if (st != ST_OK && (st != ST_NOMEM || b.len != 0))
			return "without memory encode says another thing than ST_NOMEM, or writes";
		buf_fini(&b);
		if (fail_mem_outstanding() != 0)
			return "encode without memory leaks";
	}
	fail_mem_off();
	return with_frame(ops, m, decode_without_memory);
}
