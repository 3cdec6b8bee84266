/* A job specification: the table of its keys, and the checks between keys. See job_spec.h. */
#include "libcore/settings/job_spec.h"

#include "libcore/base/buf.h"
#include "libcore/settings/job_pipeline.h"
#include "libcore/settings/settings.h"
#include "libcore/settings/value.h"

#include <math.h>
#include <string.h>

#define DAY_MS (24ULL * 3600 * 1000)
#define MOST_STEPS UINT32_MAX /* mini-batches and noise are addressed by 32 bits of the step */
#define FIELD(field) SETTING_FIELD(struct job_spec, field)

/* In the order of the enums of job_spec.h. */
static const char *const algorithms[] = {"d-adam", "cd-adam", "choco-sgd", "d-psgd", "local-adam", "local-sgd",
	"central-adam", "central-sgd", "pprs", "agd", "gd", NULL};
static const char *const orders[] = {"auto", "lagged", "fresh", NULL};
static const char *const moments[] = {"local", "mixed", NULL};
static const char *const mixes[] = {"auto", "after", "before", NULL};
static const char *const losses[] = {"continue", "fail", NULL};
static const char *const losses_later[] = {"wait", NULL};
static const char *const finishes[] = {"local", "average", NULL};
static const char *const splits[] = {"iid", "contiguous", "local", "by-label", "shuffled"};
static const char *const zstds[] = {"auto", "on", "off", NULL};
static const char *const schedules[] = {"1f1b", "fill-drain", NULL};
static const char *const activations[] = {"float32", "bf16", NULL};

static const struct setting_word smoothings[] = {{"auto", JOB_SMOOTHING_AUTO}, {NULL, 0}};
static const struct setting_word momenta[] = {{"sequence", JOB_MOMENTUM_SEQUENCE}, {"constant", 0.9}, {NULL, 0}};
static const struct setting_word autos[] = {{"auto", 0}, {NULL, 0}};
static const struct setting_word batches[] = {{"full", 0}, {NULL, 0}};

