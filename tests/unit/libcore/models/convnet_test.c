/* The model convnet: its sizes and words, gradients against differences, cuts to the bit, learning. */
#include "libcore/models/convnet.h"

#include "libcore/base/rng.h"
#include "libcore/model/model_check.h"
#include "libcore/optim/optim.h"
#include "tests/unit/libcore/data/dense_help.h"
#include "tests/unit/libcore/models/stages_help.h"

#include <math.h>

#define ROWS 40
#define CHANGE 1e-3

static const struct dadam_options none = {NULL, 0};

/* What every test of a model wants: the instance, and vectors of its length. */
struct net {
	void *m;
	struct dadam_info info;
	const struct dadam_stages *stages;
	uint32_t n_layers;
	float *x, *g;
};

/* ROWS images of bytes from a stream, labels 0, 1, 2 in turn; read as training and as test rows. */
static const struct dadam_options *images(uint32_t channels, uint32_t height, uint32_t width)
{
	static struct dadam_option items[5];
	static struct dadam_options options = {items, 5};
	struct rng_stream s = rng_stream(3, RNG_TEST, channels, height, width);
	size_t n = (size_t)ROWS * channels * height * width;
	uint8_t *bytes = malloc(n), labels[ROWS];

	for (size_t i = 0; i < n; i++)
		bytes[i] = (uint8_t)rng_below(&s, i, 256);
	for (size_t i = 0; i < ROWS; i++)
		labels[i] = (uint8_t)(i % 3);
	items[0] = (struct dadam_option){"format", "idx"};
	items[1] = (struct dadam_option){"train", idx_file(8, 4, DIMS(ROWS, channels, height, width), bytes, n)};
	items[2] = (struct dadam_option){"train_labels", idx_file(8, 1, DIMS(ROWS), labels, ROWS)};
	items[3] = (struct dadam_option){"test", items[1].value};
	items[4] = (struct dadam_option){"test_labels", items[2].value};
	free(bytes);
	return &options;
}

static struct net made(const struct dadam_options *options, const struct dadam_options *data)
{
	struct net n;
	struct rng_stream s = rng_stream(4, RNG_TEST, 0, 0, 0);

	n.m = loaded(&convnet_model, options, data, &n.info);
	unlink_temp(data);
	n.stages = convnet_model.extension(DADAM_STAGES);
	n.n_layers = n.stages->n_layers(n.m);
	n.x = calloc(n.info.n_params, sizeof *n.x);
	n.g = calloc(n.info.n_params, sizeof *n.g);
	cr_assert_eq(convnet_model.init(n.m, 7, n.x), 0);
	for (size_t i = 0; i < n.info.n_params; i++) /* residual branches and outputs start at 0 */
		n.x[i] += 0.2F * (float)rng_normal(&s, i);
	return n;
}

static void drop(struct net *n)
{
	convnet_model.destroy(n->m);
	free(n->x);
	free(n->g);
}

static void count(uint64_t *rows, size_t n)
{
	for (size_t i = 0; i < n; i++)
		rows[i] = i * 7 % ROWS;
}

/* ---- words and sizes ---- */

static void refused(const struct dadam_options *options, const char *words)
{
	cr_assert_null(convnet_model.create(&host, options));
	cr_assert_not_null(strstr(host_text, words), "\"%s\" in \"%s\"", words, host_text);
}

Test(convnet, is_what_a_host_accepts)
{
	cr_assert_eq(model_check(&convnet_model, NULL), ST_OK);
	cr_assert_null(convnet_model.extension("dadam.unheard-of/1"));
	convnet_model.destroy(NULL);
}

Test(convnet, bad_options_are_refused_with_words)
{
	refused(OPTIONS("chanels", "8"), "convnet: unknown key \"chanels\" (did you mean \"channels\"?)");
	refused(OPTIONS("channels", "8", "channels", "x"), "channels: found \"x\", allowed are whole numbers from 1 to 4096");
	refused(OPTIONS("channels", "0"), "channels: found \"0\"");
	refused(OPTIONS("channels", "-1"), "channels: found \"-1\"");
	refused(OPTIONS("fully_connected", "64k"), "fully_connected: found \"64k\"");
	refused(OPTIONS("kernel", "4"), "kernel: found 4, allowed are odd numbers from 1 to 15");
	refused(OPTIONS("kernel", "17"), "kernel: found \"17\", allowed are whole numbers from 1 to 15");
	refused(OPTIONS("pool", "0"), "pool: found \"0\"");
	refused(OPTIONS("form", "resnet-21"), "form: found \"resnet-21\", allowed are stack, resnet-8");
	refused(OPTIONS("form", "resnet-20", "kernel", "3"), "belong to form: stack, found form: resnet-20");
}

