/* See convnet_form.h. */
#include "libcore/models/convnet_form.h"

#include "libcore/models/affine.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_CHANNELS 4096
#define MAX_CONVS 16
#define MAX_WIDTH 65536
#define MAX_DENSE 8
#define MAX_KERNEL 15
#define MAX_NUMBERS ((uint64_t)1 << 31) /* of a row inside a layer, and of a weight */

static const char *const form_words[] = {"stack", "resnet-8", "resnet-14", "resnet-20", "resnet-26", "resnet-32",
		"resnet-38", "resnet-44", "resnet-50", "resnet-56", NULL};

const struct option_def form_defs[] = {
		{"form", OPTION_WORD, offsetof(struct form_options, form), 0, 0, form_words, 0},
		{"channels", OPTION_LIST, offsetof(struct form_options, channels), 0, 0, NULL, 0},
		{"kernel", OPTION_U64, offsetof(struct form_options, kernel), 1, MAX_KERNEL, NULL, 0},
		{"pool", OPTION_U64, offsetof(struct form_options, pool), 1, LAYER_MAX_POOL, NULL, 0},
		{"fully_connected", OPTION_LIST, offsetof(struct form_options, fully_connected), 0, 0, NULL, 0},
};
const size_t form_n_defs = sizeof form_defs / sizeof form_defs[0];

/* A list of widths, as it may stand in a job; `none` for an empty one. */
struct widths {
	const char *key;
	uint32_t most;  /* of each */
	uint32_t max_n;
	uint32_t n, of[MAX_CONVS];
};

static enum status read_widths(struct widths *w, const struct option_list *list, struct error *err)
{
	if (list->n == 1 && strcmp(list->items[0], "none") == 0)
		return ST_OK;
	if (list->n > w->max_n)
		return error_set(err, ST_INVALID, "%s: %zu layers found, allowed are %u", w->key, list->n, w->max_n);
	for (size_t i = 0; i < list->n; i++) {
		const char *text = list->items[i];
		char *end;
		unsigned long width = strtoul(text, &end, 10);

		if (*text < '0' || *text > '9' || *end != '\0' || width == 0 || width > w->most) {
			(void)error_set(err, ST_INVALID, "%s: found \"%s\", allowed are whole numbers from 1 to %u",
					w->key, text, w->most);
			error_hint(err, "write %s: [16, 32], or %s: [none] for no such layer", w->key, w->key);
			return ST_INVALID;
		}
		w->of[i] = (uint32_t)width;
	}
	w->n = (uint32_t)list->n;
	return ST_OK;
}

/* Both lists of a stack, with their defaults. */
static enum status read_stack(const struct form_options *o, struct widths *convs, struct widths *dense, struct error *err)
{
	enum status st;

	*convs = (struct widths){.key = "channels", .most = MAX_CHANNELS, .max_n = MAX_CONVS, .n = 2, .of = {16, 32}};
	*dense = (struct widths){.key = "fully_connected", .most = MAX_WIDTH, .max_n = MAX_DENSE, .n = 1, .of = {64}};
	if (o->channels.n > 0) {
		convs->n = 0;
		st = read_widths(convs, &o->channels, err);
		if (st != ST_OK)
			return st;
	}
	if (o->fully_connected.n == 0)
		return ST_OK;
	dense->n = 0;
	return read_widths(dense, &o->fully_connected, err);
}

enum status form_check(const struct form_options *o, struct error *err)
{
	struct widths convs, dense;

	if (o->form == 0) {
		if (o->kernel > 0 && o->kernel % 2 == 0)
			return error_set(err, ST_INVALID, "kernel: found %llu, allowed are odd numbers from 1 to %d",
					(unsigned long long)o->kernel, MAX_KERNEL);
		return read_stack(o, &convs, &dense, err);
	}
	if (o->channels.n == 0 && o->fully_connected.n == 0 && o->kernel == 0 && o->pool == 0)
		return ST_OK;
	(void)error_set(err, ST_INVALID, "channels, kernel, pool and fully_connected belong to form: stack, found form: %s",
			form_words[o->form]);
	error_hint(err, "leave them out, or write form: stack");
	return ST_INVALID;
}

/* ---- layers ---- */

static enum status too_large(const struct form *f, const struct layer_shape *s, struct error *err)
{
	char name[64];

	form_layer_name(f, f->n_layers - 1, name);
	return error_set(err, ST_INVALID, "%s: %u x %u x %u numbers in, %u out: more than 2^31 in one layer", name, s->height,
			s->width, s->in, s->out);
}

static enum status add_layer(struct form *f, const struct layer_shape *s, struct error *err)
{
	f->layers[f->n_layers] = *s;
	f->offset[f->n_layers++] = f->n_params;
	if (layer_inside(s) > MAX_NUMBERS || layer_n_in(s) > MAX_NUMBERS || layer_weights(s, 0) > MAX_NUMBERS)
		return too_large(f, s, err);
	f->n_params += layer_n_params(s);
	f->n_tensors += 2 * layer_n_weights(s);
	return ST_OK;
}

/* What the next layer gets. */
static struct layer_shape behind(const struct layer_shape *s)
{
	return (struct layer_shape){.height = layer_out_height(s), .width = layer_out_width(s), .in = s->out};
}

static enum status too_small(const struct layer_shape *s, uint32_t l, uint32_t pool, struct error *err)
{
	(void)error_set(err, ST_INVALID, "conv%u: an image of %u x %u cannot be pooled by %u", l + 1, s->height, s->width, pool);
	error_hint(err, "take fewer channels, or a smaller pool (1: none)");
	return ST_INVALID;
}

