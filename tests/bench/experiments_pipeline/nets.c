/* The problems with nets, see problem.h: few-shot training, and perturbations of one image. Nets, losses and
 * files are the product's: models/mlp_net, models/loss, data/idx. */
#include "libcore/base/mem.h"
#include "libcore/base/rng.h"
#include "libcore/data/idx.h"
#include "libcore/models/loss.h"
#include "libcore/models/mlp_net.h"
#include "libcore/optim/optim.h"
#include "tests/bench/experiments_pipeline/problem.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define SIDE 28U /* pixels of an image file */
#define FEATURES (SIDE * SIDE / 4)
#define CLASSES 10U

/* ---- images ---- */

struct images {
	size_t n;
	float *pixels; /* n x FEATURES, 0 to 1 */
	uint32_t *labels;
};

/* 2 x 2 pixels become one. */
static void shrink(float out[FEATURES], const uint8_t in[SIDE * SIDE])
{
	for (size_t i = 0; i < SIDE / 2; i++)
		for (size_t j = 0; j < SIDE / 2; j++) {
			const uint8_t *p = in + 2 * i * SIDE + 2 * j;

			out[i * (SIDE / 2) + j] = (float)(p[0] + p[1] + p[SIDE] + p[SIDE + 1]) / (4 * 255.0F);
		}
}

/* which: "train" or "t10k" */
static void open_images(struct images *m, const char *dir, const char *which)
{
	char images[512], labels[512];
	struct table t = {0};
	struct error err;

	(void)snprintf(images, sizeof images, "%s/%s-images-idx3-ubyte.gz", dir, which);
	(void)snprintf(labels, sizeof labels, "%s/%s-labels-idx1-ubyte.gz", dir, which);
	must(idx_read(&t, images, labels, &err) == ST_OK, err.msg);
	must(t.bytes != NULL && t.features == SIDE * SIDE, "images have 28 x 28 bytes");
	*m = (struct images){.n = t.n, .pixels = reals(t.n * FEATURES), .labels = t.labels};
	for (size_t i = 0; i < m->n; i++) {
		must(m->labels[i] < CLASSES, "labels are 0 to 9");
		shrink(m->pixels + i * FEATURES, t.bytes + i * SIDE * SIDE);
	}
	t.labels = NULL; /* kept */
	table_fini(&t);
}

static void close_images(struct images *m)
{
	mem_free_big(m->pixels, m->n * FEATURES, sizeof(float));
	mem_free(m->labels);
}

/* ---- a net with room for a batch ---- */

struct net {
	struct mlp_net mlp;
	size_t d, cap; /* parameters; rows */
	float *kept, *scratch, *z, *dz; /* z lies in kept */
};

static void open_net(struct net *n, uint32_t layers, uint32_t width, size_t cap)
{
	uint64_t widths[32] = {FEATURES};

	must(layers < 32, "a net has less than 32 layers");
	for (uint32_t l = 1; l <= layers; l++)
		widths[l] = l < layers ? width : CLASSES;
	must(mlp_net_init(&n->mlp, widths, layers + 1, 0, NULL) == ST_OK, "no net");
	n->d = n->mlp.offset[layers];
	n->cap = cap;
	n->kept = reals(mlp_net_kept(&n->mlp, 0, layers, cap));
	n->scratch = reals(2 * cap * n->mlp.widest);
	n->dz = reals(cap * CLASSES);
}

static void close_net(struct net *n)
{
	mem_free_big(n->kept, mlp_net_kept(&n->mlp, 0, n->mlp.n, n->cap), sizeof(float));
	mem_free_big(n->scratch, 2 * n->cap * n->mlp.widest, sizeof(float));
	mem_free_big(n->dz, n->cap * CLASSES, sizeof(float));
}

static void forward(struct net *n, const float *x, const float *rows, size_t n_rows)
{
	n->z = mlp_net_forward(&n->mlp, 0, n->mlp.n, x, rows, n_rows, n->kept);
}

/* From dz: grad as x, or d_rows as rows. */
static void backward(struct net *n, const float *x, const float *rows, size_t n_rows, float *grad, float *d_rows)
{
	mlp_net_backward(&n->mlp, 0, n->mlp.n, x, rows, n_rows, n->kept, n->dz, grad, d_rows, n->scratch);
}