static void load_refused(const struct dadam_options *options, const struct dadam_options *data, const char *words)
{
	struct dadam_info info = {.struct_size = sizeof info};
	void *m = convnet_model.create(&host, options);

	cr_assert_eq(convnet_model.load(m, data, &info), -1);
	unlink_temp(data);
	cr_assert_not_null(strstr(host_text, words), "\"%s\" in \"%s\"", words, host_text);
	convnet_model.destroy(m);
}

Test(convnet, data_that_does_not_fit_is_refused_with_words)
{
	load_refused(OPTIONS("channels", "4", "channels", "4", "channels", "4"), images(1, 5, 7),
			"convnet: conv3: an image of 1 x 1 cannot be pooled by 2");
	load_refused(&none, OPTIONS("format", "csv", "train", temp_text("a,b,y\n1,2,0\n3,4,1\n"), "label", "y"),
			"conv1: an image of 1 x 2 cannot be pooled by 2");
	load_refused(&none, OPTIONS("format", "csv", "train", temp_text("a,b,y\n1,2,0\n3,4,1\n"), "targets", "y"),
			"found 0 classes, allowed are 2 or more");
}

static void check_tensors(const struct dadam_options *options, uint32_t n_tensors, uint64_t n_params, const char *last)
{
	struct net n = made(options, images(3, 32, 8));
	struct dadam_tensor t[80];
	struct dadam_layer layer;
	struct error err = {0};
	uint64_t at = 0;

	cr_assert_eq(model_check_info(&n.info, &err), ST_OK, "%s", err.msg);
	cr_assert_eq(n.info.n_tensors, n_tensors, "%u", n.info.n_tensors);
	cr_assert_eq(n.info.n_params, n_params, "%llu", (unsigned long long)n.info.n_params);
	for (uint32_t i = 0; i < n_tensors; i++)
		cr_assert_eq(convnet_model.tensor(n.m, i, &t[i]), 0);
	cr_assert_eq(model_check_tensors(t, n_tensors, n.info.n_params, &err), ST_OK, "%s", err.msg);
	cr_assert_str_eq(t[n_tensors - 1].name, last);
	cr_assert_eq(convnet_model.tensor(n.m, n_tensors, &t[0]), -1);
	for (uint32_t l = 0; l < n.n_layers; l++) {
		cr_assert_eq(n.stages->layer(n.m, l, &layer), 0);
		cr_assert_eq(layer.offset, at, "%s", layer.name);
		at += layer.n_params;
	}
	cr_assert_eq(at, n.info.n_params);
	cr_assert_eq(n.stages->layer(n.m, n.n_layers, &layer), -1);
	drop(&n);
}

Test(convnet, tensors_and_layers_cover_x)
{
	check_tensors(&none, 8, 3 * 16 * 9 + 16 + 16 * 32 * 9 + 32 + 8 * 2 * 32 * 64 + 64 + 64 * 3 + 3, "output.bias");
	check_tensors(OPTIONS("channels", "5", "kernel", "5", "pool", "3", "fully_connected", "none"), 4,
			3 * 5 * 25 + 5 + 10 * 2 * 5 * 3 + 3, "output.bias");
	check_tensors(OPTIONS("channels", "none"), 4, 3 * 32 * 8 * 64 + 64 + 64 * 3 + 3, "output.bias");
	check_tensors(OPTIONS("form", "resnet-8"), 16, 75290 - 240 - 7 * 65, "output.bias");
}

