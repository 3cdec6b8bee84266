/* Compiled once per machine, with rename.h before it: the names below are that machine's. */
#include "tests/unit/libcore/compress/versions/version.h"

const struct version RENAME(version) = {compress_create, compress_destroy, compress_encode,
					compress_decode, int8_encode_difference, int8_add};
