/* What workers say to each other on links. Model bytes and activations are the frame's payload and are never copied
 * by the codec: encode into a blob's payload, decode to where the frame's sink put them. */
#ifndef PROTO_LINK_H
#define PROTO_LINK_H

#include "proto/frame.h"

#define LINK_MAX_SEGMENT (FRAME_MAX_PAYLOAD_LINK / 4U) /* parameters per segment */
#define LINK_MAX_STAGES 64U
#define LINK_MAX_LAYERS 65536U
#define LINK_MAX_NUMBERS ((uint64_t)1 << 40) /* in one activation */

#define LINK_LOST_BYTES (64U * 63U / 2 / 8) /* a bit for every pair of ranks */

enum link_type {
	LINK_UP = 32,          /* first frame of each side */
	LINK_ROUND_BEGIN = 33,
	LINK_MODEL_DELTA = 34, /* payload: one segment, encoded */
	LINK_ALIVE = 35,
	LINK_BYE = 36,
	LINK_MODEL_SUM = 37,   /* payload: one segment, sum over a subtree, on its way to the root */
	LINK_MODEL_MEAN = 38,  /* payload: one segment of the mean, on its way down */
	LINK_PIPELINE_BEGIN = 39,
	LINK_ACTIVATION = 40,      /* payload: a part of what a layer gave, downstream */
	LINK_ACTIVATION_GRAD = 41, /* payload: a part of the gradient of that, upstream */
	LINK_PIPELINE_END = 42,
	LINK_PIPELINE_ASK_STOP = 43,
	LINK_PIPELINE_LOST = 44,
	LINK_MODEL_COPY = 45,      /* payload: a part of x, m, v, for a rank that comes late */
	LINK_MODEL_HELD = 46       /* payload: as MODEL_SUM, but no sum: the mean that somebody there has from an earlier plan */
};

/* How a payload was made after the compressor. */
enum link_lossless { LINK_RAW = 0, LINK_PLANES_ZSTD = 1, LINK_DELTA_ZSTD = 2 };

struct link_up {
	uint32_t rank;       /* of the sender */
	uint64_t next_round; /* not yet begun */
	uint64_t n_params;   /* both must have the same model */
	uint32_t segment;    /* parameters per segment */
	uint8_t joining;     /* it comes late and has no model: this link is for a copy */
};

enum link_cut { LINK_CUT_NONE = 0, LINK_CUT_STOP = 1 };

struct link_round_begin {
	uint64_t round, step;
	uint32_t degree;     /* links that the sender counts in this round */
	uint8_t dense;       /* algorithms with replicas: the whole replica comes in this round */
	uint32_t halvings;   /* how often the sender has halved its weights */
	uint8_t joining;     /* the sender comes late: it only takes in this round */
	enum link_cut cut;   /* an order on its way ... */
	uint64_t cut_round;  /* ... to be followed after this round */
	uint8_t lost[LINK_LOST_BYTES]; /* exact means: bit set of the graph's links that are lost, in ascending order */
};

struct link_model_delta { /* also MODEL_SUM, MODEL_MEAN and MODEL_HELD */
	uint64_t round;       /* SUM, MEAN, HELD: the plan's number */
	uint32_t segment;     /* index */
	uint32_t n;           /* parameters in it */
	uint32_t compressor;  /* enum compress_kind */
	enum link_lossless lossless;
	uint32_t encoded_len; /* bytes before the lossless stage; what decompression must give exactly */
	uint32_t ranks;       /* SUM, MEAN, HELD: ranks summed so far */
	uint64_t seq;         /* algorithms with replicas: number of the difference; dense: of the last one in it */
	uint64_t hash;        /* of the replica's segment after it; 0: not said */
	uint8_t dense;        /* the replica itself, not a difference */
	uint8_t mean;         /* exact means, on the way up: not a sum but the mean, which somebody above lacks */
};

struct link_stage {
	uint32_t layer;       /* its first */
};

struct link_pipeline_begin {
	uint32_t n_stages;
	struct link_stage stages[LINK_MAX_STAGES]; /* the first begins with layer 0, the others above the one before */
	uint64_t train_rows, test_rows; /* all ranks must have read the same data */
	uint32_t data_crc;    /* crc32c over the data files in the order of the spec; 0: none */
};

enum link_pass { LINK_PASS_TRAIN = 0, LINK_PASS_TEST = 1 };
enum link_format { LINK_FLOAT32 = 0, LINK_BF16 = 1 };

struct link_activation {  /* also ACTIVATION_GRAD, MODEL_COPY */
	uint64_t iteration;   /* MODEL_COPY: local steps taken */
	uint32_t sample;      /* the copy k; of test rows: the number of the chunk of rows */
	enum link_pass pass;
	enum link_format format;
	uint64_t offset;      /* numbers before this part; parts come in order, none is left out */
	uint64_t total;       /* numbers in all parts */
};

struct link_pipeline_end { /* also ASK_STOP */
	uint64_t iteration;   /* so many are all; ASK_STOP: what the sender has done */
};

struct link_pipeline_lost {
	uint32_t stage;
};

struct link_alive {
	uint64_t round;
	int32_t waiting_for;  /* rank, or -1 */
	uint8_t paused;
};

struct link_bye {
	char why[160];        /* "finished", ... */
};

struct link_msg {
	enum link_type type;
	union {
		struct link_up up;
		struct link_round_begin begin;
		struct link_model_delta delta;
		struct link_alive alive;
		struct link_bye bye;
		struct link_pipeline_begin pipeline;
		struct link_activation activation;
		struct link_pipeline_end end;
		struct link_pipeline_lost lost;
	} u;
};

/* Small frames, appended to out. */
MUST_CHECK enum status link_encode(struct buf *out, const struct link_msg *m, struct error *err);

/* Seal a blob whose payload is filled (never empty): MODEL_DELTA, MODEL_SUM, MODEL_MEAN, MODEL_HELD, ACTIVATION,
 * ACTIVATION_GRAD, MODEL_COPY. */
MUST_CHECK enum status link_seal(struct blob *b, const struct link_msg *m, struct error *err);

/* The payload stays in the frame (f->payload). Checks types, enums and that a payload is there exactly
 * for the frames that link_has_payload(): of encoded_len bytes when raw, of fewer when compressed; of whole numbers
 * within `total`. Owns nothing. Also usable from a frame_sink, before the payload is read. */
MUST_CHECK enum status link_decode(struct link_msg *m, const struct frame *f, struct error *err);

int link_has_payload(enum link_type t);

/* Bytes of one number. */
uint32_t link_format_bytes(enum link_format f);

const char *link_type_text(enum link_type t);

#endif
