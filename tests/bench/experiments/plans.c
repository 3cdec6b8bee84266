/* See plans.h. Adam without bias correction, b1 .9, b2 .999, tau 1e-8, 32 rows per worker and step: as
 * the reference's figures, so that they can be compared. */
#include "tests/bench/experiments/plans.h"

#define COUNT(a) (sizeof(a) / sizeof(a)[0])

/* Frappe, or false where it is absent. */
static bool open_frappe(struct lab *lab, struct task *t, uint64_t seed)
{
	return lab->data != NULL && task_frappe(t, lab->data, seed);
}

static bool verdict(const char *what, double figure, double least, double greatest)
{
	bool ok = figure >= least && figure <= greatest;

	(void)printf("%-44s %12.5f   allowed %.5f to %.5f   %s\n", what, figure, least, greatest, ok ? "ok" : "MISSED");
	return ok;
}

bool plan_check(struct lab *lab)
{
	struct plan dense = {{.algorithm = D_ADAM, .topology = "ring", .ranks = 8, .period = 8, .rate = 4e-3}, 100, 8, false, false};
	struct plan sign = {{.algorithm = CD_ADAM, .compressor = "sign", .topology = "ring", .ranks = 8, .period = 8,
			.rate = 4e-3, .gamma = 0.8}, 1000, 100, false, true};
	struct outcome o;
	struct task t;
	bool ok = true;

	task_generated(&t, 1, false);
	o = lab_run(lab, &t, &dense);
	ok &= verdict("3: D-Adam p=8, t=100, mean", o.loss, 0.49710, 0.49730);
	dense.steps = 1000;
	o = lab_run(lab, &t, &dense);
	ok &= verdict("3: D-Adam p=8, t=1000, mean", o.loss, 0, 0.402);
	ok &= verdict("3: AUC", o.auc, 0.866, 1);
	ok &= verdict("3: bytes per directed edge", o.traffic.encoded, 24722000, 24722000);
	o = lab_run(lab, &t, &sign);
	ok &= verdict("6: CD-Adam sign p=8, t=1000, mean", o.loss, 0, 0.406);
	ok &= verdict("6: worst worker", o.worst, 0, 0.417);
	ok &= verdict("6: bytes per directed edge", o.traffic.encoded, 773125, 773125);
	task_close(&t);
	return ok;
}

/* ---- bytes ---- */

#define UP_TO_16 0x15U /* a bit per power of two: p = 1, 4, 16 */
#define FAR 0x60U      /* 32, 64 */
#define LATE 0x70U     /* 16, 32, 64 */

static const struct sender {
	enum algorithm algorithm;
	const char *compressor;
	double gamma;
	uint32_t periods;
	uint32_t again; /* these periods with seeds 2 and 3 too */
} senders[] = {
	{CENTRAL_ADAM, "", 1, 0x1, 0},
	{LOCAL_ADAM, "", 1, 0x14 | FAR, 0x10},
	{D_ADAM, "", 1, UP_TO_16 | FAR, UP_TO_16},
	{D_ADAM, "delta", 1, UP_TO_16, 0},
	{CD_ADAM, "identity", 1, UP_TO_16, 0},
	{CD_ADAM, "bf16", 1, UP_TO_16, 0},
	{CD_ADAM, "int8", 1, UP_TO_16 | FAR, 0x5},
	{CD_ADAM, "int8", 0.5, LATE, 0x10},
	{CD_ADAM, "int4", 1, UP_TO_16, 0},
	{CD_ADAM, "int4", 0.5, 0x10, 0x10},
	{CD_ADAM, "sign", 0.8, UP_TO_16 | FAR, UP_TO_16},
	{CD_ADAM_FRESH, "sign", 0.8, UP_TO_16 | FAR, UP_TO_16},
	{CD_ADAM, "sign(keep-zeros)", 0.8, UP_TO_16, 0},
	{CD_ADAM, "qsgd(255)", 0.5, UP_TO_16, 0},
	{CD_ADAM, "qsgd(15)", 0.1, UP_TO_16, 0},
	{CD_ADAM, "top-k(10%)", 0.2, UP_TO_16, 0},
	{CD_ADAM, "top-k(1%)", 0.05, UP_TO_16, 0x5},
	{CD_ADAM, "random-k(10%)", 0.1, UP_TO_16, 0},
	{CD_ADAM, "random-k(1%)", 0.02, UP_TO_16, 0},
};

