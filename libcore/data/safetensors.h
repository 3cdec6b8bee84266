/* A trained model as dadam exports it (safetensors: 8 bytes little-endian header length, a JSON header with names,
 * dtype, shapes and offsets, then the numbers; huggingface.co/docs/safetensors), plain or gzip. F32 only. */
#ifndef LIBCORE_DATA_SAFETENSORS_H
#define LIBCORE_DATA_SAFETENSORS_H

#include "libcore/base/err.h"
#include "libcore/base/real.h"

#include <stdint.h>

#define SAFETENSORS_MAX_HEADER (1U << 20)
#define SAFETENSORS_MAX_TENSORS 4096U
#define SAFETENSORS_MAX_DIMS 4

struct safetensors_part {
	char name[64];
	uint32_t n_dims;
	uint64_t dims[SAFETENSORS_MAX_DIMS];
	uint64_t begin, end; /* bytes in the numbers */
	const real *x;       /* row-major; the file's */
};

/* Start with {0}, end with safetensors_fini(). */
struct safetensors {
	struct safetensors_part *parts;
	uint32_t n;
	real *x;
	uint64_t n_numbers;
};

/* Read the whole file.
 *
 * ST_NOT_FOUND, ST_DENIED, ST_IO  the file
 * ST_DATA  no such header, another dtype than F32, offsets that do not fit shape or file, a number that is not finite
 * ST_NOMEM */
MUST_CHECK enum status safetensors_read(struct safetensors *out, const char *path, struct error *err);
void safetensors_fini(struct safetensors *s);

/* The part with this name; NULL when there is none. */
const struct safetensors_part *safetensors_find(const struct safetensors *s, const char *name);

#endif
