/* Any bytes as a model file: what opens has every number of its parts in place; what does not must say why. */
#include "libcore/data/safetensors.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct safetensors s;
	struct error err = {0};
	char path[40];

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	(void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	if (safetensors_read(&s, path, &err) != ST_OK && (err.msg[0] == '\0' || s.n != 0 || s.x != NULL))
		abort();
	for (uint32_t i = 0; i < s.n; i++)
		for (uint64_t k = 0; k < (s.parts[i].end - s.parts[i].begin) / sizeof(float); k++)
			if (!isfinite(s.parts[i].x[k]))
				abort();
	safetensors_fini(&s);
	close(fd);
	return 0;
}