/* He et al. count 269,722 with the 1,376 of batch normalisation in the place of 688 biases. */
Test(convnet, resnet_20_has_269_034_parameters_in_11_layers)
{
	static uint8_t records[2 * 3073];
	struct net n;

	records[3073] = 9;
	n = made(OPTIONS("form", "resnet-20"), OPTIONS("format", "cifar", "train", temp_file(records, sizeof records)));
	cr_assert_eq(n.info.n_params, 269722 - 1376 + 688, "%llu", (unsigned long long)n.info.n_params);
	cr_assert_eq(n.n_layers, 11);
	drop(&n);
}

/* ---- gradients ---- */

static double loss_at(const struct net *n, const float *x, const uint64_t *rows, size_t n_rows, float *g)
{
	double loss;

	cr_assert_eq(convnet_model.gradient(n->m, x, rows, n_rows, g, &loss), 0, "%s", host_text);
	return loss;
}

/* Along the gradient of each tensor the loss grows as its length squared says. The step, which changes the loss by
 * CHANGE, is small enough for the kinks of ReLUs and large enough for float. */
static void check_gradient(const struct dadam_options *options, const struct dadam_options *data)
{
	struct net n = made(options, data);
	float *moved = calloc(n.info.n_params, sizeof *moved), *g = calloc(n.info.n_params, sizeof *g);
	uint64_t rows[ROWS];

	count(rows, ROWS);
	for (size_t i = 0; i < n.info.n_params; i++)
		n.g[i] = NAN; /* overwritten whole */
	(void)loss_at(&n, n.x, rows, ROWS, n.g);
	for (uint32_t i = 0; i < n.info.n_tensors; i++) {
		struct dadam_tensor t;
		double squares = 0, step, up, down;
		size_t len = 1;

		cr_assert_eq(convnet_model.tensor(n.m, i, &t), 0);
		for (uint32_t d = 0; d < t.n_dims; d++)
			len *= t.dims[d];
		for (size_t k = t.offset; k < t.offset + len; k++)
			squares += (double)n.g[k] * (double)n.g[k];
		cr_assert_gt(squares, 0, "%s", t.name);
		step = CHANGE / squares;
		memcpy(moved, n.x, n.info.n_params * sizeof *moved);
		for (size_t k = t.offset; k < t.offset + len; k++)
			moved[k] = n.x[k] + (float)step * n.g[k];
		up = loss_at(&n, moved, rows, ROWS, g);
		for (size_t k = t.offset; k < t.offset + len; k++)
			moved[k] = n.x[k] - (float)step * n.g[k];
		down = loss_at(&n, moved, rows, ROWS, g);
		cr_assert_float_eq((up - down) / (2 * step * squares), 1, 0.02, "%s: %g of what the gradient says", t.name,
				(up - down) / (2 * step * squares));
	}
	drop(&n);
	free(moved);
	free(g);
}

Test(convnet, gradient_of_a_stack)
{
	check_gradient(&none, images(3, 12, 8));
	check_gradient(OPTIONS("channels", "4", "channels", "6", "channels", "5", "pool", "1", "fully_connected", "none"),
			images(1, 7, 6));
	check_gradient(OPTIONS("channels", "3", "pool", "3", "kernel", "5", "fully_connected", "9", "fully_connected", "8"),
			images(2, 10, 11)); /* a rest that no window covers */
}

Test(convnet, gradient_of_a_residual_network)
{
	check_gradient(OPTIONS("form", "resnet-8"), images(3, 12, 10));
	check_gradient(OPTIONS("form", "resnet-8"), images(1, 7, 5)); /* halves of odd sizes */
}

/* ---- cuts ---- */

static void check_cuts(const struct dadam_options *options, const struct dadam_options *data)
{
	struct net n = made(options, data);
	uint64_t rows[ROWS];

	count(rows, ROWS);
	check_every_cut(&convnet_model, n.m, n.x, n.info.n_params, rows, 17);
	drop(&n);
}

Test(convnet, a_cut_anywhere_gives_the_same_bits)
{
	check_cuts(OPTIONS("channels", "16", "channels", "7", "channels", "32", "fully_connected", "12"), images(3, 16, 17));
	check_cuts(OPTIONS("channels", "5", "channels", "7", "pool", "1"), images(1, 6, 6));
	check_cuts(OPTIONS("form", "resnet-8"), images(3, 16, 16));
}

