/* The smallest model worth reading: a straight line, y = a x + b, fitted to generated points.
 *
 * Build it against the installed header, put it into a folder of the daemon's `plugins: {dirs: [...]}`
 * on every node, and name it in a job:
 *
 *	cc -O2 -shared -fPIC $(pkg-config --cflags dadam) -o line.so line.c
 *	dadamctl submit line.yaml --wait
 *
 * The model owns its data; the host draws the mini-batches, takes the optimiser's steps, and talks to
 * the other nodes. */
#include <dadam/model.h>

#include <stdlib.h>
#include <string.h>

struct line {
	struct dadam_host host;
	uint64_t rows;
};

/* Point number n: x in [-1, 1), and y = 3 x - 1. */
static double x_of(uint64_t n)
{
	return (double)(n * 2654435761U % 4294967296U) / 2147483648.0 - 1.0;
}

static double y_of(uint64_t n)
{
	return 3.0 * x_of(n) - 1.0;
}

static void *create(const struct dadam_host *host, const struct dadam_options *options)
{
	struct line *line;

	if (options->n_items > 0) {
		host->fail(host->data, "line has no options: remove model.options from the job");
		return NULL;
	}
	line = calloc(1, sizeof *line);
	if (line == NULL)
		host->fail(host->data, "out of memory");
	else
		line->host = *host;
	return line;
}

static void destroy(void *instance)
{
	free(instance);
}

static int load(void *instance, const struct dadam_options *data, struct dadam_info *info)
{
	struct line *line = instance;

	line->rows = 1000;
	for (size_t i = 0; i < data->n_items; i++)
		if (strcmp(data->items[i].key, "rows") == 0)
			line->rows = strtoull(data->items[i].value, NULL, 10);
	if (line->rows == 0) {
		line->host.fail(line->host.data, "data.rows: a number of at least 1 is needed");
		return -1;
	}
	info->n_params = 2;
	info->train_rows = line->rows;
	info->test_rows = 100;
	info->n_tensors = 1;
	return 0;
}

static int tensor(void *instance, uint32_t i, struct dadam_tensor *out)
{
	(void)instance, (void)i;
	strcpy(out->name, "slope_and_offset");
	out->offset = 0;
	out->n_dims = 1;
	out->dims[0] = 2;
	return 0;
}

static int init(void *instance, uint64_t seed, dadam_real *x)
{
	(void)instance, (void)seed;
	x[0] = x[1] = 0;
	return 0;
}

static int gradient(void *instance, const dadam_real *x, const uint64_t *rows, size_t n_rows,
		dadam_real *grad, double *loss)
{
	double slope = 0, offset = 0, sum = 0;

	(void)instance;
	for (size_t i = 0; i < n_rows; i++) {
		double miss = (double)x[0] * x_of(rows[i]) + (double)x[1] - y_of(rows[i]);

		sum += miss * miss;
		slope += 2 * miss * x_of(rows[i]);
		offset += 2 * miss;
	}
	grad[0] = (dadam_real)(slope / (double)n_rows);
	grad[1] = (dadam_real)(offset / (double)n_rows);
	*loss = sum / (double)n_rows;
	return 0;
}

static int evaluate(void *instance, const dadam_real *x, struct dadam_metric *out, uint32_t *n)
{
	const struct line *line = instance;
	double sum = 0;

	for (uint64_t i = 0; i < 100; i++) {
		double miss = (double)x[0] * x_of(line->rows + i) + (double)x[1] - y_of(line->rows + i);

		sum += miss * miss;
	}
	strcpy(out[0].name, "loss");
	out[0].value = sum / 100;
	*n = 1;
	return 0;
}

__attribute__((visibility("default"))) const struct dadam_model dadam_model_v1 = {
	DADAM_MODEL_HEAD,
	.name = "line",
	.create = create,
	.destroy = destroy,
	.load = load,
	.tensor = tensor,
	.init = init,
	.gradient = gradient,
	.evaluate = evaluate,
};
