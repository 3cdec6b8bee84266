/* Job specifications: good ones become the right struct; of each bad one, the whole message. */
#include "libcore/base/buf.h"
#include "libcore/settings/job_spec.h"
#include "tests/lib/fail_mem.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMES "d-adam, cd-adam, choco-sgd, d-psgd, local-adam, local-sgd, central-adam, central-sgd, pprs, agd, gd"
#define GOOD "model: {plugin: logreg}\nsteps: 10\n"

static enum status parse(struct job_spec *spec, const char *text, struct error *err)
{
	return job_spec_parse(spec, "s.yaml", text, strlen(text), err);
}

Test(job_spec, the_smallest_spec_gets_the_defaults)
{
	struct job_spec s;

	cr_assert_eq(parse(&s, GOOD, NULL), ST_OK);
	cr_assert_str_eq(s.name, "job");
	cr_assert_str_eq(s.plugin, "logreg");
	cr_assert_eq(s.seed, 1);
	cr_assert_eq(s.split, JOB_SPLIT_IID);
	cr_assert_eq(s.algorithm, JOB_D_ADAM);
	cr_assert_eq(s.period, 1);
	cr_assert_eq(s.learning_rate, 1e-3);
	cr_assert_eq(s.beta1, 0.9);
	cr_assert_eq(s.beta2, 0.999);
	cr_assert_eq(s.tau, 1e-8);
	cr_assert_eq(s.bias_correction, 1);
	cr_assert_eq(s.weight_decay, 0);
	cr_assert_str_eq(s.topology, "ring");
	cr_assert_eq(s.workers_min, 1);
	cr_assert_eq(s.workers_max, 1);
	cr_assert_eq(s.workers_wait_ms, 600000);
	cr_assert_eq(s.batch, 32);
	cr_assert_eq(s.steps, 10);
	cr_assert_eq(s.epochs, 0);
	cr_assert_eq(s.evaluate_every, 0);
	cr_assert_eq(s.on_peer_loss, JOB_LOSS_CONTINUE);
	cr_assert_eq(s.link_timeout_ms, 3000);
	cr_assert_eq(s.step_timeout_ms, 60000);
	cr_assert_eq(s.zstd, JOB_ZSTD_AUTO);
	cr_assert_eq(s.segment, 65536);
	cr_assert_str_eq(s.congestion, "");
	job_spec_fini(&s);
}

static const char full[] = "name: ctr\n"
	"seed: 18446744073709551615\n"
	"model: {plugin: deepfm, options: {factors: 8, hidden: [64, 32]}}\n"
	"data:\n"
	"  format: csv\n"
	"  train: ratings.csv\n"
	"  label: \"rating >= 4\"\n"
	"  categorical: [userId, movieId]\n"
	"  split: contiguous\n"
	"algorithm: {name: d-adam, period: 8, learning_rate: 2e-3, bias_correction: off, weight_decay: .5}\n"
	"topology: random(4)\n"
	"workers: {min: 4, max: 8, wait: 90s}\n"
	"batch: 256\n"
	"epochs: 1.5\n"
	"evaluate: {every: 200}\n"
	"on_peer_loss: fail\n"
	"timeouts: {link: 500ms, step: 2m}\n"
	"wire: {zstd: off, segment: 1024, congestion: cubic}\n";

Test(job_spec, every_key_reaches_its_field_and_lists_become_repeated_keys)
{
	struct job_spec s;
	struct error err = {0};

	cr_assert_eq(parse(&s, full, &err), ST_OK, "%s", err.msg);
	cr_assert_eq(s.seed, UINT64_MAX);
	cr_assert_eq(s.model.n_items, 3);
	cr_assert_str_eq(s.model.items[2].key, "hidden");
	cr_assert_str_eq(s.model.items[2].value, "32");
	cr_assert_str_eq(job_pairs_get(&s.model, "hidden"), "64");
	cr_assert_eq(s.data.n_items, 5);
	cr_assert_str_eq(job_pairs_get(&s.data, "label"), "rating >= 4");
	cr_assert_null(job_pairs_get(&s.data, "split"));
	cr_assert_eq(s.split, JOB_SPLIT_CONTIGUOUS);
	cr_assert_eq(s.period, 8);
	cr_assert_eq(s.bias_correction, 0);
	cr_assert_eq(s.weight_decay, 0.5);
	cr_assert_str_eq(s.topology, "random(4)");
	cr_assert_eq(s.workers_max, 8);
	cr_assert_eq(s.workers_wait_ms, 90000);
	cr_assert_eq(s.epochs, 1.5);
	cr_assert_eq(s.steps, 0);
	cr_assert_eq(s.on_peer_loss, JOB_LOSS_FAIL);
	cr_assert_eq(s.link_timeout_ms, 500);
	cr_assert_eq(s.step_timeout_ms, 120000);
	cr_assert_eq(s.zstd, JOB_ZSTD_OFF);
	cr_assert_eq(s.segment, 1024);
	cr_assert_str_eq(s.congestion, "cubic");
	job_spec_fini(&s);
}