static const struct setting rows[] = {
	{"name", SETTING_NAME, 0, FIELD(name), .preset = "job", .help = "what people call the job"},
	{"seed", SETTING_INTEGER, 0, FIELD(seed), .greatest = UINT64_MAX, .preset = "1",
		.help = "of everything random in it"},
	{"model.plugin", SETTING_NAME, 0, FIELD(plugin), .sample = "deepfm",
		.help = "the model's plugin, by name (needed)"},
	{"model.options", SETTING_MAP, 0, FIELD(model), .sample = "{factors: 8, hidden: [64, 64]}",
		.help = "passed on to the plugin, each a value or a list of values\n"
			"  logreg: l2\n"
			"  deepfm: factors, hidden, init_scale, l2\n"
			"  mlp: hidden, loss; instead of them for adversarial noise: attack, epsilon, margin, lambda, clip\n"
			"  convnet: form, channels, kernel, pool, fully_connected"},
	{"data", SETTING_MAP, 0, FIELD(data), .sample = "\n  format: synthetic-ctr",
		.help = "passed on to the model's reader; paths are relative to each node's data.roots. Its keys by format, for logreg and deepfm:\n"
			"  csv: train, test, label, categorical, numeric, multi, columns, separator, delimiter, scale, test_fraction, min_count, buckets, cache\n"
			"  criteo: train, test, test_fraction, min_count, buckets, cache\n"
			"  libsvm, libfm: train, test, label, fields, features, test_fraction, cache\n"
			"  synthetic-ctr: rows, test_rows, seed\n"
			"for mlp and convnet (an attack also has model: FILE):\n"
			"  idx, cifar, csv: train, test, shape, scale, test_fraction, classes, n_classes, shots, shots_seed, limit, test_limit\n"
			"  idx also: train_labels, test_labels\n"
			"  cifar also: label_bytes\n"
			"  csv also: label, targets, numeric, columns, header, delimiter"},
	{"data.split", SETTING_TEXT, 0, FIELD(split_text), .preset = "iid",
		.help = "which rows a rank gets: iid (row n goes to rank n mod N), shuffled, contiguous, local (each node has its own), by-label, dirichlet(0.1)"},
	{"algorithm.name", SETTING_ENUM, 0, FIELD(algorithm), .words = algorithms,
		.preset = "d-adam", .help = "how the ranks train together; pprs, agd and gd: as stages of one model"},
	{"algorithm.period", SETTING_INTEGER, 0, FIELD(period), .least = 1, .greatest = 1000000, .preset = "1",
		.help = "local steps between two exchanges"},
	{"algorithm.learning_rate", SETTING_REAL, SETTING_ABOVE, FIELD(learning_rate), .high = INFINITY,
		.preset = "1e-3", .help = "step size"},
	{"algorithm.beta1", SETTING_REAL, SETTING_BELOW, FIELD(beta1), .high = 1, .preset = "0.9",
		.help = "decay of the first moment"},
	{"algorithm.beta2", SETTING_REAL, SETTING_BELOW, FIELD(beta2), .high = 1, .preset = "0.999",
		.help = "decay of the second moment"},
	{"algorithm.tau", SETTING_REAL, SETTING_ABOVE, FIELD(tau), .high = INFINITY, .preset = "1e-8",
		.help = "added to the root of the second moment"},
	{"algorithm.bias_correction", SETTING_SWITCH, 0, FIELD(bias_correction), .preset = "on",
		.help = "of the moments in the first steps"},
	{"algorithm.weight_decay", SETTING_REAL, 0, FIELD(weight_decay), .high = INFINITY, .preset = "0",
		.help = "decoupled from the gradient"},
	{"algorithm.momentum", SETTING_REAL, SETTING_BELOW, FIELD(momentum), .high = 1, .named = momenta, .preset = "0",
		.help = "a number: of choco-sgd, d-psgd, local-sgd, central-sgd (heavy ball); of pprs and agd: also sequence (their default), constant is 0.9"},
	{"algorithm.samples", SETTING_INTEGER, SETTING_APART, FIELD(pipeline.samples), .least = 1,
		.greatest = JOB_SPEC_MAX_SAMPLES, .sample = "8",
		.help = "of pprs: K, how many copies of a batch go through the pipeline with noise of their own; 8 when not given"},
	{"algorithm.smoothing", SETTING_REAL, SETTING_APART, FIELD(pipeline.smoothing), .high = INFINITY, .named = smoothings,
		.sample = "auto", .help = "of pprs: gamma, the size of the noise on each parameter; auto (the default): by the layer's size"},
	{"algorithm.theory.R", SETTING_REAL, SETTING_ABOVE | SETTING_APART, FIELD(pipeline.theory_r), .high = INFINITY,
		.sample = "1", .help = "of pprs, instead of samples, smoothing, learning_rate: how far the start is from the minimum"},
	{"algorithm.theory.L", SETTING_REAL, SETTING_ABOVE | SETTING_APART, FIELD(pipeline.theory_l), .high = INFINITY,
		.sample = "1", .help = "of pprs, with R: the Lipschitz constant of the loss"},
	{"algorithm.order", SETTING_ENUM, 0, FIELD(order), .words = orders, .preset = "auto",
		.help = "of cd-adam: lagged overlaps the exchange with the next steps (the default), fresh does not"},
	{"algorithm.mix", SETTING_ENUM, 0, FIELD(mix), .words = mixes, .preset = "auto",
		.help = "of d-psgd: after the gradient step (the default), or before it"},
	{"algorithm.moments", SETTING_ENUM, 0, FIELD(moments), .words = moments, .preset = "local",
		.help = "of d-adam, local-adam: mixed sends m and v too, for ranks whose rows differ in kind"},
	{"algorithm.mix_moments_every", SETTING_INTEGER, 0, FIELD(mix_moments_every), .least = 1, .greatest = 1000000, .preset = "1",
		.help = "of moments: mixed: m and v travel in every so many-th round only, x in every round"},
	{"algorithm.compress", SETTING_TEXT, 0, FIELD(compress), .preset = "identity",
		.help = "of cd-adam and choco-sgd: identity, sign, sign(keep-zeros), top-k(1%), random-k(1%), qsgd(15), int8, int4, bf16"},
	{"algorithm.gossip_step", SETTING_REAL, SETTING_ABOVE, FIELD(gossip_step), .high = 1, .named = autos, .preset = "auto",
		.help = "of cd-adam and choco-sgd: how far a round goes towards the neighbours; auto: what was measured stable for compressor and topology"},
	{"topology", SETTING_EDGES, 0, FIELD(topology), .greatest = JOB_SPEC_MAX_RANKS, .preset = "ring",
		.nested = "write a name as ring or complete, or {edges: [[0, 1], [1, 2]]}",
		.help = "who exchanges with whom: ring, complete, path, star, torus, hypercube, exponential, one-peer-exponential, "
			"random(4), or a list of pairs of ranks as {edges: [[0, 1], [1, 2]]}"},
	{"workers.min", SETTING_INTEGER, 0, FIELD(workers_min), .least = 1, .greatest = JOB_SPEC_MAX_RANKS,
		.preset = "1", .help = "the job waits until so many nodes can take part"},
	{"workers.max", SETTING_INTEGER, 0, FIELD(workers_max), .least = 1, .greatest = JOB_SPEC_MAX_RANKS,
		.help = "at most so many take part; as workers.min when not given"},
	{"workers.wait", SETTING_TIME, 0, FIELD(workers_wait_ms), .least = 1000, .greatest = 30 * DAY_MS, .preset = "10m",
		.help = "how long it waits before it fails"},
	{"stages", SETTING_INTEGER, SETTING_APART, FIELD(pipeline.stages), .least = 1, .greatest = JOB_SPEC_MAX_STAGES,
		.sample = "4", .help = "of pprs, agd, gd: into how many pieces the model is cut; as place or cut say, or workers.min"},
	{"cut", SETTING_NUMBERS, SETTING_APART, SETTING_ITEMS(struct job_spec, pipeline.cut, pipeline.n_cut), .least = 1,
		.greatest = 1U << 20, .named = autos, .sample = "auto",
		.help = "of pprs, agd, gd: the layers (from 0) where stages 1, 2, ... begin; auto: stages of equal time"},
	{"place", SETTING_LIST, SETTING_APART, SETTING_ITEMS(struct job_spec, pipeline.place, pipeline.n_place),
		.sample = "[node-a, node-b, node-c, node-c]",
		.help = "of pprs, agd, gd: the node of each stage; a node may have several stages that follow each other"},
	{"schedule", SETTING_ENUM, SETTING_APART, FIELD(pipeline.schedule), .words = schedules, .sample = "1f1b",
		.help = "of pprs, agd, gd: in which order a stage goes forward and backward; 1f1b keeps few activations"},
	{"batch", SETTING_INTEGER, 0, FIELD(batch), .least = 1, .greatest = 1U << 24, .named = batches, .preset = "32",
		.help = "rows in a step of one rank; full, with pprs, agd, gd: all rows"},
	{"steps", SETTING_INTEGER, 0, FIELD(steps), .least = 1, .greatest = MOST_STEPS, .sample = "1000",
		.help = "of each rank; give steps or epochs"},
	{"epochs", SETTING_REAL, SETTING_ABOVE, FIELD(epochs), .high = 1e9,
		.help = "passes over all rows; instead of steps"},
	{"evaluate.every", SETTING_INTEGER, 0, FIELD(evaluate_every), .greatest = MOST_STEPS, .preset = "0",
		.help = "steps between two tests on the test rows; 0: only at the end"},
	{"elastic", SETTING_SWITCH, 0, FIELD(elastic), .preset = "off",
		.help = "nodes that come late join while it runs, up to workers.max"},
	{"on_peer_loss", SETTING_ENUM, 0, FIELD(on_peer_loss), .words = losses, .later = losses_later,
		.instead = "continue goes on without the node; a pipeline (pprs, agd, gd) cannot, it has fail only",
		.preset = "continue", .help = "when a node goes away"},
	{"finish", SETTING_ENUM, 0, FIELD(finish), .words = finishes, .preset = "local",
		.help = "a rank's own model in the end, beside the mean of all: as it trained it, or average: that mean"},
	{"timeouts.link", SETTING_TIME, 0, FIELD(link_timeout_ms), .least = 100, .greatest = 3600 * 1000,
		.preset = "3s", .help = "a neighbour that is silent for so long is lost"},
	{"timeouts.step", SETTING_TIME, 0, FIELD(step_timeout_ms), .least = 100, .greatest = 7 * DAY_MS,
		.preset = "60s", .help = "a step that takes longer fails the job; a worker that is silent 3 s longer is lost (on_peer_loss); loading gets ten times this"},
	{"wire.zstd", SETTING_ENUM, 0, FIELD(zstd), .words = zstds, .preset = "auto",
		.help = "compression of what travels, without loss"},
	{"wire.delta", SETTING_ENUM, 0, FIELD(delta), .words = zstds, .preset = "auto",
		.help = "parameters travel as exact differences to what was sent last; auto: while zstd is on"},
	{"wire.activations", SETTING_ENUM, SETTING_APART, FIELD(pipeline.activations), .words = activations, .sample = "float32",
		.help = "of pprs, agd, gd: how activations and their gradients travel; bf16 halves the bytes and rounds"},
	{"wire.segment", SETTING_INTEGER, 0, FIELD(segment), .least = 1024, .greatest = 65536, .preset = "65536",
		.help = "parameters in a piece of the stream"},
	{"wire.congestion", SETTING_NAME, 0, FIELD(congestion), .preset = "",
		.help = "TCP congestion control, as cubic; empty: the kernel's choice"},
	{"checkpoint", SETTING_LATER, .help = "checkpoints come with a later version; take the key out"},
	{"edges", SETTING_EDGES, SETTING_HOST, FIELD(topology), .greatest = JOB_SPEC_MAX_RANKS, .sample = "[[0, 1], [1, 2]]",
		.help = "the same list of pairs, instead of topology"},
};

