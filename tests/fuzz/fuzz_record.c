/* Any bytes as a job's file in the state directory; as they are, and with the checksum made right. */
#include "libcore/base/buf.h"
#include "proto/job.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

static void decode(const uint8_t *data, size_t size)
{
	struct job_record r, again;
	struct buf first = {0}, second = {0};
	struct error err = {0};

	if (job_record_decode(&r, data, size, &err) != ST_OK) {
		if (err.msg[0] == 0)
			fuzz_fail("refused without words");
		return;
	}
	if (job_record_encode(&first, &r, &err) != ST_OK)
		fuzz_fail("what was decoded cannot be encoded");
	if (job_record_decode(&again, first.data, first.len, &err) != ST_OK ||
			job_record_encode(&second, &again, &err) != ST_OK)
		fuzz_fail("what was encoded cannot be decoded");
	if (first.len != second.len || memcmp(first.data, second.data, first.len) != 0)
		fuzz_fail("the second encoding differs from the first");
	job_record_fini(&r);
	job_record_fini(&again);
	buf_fini(&first);
	buf_fini(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *mended = malloc(size > 0 ? size : 1);

	if (mended == NULL)
		return 0;
	decode(data, size);
	if (size > 0)
		memcpy(mended, data, size);
	fuzz_mend_frames(mended, size);
	decode(mended, size);
	free(mended);
	return 0;
}
