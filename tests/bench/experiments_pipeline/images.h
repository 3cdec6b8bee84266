/* Fashion-MNIST as Debian's package dataset-fashion-mnist has it, unpacked: 28 x 28 pixels, 2 x 2 of them
 * averaged, divided by 255: 14 x 14 numbers in [0, 1]. */
#ifndef TESTS_BENCH_EXPERIMENTS_PIPELINE_IMAGES_H
#define TESTS_BENCH_EXPERIMENTS_PIPELINE_IMAGES_H

#include <stddef.h>
#include <stdint.h>

#define IMAGE_SIZE 196U
#define IMAGE_CLASSES 10U

struct images {
	size_t n;
	float *pixels;   /* n x IMAGE_SIZE */
	uint8_t *labels; /* n, below IMAGE_CLASSES */
};

/* which: "train" or "t10k". End with images_close(). Ends the program when a file is absent or not as it should be. */
void images_open(struct images *m, const char *dir, const char *which);
void images_close(struct images *m);

#endif