#define N_ROWS (sizeof rows / sizeof *rows)
_Static_assert(N_ROWS <= SETTINGS_MAX_ROWS, "settings.h has room for fewer rows");

static bool has_parent_step(const char *path)
{
	for (const char *p = path; p != NULL; p = strchr(p, '/')) {
		p += *p == '/';
		if (strncmp(p, "..", 2) == 0 && (p[2] == '\0' || p[2] == '/'))
			return true;
	}
	return false;
}

bool job_spec_is_path(const char *key)
{
	static const char *const keys[] = {"train", "test", "train_labels", "test_labels", "model", "valid", "path", "schema"};

	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		if (strcmp(keys[i], key) == 0)
			return true;
	return false;
}

/* Every node joins these to its own roots: nothing may lead out of them. */
static enum status check_paths(const struct settings *s, const struct job_spec *spec, struct error *err)
{
	for (size_t i = 0; i < spec->data.n_items; i++) {
		const struct job_pair *pair = &spec->data.items[i];
		char shown[YAML_SHOW_SIZE];

		if (!job_spec_is_path(pair->key) || (*pair->value != '\0' && *pair->value != '/' && !has_parent_step(pair->value)))
			continue;
		yaml_show(shown, pair->value, strlen(pair->value));
		(void)settings_refuse(s, err, "data", "%s: found '%s', allowed: a path relative to data.roots, without '..'",
				pair->key, shown);
		error_hint(err, "each node looks for it below the data.roots of its own dadamd.yaml");
		return ST_INVALID;
	}
	return ST_OK;
}

