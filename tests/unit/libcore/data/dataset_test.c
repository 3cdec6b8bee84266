/* Data sets: what rows come out of each format, cached and parsed on demand. */
#include "libcore/data/dataset.h"

#include "tests/lib/fail_mem.h"
#include "tests/unit/libcore/data/data_help.h"

#include <math.h>

static struct dataset *opened(const struct dadam_options *options)
{
	struct dataset *ds;
	struct error err = {0};

	cr_assert_eq(dataset_open(&ds, options, &err), ST_OK, "%s", err.msg);
	return ds;
}

/* A row as text: "1: 0/3=1 2/7=0.5" (label: field/feature=value). */
static const char *shown(struct dataset *ds, enum data_split split, uint64_t n)
{
	static char text[512];
	struct data_row row;
	struct error err = {0};
	int used;

	cr_assert_eq(dataset_row(ds, split, n, &row, &err), ST_OK, "%s", err.msg);
	used = snprintf(text, sizeof text, "%d:", row.label);
	for (size_t i = 0; i < row.n; i++)
		used += snprintf(text + used, sizeof text - (size_t)used, " %u/%u=%g", row.items[i].field,
				row.items[i].feature, (double)row.items[i].value);
	return text;
}

static const char csv_text[] = "user,genres,\"the \"\"film\"\"\",rating,age\r\n"
			       "ann,drama|war,\"a, b\",5,10\r\n"
			       "bob,war,\"x\"\"y\",3.5,30\n"
			       "\n"
			       "ann,comedy,\"two\nlines\",4,20";

static const char csv_test[] = "rating,user,the \"film\",age,genres\n"
			       "4,bob,x\"\"y,20,war\n";

static const char csv_test_good[] = "rating,user,\"the \"\"film\"\"\",age,genres\n"
				    "4,bob,\"x\"\"y\",20,war\n"
				    "1,cid,\"a, b\",,drama|opera\n";

Test(dataset, csv_rows_get_ids_by_first_appearance_after_an_unknown_id)
{
	const char *train = temp_text(csv_text), *test = temp_text(csv_test_good);
	struct dataset *ds = opened(OPTIONS("format", "csv", "train", train, "test", test, "label", "rating >= 4",
			"categorical", "user", "categorical", "the \"film\"", "multi", "genres", "numeric", "age"));
	struct dataset_info info = dataset_info(ds);

	/* user 0 + 2, film 0 + 3, age, genres 0 + 3 */
	cr_assert_eq(info.n_fields, 4);
	cr_assert_eq(info.n_features, 3 + 4 + 1 + 4);
	cr_assert_eq(info.train_rows, 3);
	cr_assert_eq(info.train_ones, 2);
	cr_assert_eq(info.test_rows, 2);
	cr_assert_not(info.parsed_on_demand);
	cr_assert_str_eq(shown(ds, DATA_TRAIN, 0), "1: 0/1=1 3/9=0.5 3/10=0.5 1/4=1 2/7=-1.22474");
	cr_assert_str_eq(shown(ds, DATA_TRAIN, 1), "0: 0/2=1 3/10=1 1/5=1 2/7=1.22474");
	cr_assert_str_eq(shown(ds, DATA_TRAIN, 2), "1: 0/1=1 3/11=1 1/6=1 2/7=0");
	cr_assert_str_eq(shown(ds, DATA_TEST, 0), "1: 0/2=1 1/5=1 2/7=0 3/10=1");
	cr_assert_str_eq(shown(ds, DATA_TEST, 1), "0: 0/0=1 1/4=1 3/9=0.5 3/8=0.5");
	dataset_close(ds);
	unlink(train);
	unlink(test);
}

Test(dataset, a_stray_quote_in_an_unquoted_header_or_value_is_refused)
{
	const char *train = temp_text(csv_test);
	struct dataset *ds;
	struct error err = {0};

	cr_assert_eq(dataset_open(&ds, OPTIONS("format", "csv", "train", train, "label", "rating >= 4", "categorical",
			"user"), &err), ST_DATA);
	cr_assert_not_null(strstr(err.msg, ":1: a quote inside the value the \"film\""), "%s", err.msg);
	unlink(train);
}

