/* Any bytes as a data file of any format: the first byte picks the format and the options, the rest is the
 * file. What opens must give every row, cached and on demand alike; what does not must say why. */
#include "libcore/data/dataset.h"

#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define OPTIONS 8

static const char *const formats[][2 * OPTIONS] = {
	{"format", "csv", "label", "y", "categorical", "c", "multi", "m", "numeric", "x"},
	{"format", "csv", "label", "y >= 2", "categorical", "a", "columns", "y", "columns", "a", "delimiter", "tab"},
	{"format", "csv", "label", "y", "categorical", "c", "multi", "m", "buckets", "7", "test_fraction", "0.3"},
	{"format", "criteo", "min_count", "2"},
	{"format", "criteo", "buckets", "100", "test_fraction", "0.5"},
	{"format", "libsvm"},
	{"format", "libfm", "fields", "position"},
	{"format", "libfm", "features", "50", "test_fraction", "0.3"},
};

static struct dataset *open_as(unsigned which, const char *path, const char *cache)
{
	struct dadam_option items[OPTIONS + 2] = {{"train", path}, {"cache", cache}};
	struct dadam_options options = {items, 2};
	struct dataset *ds = NULL;
	struct error err = {0};

	for (size_t i = 0; i < OPTIONS && formats[which][2 * i] != NULL; i++)
		items[options.n_items++] = (struct dadam_option){formats[which][2 * i], formats[which][2 * i + 1]};
	if (dataset_open(&ds, &options, &err) != ST_OK && (err.msg[0] == '\0' || ds != NULL))
		abort();
	return ds;
}

static void same_rows(struct dataset *a, struct dataset *b, enum data_split split, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++) {
		struct data_row x, y;

		if (dataset_row(a, split, i, &x, NULL) != ST_OK || dataset_row(b, split, i, &y, NULL) != ST_OK)
			abort();
		if (x.n != y.n || x.label != y.label)
			abort();
		for (size_t k = 0; k < x.n; k++)
			if (x.items[k].feature != y.items[k].feature
					|| x.items[k].feature >= dataset_info(a).n_features
					|| x.items[k].field >= dataset_info(a).n_fields)
				abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct dataset *cached, *on_demand;
	unsigned which;
	char path[40];

	if (size == 0 || fd < 0 || write(fd, data + 1, size - 1) != (ssize_t)(size - 1)) {
		if (fd >= 0)
			close(fd);
		return 0;
	}
	which = data[0] % (sizeof formats / sizeof formats[0]);
	(void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	cached = open_as(which, path, "1GiB");
	on_demand = open_as(which, path, "0");
	if ((cached == NULL) != (on_demand == NULL))
		abort();
	if (cached != NULL) {
		same_rows(cached, on_demand, DATA_TRAIN, dataset_info(cached).train_rows);
		same_rows(cached, on_demand, DATA_TEST, dataset_info(cached).test_rows);
	}
	dataset_close(cached);
	dataset_close(on_demand);
	close(fd);
	return 0;
}