Test(job_spec, edges_are_pairs_in_either_place)
{
	static const char *const texts[] = {GOOD "topology: {edges: [[0, 1], [1, 2]]}\n", GOOD "edges: [[0, 1], [1, 2]]\n",
		GOOD "topology:\n  edges:\n    - [0, 1]\n    - - 1\n      - 2\n"};

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		struct job_spec s;
		struct error err = {0};

		cr_assert_eq(parse(&s, texts[i], &err), ST_OK, "%s: %s", texts[i], err.msg);
		cr_assert_str_eq(s.topology, "0-1 1-2");
		job_spec_fini(&s);
	}
}

Test(job_spec, more_edges_than_fit_are_refused)
{
	char text[8192];
	struct job_spec s;
	struct error err = {0};
	size_t len = (size_t)snprintf(text, sizeof text, "%sedges: [[0, 1]", GOOD);

	for (unsigned i = 2; i < 220; i++)
		len += (size_t)snprintf(text + len, sizeof text - len, ", [%u, %u]", 40 + i % 8, i / 8);
	(void)snprintf(text + len, sizeof text - len, "]\n");
	cr_assert_eq(parse(&s, text, &err), ST_INVALID);
	cr_assert_not_null(strstr(err.msg, "take more than the allowed 1023 characters"), "%s", err.msg);
}

Test(job_spec, quoted_texts_and_their_escapes_are_read)
{
	struct job_spec s;
	struct error err = {0};

	cr_assert_eq(parse(&s, GOOD "data: {a: 'it''s', b: \"\\u20ac \\x41\", 'c''d': [caf\xc3\xa9, '']}\n", &err), ST_OK, "%s",
			err.msg);
	cr_assert_str_eq(job_pairs_get(&s.data, "a"), "it's");
	cr_assert_str_eq(job_pairs_get(&s.data, "b"), "\xe2\x82\xac A");
	cr_assert_str_eq(job_pairs_get(&s.data, "c'd"), "caf\xc3\xa9");
	cr_assert_str_eq(s.data.items[3].value, "");
	job_spec_fini(&s);
}

#define PIPE GOOD "algorithm: {name: pprs}\n"

Test(job_spec, a_small_pipeline_gets_the_defaults)
{
	struct job_spec s;
	struct error err = {0};

	cr_assert_eq(parse(&s, PIPE "stages: 4\n", &err), ST_OK, "%s", err.msg);
	cr_assert(job_spec_is_pipeline(&s));
	cr_assert_str_eq(job_spec_algorithm(&s), "pprs");
	cr_assert_eq(s.pipeline.stages, 4);
	cr_assert_eq(s.pipeline.samples, 8);
	cr_assert_eq(s.pipeline.smoothing, JOB_SMOOTHING_AUTO);
	cr_assert_eq(s.momentum, JOB_MOMENTUM_SEQUENCE);
	cr_assert_eq(s.pipeline.schedule, JOB_SCHEDULE_1F1B);
	cr_assert_eq(s.pipeline.activations, JOB_ACTIVATIONS_FLOAT32);
	cr_assert(s.pipeline.n_cut == 0 && s.pipeline.n_place == 0);
	cr_assert_eq(s.workers_min, 4);
	cr_assert_eq(s.workers_max, 4);
	cr_assert_str_eq(s.topology, "path");
	cr_assert_eq(s.on_peer_loss, JOB_LOSS_FAIL);
	job_spec_fini(&s);
	cr_assert_eq(parse(&s, GOOD, &err), ST_OK);
	cr_assert(!job_spec_is_pipeline(&s));
	job_spec_fini(&s);
}

Test(job_spec, every_key_of_a_pipeline_reaches_its_field)
{
	struct job_spec s;
	struct error err = {0};

	cr_assert_eq(parse(&s, GOOD "algorithm: {name: pprs, samples: 16, smoothing: 0.25, momentum: constant, learning_rate: .5}\n"
			"stages: 4\ncut: [2, 3, 7]\nplace: [b, b, a, c]\nschedule: fill-drain\nbatch: full\n"
			"wire: {activations: bf16}\non_peer_loss: fail\ntopology: path\nworkers: {min: 3}\n", &err), ST_OK, "%s", err.msg);
	cr_assert_eq(s.pipeline.samples, 16);
	cr_assert_eq(s.pipeline.smoothing, 0.25);
	cr_assert_eq(s.momentum, 0.9);
	cr_assert_eq(s.pipeline.n_cut, 3);
	cr_assert(s.pipeline.cut[0] == 2 && s.pipeline.cut[1] == 3 && s.pipeline.cut[2] == 7);
	cr_assert_eq(s.pipeline.n_place, 4);
	cr_assert_str_eq(s.pipeline.place[3], "c");
	cr_assert_eq(s.pipeline.schedule, JOB_SCHEDULE_FILL_DRAIN);
	cr_assert_eq(s.pipeline.activations, JOB_ACTIVATIONS_BF16);
	cr_assert_eq(s.batch, 0);
	cr_assert(job_spec_placed_stages(&s, 0) == 2 && job_spec_placed_stages(&s, 1) == 1 && job_spec_placed_stages(&s, 2) == 1 &&
			job_spec_placed_stages(&s, 3) == 0);
	job_spec_fini(&s);
}