Test(convnet, a_range_keeps_bits_of_what_leaves_it)
{
	struct net n = made(OPTIONS("form", "resnet-8"), images(3, 16, 16));
	uint64_t image = 16 * 16 * 16;

	cr_assert_eq(n.stages->kept(n.m, 0, 1, 10), 10 * image / 32);
	cr_assert_eq(n.stages->kept(n.m, 1, 2, 10), 10 * image + 10 * image / 32); /* between its convolutions */
	cr_assert_eq(n.stages->kept(n.m, 0, 2, 10), 20 * image + 10 * image / 32);
	drop(&n);
	n = made(&none, images(3, 16, 16));
	cr_assert_eq(n.stages->kept(n.m, 0, 1, 10), 10 * image / 4 / 4 + 10 * image / 4 / 32); /* places in windows */
	drop(&n);
}

Test(convnet, copies_on_their_way_do_not_disturb_each_other)
{
	struct net n = made(&none, images(3, 8, 8));
	const struct dadam_stages *s = n.stages;
	struct part a, b;
	uint64_t rows[ROWS];
	double loss, want;
	float *g = calloc(n.info.n_params, sizeof *g);

	count(rows, ROWS);
	want = loss_at(&n, n.x, rows, 8, n.g);
	a = part_of(&convnet_model, n.m, n.x, 0, n.n_layers, NULL, rows, 8);
	b = part_of(&convnet_model, n.m, n.x, 0, n.n_layers, NULL, rows + 8, 11);
	cr_assert_eq(s->forward(n.m, &a.range, NULL, &loss), 0);
	cr_assert_eq(loss, want);
	cr_assert_eq(s->forward(n.m, &b.range, NULL, &loss), 0);
	cr_assert_eq(s->backward(n.m, &a.range, NULL, g, NULL), 0);
	cr_assert_arr_eq(g, n.g, n.info.n_params * sizeof *g);
	part_free(&a);
	part_free(&b);
	drop(&n);
	free(g);
}

Test(convnet, two_instances_give_the_same_bits_whatever_they_did_before)
{
	struct net a = made(OPTIONS("form", "resnet-8"), images(3, 8, 9)), b = made(OPTIONS("form", "resnet-8"), images(3, 8, 9));
	struct dadam_metric metrics[DADAM_MAX_METRICS];
	uint32_t n_metrics;
	uint64_t rows[ROWS];

	count(rows, ROWS);
	(void)loss_at(&b, b.x, rows + 5, 1, b.g);
	cr_assert_eq(convnet_model.evaluate(b.m, b.x, metrics, &n_metrics), 0);
	(void)loss_at(&b, b.x, rows, 33, b.g);
	cr_assert_eq(loss_at(&a, a.x, rows, 12, a.g), loss_at(&b, b.x, rows, 12, b.g));
	cr_assert_eq(memcmp(a.g, b.g, a.info.n_params * sizeof(float)), 0);
	drop(&a);
	drop(&b);
}

/* ---- tests and mistakes ---- */

Test(convnet, test_rows_give_the_same_metrics_at_every_cut)
{
	struct net n = made(&none, images(3, 8, 8));
	struct dadam_metric whole[DADAM_MAX_METRICS], parts[DADAM_MAX_METRICS];
	uint32_t n_whole, n_parts;
	uint64_t rows[ROWS];

	for (size_t i = 0; i < ROWS; i++)
		rows[i] = i;
	cr_assert_eq(convnet_model.evaluate(n.m, n.x, whole, &n_whole), 0, "%s", host_text);
	cr_assert_eq(n_whole, 2);
	cr_assert(strcmp(whole[0].name, "loss") == 0 && strcmp(whole[1].name, "accuracy") == 0);
	for (uint32_t cut = 1; cut < n.n_layers; cut++) {
		struct part a = part_of(&convnet_model, n.m, n.x, 0, cut, NULL, rows, ROWS);
		struct part b = part_of(&convnet_model, n.m, n.x, cut, n.n_layers, a.out, rows, ROWS);

		cr_assert_eq(n.stages->test(n.m, &a.range, a.out, NULL, NULL), 0, "%s", host_text);
		cr_assert_eq(n.stages->test(n.m, &b.range, NULL, parts, &n_parts), 0, "%s", host_text);
		cr_assert_eq(n_parts, 2);
		cr_assert(parts[0].value == whole[0].value && parts[1].value == whole[1].value, "cut %u", cut);
		part_free(&a);
		part_free(&b);
	}
	drop(&n);
}

