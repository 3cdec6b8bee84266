/* The job specs in deploy/examples that use in-tree models: they parse, and the model takes their options
 * and data keys (with a small table in the place of a file that is not here). */
#include "libcore/settings/job_spec.h"

#include "libcore/base/buf.h"
#include "libcore/models/convnet.h"
#include "libcore/models/deepfm.h"
#include "tests/unit/libcore/data/dense_help.h"
#include "tests/unit/libcore/models/host_help.h"

static const char ratings[] = "userId,movieId,year,genres,rating,timestamp\n"
			      "1,31,1995,Drama,2.5,1\n1,32,1994,Comedy|Drama,4,2\n2,31,1995,Drama,5,3\n"
			      "2,32,1994,Comedy|Drama,1,4\n3,31,1995,Drama,4,5\n3,32,1994,Comedy|Drama,3,6\n";

static void parse(struct job_spec *spec, const char *name)
{
	char path[512], text[8192];
	struct error err = {0};
	size_t n;
	FILE *f;

	(void)snprintf(path, sizeof path, "%s/deploy/examples/%s", getenv("DADAM_SOURCE"), name);
	f = fopen(path, "r");
	cr_assert_not_null(f, "%s", path);
	n = fread(text, 1, sizeof text, f);
	(void)fclose(f);
	cr_assert_eq(job_spec_parse(spec, name, text, n, &err), ST_OK, "%s", err.msg);
}

static struct dadam_options copied(const struct job_pairs *pairs, struct dadam_option *items, const char *train)
{
	for (size_t i = 0; i < pairs->n_items; i++) {
		items[i] = (struct dadam_option){pairs->items[i].key, pairs->items[i].value};
		if (strcmp(items[i].key, "train") == 0)
			items[i].value = train;
	}
	return (struct dadam_options){items, pairs->n_items};
}

static void check(const char *name, uint64_t n_params)
{
	struct dadam_option model_items[32], data_items[32];
	struct job_spec spec;
	const char *train = temp_text(ratings);
	struct dadam_options model, data;
	struct dadam_info info;

	parse(&spec, name);
	cr_assert_str_eq(spec.plugin, "deepfm");
	cr_assert_eq(spec.period, 4);
	cr_assert_str_eq(spec.topology, "ring");
	cr_assert_leq(spec.model.n_items, 32);
	cr_assert_leq(spec.data.n_items, 32);
	model = copied(&spec.model, model_items, NULL);
	data = copied(&spec.data, data_items, train);
	deepfm_model.destroy(loaded(&deepfm_model, &model, &data, &info));
	cr_assert_eq(info.n_params, n_params, "%llu", (unsigned long long)info.n_params);
	job_spec_fini(&spec);
	unlink(train);
}

/* "a, b" behind `name: ` in the sample: is each a key that the reader knows with the format? */
static void check_keys(const struct dadam_model *model, const char *sample, const char *name, const char *format)
{
	char keys[512], head[64];
	const char *at;

	(void)snprintf(head, sizeof head, "\n#   %s: ", name);
	at = strstr(sample, head);
	cr_assert_not_null(at, "%s", head);
	at += strlen(head);
	(void)snprintf(keys, sizeof keys, "%.*s", (int)strcspn(at, "\n"), at);
	for (char *key = strtok(keys, ", "); key != NULL; key = strtok(NULL, ", ")) {
		struct dadam_info info = {.struct_size = sizeof info};
		void *m = model->create(&host, &(struct dadam_options){NULL, 0});

		cr_assert_eq(model->load(m, OPTIONS("format", format, key, "\x01"), &info), -1);
		cr_expect(strstr(host_text, "unknown key") == NULL && strstr(host_text, "no meaning") == NULL, "%s: %s", name, host_text);
		model->destroy(m);
	}
}

Test(examples, the_sample_spec_names_keys_that_the_readers_know)
{
	struct buf sample = {0};
	const char *text;

	cr_assert_eq(job_spec_sample(&sample), ST_OK);
	text = (const char *)sample.data;
	check_keys(&deepfm_model, text, "csv", "csv");
	check_keys(&deepfm_model, text, "criteo", "criteo");
	check_keys(&deepfm_model, text, "libsvm, libfm", "libfm");
	check_keys(&deepfm_model, text, "synthetic-ctr", "synthetic-ctr");
	check_keys(&convnet_model, text, "idx, cifar, csv", "idx");
	check_keys(&convnet_model, text, "idx, cifar, csv", "csv");
	check_keys(&convnet_model, text, "idx also", "idx");
	check_keys(&convnet_model, text, "cifar also", "cifar");
	check_keys(&convnet_model, text, "csv also", "csv");
	buf_fini(&sample);
}

Test(examples, the_movielens_example_fits_its_model)
{
	/* 5 training rows: 3 users, 2 films, 2 years, 2 genres and 4 unknown ids; 8 factors, hidden 16 */
	check("movielens.yaml", 1 + 13 * (1 + 8) + (4 * 8 + 1) * 16 + 16 + 1);
}

Test(examples, the_synthetic_ctr_example_fits_its_model)
{
	check("synthetic-ctr.yaml", 49444);
}

Test(examples, the_cd_adam_example_fits_its_model)
{
	check("cd-adam.yaml", 49444);
}

/* Their models and data meet the plugin in the demo (tests/integration/demo_test.py). */
Test(examples, pipelines_over_pictures_of_clothes_say_four_stages_and_all_rows)
{
	static const char *const names[] = {"fashion-few-shot.yaml", "fashion-attack.yaml"};

	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		struct job_spec spec;

		parse(&spec, names[i]);
		cr_assert_str_eq(spec.plugin, "mlp");
		cr_assert(job_spec_is_pipeline(&spec));
		cr_assert(spec.pipeline.stages == 4 && spec.workers_min == 4 && spec.batch == 0);
		job_spec_fini(&spec);
	}
}

Test(examples, the_convnet_example_fits_its_model)
{
	static const uint8_t pixels[10 * 28 * 28], labels[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
	const char *images = idx_file(8, 3, DIMS(10, 28, 28), pixels, sizeof pixels);
	const char *classes = idx_file(8, 1, DIMS(10), labels, sizeof labels);
	struct dadam_option model_items[32], data_items[32];
	struct job_spec spec;
	struct dadam_options model, data;
	struct dadam_info info;

	parse(&spec, "convnet-fashion.yaml");
	cr_assert_str_eq(spec.plugin, "convnet");
	model = copied(&spec.model, model_items, NULL);
	data = copied(&spec.data, data_items, images);
	for (size_t i = 0; i < data.n_items; i++) {
		if (strcmp(data_items[i].key, "test") == 0)
			data_items[i].value = images;
		if (strstr(data_items[i].key, "_labels") != NULL)
			data_items[i].value = classes;
	}
	convnet_model.destroy(loaded(&convnet_model, &model, &data, &info));
	cr_assert_eq(info.n_params, 114314, "%llu", (unsigned long long)info.n_params);
	unlink_temp(&data);
	job_spec_fini(&spec);
}