/* What follows when only a part is said: stages, workers.min, workers.max, K, gamma, mu. */
Test(job_spec, what_a_pipeline_does_not_say_follows_from_what_it_says)
{
	static const struct {
		const char *text;
		uint32_t stages, min, max, samples;
		double smoothing, momentum;
	} rows[] = {
		{"algorithm: {name: pprs}\nplace: [a, a, b]\n", 3, 2, 2, 8, JOB_SMOOTHING_AUTO, JOB_MOMENTUM_SEQUENCE},
		{"algorithm: {name: agd}\ncut: [1, 5]\n", 3, 3, 3, 1, 0, JOB_MOMENTUM_SEQUENCE},
		{"algorithm: {name: agd, momentum: 0.5}\nworkers: {min: 2}\n", 2, 2, 2, 1, 0, 0.5},
		{"algorithm: {name: gd}\nstages: 6\nworkers: {max: 2}\n", 6, 2, 2, 1, 0, 0},
		{"algorithm: {name: gd, momentum: 0}\nstages: 6\nworkers: {min: 1, max: 6}\n", 6, 1, 6, 1, 0, 0},
		{"algorithm: {name: pprs, smoothing: 0, samples: 3}\nstages: 1\ncut: auto\n", 1, 1, 1, 3, 0, JOB_MOMENTUM_SEQUENCE},
		{"algorithm: {name: pprs, theory: {R: 2, L: 0.5}}\nstages: 2\n", 2, 2, 2, 0, 0, JOB_MOMENTUM_SEQUENCE},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct job_spec s;
		struct error err = {0};
		char text[300];

		(void)snprintf(text, sizeof text, GOOD "%s", rows[i].text);
		cr_assert_eq(parse(&s, text, &err), ST_OK, "row %zu: %s", i, err.msg);
		cr_expect_eq(s.pipeline.stages, rows[i].stages, "row %zu: %u stages", i, s.pipeline.stages);
		cr_expect(s.workers_min == rows[i].min && s.workers_max == rows[i].max, "row %zu: %u %u", i, s.workers_min, s.workers_max);
		cr_expect_eq(s.pipeline.samples, rows[i].samples, "row %zu", i);
		cr_expect_eq(s.pipeline.smoothing, rows[i].smoothing, "row %zu", i);
		cr_expect_eq(s.momentum, rows[i].momentum, "row %zu", i);
		job_spec_fini(&s);
	}
}

