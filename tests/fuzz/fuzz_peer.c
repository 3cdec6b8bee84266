/* Any bytes as a message: what peer.h has. See fuzz_message(). */
#include "tests/fuzz/fuzz.h"
#include "tests/lib/codec_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_message(&codec_peer, data, size);
	return 0;
}
