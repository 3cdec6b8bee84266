/* A model as a safetensors file: 8 bytes little-endian header length, a JSON header (names, dtype F32,
 * shapes, offsets, and __metadata__ of strings), then the floats. (huggingface.co/docs/safetensors)
 *
 * Written whole or not at all: PATH.tmp, fsync, rename, fsync of the directory. */
#ifndef DAEMON_WORKER_MODEL_FILE_H
#define DAEMON_WORKER_MODEL_FILE_H

#include "libcore/base/err.h"
#include "libcore/base/real.h"
#include "libcore/model/dadam/model.h"

#include <stddef.h>
#include <stdint.h>

struct model_file {
	const struct dadam_tensor *tensors; /* one after another, covering x */
	uint32_t n_tensors;
	const real *x;
	size_t n;
	const char *(*metadata)[2]; /* key, value */
	size_t n_metadata;
};

/* ST_IO (with the path and the system's words), ST_NOMEM. */
MUST_CHECK enum status model_file_write(const char *path, const struct model_file *f, struct error *err);

#endif