static const struct {
	const char *text, *msg, *hint; /* hint NULL: none */
} bad[] = {
	{PIPE, "s.yaml: stages: missing: into how many stages shall the model be cut?",
		"add a line as `stages: 4` or `place: [node-a, node-b]`"},
	{GOOD "stages: 4\n", "s.yaml:3:9: stages: means nothing to d-adam: only a pipeline (pprs, agd, gd) has it",
		"take it out, or write `algorithm: {name: pprs}`"},
	{GOOD "algorithm: {samples: 4}\n", "s.yaml:3:22: algorithm.samples: means nothing to d-adam: only a pipeline (pprs, agd, gd) has it",
		"take it out, or write `algorithm: {name: pprs}`"},
	{GOOD "algorithm: {name: d-psgd, momentum: sequence}\n",
		"s.yaml:3:37: algorithm.momentum: found 'sequence', allowed with d-psgd: a number from 0 to below 1",
		"the sequence is for pprs and agd"},
	{GOOD "batch: full\n", "s.yaml:3:8: batch: found 'full', allowed with d-adam: a number of rows",
		"all rows in each step is for pprs, agd and gd; write as `batch: 256`"},
	{GOOD "algorithm: {name: pprs, period: 4}\nstages: 4\n",
		"s.yaml:3:33: algorithm.period: means nothing to pprs, a pipeline: the stages of one model do not mix",
		"take it out, or choose an algorithm of the gossip family, as `algorithm: {name: d-adam}`"},
	{PIPE "stages: 4\ntopology: ring\n", "s.yaml:5:11: topology: found 'ring', allowed with pprs: path",
		"the stages of a pipeline form a path; take the key out"},
	{PIPE "stages: 4\non_peer_loss: continue\n", "s.yaml:5:15: on_peer_loss: found 'continue', allowed with pprs: fail",
		"without a stage the model is not whole; to wait for the node comes with checkpoints"},
	{GOOD "algorithm: {name: agd, samples: 4}\nstages: 4\n",
		"s.yaml:3:33: algorithm.samples: means nothing to agd: it takes one sample without noise",
		"take it out, or write `algorithm: {name: pprs}`"},
	{GOOD "algorithm: {name: gd, smoothing: 0.1}\nstages: 4\n",
		"s.yaml:3:34: algorithm.smoothing: means nothing to gd: it takes one sample without noise",
		"take it out, or write `algorithm: {name: pprs}`"},
	{GOOD "algorithm: {name: gd, momentum: 0.5}\nstages: 4\n", "s.yaml:3:33: algorithm.momentum: gd has none",
		"take it out, or write `algorithm: {name: agd}`"},
	{GOOD "algorithm: {name: pprs, smoothing: -1}\nstages: 4\n",
		"s.yaml:3:36: algorithm.smoothing: found '-1', allowed: auto, or a number from 0", NULL},
	{GOOD "algorithm: {name: pprs, momentum: nesterov}\nstages: 4\n",
		"s.yaml:3:35: algorithm.momentum: found 'nesterov', allowed: sequence, constant, or a number from 0 to below 1", NULL},
	{GOOD "algorithm: {name: pprs, theory: {R: 1}}\nstages: 4\n", "s.yaml:3:37: algorithm.theory.R: given without L",
		"write both, as `theory: {R: 1, L: 1}`"},
	{GOOD "algorithm: {name: pprs, theory: {R: 1, L: 0}}\nstages: 4\n",
		"s.yaml:3:43: algorithm.theory.L: found '0', allowed: a number above 0", NULL},
	{GOOD "algorithm: {name: pprs, theory: {R: 1, L: 1}, learning_rate: 1}\nstages: 4\n",
		"s.yaml:3:62: algorithm.learning_rate: given together with theory, which gives samples, smoothing and learning_rate",
		"take it out, or take theory out"},
	{PIPE "stages: 4\ncut: [1, 2]\n", "s.yaml:5:1: cut: found 2 layers, allowed with 4 stages: 3, or auto",
		"cut lists the first layer of every stage but the first one"},
	{PIPE "cut: [3, 3]\n", "s.yaml:4:1: cut: found layer 3 after 3, allowed: ascending numbers", NULL},
	{PIPE "cut: [0, 3]\n", "s.yaml:4:7: cut: found '0', allowed: auto, or a list of at most 63 whole numbers, as [2, 4]", NULL},
	{PIPE "cut: half\n", "s.yaml:4:6: cut: found 'half', allowed: auto, or a list of at most 63 whole numbers, as [2, 4]", NULL},
	{PIPE "place: [a, b, a]\n", "s.yaml:4:1: place: a is named for stages that do not follow each other",
		"the stages of one node must be neighbours, as [a, a, b]"},
	{PIPE "stages: 4\nplace: [a, b]\n", "s.yaml:5:1: place: found 2 nodes, allowed with 4 stages: 4",
		"place names the node of every stage; a node may be named for several that follow each other"},
	{PIPE "stages: 2\nworkers: {min: 3}\n", "s.yaml:5:16: workers.min: found 3, allowed with 2 stages: at most 2",
		"a rank without a stage would have nothing to do; raise stages"},
	{PIPE "place: [a, a, b]\nworkers: {max: 3}\n", "s.yaml:5:16: workers.max: found 3, allowed with the nodes of place: 2", NULL},
	{PIPE "stages: 4\nschedule: gpipe\n", "s.yaml:5:11: schedule: found 'gpipe', allowed: 1f1b, fill-drain", NULL},
	{"", "s.yaml: model.plugin: missing: which model shall be trained?", "add a line as `model: {plugin: deepfm}`"},
	{"# only a comment\n", "s.yaml: model.plugin: missing: which model shall be trained?",
		"add a line as `model: {plugin: deepfm}`"},
	{"model: {plugin: a}\n", "s.yaml: steps: missing, and epochs too; the job would never end",
		"add a line as `steps: 2000` or `epochs: 3`"},
	{"model: {plugin: a}\nsteps: 4294967296\n", "s.yaml:2:8: steps: found '4294967296', allowed: a whole number from 1 to 4294967295", NULL},
	{GOOD "epochs: 2\n", "s.yaml:3:9: epochs: given together with steps, allowed: exactly one of both", NULL},
	{GOOD "bathc: 3\n", "s.yaml:3:1: unknown key 'bathc'", "did you mean 'batch'?"},
	{GOOD "algorithm: {learning-rate: 1}\n", "s.yaml:3:13: unknown key 'algorithm.learning-rate'",
		"did you mean 'algorithm.learning_rate'?"},
	{GOOD "workers: {quantity: 1}\n", "s.yaml:3:11: unknown key 'workers.quantity'", "keys known here: min, max, wait"},
	{GOOD "batch: 0\n", "s.yaml:3:8: batch: found '0', allowed: full, or a whole number from 1 to 16777216", NULL},
	{GOOD "batch: many\n", "s.yaml:3:8: batch: found 'many', allowed: full, or a whole number from 1 to 16777216", NULL},
	{GOOD "batch: [1, 2]\n", "s.yaml:3:1: batch: found a list, allowed: full, or a whole number from 1 to 16777216", NULL},
	{GOOD "batch:\n", "s.yaml:3:1: batch: found nothing, allowed: full, or a whole number from 1 to 16777216", NULL},
	{GOOD "batch: 1\nbatch: 2\n", "s.yaml:4:1: 'batch' is given twice, first in line 3", NULL},
	{GOOD "data: {a: 1, a: 2}\n", "s.yaml:3:14: 'data.a' is given twice, first in line 3", NULL},
	{GOOD "algorithm: {beta1: 1}\n", "s.yaml:3:20: algorithm.beta1: found '1', allowed: a number from 0 to below 1", NULL},
	{GOOD "algorithm: {learning_rate: 0}\n",
		"s.yaml:3:28: algorithm.learning_rate: found '0', allowed: a number above 0", NULL},
	{GOOD "algorithm: {learning_rate: nan}\n",
		"s.yaml:3:28: algorithm.learning_rate: found 'nan', allowed: a number above 0", NULL},
	{GOOD "algorithm: {gossip_step: 1.5}\n",
		"s.yaml:3:26: algorithm.gossip_step: found '1.5', allowed: auto, or a number above 0 to 1", NULL},
	{GOOD "algorithm: {gossip_step: 0}\n",
		"s.yaml:3:26: algorithm.gossip_step: found '0', allowed: auto, or a number above 0 to 1", NULL},
	{GOOD "algorithm: {name: d_adam}\n", "s.yaml:3:19: algorithm.name: found 'd_adam', allowed: " NAMES,
		"did you mean 'd-adam'?"},
	{GOOD "algorithm: d-adam\n", "s.yaml:3:12: algorithm: found one value, allowed: a group of keys", NULL},
	{GOOD "data: {split: dirichlet(0)}\n",
		"s.yaml:3:15: data.split: found 'dirichlet(0)', allowed: iid, shuffled, contiguous, local, by-label, dirichlet(ALPHA)",
		"ALPHA is 0.001 to 1000000: small ones give every rank few labels, as dirichlet(0.1)"},
	{GOOD "data: {split: by_label}\n",
		"s.yaml:3:15: data.split: found 'by_label', allowed: iid, shuffled, contiguous, local, by-label, dirichlet(ALPHA)",
		"ALPHA is 0.001 to 1000000: small ones give every rank few labels, as dirichlet(0.1)"},
	{GOOD "data: {train: ../secret}\n",
		"s.yaml:3:1: data: train: found '../secret', allowed: a path relative to data.roots, without '..'",
		"each node looks for it below the data.roots of its own dadamd.yaml"},
	{GOOD "data: {train_labels: ../secret}\n",
		"s.yaml:3:1: data: train_labels: found '../secret', allowed: a path relative to data.roots, without '..'",
		"each node looks for it below the data.roots of its own dadamd.yaml"},
	{GOOD "data: {train: [a, ../b]}\n",
		"s.yaml:3:1: data: train: found '../b', allowed: a path relative to data.roots, without '..'",
		"each node looks for it below the data.roots of its own dadamd.yaml"},
	{GOOD "data: {model: /etc/passwd}\n",
		"s.yaml:3:1: data: model: found '/etc/passwd', allowed: a path relative to data.roots, without '..'",
		"each node looks for it below the data.roots of its own dadamd.yaml"},
	{GOOD "data: {test: /etc/passwd}\n",
		"s.yaml:3:1: data: test: found '/etc/passwd', allowed: a path relative to data.roots, without '..'",
		"each node looks for it below the data.roots of its own dadamd.yaml"},
	{GOOD "data: {train: a/..}\n",
		"s.yaml:3:1: data: train: found 'a/..', allowed: a path relative to data.roots, without '..'",
		"each node looks for it below the data.roots of its own dadamd.yaml"},
	{GOOD "data: {a: {b: c}}\n", "s.yaml:3:8: data.a: found a group of keys, allowed: one value or a list of values", NULL},
	{GOOD "data: {a: [[b]]}\n",
		"s.yaml:3:8: data.a: found a list with a list, allowed: one value or a list of values", NULL},
	{GOOD "workers: {min: 4, max: 2}\n", "s.yaml:3:24: workers.max: found 2, allowed: at least workers.min, 4", NULL},
	{GOOD "workers: {min: 65}\n", "s.yaml:3:16: workers.min: found '65', allowed: a whole number from 1 to 64", NULL},
	{GOOD "on_peer_loss: wait\n", "s.yaml:3:15: on_peer_loss: 'wait' comes with a later version, there is now: continue, fail",
		"continue goes on without the node; a pipeline (pprs, agd, gd) cannot, it has fail only"},
	{GOOD "algorithm: {name: d-psgd, beta1: 0.8}\n", "s.yaml:3:34: algorithm.beta1: means nothing to d-psgd: only Adam has it",
		"take it out, or choose d-adam, cd-adam, local-adam or central-adam"},
	{GOOD "algorithm: {name: choco-sgd, bias_correction: off}\n",
		"s.yaml:3:47: algorithm.bias_correction: means nothing to choco-sgd: only Adam has it",
		"take it out, or choose d-adam, cd-adam, local-adam or central-adam"},
	{GOOD "algorithm: {name: cd-adam}\nwire: {delta: on}\n", "s.yaml:4:15: wire.delta: found 'on', allowed with cd-adam: auto, off",
		"only d-adam and d-psgd send their whole parameters to the same neighbours in every round"},
	{GOOD "topology: one-peer-exponential\nwire: {delta: on}\n",
		"s.yaml:4:15: wire.delta: found 'on', allowed with d-adam over one-peer-exponential: auto, off",
		"only d-adam and d-psgd send their whole parameters to the same neighbours in every round"},
	{GOOD "topology: \" one-peer-exponential \"\nwire: {delta: on}\n",
		"s.yaml:4:15: wire.delta: found 'on', allowed with d-adam over one-peer-exponential: auto, off",
		"only d-adam and d-psgd send their whole parameters to the same neighbours in every round"},
	{GOOD "algorithm: {name: cd-adam, compress: qsgd(15, unscaled)}\n", "s.yaml:3:47: unknown key 'algorithm.unscaled)'",
		"a value with a comma needs quotes there, as in \"qsgd(15, unscaled)\""},
	{GOOD "workers: {wait: 10}\n",
		"s.yaml:3:17: workers.wait: found '10', allowed: a time from 1s to 30d, as 5s or 500ms", NULL},
	{GOOD "topology: {edges: [[0, 1], [1, 64]]}\n",
		"s.yaml:3:32: topology: pair 2: found '64', allowed: two different ranks from 0 to 63, as [0, 1]", NULL},
	{GOOD "edges:\n  - [0, 1]\n  - [1, 0]\n", "s.yaml:5:6: edges: pair 2 joins ranks 1 and 0 once more",
		"a link goes both ways: name each one once"},
	{GOOD "edges: [[2, 2]]\n",
		"s.yaml:3:10: edges: pair 1: it joins rank 2 to itself, allowed: two different ranks from 0 to 63, as [0, 1]", NULL},
	{GOOD "edges: [[0, 1, 2]]\n",
		"s.yaml:3:1: edges: pair 1: it has 3 ends, allowed: two different ranks from 0 to 63, as [0, 1]", NULL},
	{GOOD "edges: [0, 1]\n",
		"s.yaml:3:1: edges: pair 1: it is no list, allowed: two different ranks from 0 to 63, as [0, 1]", NULL},
	{GOOD "edges: [[a, [b]]]\n",
		"s.yaml:3:1: edges: pair 1: an end that is no number, allowed: two different ranks from 0 to 63, as [0, 1]", NULL},
	{GOOD "edges: []\n",
		"s.yaml:3:1: edges: no pair, allowed: a list as [[0, 1], [1, 2]] that joins all ranks", NULL},
	{GOOD "edges: ring\n",
		"s.yaml:3:8: edges: found one value, allowed: a list of pairs of ranks, as [[0, 1], [1, 2]]", NULL},
	{GOOD "topology: ring\nedges: [[0, 1]]\n", "s.yaml:4:1: edges: given together with topology, allowed: one of both", NULL},
	{GOOD "topology: {ring: 3}\n",
		"s.yaml:3:1: topology: found a group of keys; write a name as ring or complete, or {edges: [[0, 1], [1, 2]]}", NULL},
	{GOOD "checkpoint: {every: 500}\n",
		"s.yaml:3:1: checkpoint: checkpoints come with a later version; take the key out", NULL},
	{GOOD "name: My Job\n", "s.yaml:3:7: name: found 'My Job', allowed: at most 63 of a-z 0-9 . _ -", NULL},
	{"model: {plugin: ../evil}\nsteps: 1\n",
		"s.yaml:1:17: model.plugin: found '../evil', allowed: at most 63 of a-z 0-9 . _ -", NULL},
	{GOOD "seed: 18446744073709551616\n",
		"s.yaml:3:7: seed: found '18446744073709551616', allowed: a whole number from 0", NULL},
	{GOOD "a: &x 1\nb: *x\n", "s.yaml:3:7: an anchor (&x) is not allowed: write the value out where it is needed", NULL},
	{GOOD "batch: *x\n", "s.yaml:3:9: an alias (*name) is not allowed: write the value out", NULL},
	{GOOD "batch: !!int 3\n", "s.yaml:3:14: a tag (!name) is not allowed: write the plain value", NULL},
	{GOOD "---\nbatch: 3\n",
		"s.yaml: a second document (after '---' or '...'), allowed: one document in a file", NULL},
	{GOOD "batch: [1, 2\n", "s.yaml:4:1: not YAML: flow sequence without a closing bracket", NULL},
	{"\tbatch: 1\n", "s.yaml:1:1: not YAML: invalid tab as indendation in a mapping", NULL},
	{"%YAML 1.2", "s.yaml:1:1: a directive (%) is not allowed: a line must not begin with '%'", NULL},
	{"\xef\xbb\xbf%", "s.yaml:1:2: a directive (%) is not allowed: a line must not begin with '%'", NULL},
	{GOOD "name: |\n  a\n", "s.yaml:4:1: a block text (| or >) is not allowed: write it in one line", NULL},
	{"just text", "s.yaml:1:1: found a lone text, allowed: lines of `key: value`", NULL},
	{"- a\n- b\n", "s.yaml:1:1: found a list, allowed: lines of `key: value`", NULL},
	{GOOD "name: \"a\\nb\"\n", "s.yaml:3:8: name: a control character (0x0a) in the text, allowed: one line of text", NULL},
	{GOOD "name: \xff\n", "s.yaml:3:7: byte 0xff is not UTF-8, allowed: UTF-8 text", NULL},
	{GOOD "[a]: 1\n", "s.yaml: in the top: a key that is no text, allowed: `key: value`", NULL},
};

