/* Any bytes as a job specification, and as an override of one. A refusal must bring a sentence. */
#include "libcore/base/buf.h"
#include "libcore/settings/job_spec.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void override(const char *text, size_t len)
{
	struct buf out = {0};
	struct job_spec spec;
	char assignment[64];
	size_t n = len < sizeof assignment - 1 ? len : sizeof assignment - 1;

	memcpy(assignment, text, n);
	assignment[n] = '\0';
	if (job_spec_override(&out, "fuzz", text + n, len - n, assignment, NULL) == ST_OK &&
			job_spec_parse(&spec, "fuzz", (char *)out.data, out.len, NULL) == ST_OK)
		job_spec_fini(&spec);
	buf_fini(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct job_spec spec;
	struct error err = {0};
	const char *text = size > 0 ? (const char *)data : "";

	if (job_spec_parse(&spec, "fuzz", text, size, &err) == ST_OK)
		job_spec_fini(&spec);
	else if (err.msg[0] == '\0')
		abort();
	override(text, size);
	return 0;
}
