/* The problems with nets, see problem.h: few-shot training, and perturbations of one image. */
#include "libcore/base/mem.h"
#include "libcore/base/rng.h"
#include "libcore/optim/optim.h"
#include "tests/bench/experiments_pipeline/dense.h"
#include "tests/bench/experiments_pipeline/images.h"
#include "tests/bench/experiments_pipeline/problem.h"

#include <math.h>
#include <string.h>

/* Mean cross-entropy of scores; their gradient into d when it is not NULL. */
static double cross_entropy(const float *scores, const uint8_t *labels, size_t n_rows, float *d)
{
	double sum = 0;

	for (size_t r = 0; r < n_rows; r++) {
		const float *z = scores + r * IMAGE_CLASSES;
		float most = z[0], total = 0;

		for (size_t c = 1; c < IMAGE_CLASSES; c++)
			most = fmaxf(most, z[c]);
		for (size_t c = 0; c < IMAGE_CLASSES; c++)
			total += expf(z[c] - most);
		sum += (double)(logf(total) + most - z[labels[r]]);
		for (size_t c = 0; d != NULL && c < IMAGE_CLASSES; c++)
			d[r * IMAGE_CLASSES + c] =
					(expf(z[c] - most) / total - (c == labels[r] ? 1.0F : 0.0F)) / (float)n_rows;
	}
	return sum / (double)n_rows;
}

/* ---- few shots ---- */

#define SHOTS 5U
#define ROWS (SHOTS * IMAGE_CLASSES)
#define APART 20U /* rows of a class between one seed's shots and the next one's */

struct fewshot {
	struct dense net;
	float rows[ROWS * IMAGE_SIZE];
	uint8_t labels[ROWS];
};

static void fewshot_gradients(void *own, float *grads, const float *points, size_t copies)
{
	struct fewshot *s = own;
	size_t d = s->net.offset[s->net.n_layers];

	for (size_t k = 0; k < copies; k++) {
		dense_forward(&s->net, points + k * d, s->rows, ROWS);
		(void)cross_entropy(s->net.h[s->net.n_layers], s->labels, ROWS, s->net.d[s->net.n_layers]);
		dense_backward(&s->net, points + k * d, s->rows, ROWS, grads + k * d, NULL);
	}
}

static double fewshot_value(void *own, const float *x)
{
	struct fewshot *s = own;

	dense_forward(&s->net, x, s->rows, ROWS);
	return cross_entropy(s->net.h[s->net.n_layers], s->labels, ROWS, NULL);
}

static void fewshot_close(void *own)
{
	struct fewshot *s = own;

	dense_fini(&s->net);
	mem_free(s);
}

/* The shots of a seed: images seed * APART and on of each class, in the order of the file. */
static void choose_shots(struct fewshot *s, const struct images *m, uint64_t seed)
{
	size_t seen[IMAGE_CLASSES] = {0}, first = (size_t)seed * APART, n = 0;

	for (size_t i = 0; i < m->n && n < ROWS; i++) {
		size_t at = seen[m->labels[i]]++;

		if (at < first || at >= first + SHOTS)
			continue;
		memcpy(s->rows + n * IMAGE_SIZE, m->pixels + i * IMAGE_SIZE, IMAGE_SIZE * sizeof(float));
		s->labels[n++] = m->labels[i];
	}
	must(n == ROWS, "too few images");
}

void problem_fewshot(struct problem *p, const char *dir, uint32_t layers, uint32_t width, uint64_t seed)
{
	struct fewshot *s = mem_alloc(1, sizeof *s);
	struct images m;

	must(s != NULL, "out of memory");
	images_open(&m, dir, "train");
	choose_shots(s, &m, seed);
	images_close(&m);
	dense_init(&s->net, IMAGE_SIZE, layers, width, IMAGE_CLASSES, ROWS);
	*p = (struct problem){.d = s->net.offset[layers], .own = s, .fstar = 0, .gradients = fewshot_gradients,
			.value = fewshot_value, .close = fewshot_close};
	p->x0 = reals(p->d);
	dense_start(&s->net, seed, p->x0);
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
	struct dense net;
	float *x; /* the victim's parameters */
	bool ball;
	float image[IMAGE_SIZE];
	uint8_t label;
	float rows[PROBLEM_COPIES * IMAGE_SIZE];
};

