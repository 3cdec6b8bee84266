/* Any bytes as a message: what link.h has. See fuzz_message(). */
#include "tests/fuzz/fuzz.h"
#include "tests/lib/codec_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_message(&codec_link, data, size);
	return 0;
}