Test(job_spec, each_bad_spec_is_refused_with_place_finding_and_what_is_allowed)
{
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct job_spec s;
		struct error err = {0};

		cr_expect_eq(parse(&s, bad[i].text, &err), ST_INVALID, "%s", bad[i].text);
		cr_expect_str_eq(err.msg, bad[i].msg, "row %zu\n  got    %s\n  wanted %s", i, err.msg, bad[i].msg);
		cr_expect_str_eq(err.hint, bad[i].hint != NULL ? bad[i].hint : "", "row %zu: %s", i, err.hint);
	}
}

Test(job_spec, a_nul_byte_and_a_huge_text_are_refused)
{
	struct job_spec s;
	struct error err = {0};
	char *huge = malloc(JOB_SPEC_MAX_BYTES + 1);

	cr_assert_eq(job_spec_parse(&s, "s.yaml", "steps: 1\0\n", 10, &err), ST_INVALID);
	cr_assert_str_eq(err.msg, "s.yaml:1:9: a NUL byte, allowed: UTF-8 text");
	memset(huge, '#', JOB_SPEC_MAX_BYTES + 1);
	cr_assert_eq(job_spec_parse(&s, "s.yaml", huge, JOB_SPEC_MAX_BYTES + 1, &err), ST_INVALID);
	cr_assert_str_eq(err.msg, "s.yaml: 32769 bytes, allowed: at most 32768");
	free(huge);
}

