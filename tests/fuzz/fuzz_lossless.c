/* Any bytes to decompress, and any bytes to compress and get back.
 *
 * First two bytes: what the input shall decompress to; third: words of 1 or 4 bytes. */
#include "libcore/compress/lossless.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#define MAX 65536

static struct lossless *stage(void)
{
	static struct lossless *l; /* for all inputs: contexts are reused in the worker, too */

	if (l == NULL && lossless_create(&l, MAX, NULL) != ST_OK)
		fuzz_fail("no memory");
	return l;
}

static void there_and_back(const uint8_t *data, size_t size, unsigned word)
{
	size_t cap = lossless_bound(size), n;
	uint8_t *coded = malloc(cap), *out = malloc(size > 0 ? size : 1);

	n = lossless_encode(stage(), coded, cap, data, size, word);
	if (n >= size && n > 0)
		fuzz_fail("not smaller, and still encoded");
	if (n > 0 && (lossless_decode(stage(), out, size, coded, n, word, NULL) != ST_OK ||
					memcmp(out, data, size) != 0))
		fuzz_fail("other bytes came back");
	free(coded);
	free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct error err = {0};
	size_t raw_len;
	uint8_t *out;
	unsigned word;

	if (size < 3 || size > MAX)
		return 0;
	raw_len = (size_t)data[0] | (size_t)data[1] << 8;
	word = data[2] & 1 ? 4 : 1;
	out = malloc(raw_len > 0 ? raw_len : 1);
	if (lossless_decode(stage(), out, raw_len, data + 3, size - 3, word, &err) != ST_OK && err.msg[0] == 0)
		fuzz_fail("refused without words");
	free(out);
	there_and_back(data + 3, size - 3, word);
	return 0;
}