static double loss_and_gradient(struct net *n, const float *x, const float *rows, const uint32_t *labels, size_t n_rows,
		float *grad)
{
	const struct loss_wanted wanted = {.labels = labels};
	double loss;

	forward(n, x, rows, n_rows);
	loss = loss_mean(LOSS_CROSS_ENTROPY, n->z, &wanted, n_rows, CLASSES, grad != NULL ? n->dz : NULL);
	if (grad != NULL)
		backward(n, x, rows, n_rows, grad, NULL);
	return loss;
}

/* ---- few shots ---- */

#define SHOTS 5U
#define ROWS (SHOTS * CLASSES)
#define APART 20U /* rows of a class between one seed's shots and the next one's */

struct fewshot {
	struct net net;
	float rows[ROWS * FEATURES];
	uint32_t labels[ROWS];
};

static void fewshot_gradients(void *own, float *grads, const float *points, size_t copies)
{
	struct fewshot *s = own;

	for (size_t k = 0; k < copies; k++)
		(void)loss_and_gradient(&s->net, points + k * s->net.d, s->rows, s->labels, ROWS, grads + k * s->net.d);
}

static double fewshot_value(void *own, const float *x)
{
	struct fewshot *s = own;

	return loss_and_gradient(&s->net, x, s->rows, s->labels, ROWS, NULL);
}

static void fewshot_close(void *own)
{
	struct fewshot *s = own;

	close_net(&s->net);
	mem_free(s);
}

/* The shots of a seed: images seed * APART and on of each class, in the order of the file. */
static void choose_shots(struct fewshot *s, const struct images *m, uint64_t seed)
{
	size_t seen[CLASSES] = {0}, first = (size_t)seed * APART, n = 0;

	for (size_t i = 0; i < m->n && n < ROWS; i++) {
		size_t at = seen[m->labels[i]]++;

		if (at < first || at >= first + SHOTS)
			continue;
		memcpy(s->rows + n * FEATURES, m->pixels + i * FEATURES, FEATURES * sizeof(float));
		s->labels[n++] = m->labels[i];
	}
	must(n == ROWS, "too few images");
}

void problem_fewshot(struct problem *p, const char *dir, uint32_t layers, uint32_t width, uint64_t seed)
{
	struct fewshot *s = mem_alloc(1, sizeof *s);
	struct images m;

	must(s != NULL, "out of memory");
	open_images(&m, dir, "train");
	choose_shots(s, &m, seed);
	close_images(&m);
	open_net(&s->net, layers, width, ROWS);
	*p = (struct problem){.d = s->net.d, .own = s, .fstar = 0, .gradients = fewshot_gradients, .value = fewshot_value,
			.close = fewshot_close};
	p->x0 = reals(p->d);
	mlp_net_start(&s->net.mlp, p->x0, seed);
}

/* ---- attacks ---- */

#define VICTIM_LAYERS 4U
#define VICTIM_WIDTH 48U
#define VICTIM_BATCH 64U
#define VICTIM_STEPS 3000U
#define LAMBDA 30.0F
#define OVERSHOOT 1.0F
#define BALL 0.03F
#define ENOUGH 3.0F /* attack-ball: the margin that is fought for */

struct attack {
	struct net net;
	float *x; /* the victim's parameters */
	bool ball;
	float image[FEATURES];
	uint32_t label;
	float rows[PROBLEM_COPIES * FEATURES];
};

/* Adam on mini-batches of all training rows. */
static void train_victim(struct net *net, float *x, const struct images *m)
{
	struct optim_config adam = optim_config_default();
	float *mean = reals(net->d), *square = reals(net->d), *grad = reals(net->d), *rows = reals(VICTIM_BATCH * FEATURES);
	uint32_t labels[VICTIM_BATCH];

	mlp_net_start(&net->mlp, x, 1);
	for (uint32_t t = 0; t < VICTIM_STEPS; t++) {
		struct rng_stream s = rng_stream(1, RNG_BATCH, t, 0, 0);

		for (uint32_t b = 0; b < VICTIM_BATCH; b++) {
			size_t i = rng_below(&s, b, (uint32_t)m->n);

			memcpy(rows + b * FEATURES, m->pixels + i * FEATURES, FEATURES * sizeof *rows);
			labels[b] = m->labels[i];
		}
		(void)loss_and_gradient(net, x, rows, labels, VICTIM_BATCH, grad);
		optim_step(&adam, x, mean, square, grad, net->d, t);
	}
	mem_free_big(mean, net->d, sizeof *mean);
	mem_free_big(square, net->d, sizeof *square);
	mem_free_big(grad, net->d, sizeof *grad);
	mem_free_big(rows, VICTIM_BATCH * FEATURES, sizeof *rows);
}