Test(job_spec, deep_nesting_is_refused_not_followed)
{
	struct job_spec s;
	struct error err = {0};
	char text[20000] = "data: {a: ";

	memset(text + strlen(text), '[', 15000);
	cr_assert_eq(parse(&s, text, &err), ST_INVALID);
	cr_assert_not_null(strstr(err.msg, "depth"), "%s", err.msg);
}

Test(job_spec, a_map_of_too_many_keys_is_refused)
{
	struct job_spec s;
	struct error err = {0};
	struct buf b = {0};

	cr_assert_eq(buf_printf(&b, GOOD "data:\n"), ST_OK);
	for (int i = 0; i < 1100; i++)
		cr_assert_eq(buf_printf(&b, "  k%d: 1\n", i), ST_OK);
	cr_assert_eq(job_spec_parse(&s, "s.yaml", (char *)b.data, b.len, &err), ST_INVALID);
	cr_assert_str_eq(err.msg, "s.yaml:1028:3: more than 1024 keys in one group");
	buf_fini(&b);
}

Test(job_spec, no_allocation_failure_leaks_or_crashes)
{
	enum status st = ST_NOMEM;
	struct job_spec s;

	for (int k = 0; st != ST_OK; k++) {
		fail_mem_at(k);
		st = parse(&s, full, NULL);
		cr_assert(st == ST_OK || (st == ST_NOMEM && fail_mem_outstanding() == 0), "k %d", k);
	}
	job_spec_fini(&s);
	cr_assert_eq(fail_mem_outstanding(), 0);
	fail_mem_off();
}

