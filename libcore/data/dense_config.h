/* The `data:` part of a job as labelled dense rows see it (dense.h).
 *
 *   format        idx (MNIST; plain or gzip), cifar (binary version; plain or gzip), csv
 *   train, test   files; several are read one after another (cifar)
 *   train_labels, test_labels    of idx
 *   label_bytes   of cifar: 1 (CIFAR-10, default), 2 (CIFAR-100: the fine label)
 *   label         of csv: the column of the class, 0, 1, 2 ... (default: the last column), or a rule as
 *                 "rating >= 4" (classes 0 and 1)
 *   targets       of csv: columns to be predicted, instead of a class
 *   numeric       of csv: columns to learn from (default: all others)
 *   header        of csv: on (default), off: the first line is a row, columns are c0, c1, ...
 *   columns, delimiter           of csv, as for click data
 *   shape         [channels, height, width] of a row (default: what the file says)
 *   scale         standard (mean 0, deviation 1 over the training rows; default for csv), none, or what to
 *                 divide by (255 is the default for bytes)
 *   test_fraction of the training file's rows, when there is no test file
 *   classes       keep these only, relabelled 0, 1, ... in the order given
 *   n_classes     how many there are (default: the greatest label + 1)
 *   shots         so many training rows of each class, by a shuffle with shots_seed (default 1)
 *   limit, test_limit            the first so many rows of what is left */
#ifndef LIBCORE_DATA_DENSE_CONFIG_H
#define LIBCORE_DATA_DENSE_CONFIG_H

#include "libcore/base/err.h"
#include "libcore/data/options.h"
#include "libcore/data/table.h"

#include <stdbool.h>
#include <stdint.h>

enum dense_format { DENSE_IDX, DENSE_CIFAR, DENSE_CSV };
enum dense_scale { DENSE_SCALE_STANDARD, DENSE_SCALE_DIVIDE };

struct dense_config {
	int format; /* enum dense_format */
	struct option_list train, test;
	char *train_labels, *test_labels;
	uint64_t label_bytes;
	char *label, *delimiter;
	struct option_list targets, numeric, columns;
	int header; /* 0: on, 1: off */
	struct option_list shape_text, classes_text;
	char *scale_text;
	double test_fraction;
	uint64_t n_classes, shots, shots_seed, limit, test_limit; /* 0: not given */

	/* made of the texts above */
	enum dense_scale scale;
	double divisor;
	uint32_t shape[3];  /* 0, 0, 0: not given */
	uint32_t *classes;  /* NULL: all */
	size_t n_kept;      /* of classes */
};

/* Defaults, then options, then checks that need more than one key. On failure out holds nothing.
 *
 * ST_INVALID  see options_read(); a key without meaning for the format; a file that is missing
 * ST_NOMEM */
MUST_CHECK enum status dense_config_read(struct dense_config *out, const struct dadam_options *options,
		struct error *err);
void dense_config_fini(struct dense_config *cfg);

#endif