static void send_all(struct lab *lab, struct task *t, double rate, uint32_t steps, uint32_t every)
{
	uint32_t allowed = lab->quick ? 0x11U : UP_TO_16 | FAR;

	for (size_t i = 0; i < COUNT(senders); i++)
		for (uint32_t period = 1; period <= 64; period *= 2) {
			const struct sender *s = &senders[i];
			double own_rate = s->algorithm == CENTRAL_ADAM ? rate / 2 : rate; /* its best */
			struct plan plan = {{s->algorithm, s->compressor, "ring", 8, period, own_rate, s->gamma, true,
					s->algorithm == D_ADAM && s->compressor[0] != '\0'}, steps, every, false, true};

			if ((s->periods & allowed & period & (t->seed == 1 ? s->periods : s->again)) != 0)
				(void)lab_run(lab, t, &plan);
		}
}

void plan_bytes(struct lab *lab)
{
	for (uint64_t seed = 1; seed <= (lab->quick ? 1U : 3U); seed++) {
		struct task t;

		task_generated(&t, seed, false);
		send_all(lab, &t, 4e-3, lab->quick ? 640 : 1600, 16);
		task_close(&t);
	}
}

void plan_frappe(struct lab *lab)
{
	for (uint64_t seed = 1; seed <= (lab->quick ? 1U : 3U); seed++) {
		struct task t;

		if (!open_frappe(lab, &t, seed))
			return;
		send_all(lab, &t, 1.6e-2, lab->quick ? 640 : 2000, 32);
		task_close(&t);
	}
}

/* ---- speed-up ---- */

static const struct runner {
	enum algorithm algorithm;
	const char *compressor;
	uint32_t period;
} runners[] = {
	{CENTRAL_ADAM, "", 1}, {D_ADAM, "", 1},  {D_ADAM, "", 4},      {D_ADAM, "", 8},
	{D_ADAM, "", 16},      {CD_ADAM, "sign", 1}, {CD_ADAM, "sign", 8},
};

/* On seed 1 a run at every rate, and *best becomes the one that needs the fewest steps; on the others a run at *best. */
static void run_at_rates(struct lab *lab, struct task *t, struct plan *plan, const double *rates, size_t n, double *best)
{
	uint64_t least = UINT64_MAX;

	if (t->seed != 1) {
		plan->cfg.rate = *best;
		(void)lab_run(lab, t, plan);
		return;
	}
	*best = rates[0];
	for (size_t k = 0; k < n; k++) {
		uint64_t steps;

		plan->cfg.rate = rates[k];
		steps = lab_run(lab, t, plan).target_steps;
		if (steps != 0 && steps < least) {
			least = steps;
			*best = rates[k];
		}
	}
}

/* One seed at one number of workers: every algorithm, on seed 1 at three rates around the one that is usually
 * best. With one worker all of them are plain Adam. best: a rate per runner. */
static void race(struct lab *lab, struct task *t, uint32_t ranks, double *best)
{
	uint32_t steps = ranks == 1 ? 6000 : ranks == 2 ? 4000 : ranks == 4 ? 2400 : ranks == 8 ? 1500 : 1000;
	uint32_t every = ranks == 1 ? 100 : ranks == 2 ? 50 : 25;
	double usual = ranks == 1 ? 1e-3 : ranks == 2 ? 2e-3 : ranks <= 8 ? 4e-3 : 8e-3;

	for (size_t i = 0; i < (ranks == 1 ? 1 : COUNT(runners)); i++) {
		const struct runner *r = &runners[i];
		double rate = r->algorithm == CENTRAL_ADAM && ranks > 1 ? usual / 2 : usual;
		double rates[] = {rate / 2, rate, rate * 2};
		struct plan plan = {{r->algorithm, r->compressor, "ring", ranks, r->period, rate, 0.8, false, false}, steps,
				every, true, false};

		run_at_rates(lab, t, &plan, lab->quick ? &rates[1] : rates, lab->quick ? 1 : COUNT(rates), &best[i]);
	}
}

void plan_speedup(struct lab *lab)
{
	double best[5][COUNT(runners)];

	for (uint64_t seed = 1; seed <= (lab->quick ? 1U : 3U); seed++) {
		struct task t;

		task_generated(&t, seed, false);
		for (uint32_t i = 0; i < COUNT(best); i += lab->quick ? 2 : 1)
			race(lab, &t, 1U << i, best[i]);
		task_close(&t);
	}
}

/* ---- sparse ---- */