Test(dataset, min_count_sends_rare_values_to_the_unknown_id)
{
	const char *train = temp_text("y,c\n1,a\n0,b\n1,a\n");
	struct dataset *ds = opened(OPTIONS("format", "csv", "train", train, "label", "y", "categorical", "c",
			"min_count", "2"));

	cr_assert_eq(dataset_info(ds).n_features, 2);
	cr_assert_str_eq(shown(ds, DATA_TRAIN, 0), "1: 0/1=1");
	cr_assert_str_eq(shown(ds, DATA_TRAIN, 1), "0: 0/0=1");
	dataset_close(ds);
	unlink(train);
}

Test(dataset, buckets_hash_values_and_need_no_dictionary)
{
	const char *train = temp_text("y;c;d\n1;a;a\n0;b;b\n1;a;c\n");
	struct dataset *ds = opened(OPTIONS("format", "csv", "train", train, "label", "y", "categorical", "c",
			"categorical", "d", "buckets", "1000", "delimiter", ";"));
	unsigned hash = (unsigned)(dict_hash("a", 1) % 1000);
	char want[64];

	cr_assert_eq(dataset_info(ds).n_features, 2000);
	(void)snprintf(want, sizeof want, "1: 0/%u=1 1/%u=1", hash, 1000 + hash);
	cr_assert_str_eq(shown(ds, DATA_TRAIN, 0), want);
	dataset_close(ds);
	unlink(train);
}

Test(dataset, columns_name_a_file_without_header)
{
	const char *train = temp_text("1\ta\n0\tb\n");
	struct dataset *ds = opened(OPTIONS("format", "csv", "train", train, "label", "y", "categorical", "c",
			"columns", "y", "columns", "c", "delimiter", "tab"));

	cr_assert_eq(dataset_info(ds).train_rows, 2);
	cr_assert_str_eq(shown(ds, DATA_TRAIN, 1), "0: 0/2=1");
	dataset_close(ds);
	unlink(train);
}

static struct dataset *big_csv(const char *path, const char *cache)
{
	return opened(OPTIONS("format", "csv", "train", path, "label", "y", "categorical", "c", "multi", "m",
			"numeric", "x", "test_fraction", "0.3", "cache", cache));
}

Test(dataset, rows_parsed_on_demand_are_the_cached_ones)
{
	static char text[200000];
	struct dataset *cached, *on_demand;
	const char *path;
	size_t used = (size_t)sprintf(text, "y,c,m,x\n");

	for (unsigned i = 0; i < 3000; i++)
		used += (size_t)sprintf(text + used, "%u,\"v\"\"%u\",%u|%u,%u\n", i % 3 == 0, i % 97, i % 7, i % 11, i);
	path = temp_file(text, used);
	cached = big_csv(path, "1GiB");
	on_demand = big_csv(path, "1KiB");
	cr_assert_not(dataset_info(cached).parsed_on_demand);
	cr_assert(dataset_info(on_demand).parsed_on_demand);
	cr_assert_eq(dataset_info(cached).test_rows, dataset_info(on_demand).test_rows);
	for (int split = 0; split < 2; split++) {
		uint64_t n = split == DATA_TRAIN ? dataset_info(cached).train_rows : dataset_info(cached).test_rows;

		for (uint64_t i = 0; i < n; i++) {
			uint64_t row = i * 2654435761U % n;
			char want[512];

			strcpy(want, shown(cached, (enum data_split)split, row));
			cr_assert_str_eq(shown(on_demand, (enum data_split)split, row), want);
		}
	}
	dataset_close(cached);
	dataset_close(on_demand);
	unlink(path);
}

