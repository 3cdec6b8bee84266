/* Any bytes as a daemon's configuration. A refusal must bring a sentence. */
#include "libcore/settings/daemon_config.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct daemon_config cfg;
	struct error err = {0};

	if (daemon_config_parse(&cfg, "fuzz", size > 0 ? (const char *)data : "", size, &err) != ST_OK &&
			err.msg[0] == '\0')
		abort();
	return 0;
}