/* --set: text, assignment, then a fact about the parsed result. */
static void override(struct job_spec *s, const char *text, const char *assignment)
{
	struct buf b = {0};
	struct error err = {0};

	cr_assert_eq(job_spec_override(&b, "s.yaml", text, strlen(text), assignment, &err), ST_OK, "%s", err.msg);
	cr_assert_eq(job_spec_parse(s, "s.yaml", (char *)b.data, b.len, &err), ST_OK, "%s: %s\n%s", assignment, err.msg,
			(char *)b.data);
	buf_fini(&b);
}

Test(job_spec, an_override_changes_adds_and_takes_away)
{
	struct job_spec s;

	override(&s, full, "batch=7");
	cr_assert_eq(s.batch, 7);
	cr_assert_eq(s.data.n_items, 5, "the rest stays");
	job_spec_fini(&s);
	override(&s, full, "algorithm.tau=0.25");
	cr_assert_eq(s.tau, 0.25);
	cr_assert_eq(s.period, 8);
	job_spec_fini(&s);
	override(&s, GOOD, "workers.min=3");
	cr_assert_eq(s.workers_min, 3);
	job_spec_fini(&s);
	override(&s, GOOD "workers:\n  # min: 2\n", "workers.min=3");
	cr_assert_eq(s.workers_min, 3);
	job_spec_fini(&s);
	override(&s, full, "model.options.hidden=[1, 2, 3]");
	cr_assert_eq(s.model.n_items, 4);
	cr_assert_str_eq(s.model.items[3].value, "3");
	job_spec_fini(&s);
	override(&s, full, "data.label=rating >= 3");
	cr_assert_str_eq(job_pairs_get(&s.data, "label"), "rating >= 3");
	job_spec_fini(&s);
	override(&s, "model: {plugin: a}\nsteps: 2\nalgorithm: {name: cd-adam}\n", "algorithm.compress=qsgd(15, unscaled)");
	cr_assert_str_eq(s.compress, "qsgd(15, unscaled)");
	job_spec_fini(&s);
	override(&s, "{model: {plugin: a}, steps: 2, workers: {min: 4}}\n", "topology=torus(2,2)");
	cr_assert_str_eq(s.topology, "torus(2,2)");
	job_spec_fini(&s);
	override(&s, "model: {plugin: a}\nepochs: 1\nsteps: 2\n", "epochs=");
	cr_assert_eq(s.steps, 2);
	job_spec_fini(&s);
}