static enum status check_length(const struct settings *s, struct error *err)
{
	bool steps = settings_given(s, "steps"), epochs = settings_given(s, "epochs");

	if (steps && epochs)
		return settings_refuse(s, err, "epochs", "given together with steps, allowed: exactly one of both");
	if (!steps && !epochs) {
		(void)settings_refuse(s, err, "steps", "missing, and epochs too; the job would never end");
		error_hint(err, "add a line as `steps: 2000` or `epochs: 3`");
		return ST_INVALID;
	}
	return ST_OK;
}

/* "dirichlet(ALPHA)" */
static bool read_dirichlet(struct job_spec *spec)
{
	static const char head[] = "dirichlet(";
	const char *from = spec->split_text + sizeof head - 1;
	size_t len = strlen(spec->split_text);
	char number[sizeof spec->split_text] = "";

	if (strncmp(spec->split_text, head, sizeof head - 1) != 0 || spec->split_text[len - 1] != ')')
		return false;
	memcpy(number, from, len - sizeof head);
	spec->split = JOB_SPLIT_DIRICHLET;
	return value_real(&spec->split_alpha, number) && spec->split_alpha >= 1e-3 && spec->split_alpha <= 1e6;
}

static enum status check_split(const struct settings *s, struct job_spec *spec, struct error *err)
{
	char shown[YAML_SHOW_SIZE];

