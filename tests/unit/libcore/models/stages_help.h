/* Help for tests of models that can be cut into layers: run them in parts, and in every way of cutting. */
#ifndef TESTS_UNIT_LIBCORE_MODELS_STAGES_HELP_H
#define TESTS_UNIT_LIBCORE_MODELS_STAGES_HELP_H

#include "tests/unit/libcore/models/host_help.h"

#include <math.h>

#define STAGES_MOST 8

/* A range at work on n rows; everything it points to is allocated here but x, in and rows. */
struct part {
	struct dadam_layer first, last;
	dadam_real *out, *d_in;
	struct dadam_range range;
};

static inline struct part part_of(const struct dadam_model *model, void *m, const dadam_real *x, uint32_t first, uint32_t end,
		const dadam_real *in, const uint64_t *rows, size_t n)
{
	const struct dadam_stages *s = model->extension(DADAM_STAGES);
	struct part p = {.range = {.struct_size = sizeof p.range, .first = first, .end = end, .rows = rows, .n_rows = n, .in = in}};

	cr_assert_eq(s->layer(m, first, &p.first), 0);
	cr_assert_eq(s->layer(m, end - 1, &p.last), 0);
	p.range.x = x + p.first.offset;
	p.range.kept = calloc(s->kept(m, first, end, n) + 1, sizeof *p.range.kept);
	p.out = p.last.n_out > 0 ? calloc(n * p.last.n_out, sizeof *p.out) : NULL;
	p.d_in = first > 0 ? calloc(n * p.first.n_in, sizeof *p.d_in) : NULL;
	return p;
}

static inline void part_free(struct part *p)
{
	free(p->range.kept);
	free(p->out);
	free(p->d_in);
}

/* Forward and backward through the parts that begin at cuts[0..n_cuts); g: the whole gradient. The loss. */
static inline double in_parts(const struct dadam_model *model, void *m, const dadam_real *x, const uint32_t *cuts,
		uint32_t n_cuts, const uint64_t *rows, size_t n, dadam_real *g)
{
	const struct dadam_stages *s = model->extension(DADAM_STAGES);
	struct part parts[STAGES_MOST];
	double loss = NAN;

	for (uint32_t i = 0; i < n_cuts; i++) {
		bool is_last = i + 1 == n_cuts;

		parts[i] = part_of(model, m, x, cuts[i], is_last ? s->n_layers(m) : cuts[i + 1], i > 0 ? parts[i - 1].out : NULL, rows,
				n);
		cr_assert_eq(s->forward(m, &parts[i].range, parts[i].out, is_last ? &loss : NULL), 0, "%s", host_text);
	}
	for (uint32_t i = n_cuts; i-- > 0;)
		cr_assert_eq(s->backward(m, &parts[i].range, i + 1 < n_cuts ? parts[i + 1].d_in : NULL, g + parts[i].first.offset,
				parts[i].d_in), 0, "%s", host_text);
	for (uint32_t i = 0; i < n_cuts; i++)
		part_free(&parts[i]);
	return loss;
}

/* Every way of cutting must give the bits that gradient() gives. */
static inline void check_every_cut(const struct dadam_model *model, void *m, const dadam_real *x, size_t n_params,
		const uint64_t *rows, size_t n)
{
	const struct dadam_stages *s = model->extension(DADAM_STAGES);
	dadam_real *whole = calloc(n_params, sizeof *whole), *g = calloc(n_params, sizeof *g);
	double want;

	cr_assert_leq(s->n_layers(m), STAGES_MOST);
	cr_assert_eq(model->gradient(m, x, rows, n, whole, &want), 0, "%s", host_text);
	for (unsigned set = 0; set < 1U << (s->n_layers(m) - 1); set++) {
		uint32_t cuts[STAGES_MOST] = {0}, n_cuts = 1;

		for (uint32_t l = 1; l < s->n_layers(m); l++)
			if ((set >> (l - 1) & 1) != 0)
				cuts[n_cuts++] = l;
		memset(g, 0xff, n_params * sizeof *g);
		cr_assert_eq(in_parts(model, m, x, cuts, n_cuts, rows, n, g), want, "cuts %u", set);
		cr_assert_arr_eq(g, whole, n_params * sizeof *g, "cuts %u", set);
	}
	free(whole);
	free(g);
}

/* Gradient against differences of the loss, all parameters (double precision). */
static inline void check_differences(const struct dadam_model *model, void *m, dadam_real *x, size_t n_params,
		const uint64_t *rows, size_t n)
{
	const double step = 1e-6;
	dadam_real *g = calloc(n_params, sizeof *g), *scratch = calloc(n_params, sizeof *g);
	double loss, up, down, sum = 0;

	for (size_t i = 0; i < n_params; i++)
		g[i] = NAN; /* overwritten whole */
	cr_assert_eq(model->gradient(m, x, rows, n, g, &loss), 0, "%s", host_text);
	for (size_t i = 0; i < n_params; i++) {
		dadam_real was = x[i];

		x[i] = was + (dadam_real)step;
		cr_assert_eq(model->gradient(m, x, rows, n, scratch, &up), 0);
		x[i] = was - (dadam_real)step;
		cr_assert_eq(model->gradient(m, x, rows, n, scratch, &down), 0);
		x[i] = was;
		cr_assert_float_eq(g[i], (up - down) / (2 * step), 1e-8, "parameter %zu: %g, differences say %g", i, (double)g[i],
				(up - down) / (2 * step));
		sum += fabs((double)g[i]);
	}
	cr_assert_gt(sum, 0.1);
	free(g);
	free(scratch);
}

#endif
