/* Job specs: what belongs to pipelines and what does not. See job_pipeline.h.
 *
 * In a gossip job every rank holds the whole model and mixes it with its neighbours'. In a pipeline job
 * the model is cut into stages, a rank owns one or several that follow each other, and the ranks form a
 * path. The keys of the one mean nothing to the other: they are refused, not ignored.
 *
 * How many stages there are is said by `stages`, by the length of `place`, by that of `cut` plus one, or
 * by workers.min; whatever is said twice must agree. How many layers the model has is known to the
 * worker only: it refuses a cut beyond them. */
#include "libcore/settings/job_pipeline.h"

#include <string.h>

#define DEFAULT_SAMPLES 8U
#define NAMES "pprs, agd, gd"

static const char *const gossip_keys[] = {"algorithm.period", "algorithm.beta1", "algorithm.beta2", "algorithm.tau",
	"algorithm.bias_correction", "algorithm.weight_decay", "algorithm.order", "algorithm.mix", "algorithm.moments",
	"algorithm.mix_moments_every", "algorithm.compress", "algorithm.gossip_step", "data.split", "edges", "elastic", "finish",
	"wire.zstd", "wire.delta"};
static const char *const adam_keys[] = {"algorithm.beta1", "algorithm.beta2", "algorithm.tau", "algorithm.bias_correction"};
static const char *const pipeline_keys[] = {"algorithm.samples", "algorithm.smoothing", "algorithm.theory.R",
	"algorithm.theory.L", "stages", "cut", "place", "schedule", "wire.activations"};
static const char *const noise_keys[] = {"algorithm.samples", "algorithm.smoothing", "algorithm.theory.R",
	"algorithm.theory.L"};
static const char *const derived_keys[] = {"algorithm.samples", "algorithm.smoothing", "algorithm.learning_rate"};

#define COUNT(list) (sizeof(list) / sizeof *(list))

bool job_spec_is_pipeline(const struct job_spec *spec)
{
	return spec->algorithm == JOB_PPRS || spec->algorithm == JOB_AGD || spec->algorithm == JOB_GD;
}

bool job_spec_is_one_peer(const struct job_spec *spec)
{
	static const char word[] = "one-peer-exponential", space[] = " \t\n\v\f\r";
	const char *at = spec->topology + strspn(spec->topology, space);
	size_t n = strlen(word);

	return strncmp(at, word, n) == 0 && at[n + strspn(at + n, space)] == '\0';
}

/* The first of these keys that was given, or NULL. */
static const char *first_given(const struct settings *s, const char *const *keys, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (settings_given(s, keys[i]))
			return keys[i];
	return NULL;
}

/* ---- a gossip job ---- */

static bool is_sgd(const struct job_spec *spec)
{
	return spec->algorithm == JOB_CHOCO_SGD || spec->algorithm == JOB_D_PSGD || spec->algorithm == JOB_LOCAL_SGD ||
			spec->algorithm == JOB_CENTRAL_SGD;
}

/* Differences to what was sent last: to the same neighbours in every round, and whole parameters. */
static bool may_send_deltas(const struct job_spec *spec)
{
	return (spec->algorithm == JOB_D_ADAM || spec->algorithm == JOB_D_PSGD) && !job_spec_is_one_peer(spec);
}

static enum status check_family(const struct settings *s, const struct job_spec *spec, struct error *err)
{
	const char *name = job_spec_algorithm(spec), *key = is_sgd(spec) ? first_given(s, adam_keys, COUNT(adam_keys)) : NULL;

	if (key != NULL) {
		(void)settings_refuse(s, err, key, "means nothing to %s: only Adam has it", name);
		error_hint(err, "take it out, or choose d-adam, cd-adam, local-adam or central-adam");
		return ST_INVALID;
	}
	if (spec->delta == JOB_ZSTD_ON && !may_send_deltas(spec)) {
		(void)settings_refuse(s, err, "wire.delta", "found 'on', allowed with %s%s: auto, off", name,
				job_spec_is_one_peer(spec) ? " over one-peer-exponential" : "");
		error_hint(err, "only d-adam and d-psgd send their whole parameters to the same neighbours in every round");
		return ST_INVALID;
	}
	return ST_OK;
}

static enum status check_gossip(const struct settings *s, const struct job_spec *spec, struct error *err)
{
	const char *name = job_spec_algorithm(spec), *key = first_given(s, pipeline_keys, COUNT(pipeline_keys));