Test(job_spec, an_override_of_an_empty_text_makes_one)
{
	struct buf b = {0};

	cr_assert_eq(job_spec_override(&b, "s.yaml", "", 0, "model.plugin=a", NULL), ST_OK);
	cr_assert_str_eq((char *)b.data, "model:\n  plugin: a\n");
	buf_fini(&b);
}

Test(job_spec, a_bad_override_is_refused_with_words)
{
	static const struct {
		const char *assignment, *msg;
	} rows[] = {
		{"batch", "--set: 'batch': no '=', allowed: KEY=VALUE"},
		{"=3", "--set: '=3': no key before '='"},
		{".a=3", "--set: '.a=3': not a key"},
		{"a.=3", "--set: 'a.=3': no key before '='"},
		{"steps.a=3", "--set: 'steps.a=3': a part of the key before a dot holds a value, no group of keys"},
		{"a.b.c.d.e.f=3", "--set: 'a.b.c.d.e.f=3': not a key"},
		{"batch=%Y", "--set:1:1: a directive (%) is not allowed: a line must not begin with '%'"},
		{"batch=[1", "--set: 'batch=[1': the value is not YAML"},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct buf b = {0};
		struct error err = {0};

		cr_expect_eq(job_spec_override(&b, "s.yaml", GOOD, strlen(GOOD), rows[i].assignment, &err), ST_INVALID);
		cr_expect_str_eq(err.msg, rows[i].msg, "got %s", err.msg);
		buf_fini(&b);
	}
}

Test(job_spec, the_sample_parses_and_names_every_key)
{
	struct job_spec s;
	struct buf b = {0};
	struct error err = {0};

	cr_assert_eq(job_spec_sample(&b), ST_OK);
	cr_assert_eq(job_spec_parse(&s, "sample", (char *)b.data, b.len, &err), ST_OK, "%s\n%s", err.msg, (char *)b.data);
	cr_assert_eq(s.steps, 1000);
	cr_assert_str_eq(job_pairs_get(&s.data, "format"), "synthetic-ctr");
	cr_assert_not_null(strstr((char *)b.data, "congestion: \"\""));
	job_spec_fini(&s);
	buf_fini(&b);
}