struct rates {
	enum algorithm algorithm;
	double rates[6]; /* 0: no more */
};
static const struct rates generated_rates[] = {
	{D_ADAM, {2e-3, 4e-3, 8e-3}},
	{LOCAL_ADAM, {2e-3, 4e-3, 8e-3}},
	{D_PSGD, {0.4, 0.6, 0.8, 1.0, 1.2}},
	{D_PSGD_MOMENTUM, {0.05, 0.1, 0.15, 0.2}},
	{LOCAL_SGD_MOMENTUM, {0.05, 0.1, 0.15, 0.2}},
	{CHOCO_SGD_MOMENTUM, {0.05, 0.1, 0.15, 0.2}},
};
static const struct rates frappe_rates[] = {
	{D_ADAM, {8e-3, 1.6e-2, 3.2e-2}},
	{LOCAL_ADAM, {8e-3, 1.6e-2, 3.2e-2}},
	{D_PSGD, {0.1, 0.2, 0.4, 0.8, 1.6}},
	{D_PSGD_MOMENTUM, {0.05, 0.1, 0.2, 0.4, 0.6, 0.8}},
	{LOCAL_SGD_MOMENTUM, {0.05, 0.1, 0.2, 0.4, 0.6, 0.8}},
	{CHOCO_SGD_MOMENTUM, {0.05, 0.1, 0.2, 0.4, 0.6}},
};
static const struct rates label_rates[] = {
	{D_ADAM, {1.25e-4, 2.5e-4, 5e-4, 1e-3, 2e-3}},
	{D_ADAM_MIXED, {1.25e-4, 2.5e-4, 5e-4, 1e-3, 2e-3}},
	{LOCAL_ADAM, {5e-4, 1e-3, 2e-3, 4e-3}},
	{LOCAL_ADAM_MIXED, {1e-3, 2e-3, 4e-3, 8e-3, 1.6e-2}},
	{D_PSGD, {0.05, 0.1, 0.2, 0.4, 0.8, 1.6}},
	{D_PSGD_MOMENTUM, {0.01, 0.02, 0.05, 0.1, 0.2, 0.4}},
	{LOCAL_SGD_MOMENTUM, {0.02, 0.05, 0.1, 0.2, 0.4}},
	{CHOCO_SGD_MOMENTUM, {0.01, 0.02, 0.05, 0.1, 0.2}},
};

/* Every rate on every seed: a large rate of SGD may be good on one seed and poor on the next. */
static void compare(struct lab *lab, struct task *t, const struct rates *table, size_t n, uint32_t period, uint32_t steps)
{
	for (size_t i = 0; i < n; i++) {
		struct plan plan = {{.algorithm = table[i].algorithm, .compressor = "sign", .gamma = 0.8, .topology = "ring",
				.ranks = 8, .period = period}, lab->quick ? steps / 4 : steps, 50, false, false};

		for (size_t k = 0; k < COUNT(table[i].rates) && table[i].rates[k] > 0; k++) {
			plan.cfg.rate = table[i].rates[k];
			(void)lab_run(lab, t, &plan);
		}
	}
}

void plan_sparse(struct lab *lab)
{
	for (uint64_t seed = 1; seed <= (lab->quick ? 1U : 3U); seed++) {
		struct task t;

		task_generated(&t, seed, false);
		compare(lab, &t, generated_rates, COUNT(generated_rates), 1, 1000);
		compare(lab, &t, generated_rates, COUNT(generated_rates), 8, 1000);
		task_close(&t);
		task_generated(&t, seed, true);
		compare(lab, &t, label_rates, COUNT(label_rates), 1, 1000);
		task_close(&t);
		if (!open_frappe(lab, &t, seed))
			continue;
		compare(lab, &t, frappe_rates, COUNT(frappe_rates), 1, 2000);
		compare(lab, &t, frappe_rates, COUNT(frappe_rates), 8, 2000);
		task_close(&t);
	}
}

/* ---- topologies ---- */

void plan_topologies(struct lab *lab)
{
	static const char *const names[] = {"complete", "hypercube", "torus", "exponential", "random(4)", "one-peer",
			"ring", "path", "star"};
	static const uint64_t batch_seeds[] = {1, 101, 102};
	struct task t;

	task_generated(&t, 1, false);
	for (size_t s = 0; s < (lab->quick ? 1 : COUNT(batch_seeds)); s++)
		for (size_t i = 0; i < COUNT(names); i++) {
			struct plan plan = {{.algorithm = D_ADAM, .topology = names[i], .ranks = 16, .period = 8, .rate = 8e-3},
					1000, 25, true, true};

			t.batch_seed = batch_seeds[s];
			(void)lab_run(lab, &t, &plan);
		}
	task_close(&t);
}