static enum status make_stack(struct form *f, const struct form_options *o, struct layer_shape at, uint32_t outputs,
		struct error *err)
{
	struct widths convs, dense;
	enum status st = read_stack(o, &convs, &dense, err);

	f->n_convs = convs.n;
	for (uint32_t l = 0; st == ST_OK && l < convs.n; l++) {
		at.kind = LAYER_CONV;
		at.out = convs.of[l];
		at.kernel = o->kernel > 0 ? (uint32_t)o->kernel : 3;
		at.stride = 1;
		at.pool = o->pool > 0 ? (uint32_t)o->pool : 2;
		if (at.height < at.pool || at.width < at.pool)
			return too_small(&at, l, at.pool, err);
		st = add_layer(f, &at, err);
		at = behind(&at);
	}
	for (uint32_t l = 0; st == ST_OK && l <= dense.n; l++) {
		at.kind = LAYER_DENSE;
		at.relu = l < dense.n;
		at.out = l < dense.n ? dense.of[l] : outputs;
		st = add_layer(f, &at, err);
		at = behind(&at);
	}
	return st;
}

static enum status make_resnet(struct form *f, struct layer_shape at, uint32_t outputs, struct error *err)
{
	enum status st;

	f->n_convs = 1;
	at.out = 16;
	at.kernel = 3;
	at.stride = at.pool = 1;
	st = add_layer(f, &at, err);
	for (uint32_t l = 0; st == ST_OK && l < 3 * f->blocks; l++) {
		at = behind(&at);
		at.kind = LAYER_BLOCK;
		at.out = 16U << (l / f->blocks);
		at.kernel = 3;
		at.stride = at.out > at.in ? 2 : 1;
		st = add_layer(f, &at, err);
	}
	if (st != ST_OK)
		return st;
	at = behind(&at);
	at.kind = LAYER_DENSE;
	at.mean = true;
	at.out = outputs;
	return add_layer(f, &at, err);
}

enum status form_make(struct form *out, const struct form_options *o, uint32_t height, uint32_t width, uint32_t channels,
		uint32_t outputs, struct error *err)
{
	struct layer_shape at = {.kind = LAYER_CONV, .height = height, .width = width, .in = channels};

	*out = (struct form){.blocks = (uint32_t)o->form};
	return o->form == 0 ? make_stack(out, o, at, outputs, err) : make_resnet(out, at, outputs, err);
}

/* ---- names ---- */

void form_layer_name(const struct form *f, uint32_t l, char name[64])
{
	const struct layer_shape *s = &f->layers[l];

	if (s->kind == LAYER_CONV)
		(void)snprintf(name, 64, "conv%u", l + 1);
	else if (s->kind == LAYER_BLOCK)
		(void)snprintf(name, 64, "block%u", l);
	else if (s->relu)
		(void)snprintf(name, 64, "dense%u", l - f->n_convs + 1);
	else
		(void)snprintf(name, 64, "output");
}

void form_tensor(const struct form *f, uint32_t i, struct dadam_tensor *out)
{
	uint32_t l = 0, w;
	const struct layer_shape *s;
	char name[64], which[8] = "";
	bool bias = i % 2 != 0;

	for (w = i / 2; w >= layer_n_weights(&f->layers[l]); l++)
		w -= layer_n_weights(&f->layers[l]);
	s = &f->layers[l];
	form_layer_name(f, l, name);
	if (s->kind == LAYER_BLOCK)
		(void)snprintf(which, sizeof which, ".conv%u", w + 1);
	*out = (struct dadam_tensor){.n_dims = 1, .dims = {s->out}};
	(void)snprintf(out->name, sizeof out->name, "%.40s%s.%s", name, which, bias ? "bias" : "weight");
	out->offset = f->offset[l] + (w == 1 ? layer_weights(s, 0) + s->out : 0) + (bias ? layer_weights(s, w) : 0);
	if (bias)
		return;
	out->n_dims = s->kind == LAYER_DENSE ? 2 : 4;
	out->dims[1] = layer_weights(s, w) / s->out;
	if (s->kind == LAYER_DENSE)
		return;
	out->dims[1] /= (uint64_t)s->kernel * s->kernel;
	out->dims[2] = out->dims[3] = s->kernel;
}

/* ---- the start ---- */

static double start_scale(const struct form *f, uint32_t l, uint32_t w)
{
	const struct layer_shape *s = &f->layers[l];
	double scale = sqrt(2.0 / (double)layer_fan_in(s, w));

	if (f->blocks == 0 || s->kind == LAYER_CONV)
		return scale;
	return s->kind == LAYER_BLOCK && w == 0 ? scale / sqrt(3.0 * f->blocks) : 0;
}

void form_start(const struct form *f, uint64_t seed, float *x)
{
	uint32_t stream = 0;

	memset(x, 0, f->n_params * sizeof *x);
	for (uint32_t l = 0; l < f->n_layers; l++) {
		float *at = x + f->offset[l];

		for (uint32_t w = 0; w < layer_n_weights(&f->layers[l]); w++) {
			double scale = start_scale(f, l, w);
			size_t n = layer_weights(&f->layers[l], w);

			if (scale > 0)
				affine_normal(at, n, scale, seed, stream);
			stream++;
			at += n + f->layers[l].out;
		}
	}
}