static float margin(const float *z, uint32_t label)
{
	return z[label] - z[loss_greatest_but(z, CLASSES, label)];
}

static void look(struct attack *a, const float *points, size_t copies)
{
	for (size_t k = 0; k < copies; k++)
		for (size_t i = 0; i < FEATURES; i++)
			a->rows[k * FEATURES + i] = a->image[i] + points[k * FEATURES + i];
	forward(&a->net, a->x, a->rows, copies);
}

static size_t largest_pixel(const float *u)
{
	size_t at = 0;

	for (size_t i = 1; i < FEATURES; i++)
		if (fabsf(u[i]) > fabsf(u[at]))
			at = i;
	return at;
}

/* Below this margin the loss is flat. */
static float flat_below(const struct attack *a)
{
	return a->ball ? -ENOUGH : -OVERSHOOT;
}

static void attack_gradients(void *own, float *grads, const float *points, size_t copies)
{
	struct attack *a = own;
	float *dz = a->net.dz;

	look(a, points, copies);
	memset(dz, 0, copies * CLASSES * sizeof *dz);
	for (size_t k = 0; k < copies; k++) {
		const float *z = a->net.z + k * CLASSES;

		if (margin(z, a->label) <= flat_below(a))
			continue;
		dz[k * CLASSES + a->label] = 1;
		dz[k * CLASSES + loss_greatest_but(z, CLASSES, a->label)] = -1;
	}
	backward(&a->net, a->x, a->rows, copies, NULL, grads);
	for (size_t k = 0; k < copies && !a->ball; k++) {
		const float *u = points + k * FEATURES;
		size_t i = largest_pixel(u);

		grads[k * FEATURES + i] += u[i] > 0 ? LAMBDA : u[i] < 0 ? -LAMBDA : 0;
	}
}

static double attack_value(void *own, const float *x)
{
	struct attack *a = own;
	float m;

	look(a, x, 1);
	m = fmaxf(margin(a->net.z, a->label), flat_below(a));
	return (double)(a->ball ? m : LAMBDA * fabsf(x[largest_pixel(x)]) + m + OVERSHOOT);
}

static void attack_project(void *own, float *x)
{
	const struct attack *a = own;

	for (size_t i = 0; i < FEATURES; i++) {
		x[i] = fminf(fmaxf(x[i], -BALL), BALL);
		x[i] = fminf(fmaxf(x[i], -a->image[i]), 1 - a->image[i]);
	}
}

static void attack_close(void *own)
{
	struct attack *a = own;

	mem_free_big(a->x, a->net.d, sizeof(float));
	close_net(&a->net);
	mem_free(a);
}

/* The seed-th test image that the victim knows. */
static void choose_image(struct attack *a, const struct images *m, uint64_t seed)
{
	for (size_t i = 0; i < m->n; i++) {
		forward(&a->net, a->x, m->pixels + i * FEATURES, 1);
		if (margin(a->net.z, m->labels[i]) > 0 && --seed == 0) {
			memcpy(a->image, m->pixels + i * FEATURES, sizeof a->image);
			a->label = m->labels[i];
			return;
		}
	}
	must(false, "the net knows too few images");
}

void problem_attack(struct problem *p, const char *dir, bool ball, uint64_t seed)
{
	struct attack *a = mem_alloc(1, sizeof *a);
	struct images m;

	must(a != NULL, "out of memory");
	a->ball = ball;
	open_net(&a->net, VICTIM_LAYERS, VICTIM_WIDTH, VICTIM_BATCH);
	a->x = reals(a->net.d);
	open_images(&m, dir, "train");
	train_victim(&a->net, a->x, &m);
	close_images(&m);
	open_images(&m, dir, "t10k");
	choose_image(a, &m, seed);
	close_images(&m);
	*p = (struct problem){.d = FEATURES, .x0 = reals(FEATURES), .own = a, .fstar = (double)NAN,
			.gradients = attack_gradients, .value = attack_value, .project = ball ? attack_project : NULL,
			.close = attack_close};
}
