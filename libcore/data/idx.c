/* The IDX reader: header, then numbers through a small buffer. See idx.h. */
#include "libcore/data/idx.h"

#include "libcore/data/stream.h"

#include <math.h>
#include <string.h>

#define MAX_DIMS 4
#define PIECE 4096U /* numbers at once */

enum idx_type { IDX_U8 = 0x08, IDX_I8 = 0x09, IDX_I16 = 0x0B, IDX_I32 = 0x0C, IDX_F32 = 0x0D, IDX_F64 = 0x0E };

struct idx {
	struct stream s;
	unsigned type;
	unsigned n_dims;
	uint32_t dims[MAX_DIMS];
};

static uint64_t load_be(const uint8_t *p, unsigned n)
{
	uint64_t x = 0;

	for (unsigned i = 0; i < n; i++)
		x = x << 8 | p[i];
	return x;
}

/* Bytes of a number; 0: there is no such type. */
static unsigned size_of(unsigned type)
{
	switch (type) {
	case IDX_U8:
	case IDX_I8:
		return 1;
	case IDX_I16:
		return 2;
	case IDX_I32:
	case IDX_F32:
		return 4;
	case IDX_F64:
		return 8;
	default: /* a byte of a file */
		return 0;
	}
}

static double number(const uint8_t *p, unsigned type)
{
	uint64_t bits = load_be(p, size_of(type));
	uint32_t low = (uint32_t)bits;
	float f;
	double d;

	switch (type) {
	case IDX_I8:
		return (int8_t)low;
	case IDX_I16:
		return (int16_t)low;
	case IDX_I32:
		return (int32_t)low;
	case IDX_F32:
		memcpy(&f, &low, sizeof f);
		return (double)f;
	case IDX_F64:
		memcpy(&d, &bits, sizeof d);
		return d;
	default:
		return low;
	}
}

static enum status check_head(const struct idx *x, const uint8_t head[4], struct error *err)
{
	if (head[0] != 0 || head[1] != 0 || size_of(x->type) == 0) {
		(void)error_set(err, ST_DATA, "%s: begins with %02x %02x %02x %02x, an IDX file with 00 00, a type (08 09 0b 0c 0d 0e) "
				"and the number of its sizes", x->s.path, head[0], head[1], head[2], head[3]);
		error_hint(err, "MNIST's files are IDX, gzip or not; for CIFAR's binary files write format: cifar");
		return ST_DATA;
	}
	if (x->n_dims == 0 || x->n_dims > MAX_DIMS)
		return error_set(err, ST_DATA, "%s: %u sizes in the header, allowed are 1 (labels) to %d", x->s.path, x->n_dims,
				MAX_DIMS);
	return ST_OK;
}

/* Does the file hold what its header promises? Overflow-free: a product above the bound is not taken on. */
static enum status check_size(const struct idx *x, struct error *err)
{
	uint64_t most = stream_most(&x->s), need = size_of(x->type), head = 4 + 4 * (uint64_t)x->n_dims;

	for (unsigned i = 0; i < x->n_dims && need <= most; i++)
		need *= x->dims[i];
	if (need + head <= most && (need + head == most || x->s.packed))
		return ST_OK;
	if (need > most)
		return error_set(err, ST_DATA, "%s: its header promises more numbers than %llu bytes%s can hold", x->s.path,
				(unsigned long long)x->s.size, x->s.packed ? " of gzip" : "");
	return error_set(err, ST_DATA, "%s: %llu bytes found, its header promises %llu", x->s.path, (unsigned long long)x->s.size,
			(unsigned long long)(need + head));
}

static enum status read_head(struct idx *x, struct error *err)
{
	uint8_t head[4], sizes[4 * MAX_DIMS];
	enum status st = stream_exact(&x->s, head, sizeof head, "an IDX header", err);

	if (st != ST_OK)
		return st;
	x->type = head[2];
	x->n_dims = head[3];
	st = check_head(x, head, err);
	if (st == ST_OK)
		st = stream_exact(&x->s, sizes, (size_t)4 * x->n_dims, "an IDX header", err);
	for (unsigned i = 0; st == ST_OK && i < x->n_dims; i++)
		x->dims[i] = (uint32_t)load_be(sizes + (size_t)4 * i, 4);
	return st == ST_OK ? check_size(x, err) : st;
}