	for (size_t i = 0; i < sizeof splits / sizeof *splits; i++)
		if (strcmp(splits[i], spec->split_text) == 0) {
			spec->split = (enum job_split)i;
			return ST_OK;
		}
	if (read_dirichlet(spec))
		return ST_OK;
	yaml_show(shown, spec->split_text, strlen(spec->split_text));
	(void)settings_refuse(s, err, "data.split", "found '%s', allowed: iid, shuffled, contiguous, local, by-label, dirichlet(ALPHA)", shown);
	error_hint(err, "ALPHA is 0.001 to 1000000: small ones give every rank few labels, as dirichlet(0.1)");
	return ST_INVALID;
}

static enum status check(const struct settings *s, struct job_spec *spec, struct error *err)
{
	enum status st;

	if (*spec->plugin == '\0') {
		(void)settings_refuse(s, err, "model.plugin", "missing: which model shall be trained?");
		error_hint(err, "add a line as `model: {plugin: deepfm}`");
		return ST_INVALID;
	}
	st = check_length(s, err);
	if (st == ST_OK)
		st = check_split(s, spec, err);
	if (st == ST_OK && settings_given(s, "edges") && settings_given(s, "topology"))
		st = settings_refuse(s, err, "edges", "given together with topology, allowed: one of both");
	if (st == ST_OK)
		st = job_pipeline_check(s, spec, err);
	if (st != ST_OK)
		return st;
	if (spec->workers_max == 0)
		spec->workers_max = spec->workers_min;
	if (spec->workers_max < spec->workers_min)
		return settings_refuse(s, err, "workers.max", "found %u, allowed: at least workers.min, %u",
				spec->workers_max, spec->workers_min);
	return check_paths(s, spec, err);
}

enum status job_spec_parse(struct job_spec *out, const char *source, const char *text, size_t len,
		struct error *err)
{
	struct settings s = {.rows = rows, .n_rows = N_ROWS, .source = source, .out = out};
	struct yaml_place nowhere = {0, 0};
	enum status st;

	memset(out, 0, sizeof *out);
	if (len > JOB_SPEC_MAX_BYTES)
		return yaml_refuse(err, source, nowhere, "%zu bytes, allowed: at most %u", len, JOB_SPEC_MAX_BYTES);
	settings_preset(&s);
	st = settings_read(&s, text, len, err);
	if (st == ST_OK)
		st = check(&s, out, err);
	if (st != ST_OK)
		job_spec_fini(out);
	return st;
}

const char *job_spec_algorithm(const struct job_spec *spec)
{
	return algorithms[spec->algorithm];
}

void job_spec_fini(struct job_spec *spec)
{
	job_pairs_fini(&spec->model);
	job_pairs_fini(&spec->data);
}

enum status job_spec_override(struct buf *out, const char *source, const char *text, size_t len,
		const char *assignment, struct error *err)
{
	return settings_override(out, source, text, len, assignment, err);
}

enum status job_spec_sample(struct buf *out)
{
	enum status st = buf_printf(out, "%s", "# A job of dadam with every key. Start it: dadamctl submit FILE\n\n");

	return st == ST_OK ? settings_sample(out, rows, N_ROWS) : st;
}
