/* Small things of the driver: the clock, TAP, model files. See worker_driver.h. */
#include "tests/integration/worker_driver.h"

#include "libcore/base/bytes.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

uint64_t driver_now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static unsigned n_ok;

void driver_ok(const char *fmt, ...)
{
	va_list args;

	printf("ok %u - ", ++n_ok);
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	printf("\n");
	fflush(stdout);
}

void driver_plan(void)
{
	printf("1..%u\n", n_ok);
}

void driver_die(const char *fmt, ...)
{
	va_list args;

	printf("not ok %u - ", n_ok + 1);
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	printf("\n");
	fflush(stdout);
	exit(1);
}

float *driver_model(const struct driver *d, uint32_t rank, const char *take, size_t *n)
{
	char path[160];
	struct stat st;
	uint8_t head[8];
	float *out = NULL;
	FILE *f;

	snprintf(path, sizeof path, "%s/%u/%s.safetensors", d->dir, rank, take);
	f = fopen(path, "rb");
	if (f == NULL)
		return NULL;
	if (fstat(fileno(f), &st) == 0 && fread(head, 8, 1, f) == 1) {
		size_t skip = 8 + bytes_load_u64(head), bytes = (size_t)st.st_size - skip;

		out = malloc(bytes);
		*n = bytes / sizeof(float);
		if (fseek(f, (long)skip, SEEK_SET) != 0 || out == NULL || fread(out, 1, bytes, f) != bytes) {
			free(out);
			out = NULL;
		}
	}
	fclose(f);
	return out;
}
