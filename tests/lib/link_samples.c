/* One of every message of links. See proto_samples.h. */
#include "tests/lib/sample_values.h"

const uint8_t sample_link_types[] = {LINK_UP, LINK_ROUND_BEGIN, LINK_MODEL_DELTA, LINK_ALIVE, LINK_BYE,
		LINK_MODEL_SUM, LINK_MODEL_MEAN, LINK_PIPELINE_BEGIN, LINK_ACTIVATION, LINK_ACTIVATION_GRAD,
		LINK_PIPELINE_END, LINK_PIPELINE_ASK_STOP, LINK_PIPELINE_LOST, LINK_MODEL_COPY, LINK_MODEL_HELD, 0};

static void fill_delta(struct link_model_delta *d, uint32_t payload)
{
	d->round = u64();
	d->segment = u32();
	d->n = within(1, LINK_MAX_SEGMENT);
	d->compressor = within(1, 255);
	d->lossless = LINK_RAW;
	d->encoded_len = payload;
	d->ranks = within(1, JOB_MAX_RANKS);
	d->seq = u64();
	d->hash = u64();
	d->dense = 1;
	d->mean = 1;
}

static void fill_activation(struct link_activation *a, uint32_t payload)
{
	a->iteration = u64();
	a->sample = u32();
	a->pass = LINK_PASS_TEST;
	a->format = LINK_BF16;
	a->total = sample_is_greatest ? LINK_MAX_NUMBERS : payload;
	a->offset = sample_is_greatest ? LINK_MAX_NUMBERS - payload : payload / 4;
}

void sample_link(struct link_msg *m, enum link_type type, uint32_t payload, enum sample_size size)
{
	start(size);
	memset(m, 0, sizeof *m);
	m->type = type;
	switch (type) {
	case LINK_UP:
		m->u.up.rank = within(1, JOB_MAX_RANKS - 1);
		m->u.up.next_round = u64();
		m->u.up.n_params = u64();
		m->u.up.segment = within(1, LINK_MAX_SEGMENT);
		m->u.up.joining = 1;
		break;
	case LINK_ROUND_BEGIN:
		m->u.begin.round = u64();
		m->u.begin.step = u64();
		m->u.begin.degree = within(1, JOB_MAX_RANKS - 1);
		m->u.begin.cut = LINK_CUT_STOP;
		m->u.begin.cut_round = u64();
		m->u.begin.dense = 1;
		m->u.begin.halvings = u32();
		m->u.begin.joining = 1;
		memset(m->u.begin.lost, 0x5a, sizeof m->u.begin.lost);
		break;
	case LINK_MODEL_DELTA:
	case LINK_MODEL_SUM:
	case LINK_MODEL_MEAN:
	case LINK_MODEL_HELD:
		fill_delta(&m->u.delta, payload);
		break;
	case LINK_ALIVE:
		m->u.alive.round = u64();
		m->u.alive.waiting_for = sample_is_greatest ? (int32_t)JOB_MAX_RANKS - 1 : -1;
		m->u.alive.paused = 1;
		break;
	case LINK_BYE:
		TEXT(m->u.bye.why);
		break;
	case LINK_PIPELINE_BEGIN:
		m->u.pipeline.n_stages = within(2, LINK_MAX_STAGES);
		for (uint32_t s = 1; s < m->u.pipeline.n_stages; s++)
			m->u.pipeline.stages[s].layer = sample_is_greatest ? LINK_MAX_LAYERS - m->u.pipeline.n_stages + s : s * 5;
		m->u.pipeline.train_rows = u64();
		m->u.pipeline.test_rows = u64();
		m->u.pipeline.data_crc = (uint32_t)u64();
		break;
	case LINK_ACTIVATION:
	case LINK_ACTIVATION_GRAD:
	case LINK_MODEL_COPY:
		fill_activation(&m->u.activation, payload);
		break;
	case LINK_PIPELINE_END:
	case LINK_PIPELINE_ASK_STOP:
		m->u.end.iteration = u64();
		break;
	case LINK_PIPELINE_LOST:
		m->u.lost.stage = within(1, LINK_MAX_STAGES - 1);
		break;
	}
}