	if (key != NULL) {
		(void)settings_refuse(s, err, key, "means nothing to %s: only a pipeline (" NAMES ") has it", name);
		error_hint(err, "take it out, or write `algorithm: {name: pprs}`");
	} else if (spec->momentum < 0) {
		(void)settings_refuse(s, err, "algorithm.momentum", "found 'sequence', allowed with %s: a number from 0 to below 1", name);
		error_hint(err, "the sequence is for pprs and agd");
	} else if (spec->batch == 0) {
		(void)settings_refuse(s, err, "batch", "found 'full', allowed with %s: a number of rows", name);
		error_hint(err, "all rows in each step is for pprs, agd and gd; write as `batch: 256`");
	} else {
		return check_family(s, spec, err);
	}
	return ST_INVALID;
}

/* ---- a pipeline job ---- */

static enum status check_foreign(const struct settings *s, const struct job_spec *spec, struct error *err)
{
	const char *name = job_spec_algorithm(spec), *key = first_given(s, gossip_keys, COUNT(gossip_keys));

	if (key != NULL) {
		(void)settings_refuse(s, err, key, "means nothing to %s, a pipeline: the stages of one model do not mix", name);
		error_hint(err, "take it out, or choose an algorithm of the gossip family, as `algorithm: {name: d-adam}`");
	} else if (settings_given(s, "topology") && strcmp(spec->topology, "path") != 0) {
		(void)settings_refuse(s, err, "topology", "found '%s', allowed with %s: path", spec->topology, name);
		error_hint(err, "the stages of a pipeline form a path; take the key out");
	} else if (settings_given(s, "on_peer_loss") && spec->on_peer_loss == JOB_LOSS_CONTINUE) {
		(void)settings_refuse(s, err, "on_peer_loss", "found 'continue', allowed with %s: fail", name);
		error_hint(err, "without a stage the model is not whole; to wait for the node comes with checkpoints");
	} else {
		return ST_OK;
	}
	return ST_INVALID;
}

static enum status refuse_noise(const struct settings *s, const struct job_spec *spec, struct error *err)
{
	const char *name = job_spec_algorithm(spec), *key = first_given(s, noise_keys, COUNT(noise_keys));

	if (key != NULL) {
		(void)settings_refuse(s, err, key, "means nothing to %s: it takes one sample without noise", name);
		error_hint(err, "take it out, or write `algorithm: {name: pprs}`");
		return ST_INVALID;
	}
	if (spec->algorithm == JOB_GD && settings_given(s, "algorithm.momentum") && spec->momentum != 0) {
		(void)settings_refuse(s, err, "algorithm.momentum", "gd has none");
		error_hint(err, "take it out, or write `algorithm: {name: agd}`");
		return ST_INVALID;
	}
	return ST_OK;
}

static enum status check_theory(const struct settings *s, struct error *err)
{
	int r = settings_given(s, "algorithm.theory.R"), l = settings_given(s, "algorithm.theory.L");
	const char *key = first_given(s, derived_keys, COUNT(derived_keys));

	if (!r && !l)
		return ST_OK;
	if (!r || !l) {
		(void)settings_refuse(s, err, r ? "algorithm.theory.R" : "algorithm.theory.L", "given without %s", r ? "L" : "R");
		error_hint(err, "write both, as `theory: {R: 1, L: 1}`");
		return ST_INVALID;
	}
	if (key != NULL) {
		(void)settings_refuse(s, err, key, "given together with theory, which gives samples, smoothing and learning_rate");
		error_hint(err, "take it out, or take theory out");
		return ST_INVALID;
	}
	return ST_OK;
}

static enum status check_rule(const struct settings *s, struct job_spec *spec, struct error *err)
{
	struct job_pipeline *p = &spec->pipeline;
	enum status st = spec->algorithm == JOB_PPRS ? check_theory(s, err) : refuse_noise(s, spec, err);

	if (st != ST_OK)
		return st;
	if (!settings_given(s, "algorithm.momentum"))
		spec->momentum = spec->algorithm == JOB_GD ? 0 : JOB_MOMENTUM_SEQUENCE;
	if (spec->algorithm != JOB_PPRS)
		p->samples = 1;
	else if (p->theory_r == 0 && !settings_given(s, "algorithm.samples"))
		p->samples = DEFAULT_SAMPLES;
	if (spec->algorithm == JOB_PPRS && p->theory_r == 0 && !settings_given(s, "algorithm.smoothing"))
		p->smoothing = JOB_SMOOTHING_AUTO;
	return ST_OK;
}

/* The distinct nodes of place; 0 when a node stands at two places that do not follow each other. */
static uint32_t count_nodes(const struct job_pipeline *p, const char **apart)
{
	uint32_t n = 0;

	for (size_t i = 0; i < p->n_place; i++) {
		if (i > 0 && strcmp(p->place[i], p->place[i - 1]) == 0)
			continue;
		for (size_t k = 0; k < i; k++)
			if (strcmp(p->place[i], p->place[k]) == 0) {
				*apart = p->place[i];
				return 0;
			}
		n++;
	}
	return n;
}