Test(convnet, training_loss_and_test_loss_of_the_same_rows_agree)
{
	struct net n = made(OPTIONS("form", "resnet-8"), images(1, 9, 9));
	struct dadam_metric m[DADAM_MAX_METRICS];
	uint32_t n_metrics;
	uint64_t rows[ROWS];

	for (size_t i = 0; i < ROWS; i++)
		rows[i] = i;
	cr_assert_eq(convnet_model.evaluate(n.m, n.x, m, &n_metrics), 0);
	cr_assert_float_eq(m[0].value, loss_at(&n, n.x, rows, ROWS, n.g), 1e-5);
	drop(&n);
}

Test(convnet, rows_and_layers_that_are_not_there_are_refused)
{
	struct net n = made(&none, images(1, 8, 8));
	struct dadam_range r = {sizeof r, 2, 2, n.x, (const uint64_t[]){ROWS}, 1, NULL, n.g};
	double loss;

	cr_assert_eq(convnet_model.gradient(n.m, n.x, r.rows, 1, n.g, &loss), -1);
	cr_assert_not_null(strstr(host_text, "row 40 asked for, there are 40 training rows"), "%s", host_text);
	cr_assert_eq(convnet_model.gradient(n.m, n.x, r.rows, 0, n.g, &loss), -1);
	cr_assert_eq(n.stages->forward(n.m, &r, NULL, &loss), -1);
	cr_assert_not_null(strstr(host_text, "layers 2 to 2 asked for, there are 4"), "%s", host_text);
	r.end = 5;
	cr_assert_eq(n.stages->backward(n.m, &r, NULL, n.g, NULL), -1);
	drop(&n);
}

/* ---- learning ---- */

/* The mean loss of the first and the last 5 of so many Adam steps. */
static void learn(const struct net *n, unsigned steps, double rate, double *before, double *after)
{
	struct optim_config adam = optim_config_default();
	float *m = calloc(n->info.n_params, sizeof *m), *v = calloc(n->info.n_params, sizeof *v);

	adam.learning_rate = rate;
	*before = *after = 0;
	cr_assert_eq(convnet_model.init(n->m, 1, n->x), 0);
	for (uint32_t t = 0; t < steps; t++) {
		struct rng_stream s = rng_stream(1, RNG_BATCH, t, 0, 0);
		uint64_t rows[32];
		double loss;

		for (size_t i = 0; i < 32; i++)
			rows[i] = rng_below(&s, i, (uint32_t)n->info.train_rows);
		loss = loss_at(n, n->x, rows, 32, n->g);
		*(t < 5 ? before : after) += t < 5 || t + 5 >= steps ? loss / 5 : 0;
		optim_step(&adam, n->x, m, v, n->g, n->info.n_params, t);
	}
	free(m);
	free(v);
}

static const char *shared(const char *name)
{
	static char path[600];
	const char *given = getenv("DADAM_SHARED_DATA"), *source = getenv("DADAM_SOURCE");

	(void)snprintf(path, sizeof path, "%s%s/%s", given != NULL ? given : source, given != NULL ? "" : "/../shared/data", name);
	return access(path, R_OK) == 0 ? path : NULL;
}

static void check_learning(const struct dadam_options *options, const char *limit, double drop_by)
{
	const char *path = shared("images/cifar10-jpeg/sample500.bin.gz");
	double before, after;
	struct net n;

	if (path == NULL)
		cr_skip_test("no shared data: set DADAM_SHARED_DATA");
	n = made(options, OPTIONS("format", "cifar", "train", path, "limit", limit));
	learn(&n, 40, 2e-3, &before, &after);
	cr_assert_lt(after, before - drop_by, "loss %g at first, %g after 40 steps", before, after);
	drop(&n);
}

Test(convnet, a_stack_learns_images)
{
	check_learning(&none, "500", 0.25);
}

Test(convnet, a_residual_network_learns_images)
{
	check_learning(OPTIONS("form", "resnet-8"), "20", 0.25);
}
