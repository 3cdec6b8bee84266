/* See images.h. IDX files: magic 0x801 or 0x803, sizes as 32-bit big-endian numbers, then bytes. */
#include "tests/bench/experiments_pipeline/images.h"

#include "libcore/base/mem.h"
#include "tests/bench/experiments_pipeline/problem.h"

#include <stdio.h>

#define SIDE 28U
#define MOST 60000U

static uint32_t read_number(FILE *f)
{
	uint8_t b[4] = {0};

	must(fread(b, 1, 4, f) == 4, "an IDX file ends too early");
	return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

static FILE *open_idx(const char *dir, const char *which, const char *what, uint32_t magic, uint32_t *n)
{
	char path[512];
	FILE *f;

	(void)snprintf(path, sizeof path, "%s/%s-%s-ubyte", dir, which, what);
	f = fopen(path, "rb");
	must(f != NULL, path);
	must(read_number(f) == magic, "not the IDX file that was wanted");
	*n = read_number(f);
	must(*n > 0 && *n <= MOST, "an IDX file has 1 to 60000 items");
	return f;
}

static void shrink(float out[IMAGE_SIZE], const uint8_t in[SIDE * SIDE])
{
	for (size_t i = 0; i < SIDE / 2; i++)
		for (size_t j = 0; j < SIDE / 2; j++) {
			const uint8_t *p = in + 2 * i * SIDE + 2 * j;

			out[i * (SIDE / 2) + j] = (float)(p[0] + p[1] + p[SIDE] + p[SIDE + 1]) / (4 * 255.0F);
		}
}

void images_open(struct images *m, const char *dir, const char *which)
{
	uint8_t image[SIDE * SIDE];
	uint32_t n, n_labels;
	FILE *f = open_idx(dir, which, "images-idx3", 0x803, &n);

	must(read_number(f) == SIDE && read_number(f) == SIDE, "images have 28 x 28 pixels");
	*m = (struct images){.n = n, .pixels = reals((size_t)n * IMAGE_SIZE), .labels = mem_alloc(n, 1)};
	must(m->labels != NULL, "out of memory");
	for (size_t i = 0; i < n; i++) {
		must(fread(image, 1, sizeof image, f) == sizeof image, "an IDX file ends too early");
		shrink(m->pixels + i * IMAGE_SIZE, image);
	}
	(void)fclose(f);
	f = open_idx(dir, which, "labels-idx1", 0x801, &n_labels);
	must(n_labels == n && fread(m->labels, 1, n, f) == n, "as many labels as images are needed");
	(void)fclose(f);
	for (size_t i = 0; i < n; i++)
		must(m->labels[i] < IMAGE_CLASSES, "labels are 0 to 9");
}

void images_close(struct images *m)
{
	mem_free_big(m->pixels, m->n * IMAGE_SIZE, sizeof(float));
	mem_free(m->labels);
}