/* Adam on mini-batches of all training rows. */
static void train_victim(struct dense *net, float *x, const struct images *m)
{
	struct optim_config adam = optim_config_default();
	size_t d = net->offset[net->n_layers];
	float *mean = reals(d), *square = reals(d), *grad = reals(d), *rows = reals(VICTIM_BATCH * IMAGE_SIZE);
	uint8_t labels[VICTIM_BATCH];

	dense_start(net, 1, x);
	for (uint32_t t = 0; t < VICTIM_STEPS; t++) {
		struct rng_stream s = rng_stream(1, RNG_BATCH, t, 0, 0);

		for (uint32_t b = 0; b < VICTIM_BATCH; b++) {
			size_t i = rng_below(&s, b, (uint32_t)m->n);

			memcpy(rows + b * IMAGE_SIZE, m->pixels + i * IMAGE_SIZE, IMAGE_SIZE * sizeof *rows);
			labels[b] = m->labels[i];
		}
		dense_forward(net, x, rows, VICTIM_BATCH);
		(void)cross_entropy(net->h[VICTIM_LAYERS], labels, VICTIM_BATCH, net->d[VICTIM_LAYERS]);
		dense_backward(net, x, rows, VICTIM_BATCH, grad, NULL);
		optim_step(&adam, x, mean, square, grad, d, t);
	}
	mem_free_big(mean, d, sizeof *mean);
	mem_free_big(square, d, sizeof *square);
	mem_free_big(grad, d, sizeof *grad);
	mem_free_big(rows, VICTIM_BATCH * IMAGE_SIZE, sizeof *rows);
}

/* The class with the greatest score beside the true one. */
static size_t rival(const float *z, uint8_t label)
{
	size_t best = label == 0 ? 1 : 0;

	for (size_t c = 0; c < IMAGE_CLASSES; c++)
		if (c != label && z[c] > z[best])
			best = c;
	return best;
}

static float margin(const float *z, uint8_t label)
{
	return z[label] - z[rival(z, label)];
}

static void look(struct attack *a, const float *points, size_t copies)
{
	for (size_t k = 0; k < copies; k++)
		for (size_t i = 0; i < IMAGE_SIZE; i++)
			a->rows[k * IMAGE_SIZE + i] = a->image[i] + points[k * IMAGE_SIZE + i];
	dense_forward(&a->net, a->x, a->rows, copies);
}

static size_t largest_pixel(const float *u)
{
	size_t at = 0;

	for (size_t i = 1; i < IMAGE_SIZE; i++)
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
	float *d = a->net.d[VICTIM_LAYERS];

	look(a, points, copies);
	memset(d, 0, copies * IMAGE_CLASSES * sizeof *d);
	for (size_t k = 0; k < copies; k++) {
		const float *z = a->net.h[VICTIM_LAYERS] + k * IMAGE_CLASSES;

		if (margin(z, a->label) <= flat_below(a))
			continue;
		d[k * IMAGE_CLASSES + a->label] = 1;
		d[k * IMAGE_CLASSES + rival(z, a->label)] = -1;
	}
	dense_backward(&a->net, a->x, a->rows, copies, NULL, grads);
	for (size_t k = 0; k < copies && !a->ball; k++) {
		const float *u = points + k * IMAGE_SIZE;
		size_t i = largest_pixel(u);

		grads[k * IMAGE_SIZE + i] += u[i] > 0 ? LAMBDA : u[i] < 0 ? -LAMBDA : 0;
	}
}

static double attack_value(void *own, const float *x)
{
	struct attack *a = own;
	float m;

	look(a, x, 1);
	m = fmaxf(margin(a->net.h[VICTIM_LAYERS], a->label), flat_below(a));
	return (double)(a->ball ? m : LAMBDA * fabsf(x[largest_pixel(x)]) + m + OVERSHOOT);
}

static void attack_project(void *own, float *x)
{
	const struct attack *a = own;

	for (size_t i = 0; i < IMAGE_SIZE; i++) {
		x[i] = fminf(fmaxf(x[i], -BALL), BALL);
		x[i] = fminf(fmaxf(x[i], -a->image[i]), 1 - a->image[i]);
	}
}

static void attack_close(void *own)
{
	struct attack *a = own;

	mem_free_big(a->x, a->net.offset[VICTIM_LAYERS], sizeof(float));
	dense_fini(&a->net);
	mem_free(a);
}

/* The seed-th test image that the victim knows. */
static void choose_image(struct attack *a, const struct images *m, uint64_t seed)
{
	for (size_t i = 0; i < m->n; i++) {
		dense_forward(&a->net, a->x, m->pixels + i * IMAGE_SIZE, 1);
		if (margin(a->net.h[VICTIM_LAYERS], m->labels[i]) > 0 && --seed == 0) {
			memcpy(a->image, m->pixels + i * IMAGE_SIZE, sizeof a->image);
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
	dense_init(&a->net, IMAGE_SIZE, VICTIM_LAYERS, VICTIM_WIDTH, IMAGE_CLASSES, VICTIM_BATCH);
	a->x = reals(a->net.offset[VICTIM_LAYERS]);
	images_open(&m, dir, "train");
	train_victim(&a->net, a->x, &m);
	images_close(&m);
	images_open(&m, dir, "t10k");
	choose_image(a, &m, seed);
	images_close(&m);
	*p = (struct problem){.d = IMAGE_SIZE, .x0 = reals(IMAGE_SIZE), .own = a, .fstar = (double)NAN,
			.gradients = attack_gradients, .value = attack_value, .project = ball ? attack_project : NULL,
			.close = attack_close};
}
