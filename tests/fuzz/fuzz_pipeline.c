/* Any events from a neighbour, at any moment: the pipeline machine refuses or takes them, keeps no more than
 * it may, and is over after a loss. The first bytes choose the job; then each byte is an event, wrong numbers
 * come from the bytes behind it. The shell's own part (operations done, bytes sent) is played honestly. */
#include "libcore/round/pipeline.h"
#include "tests/fuzz/fuzz.h"

struct fuzz {
	const uint8_t *data;
	size_t size;
	struct pipeline *machine;
	struct pipeline_config cfg;
	uint64_t unsent[3]; /* given to the shell, by what it counts as */
	int busy, over;
};

static uint8_t next(struct fuzz *f)
{
	if (f->size == 0)
		return 0;
	f->size--;
	return *f->data++;
}

static void carry_out(struct fuzz *f, const struct pipeline_action *a)
{
	switch (a->type) {
	case PIPELINE_DO_FORWARD:
	case PIPELINE_DO_BACKWARD:
	case PIPELINE_DO_EVALUATE:
	case PIPELINE_DO_STEP:
		fuzz_fail(f->busy ? "two operations at once" : NULL);
		fuzz_fail(f->over ? "an operation after the end" : NULL);
		fuzz_fail(a->kept >= pipeline_places_kept(&f->cfg) ? "a kept place that is none" : NULL);
		fuzz_fail(f->cfg.stage > 0 && a->in >= pipeline_places_in(&f->cfg) ? "an in place that is none" : NULL);
		f->busy = 1;
		break;
	case PIPELINE_DO_SEND:
		f->unsent[a->what == PIPELINE_GRADIENT]++;
		fuzz_fail(f->unsent[a->what == PIPELINE_GRADIENT] > PIPELINE_PLACES_OUT ? "more sends than out places" : NULL);
		break;
	case PIPELINE_DO_TRAINED:
	case PIPELINE_DO_FAILED:
		fuzz_fail(f->over ? "a second end" : NULL);
		f->over = 1;
		break;
	case PIPELINE_DO_BEGIN:
	case PIPELINE_DO_READ:
	case PIPELINE_DO_END:
	case PIPELINE_DO_ASK_STOP:
	case PIPELINE_DO_TELL_LOST:
	case PIPELINE_DO_CLOSE:
		break;
	}
}

static void give(struct fuzz *f, const struct pipeline_event *ev)
{
	struct pipeline_actions out;
	struct pipeline_state now;

	if (ev->type == PIPELINE_EV_DONE)
		f->busy = 0;
	pipeline_step(f->machine, ev, &out);
	for (uint32_t i = 0; i < out.n; i++)
		carry_out(f, &out.list[i]);
	now = pipeline_state(f->machine);
	fuzz_fail(now.kept > now.kept_max ? "more is kept than may be" : NULL);
	fuzz_fail(now.here > pipeline_places_in(&f->cfg) ? "more is here than there are places" : NULL);
}

/* The honest input that is due, or any other. */
static struct pipeline_event input(struct fuzz *f, uint8_t byte)
{
	struct pipeline_event ev = {.type = PIPELINE_EV_INPUT, .what = (enum pipeline_what)(byte >> 4 & 3),
			.side = byte & 64 ? PIPELINE_UPSTREAM : PIPELINE_DOWNSTREAM};
	struct pipeline_state now = pipeline_state(f->machine);
	uint32_t place;

	if (ev.what > PIPELINE_CHUNK)
		ev.what = PIPELINE_ACTIVATION;
	if (byte & 128) {
		ev.iteration = next(f);
		ev.sample = next(f);
		return ev;
	}
	for (uint64_t t = now.iterations; t < now.iterations + 2; t++)
		for (uint32_t k = 0; k < f->cfg.samples + f->cfg.test_chunks; k++) {
			ev.iteration = t;
			ev.sample = k;
			if (pipeline_place(f->machine, &place, &ev, NULL) == ST_OK)
				return ev;
		}
	return ev;
}

static void one(struct fuzz *f)
{
	static const enum pipeline_event_type others[8] = {PIPELINE_EV_UP, PIPELINE_EV_START, PIPELINE_EV_BEGIN,
			PIPELINE_EV_END, PIPELINE_EV_ASK_STOP, PIPELINE_EV_TOLD_LOST, PIPELINE_EV_LOST, PIPELINE_EV_STOP};
	uint8_t byte = next(f);
	struct pipeline_event ev = {.side = byte & 64 ? PIPELINE_UPSTREAM : PIPELINE_DOWNSTREAM};

	if ((byte & 3) == 0) {
		if (!f->busy)
			return;
		ev.type = PIPELINE_EV_DONE;
	} else if ((byte & 3) == 1) {
		ev.type = PIPELINE_EV_SENT;
		ev.what = byte & 64 ? PIPELINE_GRADIENT : PIPELINE_ACTIVATION;
		if (f->unsent[byte >> 6 & 1] == 0)
			return;
		f->unsent[byte >> 6 & 1]--;
	} else if ((byte & 3) == 2) {
		ev = input(f, byte);
	} else {
		ev.type = others[byte >> 2 & 7];
		ev.iteration = ev.type == PIPELINE_EV_END ? next(f) : 0;
		ev.stage = ev.type == PIPELINE_EV_TOLD_LOST ? next(f) : 0;
	}
	give(f, &ev);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz f = {.data = data, .size = size};

	f.cfg.schedule = next(&f) % 2 ? PIPELINE_FILL_DRAIN : PIPELINE_1F1B;
	f.cfg.n_stages = 1 + next(&f) % 6;
	f.cfg.stage = next(&f) % f.cfg.n_stages;
	f.cfg.samples = 1 + next(&f) % 6;
	f.cfg.iterations = next(&f) % 5;
	f.cfg.evaluate_every = next(&f) % 3;
	f.cfg.test_chunks = next(&f) % 4;
	if (pipeline_create(&f.machine, &f.cfg, NULL) != ST_OK)
		return 0;
	while (f.size > 0)
		one(&f);
	pipeline_destroy(f.machine);
	return 0;
}
