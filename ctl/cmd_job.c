/* The verbs about jobs that ask once: ls, show, stop, topology. */
#include "ctl/render_json.h"
#include "ctl/render_pipeline.h"
#include "ctl/render_schedule.h"
#include "ctl/render_text.h"
#include "ctl/render_topology.h"
#include "ctl/shell.h"
#include "libcore/settings/job_spec.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

int cmd_ls(struct shell *sh)
{
	struct control_request req = {.type = CONTROL_JOBS};
	struct control_response resp;
	struct page p;
	size_t shown;
	int with = shell_ask(sh, &resp, &req);

	if (with != 0)
		return with;
	page_init(&p, shell_view(sh));
	if (sh->args->output == OUTPUT_JSON) {
		json_jobs(&p, resp.jobs, resp.n_jobs, sh->args->all, NULL);
	} else {
		shown = render_jobs(&p, resp.jobs, resp.n_jobs, sh->args->all, 0);
		if (shown == 0 && resp.n_jobs > 0)
			(void)fprintf(stderr, "no job is going on; ended ones: %s ls -a\n", sh->prefix);
		else if (shown == 0)
			(void)fprintf(stderr, "no jobs yet; start one: %s submit FILE\n", sh->prefix);
	}
	control_response_fini(&resp);
	return shell_print(sh, &p);
}

/* Ask about the one job of the command line; an answer without it is the daemon's fault. */
static int ask_job(struct shell *sh, struct control_response *resp, enum control_request_type type)
{
	struct control_request req = shell_job_request(sh, type);
	struct error err;
	int with = shell_ask(sh, resp, &req);

	if (with != 0 || resp->n_jobs == 1)
		return with;
	control_response_fini(resp);
	(void)error_set(&err, ST_PROTO, "the daemon sent %zu jobs, one was asked for", resp->n_jobs);
	return shell_fail(sh, &err, EXIT_PROTOCOL);
}

int cmd_show(struct shell *sh)
{
	struct control_response resp;
	struct page p;
	int with = ask_job(sh, &resp, CONTROL_JOB);

	if (with != 0)
		return with;
	page_init(&p, shell_view(sh));
	if (sh->args->output == OUTPUT_JSON)
		json_jobs(&p, resp.jobs, 1, 1, NULL);
	else if (sh->args->spec && resp.jobs[0].spec != NULL)
		p.st = buf_append(&p.text, resp.jobs[0].spec, strlen(resp.jobs[0].spec));
	else if (!sh->args->spec)
		render_show(&p, &resp.jobs[0]);
	control_response_fini(&resp);
	return shell_print(sh, &p);
}

int cmd_stop(struct shell *sh)
{
	struct control_response resp;
	char id[ID_SHORT_SIZE];
	struct page p;
	int with = ask_job(sh, &resp, CONTROL_STOP);

	if (with != 0)
		return with;
	page_init(&p, shell_view(sh));
	if (sh->args->output == OUTPUT_JSON)
		json_jobs(&p, resp.jobs, 1, 1, NULL);
	else {
		id_short(id, &resp.jobs[0].id);
		page_clean(&p, resp.jobs[0].name);
		page_put(&p, " %s  %s\n", id, control_phase_text(resp.jobs[0].phase));
		if (!control_phase_is_final(resp.jobs[0].phase))
			page_put(&p, "\n  watch   %s watch %s\n", sh->prefix, id);
	}
	control_response_fini(&resp);
	return shell_print(sh, &p);
}

/* The topology that the workers build from the job's words. spec holds its text, and is the caller's (job_spec_fini). */
static enum status read_topology(struct topology *out, struct job_spec *spec, const struct control_job *job, struct error *err)
{
	char id[ID_SHORT_SIZE];

	id_short(id, &job->id);
	if (job->n_ranks == 0) {
		(void)error_set(err, ST_STATE, "the job has no ranks yet: %s", job->why);
		if (!control_phase_is_final(job->phase))
			error_hint(err, "wait for it: dadamctl watch %s", id);
		return ST_STATE;
	}
	if (job->spec == NULL || job_spec_parse(spec, "spec", job->spec, strlen(job->spec), NULL) != ST_OK) {
		*spec = (struct job_spec){.seed = 1};
		(void)snprintf(spec->topology, sizeof spec->topology, "%s", job->topology);
	}
	return topology_parse(out, spec->topology, err);
}

/* No graph: a one-peer schedule. */
static double round_bytes(const struct control_job *job, const struct job_spec *spec, const struct graph *g)
{
	return job->spec != NULL ? topology_round_bytes(job, spec, g) : (double)NAN;
}

static int print_schedule(struct shell *sh, const struct control_job *job, const struct job_spec *spec)
{
	struct error err = {0};
	double gap = 0;
	struct page p;

	if (schedule_gap(&gap, job->n_ranks, &err) != ST_OK)
		return shell_fail(sh, &err, EXIT_FAILED);
	page_init(&p, shell_view(sh));
	if (sh->args->output == OUTPUT_JSON)
		json_schedule(&p, job, gap, round_bytes(job, spec, NULL));
	else if (sh->args->dot)
		render_schedule_dot(&p, job);
	else
		render_schedule(&p, job, gap);
	if (sh->args->output != OUTPUT_JSON && !sh->args->dot && job->spec != NULL)
		render_round_bytes(&p, job, spec, NULL);
	return shell_print(sh, &p);
}

static int print_graph(struct shell *sh, const struct control_job *job, const struct topology *t, const struct job_spec *spec)
{
	struct graph *whole = NULL, *g = NULL;
	struct error err = {0};
	double gap = 0;
	struct page p;
	enum status st = topology_graph(&whole, t, job, spec->seed, &err);

	if (st == ST_OK)
		st = topology_present(&g, &gap, whole, job, &err);
	graph_destroy(whole);
	if (st != ST_OK)
		return shell_fail(sh, &err, EXIT_FAILED);
	page_init(&p, shell_view(sh));
	if (sh->args->output == OUTPUT_JSON)
		json_topology(&p, job, g, gap, round_bytes(job, spec, g));
	else if (job->stages > 0 && sh->args->dot)
		render_chain_dot(&p, job);
	else if (job->stages > 0)
		render_chain(&p, job);
	else if (sh->args->dot)
		render_dot(&p, job, g);
	else
		render_topology(&p, job, g, gap);
	if (sh->args->output != OUTPUT_JSON && !sh->args->dot && job->stages == 0 && job->spec != NULL)
		render_round_bytes(&p, job, spec, g);
	graph_destroy(g);
	return shell_print(sh, &p);
}

int cmd_topology(struct shell *sh)
{
	struct control_response resp;
	struct job_spec spec = {.seed = 1};
	struct error err = {0};
	struct topology t;
	int with = ask_job(sh, &resp, CONTROL_JOB);

	if (with != 0)
		return with;
	if (read_topology(&t, &spec, &resp.jobs[0], &err) != ST_OK)
		with = shell_fail(sh, &err, EXIT_FAILED);
	else if (t.kind == TOPOLOGY_ONE_PEER)
		with = print_schedule(sh, &resp.jobs[0], &spec);
	else
		with = print_graph(sh, &resp.jobs[0], &t, &spec);
	job_spec_fini(&spec);
	control_response_fini(&resp);
	return with;
}
