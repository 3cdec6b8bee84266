/* Runs a fuzz target on every file of its corpus, on every file cut at some places, and on every file
 * with some bytes changed: what CI does where there is no libFuzzer. Arguments: folders. Speaks TAP. */
#include "tests/fuzz/fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FILE ((size_t)1 << 20)
#define PLACES 64 /* cuts and changes per file */

/* In a block of its own size, so that a sanitizer sees every step beyond. */
static void run(const uint8_t *data, size_t size)
{
	uint8_t *block = malloc(size > 0 ? size : 1);

	if (block == NULL)
		return;
	if (size > 0)
		memcpy(block, data, size);
	(void)LLVMFuzzerTestOneInput(block, size);
	free(block);
}

static void run_shaken(uint8_t *data, size_t size)
{
	size_t step = size / PLACES + 1;

	run(data, size);
	for (size_t i = 0; i < size; i += step) {
		uint8_t kept = data[i];

		run(data, i);
		data[i] ^= (uint8_t)(1 << i % 8);
		run(data, size);
		data[i] = 0xff;
		run(data, size);
		data[i] = kept;
	}
}

static int run_file(const char *path, uint8_t *data)
{
	FILE *f = fopen(path, "rb");
	size_t size;

	if (f == NULL)
		return 0;
	size = fread(data, 1, MAX_FILE, f);
	if (fclose(f) != 0)
		return 0;
	run_shaken(data, size);
	return 1;
}

/* Files run, or -1. */
static int run_folder(const char *folder, uint8_t *data)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;
	char path[4096];
	int n = 0;

	if (dir == NULL)
		return -1;
	while ((entry = readdir(dir)) != NULL) {
		if (entry->d_name[0] == '.')
			continue;
		(void)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
		n += run_file(path, data);
	}
	return closedir(dir) == 0 ? n : -1;
}

int main(int argc, char **argv)
{
	uint8_t *data = malloc(MAX_FILE);
	int failed = data == NULL;

	printf("1..%d\n", argc - 1);
	for (int i = 1; i < argc && data != NULL; i++) {
		int n = run_folder(argv[i], data);

		printf("%s %d - replayed %d files and their neighbours\n", n > 0 ? "ok" : "not ok", i, n);
		failed |= n <= 0;
	}
	free(data);
	return failed;
}
