/* How long each layer takes, for `cut: auto`. See pipe_stage_times() in pipe_stage.h.
 *
 * The layers run one by one at the initial parameters, forward and then backward, on the rows of iteration 0. Of
 * several runs the fastest counts: whatever else the machine does only makes a run longer. */
#include "daemon/worker/pipe_stage_private.h"

#include "libcore/base/mem.h"

#include <math.h>

#define RUNS 3U

struct bench {
	struct pipe_stage *s;
	const struct dadam_layer *layers;
	uint32_t n_layers;
	real **out, **kept; /* per layer; out of the last one is NULL */
	real *grad, *d_out, *d_in;
	size_t most_params, most_numbers;
};

static void bench_fini(struct bench *b)
{
	for (uint32_t l = 0; b->out != NULL && l < b->n_layers; l++)
		mem_free(b->out[l]);
	for (uint32_t l = 0; b->kept != NULL && l < b->n_layers; l++)
		mem_free(b->kept[l]);
	mem_free(b->out);
	mem_free(b->kept);
	mem_free(b->grad);
	mem_free(b->d_out);
	mem_free(b->d_in);
}

static enum status out_of_memory(struct error *err)
{
	(void)error_set(err, ST_NOMEM, "no memory to measure the layers");
	error_hint(err, "give `cut` as a list of layers instead of auto");
	return ST_NOMEM;
}

static enum status make_layer(struct bench *b, uint32_t l, struct error *err)
{
	const struct dadam_layer *layer = &b->layers[l];
	uint64_t kept;
	enum status st = plugin_kept(b->s->plugin, &kept, l, l + 1, b->s->batch, err);

	if (st != ST_OK)
		return st;
	b->kept[l] = mem_alloc((size_t)kept, sizeof(real));
	b->out[l] = mem_alloc(b->s->batch, (size_t)layer->n_out * sizeof(real));
	if (b->kept[l] == NULL || b->out[l] == NULL)
		return out_of_memory(err);
	if (layer->n_params > b->most_params)
		b->most_params = (size_t)layer->n_params;
	if (layer->n_out > b->most_numbers)
		b->most_numbers = (size_t)layer->n_out;
	return ST_OK;
}

static enum status bench_init(struct bench *b, struct pipe_stage *s, struct error *err)
{
	enum status st = ST_OK;

	*b = (struct bench){.s = s, .layers = plugin_layers(s->plugin), .n_layers = plugin_n_layers(s->plugin)};
	b->out = mem_alloc(b->n_layers, sizeof(real *));
	b->kept = mem_alloc(b->n_layers, sizeof(real *));
	if (b->out == NULL || b->kept == NULL)
		return out_of_memory(err);
	for (uint32_t l = 0; st == ST_OK && l < b->n_layers; l++)
		st = make_layer(b, l, err);
	if (st != ST_OK)
		return st;
	b->grad = mem_alloc(b->most_params, sizeof(real));
	b->d_out = mem_alloc(s->batch, b->most_numbers * sizeof(real));
	b->d_in = mem_alloc(s->batch, b->most_numbers * sizeof(real));
	return b->grad != NULL && b->d_out != NULL && b->d_in != NULL ? ST_OK : out_of_memory(err);
}

static struct dadam_range range_of(const struct bench *b, uint32_t l, const uint64_t *rows)
{
	const struct dadam_layer *layer = &b->layers[l];

	return (struct dadam_range){.struct_size = sizeof(struct dadam_range), .first = l, .end = l + 1,
			.x = layer->n_params > 0 ? b->s->whole + layer->offset : NULL, .rows = rows, .n_rows = b->s->batch,
			.in = l > 0 ? b->out[l - 1] : NULL, .kept = b->kept[l]};
}

/* One forward and one backward of all layers; their seconds. */
static enum status run(struct bench *b, const uint64_t *rows, double *seconds, struct error *err)
{
	enum status st = ST_OK;
	double loss;

	for (uint32_t l = 0; st == ST_OK && l < b->n_layers; l++) {
		struct dadam_range r = range_of(b, l, rows);
		int is_last = l + 1 == b->n_layers;
		uint64_t began = uv_hrtime();

		st = plugin_forward(b->s->plugin, 0, &r, is_last ? NULL : b->out[l], is_last ? &loss : NULL, err);
		seconds[l] = (double)(uv_hrtime() - began) * 1e-9;
	}
	for (uint32_t l = b->n_layers; st == ST_OK && l-- > 0;) {
		struct dadam_range r = range_of(b, l, rows);
		real *d_out = b->d_out;
		uint64_t began = uv_hrtime();

		st = plugin_backward(b->s->plugin, 0, &r, l + 1 < b->n_layers ? d_out : NULL,
				b->layers[l].n_params > 0 ? b->grad : NULL, l > 0 ? b->d_in : NULL, err);
		seconds[l] += (double)(uv_hrtime() - began) * 1e-9;
		b->d_out = b->d_in;
		b->d_in = d_out;
	}
	return st;
}

enum status pipe_stage_times(struct pipe_stage *s, double *seconds, struct error *err)
{
	uint32_t n = plugin_n_layers(s->plugin);
	uint64_t *rows = mem_alloc(s->batch, sizeof *rows);
	double *one = mem_alloc(n, sizeof *one);
	struct bench b = {.s = s};
	enum status st = rows != NULL && one != NULL ? bench_init(&b, s, err) : out_of_memory(err);

	for (size_t i = 0; st == ST_OK && i < s->batch; i++)
		rows[i] = i % s->rows.n_local;
	for (uint32_t l = 0; st == ST_OK && l < n; l++)
		seconds[l] = INFINITY;
	for (uint32_t k = 0; st == ST_OK && k < RUNS; k++) {
		st = run(&b, rows, one, err);
		for (uint32_t l = 0; l < n; l++)
			seconds[l] = one[l] < seconds[l] ? one[l] : seconds[l];
	}
	bench_fini(&b);
	mem_free(rows);
	mem_free(one);
	return st;
}
