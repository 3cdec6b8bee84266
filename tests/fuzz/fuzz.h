/* What fuzz targets share. A target is one function; see meson.build for how it is built and added. */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* The target: 0 always. What must not be ends in fuzz_fail(). */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Print what went wrong and abort; does nothing when wrong is NULL. */
void fuzz_fail(const char *wrong);

/* Give every frame in the bytes its right checksum: a fuzzer never finds one. */
void fuzz_mend_frames(uint8_t *data, size_t size);

struct codec_ops;

/* A message of a protocol, without its frame's header: type, payload length (0: none), head, payload. */
void fuzz_message(const struct codec_ops *ops, const uint8_t *data, size_t size);

#endif
