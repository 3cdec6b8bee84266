/* The front of the compressors. See compress.h. */
#include "libcore/compress/compress.h"

#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "identity copies: swap bytes on such a machine");

size_t compress_bound(enum compress_kind kind, size_t n)
{
	switch (kind) {
	case COMPRESS_IDENTITY:
		return n * sizeof(real);
	}
	return 0;
}

size_t compress_encode(enum compress_kind kind, uint8_t *out, const real *x, size_t n)
{
	switch (kind) {
	case COMPRESS_IDENTITY:
		if (n > 0)
			memcpy(out, x, n * sizeof *x);
		return n * sizeof *x;
	}
	return 0;
}

enum status compress_decode(enum compress_kind kind, real *out, size_t n, const uint8_t *bytes,
		size_t len, struct error *err)
{
	switch (kind) {
	case COMPRESS_IDENTITY:
		if (n > SIZE_MAX / sizeof *out || len != n * sizeof *out)
			return error_set(err, ST_PROTO, "%zu bytes of a dense segment, %zu parameters take %zu",
					len, n, n * sizeof *out);
		if (len > 0)
			memcpy(out, bytes, len);
		return ST_OK;
	}
	return error_set(err, ST_PROTO, "compressor %d, this build knows 0 (identity)", (int)kind);
}
