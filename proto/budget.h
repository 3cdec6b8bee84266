/* Memory for one run of protobuf-c: counted, capped, and all gone at the end.
 *
 * protobuf-c has no limits of its own: 2 MB of a hostile message make 66 MB of heap. Packing and
 * unpacking take their blocks from a budget; over its limit they fail, and budget_fini() frees what is
 * left, whoever forgot it. The blocks come from libcore/base/mem.h. */
#ifndef PROTO_BUDGET_H
#define PROTO_BUDGET_H

#include "libcore/base/err.h"

#include <protobuf-c/protobuf-c.h>
#include <stddef.h>

/* Enough for the largest message that the formats allow (256 jobs, 128 members), by a factor of two;
 * the test of the codecs holds it. */
#define BUDGET_BYTES ((size_t)1 << 20)

struct budget_block;

struct budget {
	ProtobufCAllocator allocator; /* for protobuf_c_message_unpack */
	struct budget_block *blocks;
	size_t used, limit;
	int over;      /* a request went over the limit: the message is to blame, not the heap */
	int no_memory; /* the heap had nothing */
};

/* b must not move afterwards: the allocator points to it. */
void budget_init(struct budget *b, size_t limit);

/* size zeroed bytes that live until budget_fini(). NULL: over the limit, or no memory. */
void *budget_alloc(struct budget *b, size_t size);

/* Free everything. */
void budget_fini(struct budget *b);

/* What a failed budget_alloc or unpack means: too much wanted (st_bad), no memory (ST_NOMEM), or, when
 * the budget never failed, bytes that are no message (st_bad). what: the message's name. */
enum status budget_error(const struct budget *b, enum status st_bad, const char *what, struct error *err);

#endif
