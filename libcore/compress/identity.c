/* Identity: the numbers themselves, little-endian. The receiver ends with identical bits. */
#include "libcore/compress/kinds.h"

void reals_store(uint8_t *out, const real *x, size_t n)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	memcpy(out, x, n * sizeof *x);
#else
	for (size_t i = 0; i < n; i++)
		store_real(out + i * sizeof *x, x[i]);
#endif
}

void reals_load(real *out, const uint8_t *bytes, size_t n)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	memcpy(out, bytes, n * sizeof *out);
#else
	for (size_t i = 0; i < n; i++)
		out[i] = load_real(bytes + i * sizeof *out);
#endif
}

size_t identity_encode(uint8_t *out, const real *x, size_t n)
{
	reals_store(out, x, n);
	return n * sizeof *x;
}

enum status identity_decode(real *out, size_t n, const uint8_t *bytes, size_t len,
			    struct error *err)
{
	if (len != n * sizeof *out)
		return wrong_length(err, "identity", n, len, n * sizeof *out);
	reals_load(out, bytes, n);
	return ST_OK;
}
