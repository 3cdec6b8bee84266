/* The `data:` part of a job as a data set sees it: which file, which columns, which rows are test rows.
 *
 * The keys that say how rows are shared among workers (split) are the host's and never get here. */
#ifndef LIBCORE_DATA_DATA_CONFIG_H
#define LIBCORE_DATA_DATA_CONFIG_H

#include "libcore/base/err.h"
#include "libcore/data/options.h"

#include <stdbool.h>
#include <stdint.h>

enum data_format { DATA_CSV, DATA_CRITEO, DATA_LIBSVM, DATA_LIBFM, DATA_SYNTHETIC_CTR };
enum data_fields { DATA_FIELDS_ONE, DATA_FIELDS_POSITION }; /* libsvm, libfm */
enum data_scale { DATA_SCALE_STANDARD, DATA_SCALE_NONE };   /* numeric columns */
enum data_compare { DATA_AS_IS, DATA_GE, DATA_LE, DATA_EQ, DATA_NE, DATA_GT, DATA_LT, DATA_CLASS };

/* What makes a label 1: "clicked" (the column holds 0/1 or -1/1), "rating >= 4", "type == spam". */
struct data_label {
	char column[64]; /* empty for formats without column names */
	enum data_compare compare;
	bool is_number; /* the right side is one */
	double number;
	char text[64];
};

struct data_config {
	int format;          /* enum data_format */
	char *train;         /* path */
	char *test;          /* path or NULL */
	char *label;         /* as written */
	struct data_label label_rule;
	struct option_list categorical, numeric, multi, columns;
	char *separator;     /* between the values of a multi column, default "|" */
	char *delimiter;     /* between columns, default "," ("tab" for tabs) */
	int fields;          /* enum data_fields */
	int scale;           /* enum data_scale */
	double test_fraction;
	uint64_t rows, test_rows, seed; /* synthetic-ctr */
	uint64_t min_count;  /* values seen less often in training rows share the id of unknown ones */
	uint64_t buckets;    /* > 0: hash each field's values into so many ids, no dictionary */
	uint64_t features;   /* libsvm, libfm: ids are below this; 0: the greatest training id + 1 */
	uint64_t cache;      /* bytes of parsed rows that may be kept; above, rows are parsed on demand */
};

/* Defaults, then options, then checks that need more than one key. On failure out holds nothing.
 *
 * ST_INVALID  see options_read(); a key without meaning for the format; format, train or label missing */
MUST_CHECK enum status data_config_read(struct data_config *out, const struct dadam_options *options,
		struct error *err);
void data_config_fini(struct data_config *cfg);

/* Take a label rule apart. ST_INVALID: empty, too long, or no right side. */
MUST_CHECK enum status data_label_parse(struct data_label *out, const char *text, struct error *err);

/* What the rule makes of a label cell of len bytes: 1 or 0 (DATA_CLASS: 0 .. 65535), or -1 with err. */
int data_label_value(const struct data_label *rule, const char *cell, size_t len, struct error *err);

/* The whole of text[0..len) as a finite number. */
bool data_number(const char *text, size_t len, double *out);

/* Is row n (from 0, header not counted) a test row under this fraction? Knuth's multiplicative hash:
 * n * 2654435761 mod 2^32 < fraction * 2^32. */
bool data_is_test_row(uint64_t n, double fraction);

#endif