static enum status open_idx(struct idx *x, const char *path, struct error *err)
{
	enum status st = stream_open(&x->s, path, err);

	return st == ST_OK ? read_head(x, err) : st;
}

static void shape_of(const struct idx *x, uint32_t shape[3])
{
	shape[0] = x->n_dims == 4 ? x->dims[1] : 1;
	shape[1] = x->n_dims >= 3 ? x->dims[x->n_dims - 2] : 1;
	shape[2] = x->dims[x->n_dims - 1];
}

/* n numbers of the file, as double, to take(), which may refuse one. */
typedef enum status (*take_fn)(struct table *t, uint64_t i, double value, struct error *err);

static enum status each_number(struct idx *x, struct table *t, uint64_t n, take_fn take, struct error *err)
{
	uint8_t piece[PIECE * 8];
	unsigned size = size_of(x->type);
	enum status st = ST_OK;

	for (uint64_t at = 0; st == ST_OK && at < n; at += PIECE) {
		size_t some = n - at < PIECE ? (size_t)(n - at) : PIECE;
		uint64_t offset = x->s.offset;

		st = stream_exact(&x->s, piece, some * size, "its numbers", err);
		for (size_t i = 0; st == ST_OK && i < some; i++) {
			st = take(t, at + i, number(piece + i * size, x->type), err);
			if (st != ST_OK)
				st = error_wrap(err, st, "%s: at byte %llu", x->s.path,
						(unsigned long long)(offset + i * size));
		}
	}
	return st;
}

static enum status take_real(struct table *t, uint64_t i, double value, struct error *err)
{
	t->reals[i] = (real)value;
	if (isfinite(value) && isfinite(t->reals[i]))
		return ST_OK;
	return error_set(err, ST_DATA, "%g found, allowed are finite numbers", value);
}

static enum status take_label(struct table *t, uint64_t i, double value, struct error *err)
{
	if (!(value >= 0 && value < TABLE_MAX_CLASSES))
		return error_set(err, ST_DATA, "label %.0f found, allowed are 0 to %u", value, TABLE_MAX_CLASSES - 1);
	t->labels[i] = (uint32_t)value;
	return ST_OK;
}

static enum status read_images(struct table *t, struct idx *x, struct error *err)
{
	uint32_t shape[3];
	enum status st;

	if (x->n_dims < 2) {
		(void)error_set(err, ST_DATA, "%s: 1 size in the header, images have 2, 3 or 4", x->s.path);
		error_hint(err, "this is a file of labels: swap the keys train and train_labels");
		return ST_DATA;
	}
	shape_of(x, shape);
	st = table_create(t, x->dims[0], shape, x->type == IDX_U8, 0, x->s.path, err);
	if (st != ST_OK)
		return st;
	if (x->type == IDX_U8)
		st = stream_exact(&x->s, t->bytes, (size_t)(t->n * t->features), "its numbers", err);
	else
		st = each_number(x, t, t->n * t->features, take_real, err);
	return st == ST_OK ? stream_end(&x->s, err) : st;
}

static enum status read_labels(struct table *t, struct idx *x, const char *images, struct error *err)
{
	enum status st;

	if (x->n_dims != 1 || x->type == IDX_F32 || x->type == IDX_F64) {
		(void)error_set(err, ST_DATA, "%s: %u sizes and type %02x in the header, labels have 1 and 08, 09, 0b or 0c", x->s.path,
				x->n_dims, x->type);
		error_hint(err, "images belong to the keys train and test, labels to train_labels and test_labels");
		return ST_DATA;
	}
	if (x->dims[0] != t->n)
		return error_set(err, ST_DATA, "%s: %u labels found, %s has %llu images", x->s.path, x->dims[0], images,
				(unsigned long long)t->n);
	st = each_number(x, t, t->n, take_label, err);
	return st == ST_OK ? stream_end(&x->s, err) : st;
}

enum status idx_read(struct table *t, const char *images, const char *labels, struct error *err)
{
	struct idx x = {.s = {.fd = -1}};
	enum status st = open_idx(&x, images, err);

	*t = (struct table){0};
	if (st == ST_OK)
		st = read_images(t, &x, err);
	stream_close(&x.s);
	if (st == ST_OK)
		st = open_idx(&x, labels, err);
	if (st == ST_OK)
		st = read_labels(t, &x, images, err);
	stream_close(&x.s);
	if (st != ST_OK)
		table_fini(t);
	return st;
}
