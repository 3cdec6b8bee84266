/* See lab.h. */
#include "tests/bench/experiments/lab.h"

#include <math.h>
#include <string.h>
#include <time.h>

#define LOST 20.0

struct mark { /* where the target was reached */
	uint64_t steps;
	struct traffic traffic;
};

struct run {
	struct lab *lab;
	struct task *task;
	const struct plan *plan;
	struct gossip *g;
	struct mark mean, worst;
	struct score now;
	double best;
	uint32_t slowest; /* the rank last found above the target */
};

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static FILE *open_table(const char *dir, const char *experiment, const char *what)
{
	char path[512];
	FILE *f;

	(void)snprintf(path, sizeof path, "%s/%s.%s.csv", dir, experiment, what);
	f = fopen(path, "w");
	must(f != NULL, path);
	(void)fprintf(f, "task,algorithm,compressor,topology,ranks,period,rate,gamma,seed,batch_seed,target,");
	return f;
}

void lab_open(struct lab *lab, const char *dir, const char *experiment)
{
	lab->experiment = experiment;
	lab->runs = open_table(dir, experiment, "runs");
	lab->curves = open_table(dir, experiment, "curves");
	lab->n_runs = 0;
	lab->began = seconds();
	(void)fprintf(lab->runs, "steps_mean,bytes_mean,wire_mean,steps_worst,bytes_worst,wire_worst,"
			"steps_end,bytes_end,wire_end,loss_end,worst_end,auc_end,loss_best,lost\n");
	(void)fprintf(lab->curves, "step,bytes,wire,loss,auc\n");
}

void lab_close(struct lab *lab)
{
	(void)fprintf(stderr, "%s: %u runs, %.0f s\n", lab->experiment, lab->n_runs, seconds() - lab->began);
	must(fclose(lab->runs) == 0 && fclose(lab->curves) == 0, "a table could not be written");
}

static void write_settings(FILE *f, const struct run *r)
{
	const struct gossip_config *c = &r->plan->cfg;
	bool compressed = algorithm_compresses(c->algorithm);

	(void)fprintf(f, "%s,%s,%s,%s,%u,%u,%g,%g,%llu,%llu,%.5f,", r->task->name, algorithm_name(c->algorithm),
			compressed ? c->compressor : c->delta ? "float32 delta" : "float32", c->topology, c->ranks, c->period, c->rate,
			compressed ? c->gamma : 1.0, (unsigned long long)r->task->seed,
			(unsigned long long)r->task->batch_seed, r->task->target);
}

static void write_mark(FILE *f, const struct mark *m)
{
	if (m->steps == 0)
		(void)fprintf(f, ",,,");
	else
		(void)fprintf(f, "%llu,%.0f,%.0f,", (unsigned long long)m->steps, m->traffic.encoded, m->traffic.wire);
}

/* The worst loss of the ranks; stops early above `enough`, with the rank that was so last time asked first. */
static double worst_of(struct run *r, double enough)
{
	uint32_t n = r->plan->cfg.ranks, first = r->slowest;
	double worst = 0;

	for (uint32_t i = 0; i < n && worst <= enough; i++) {
		double loss;

		r->slowest = (first + i) % n;
		loss = task_score(r->task, gossip_rank(r->g, r->slowest)).loss;
		if (!(loss <= worst)) /* NaN is the worst of all */
			worst = isnan(loss) ? INFINITY : loss;
	}
	return worst;
}

static bool is_lost(const struct run *r)
{
	return !(r->now.loss <= LOST);
}

static void look(struct run *r)
{
	struct mark here = {gossip_steps(r->g), gossip_traffic(r->g)};

	r->now = task_score(r->task, gossip_mean(r->g));
	if (r->now.loss < r->best)
		r->best = r->now.loss;
	write_settings(r->lab->curves, r);
	(void)fprintf(r->lab->curves, "%llu,%.0f,%.0f,%.5f,%.5f\n", (unsigned long long)here.steps, here.traffic.encoded,
			here.traffic.wire, r->now.loss, r->now.auc);
	if (r->mean.steps == 0 && r->now.loss <= r->task->target)
		r->mean = here;
	if (r->plan->look_at_workers && r->worst.steps == 0 && r->now.loss <= r->task->target
			&& worst_of(r, r->task->target) <= r->task->target)
		r->worst = here;
}

static void write_run(struct run *r, double worst)
{
	struct mark end = {gossip_steps(r->g), gossip_traffic(r->g)};
	FILE *f = r->lab->runs;

	write_settings(f, r);
	write_mark(f, &r->mean);
	write_mark(f, &r->worst);
	write_mark(f, &end);
	(void)fprintf(f, "%.5f,%.5f,%.5f,%.5f,%d\n", r->now.loss, worst, r->now.auc, r->best, is_lost(r));
	(void)fflush(f);
}

/* Steps between looks: once all workers have reached the target, only the curve is still to be drawn. */
static uint32_t stride(const struct run *r)
{
	return r->plan->look_at_workers && r->worst.steps != 0 ? 4 * r->plan->every : r->plan->every;
}

struct outcome lab_run(struct lab *lab, struct task *task, const struct plan *plan)
{
	struct run r = {.lab = lab, .task = task, .plan = plan, .best = INFINITY};
	struct outcome out;
	double worst;

	r.g = gossip_create(&plan->cfg, task);
	while (gossip_steps(r.g) < plan->steps) {
		gossip_step(r.g);
		if (gossip_steps(r.g) % stride(&r) == 0 || gossip_steps(r.g) == plan->steps)
			look(&r);
		if (is_lost(&r) || (plan->stop_at_target && r.mean.steps != 0))
			break;
	}
	worst = plan->look_at_workers ? worst_of(&r, INFINITY) : NAN;
	write_run(&r, worst);
	out = (struct outcome){r.now.loss, worst, r.now.auc, r.best, r.mean.steps, gossip_traffic(r.g), is_lost(&r)};
	gossip_destroy(r.g);
	lab->n_runs++;
	(void)fprintf(stderr, "\r%s: %u runs, %.0f s ", lab->experiment, lab->n_runs, seconds() - lab->began);
	return out;
}
