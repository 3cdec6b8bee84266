/* Any bytes as a difference, and any two vectors sent one after the other.
 *
 * First two bytes: of how many numbers it shall be; third: the byte that fills `last`. */
#include "libcore/compress/delta.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#define MAX 16384U

static struct delta *codec(void)
{
	static struct delta *d; /* for all inputs: contexts are reused in the worker, too */

	if (d == NULL && delta_create(&d, MAX, NULL) != ST_OK)
		fuzz_fail("no memory");
	return d;
}

static void decode(size_t n, uint8_t fill, const uint8_t *data, size_t size)
{
	float *last = malloc(n * sizeof *last + 1);
	struct error err = {0};

	memset(last, fill, n * sizeof *last);
	if (delta_decode(codec(), last, n, data, size, &err) != ST_OK) {
		if (err.msg[0] == 0)
			fuzz_fail("refused without words");
		for (size_t i = 0; i < n * sizeof *last; i++)
			if (((const uint8_t *)last)[i] != fill)
				fuzz_fail("refused, and last has moved");
	}
	free(last);
}

/* The second half of the data, sent to somebody who holds the first. */
static void there_and_back(const uint8_t *data, size_t size)
{
	size_t n = size / 8 < MAX ? size / 8 : MAX, bytes = n * sizeof(float), len;
	float *sender = malloc(bytes + 1), *receiver = malloc(bytes + 1), *x = malloc(bytes + 1);
	uint8_t *coded = malloc(delta_bound(n));

	memcpy(sender, data, bytes);
	memcpy(receiver, data, bytes);
	memcpy(x, data + bytes, bytes);
	len = delta_encode(codec(), coded, delta_bound(n), sender, x, n);
	if (len > 0 && (len >= bytes || delta_decode(codec(), receiver, n, coded, len, NULL) != ST_OK ||
					memcmp(receiver, x, bytes) != 0))
		fuzz_fail("other bits came");
	if (memcmp(sender, x, bytes) != 0)
		fuzz_fail("the sender forgot what it sent");
	free(sender);
	free(receiver);
	free(x);
	free(coded);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 3)
		return 0;
	decode((size_t)data[0] | (size_t)data[1] << 8, data[2], data + 3, size - 3);
	there_and_back(data + 3, size - 3);
	return 0;
}