Test(dataset, a_file_cut_while_it_is_used_gives_an_error)
{
	const char *path = temp_text("y,c\n1,a\n0,b\n1,a\n");
	struct dataset *ds = opened(OPTIONS("format", "csv", "train", path, "label", "y", "categorical", "c",
			"cache", "0"));
	struct data_row row;
	struct error err = {0};

	cr_assert_str_eq(shown(ds, DATA_TRAIN, 0), "1: 0/1=1");
	cr_assert_eq(truncate(path, 5), 0);
	dataset_close(ds);
	ds = NULL;
	cr_assert_eq(dataset_open(&ds, OPTIONS("format", "csv", "train", path, "label", "y", "categorical", "c"), &err),
			ST_DATA);
	cr_assert_not_null(strstr(err.msg, ":2: "), "%s", err.msg);
	unlink(path);
	path = temp_text("y,c\n1,a\n0,b\n1,a\n");
	ds = opened(OPTIONS("format", "csv", "train", path, "label", "y", "categorical", "c", "cache", "0"));
	cr_assert_eq(dataset_row(ds, DATA_TRAIN, 9, &row, &err), ST_INVALID);
	cr_assert_str_eq(err.msg, "row 9 asked for, there are 3 training rows");
	dataset_close(ds);
	unlink(path);
}

Test(dataset, criteo_counts_become_squared_logarithms)
{
	const char *path = temp_text(
			"1\t1\t2\t3\t100\t-1\t0\t\t\t\t\t\t\t\taa\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\tzz\n"
			"0\t1\t2\t3\t110\t-1\t0\t\t\t\t\t\t\t\tab\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\tzz\n");
	struct dataset *ds = opened(OPTIONS("format", "criteo", "train", path));

	cr_assert_eq(dataset_info(ds).n_fields, 39);
	/* I4: floor(ln(100)^2) = 21, floor(ln(110)^2) = 22; C1 aa, ab: two more ids than the other fields */
	cr_assert_eq(dataset_info(ds).n_features, 39 * 2 + 2);
	dataset_close(ds);
	unlink(path);
}

Test(dataset, libsvm_ids_are_the_models_ids)
{
	const char *train = temp_text("+1 1:0.5 7:2 # why\n-1 3:1\n"), *test = temp_text("1 3:2 8:1\n");
	struct dataset *ds = opened(OPTIONS("format", "libsvm", "train", train, "test", test));

	cr_assert_eq(dataset_info(ds).n_features, 8);
	cr_assert_eq(dataset_info(ds).n_fields, 1);
	cr_assert_str_eq(shown(ds, DATA_TRAIN, 0), "1: 0/1=0.5 0/7=2");
	cr_assert_str_eq(shown(ds, DATA_TEST, 0), "1: 0/3=2");
	dataset_close(ds);
	unlink(train);
	unlink(test);
}

Test(dataset, libfm_places_can_be_fields)
{
	const char *train = temp_text("1 9:1 2:1\n-1 3:1 1:1\n");
	struct dataset *ds = opened(OPTIONS("format", "libfm", "train", train, "fields", "position", "features", "12"));

	cr_assert_eq(dataset_info(ds).n_features, 12);
	cr_assert_eq(dataset_info(ds).n_fields, 2);
	cr_assert_str_eq(shown(ds, DATA_TRAIN, 0), "1: 0/9=1 1/2=1");
	dataset_close(ds);
	unlink(train);
}

Test(dataset, without_memory_at_any_place_nothing_is_leaked)
{
	const char *path = temp_text("y,c,m\n1,\"a\"\"\",x|y\n0,b,z\n1,a,x\n");
	struct dataset *ds;
	enum status st = ST_NOMEM;

	for (int k = 0; st != ST_OK; k++) {
		fail_mem_at(k);
		st = dataset_open(&ds, OPTIONS("format", "csv", "train", path, "label", "y", "categorical", "c", "multi",
				"m"), NULL);
		cr_assert(st == ST_OK || st == ST_NOMEM);
		if (st != ST_OK)
			cr_assert_eq(fail_mem_outstanding(), 0, "allocation %d", k);
	}
	dataset_close(ds);
	cr_assert_eq(fail_mem_outstanding(), 0);
	fail_mem_off();
	unlink(path);
}