uint32_t job_spec_placed_stages(const struct job_spec *spec, uint32_t rank)
{
	const struct job_pipeline *p = &spec->pipeline;
	uint32_t at = 0, n = 0;

	for (size_t i = 0; i < p->n_place; i++) {
		at += i > 0 && strcmp(p->place[i], p->place[i - 1]) != 0;
		n += at == rank;
	}
	return n;
}

static enum status check_cut(const struct settings *s, const struct job_spec *spec, struct error *err)
{
	const struct job_pipeline *p = &spec->pipeline;

	if (p->n_cut != 0 && p->n_cut != p->stages - 1) {
		(void)settings_refuse(s, err, "cut", "found %zu layers, allowed with %u stages: %u, or auto", p->n_cut, p->stages,
				p->stages - 1);
		error_hint(err, "cut lists the first layer of every stage but the first one");
		return ST_INVALID;
	}
	for (size_t i = 1; i < p->n_cut; i++)
		if (p->cut[i] <= p->cut[i - 1])
			return settings_refuse(s, err, "cut", "found layer %u after %u, allowed: ascending numbers", p->cut[i],
					p->cut[i - 1]);
	return ST_OK;
}

static enum status check_stages(const struct settings *s, struct job_spec *spec, struct error *err)
{
	struct job_pipeline *p = &spec->pipeline;

	if (p->stages == 0)
		p->stages = p->n_place > 0 ? (uint32_t)p->n_place : p->n_cut > 0 ? (uint32_t)p->n_cut + 1
				: settings_given(s, "workers.min")               ? spec->workers_min
										 : 0;
	if (p->stages == 0) {
		(void)settings_refuse(s, err, "stages", "missing: into how many stages shall the model be cut?");
		error_hint(err, "add a line as `stages: 4` or `place: [node-a, node-b]`");
		return ST_INVALID;
	}
	if (p->n_place != 0 && p->n_place != p->stages) {
		(void)settings_refuse(s, err, "place", "found %zu nodes, allowed with %u stages: %u", p->n_place, p->stages, p->stages);
		error_hint(err, "place names the node of every stage; a node may be named for several that follow each other");
		return ST_INVALID;
	}
	return check_cut(s, spec, err);
}

static enum status check_count(const struct settings *s, const struct job_pipeline *p, const char *key, uint32_t found,
		uint32_t most, struct error *err)
{
	if (found == most || (p->n_place == 0 && found < most))
		return ST_OK;
	if (p->n_place > 0)
		return settings_refuse(s, err, key, "found %u, allowed with the nodes of place: %u", found, most);
	(void)settings_refuse(s, err, key, "found %u, allowed with %u stages: at most %u", found, p->stages, most);
	error_hint(err, "a rank without a stage would have nothing to do; raise stages");
	return ST_INVALID;
}

/* Ranks are nodes: those of place, or any, up to one per stage. */
static enum status check_workers(const struct settings *s, struct job_spec *spec, struct error *err)
{
	const struct job_pipeline *p = &spec->pipeline;
	const char *apart = NULL;
	uint32_t nodes = count_nodes(p, &apart), most = p->n_place > 0 ? nodes : p->stages;
	enum status st = ST_OK;

	if (apart != NULL) {
		(void)settings_refuse(s, err, "place", "%.60s is named for stages that do not follow each other", apart);
		error_hint(err, "the stages of one node must be neighbours, as [a, a, b]");
		return ST_INVALID;
	}
	if (settings_given(s, "workers.max"))
		st = check_count(s, p, "workers.max", spec->workers_max, most, err);
	if (settings_given(s, "workers.min"))
		return st != ST_OK ? st : check_count(s, p, "workers.min", spec->workers_min, most, err);
	spec->workers_min = settings_given(s, "workers.max") ? spec->workers_max : most;
	return st;
}

static enum status check_pipeline(const struct settings *s, struct job_spec *spec, struct error *err)
{
	enum status st = check_foreign(s, spec, err);

	if (st == ST_OK)
		st = check_rule(s, spec, err);
	if (st == ST_OK)
		st = check_stages(s, spec, err);
	if (st == ST_OK)
		st = check_workers(s, spec, err);
	if (st == ST_OK) {
		spec->on_peer_loss = JOB_LOSS_FAIL;
		memcpy(spec->topology, "path", sizeof "path");
	}
	return st;
}

enum status job_pipeline_check(const struct settings *s, struct job_spec *spec, struct error *err)
{
	return job_spec_is_pipeline(spec) ? check_pipeline(s, spec, err) : check_gossip(s, spec, err);
}
