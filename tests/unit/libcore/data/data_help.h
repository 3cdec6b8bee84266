/* Help for tests of data: options from strings, files in a temporary directory. */
#ifndef TESTS_UNIT_LIBCORE_DATA_DATA_HELP_H
#define TESTS_UNIT_LIBCORE_DATA_DATA_HELP_H

#include "libcore/model/dadam/model.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* OPTIONS("format", "csv", "train", path) */
#define OPTIONS(...)                                                                               \
	(&(struct dadam_options){                                                                  \
			(const struct dadam_option *)(const void *)(const char *const[]){__VA_ARGS__},            \
			sizeof((const char *const[]){__VA_ARGS__}) / (2 * sizeof(char *))})

/* A new file with these bytes; the path is the caller's until the next call but three. */
static inline const char *temp_file(const void *bytes, size_t len)
{
	static char paths[4][32];
	static int turn;
	char *path = paths[turn++ % 4];
	int fd;

	strcpy(path, "/tmp/dadam-data-XXXXXX");
	fd = mkstemp(path);
	cr_assert_geq(fd, 0);
	cr_assert_eq(write(fd, bytes, len), (ssize_t)len);
	close(fd);
	return path;
}

static inline const char *temp_text(const char *text)
{
	return temp_file(text, strlen(text));
}

#endif
