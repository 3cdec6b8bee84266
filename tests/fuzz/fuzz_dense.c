/* Any bytes as files of labelled dense rows: the first byte picks the format and the options; the next two say
 * how many of the bytes that follow are the images of IDX, the rest are labels. What opens must give every row,
 * finite, with a label that is a class; what does not must say why. */
#include "libcore/data/dense.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define OPTIONS 8

static const char *const formats[][2 * OPTIONS] = {
	{"format", "idx"},
	{"format", "idx", "shots", "1", "scale", "standard"},
	{"format", "idx", "classes", "1", "classes", "0", "limit", "3"},
	{"format", "cifar"},
	{"format", "cifar", "label_bytes", "2", "test_fraction", "0.5"},
	{"format", "csv"},
	{"format", "csv", "header", "off", "scale", "2", "shots", "2"},
	{"format", "csv", "label", "y >= 2", "delimiter", "tab"},
	{"format", "csv", "targets", "t", "scale", "none"},
};

static int file_of(const uint8_t *bytes, size_t n, char path[40])
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (fd < 0 || write(fd, bytes, n) != (ssize_t)n)
		abort();
	(void)snprintf(path, 40, "/proc/self/fd/%d", fd);
	return fd;
}

static void check_rows(const struct dense *d, enum data_split split, uint64_t n)
{
	struct dense_info i = dense_info(d);
	const uint32_t *labels = dense_labels(d, split);
	real *buf = malloc(i.features * sizeof *buf);

	for (uint64_t r = 0; r < n; r++) {
		const real *x = dense_rows(d, split, &r, 0, 1, buf);

		for (uint32_t k = 0; k < i.features; k++)
			if (!isfinite(x[k]))
				abort();
		if ((labels == NULL) != (i.targets > 0) || (labels != NULL && labels[r] >= i.classes))
			abort();
	}
	free(buf);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct dadam_option items[OPTIONS + 2];
	struct dadam_options options = {items, 0};
	char train[40], labels[40];
	struct dense *d = NULL;
	struct error err = {0};
	size_t n;
	int fds[2];

	if (size < 3)
		return 0;
	n = (size_t)data[1] << 8 | data[2];
	n = n < size - 3 ? n : size - 3;
	fds[0] = file_of(data + 3, data[0] % 9 < 3 ? n : size - 3, train);
	fds[1] = file_of(data + 3 + n, size - 3 - n, labels);
	items[options.n_items++] = (struct dadam_option){"train", train};
	if (data[0] % 9 < 3)
		items[options.n_items++] = (struct dadam_option){"train_labels", labels};
	for (size_t i = 0; i < OPTIONS && formats[data[0] % 9][2 * i] != NULL; i++)
		items[options.n_items++] = (struct dadam_option){formats[data[0] % 9][2 * i], formats[data[0] % 9][2 * i + 1]};
	if (dense_open(&d, &options, &err) != ST_OK && (err.msg[0] == '\0' || d != NULL))
		abort();
	if (d != NULL) {
		check_rows(d, DATA_TRAIN, dense_info(d).train_rows);
		check_rows(d, DATA_TEST, dense_info(d).test_rows);
	}
	dense_close(d);
	close(fds[0]);
	close(fds[1]);
	return 0;
}
