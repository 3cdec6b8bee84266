/* The verbs about the node and the tool: status, peers, version, help. */
#include "ctl/render_json.h"
#include "ctl/render_peer.h"
#include "ctl/render_text.h"
#include "ctl/shell.h"
#include "libcore/settings/daemon_config.h"
#include "libcore/settings/job_spec.h"

#include <stdio.h>
#include <string.h>

int cmd_status(struct shell *sh)
{
	struct control_request req = {.type = CONTROL_STATUS}, list = {.type = CONTROL_JOBS};
	struct control_response resp, jobs = {0};
	int json = sh->args->output == OUTPUT_JSON;
	struct page p;
	int with = shell_ask(sh, &resp, &req);

	if (with != 0)
		return with;
	if (!json)
		with = shell_ask(sh, &jobs, &list);
	if (with == 0) {
		page_init(&p, shell_view(sh));
		if (json)
			json_status(&p, &resp.info);
		else
			render_status(&p, &resp.info, jobs.jobs, jobs.n_jobs);
		with = shell_print(sh, &p);
		if (!json)
			control_response_fini(&jobs);
	}
	control_response_fini(&resp);
	return with;
}

/* A daemon that does not know the field yet answers with everybody. */
static int print_peer(struct shell *sh, const struct control_response *resp)
{
	struct error err;
	struct page p;

	if (resp->n_members != 1) {
		(void)error_set(&err, ST_VERSION, "peers NODE: the daemon is older than this dadamctl and does not know it");
		error_hint(&err, "dadamctl peers; or start a newer dadamd");
		return shell_fail(sh, &err, EXIT_PROTOCOL);
	}
	page_init(&p, shell_view(sh));
	if (sh->args->output == OUTPUT_JSON)
		json_peer(&p, resp->members, resp->places, resp->n_places);
	else
		render_peer(&p, resp->members, resp->places, resp->n_places);
	return shell_print(sh, &p);
}

int cmd_peers(struct shell *sh)
{
	struct control_request req = {.type = CONTROL_PEERS};
	struct control_response resp;
	struct page p;
	int with;

	(void)snprintf(req.node, sizeof req.node, "%s", sh->args->operand != NULL ? sh->args->operand : "");
	with = shell_ask(sh, &resp, &req);
	if (with != 0)
		return with;
	if (req.node[0] != '\0') {
		with = print_peer(sh, &resp);
		control_response_fini(&resp);
		return with;
	}
	page_init(&p, shell_view(sh));
	if (sh->args->output == OUTPUT_JSON)
		json_peers(&p, resp.members, resp.n_members);
	else
		render_peers(&p, resp.members, resp.n_members);
	control_response_fini(&resp);
	return shell_print(sh, &p);
}

static int print_version(struct shell *sh, const struct control_status *daemon, int asked)
{
	struct page p;

	page_init(&p, shell_view(sh));
	if (sh->args->output == OUTPUT_JSON)
		json_version(&p, daemon);
	else {
		page_put(&p, "dadamctl  %s  control protocol %d\n", DADAM_VERSION, CONTROL_VERSION);
		if (daemon != NULL) {
			page_put(&p, "dadamd    ");
			page_clean(&p, daemon->version);
			page_put(&p, "  at %s\n", sh->client.path);
		} else if (asked)
			page_put(&p, "dadamd    not reachable\n");
	}
	return shell_print(sh, &p);
}

int cmd_version(struct shell *sh)
{
	struct control_request req = {.type = CONTROL_VERSION_INFO};
	struct control_response resp;
	int with, printed;

	if (sh->args->operand != NULL) /* --version: only ours */
		return print_version(sh, NULL, 0);
	with = shell_ask(sh, &resp, &req);
	printed = print_version(sh, with == 0 ? &resp.info : NULL, 1);
	if (with != 0)
		return with;
	control_response_fini(&resp);
	return printed;
}

/* Sample files, as the tables of the settings have them. */
static int print_sample(struct shell *sh, enum status (*sample)(struct buf *out))
{
	struct page p;

	page_init(&p, shell_view(sh));
	p.st = sample(&p.text);
	return shell_print(sh, &p);
}

int cmd_help(struct shell *sh)
{
	const char *topic = sh->args->operand;
	enum verb verb;
	struct error err;

	if (topic == NULL)
		return shell_write(sh, help_text(), strlen(help_text()));
	if (strcmp(topic, "exit") == 0)
		return shell_write(sh, exits_help, strlen(exits_help));
	if (strcmp(topic, "spec") == 0)
		return print_sample(sh, job_spec_sample);
	if (strcmp(topic, "config") == 0)
		return print_sample(sh, daemon_config_sample);
	if (verb_find(&verb, topic))
		return shell_write(sh, help_of(verb), strlen(help_of(verb)));
	(void)error_set(&err, ST_INVALID, "help: unknown verb '%.60s'", topic);
	if (verb_near(topic) != NULL)
		error_hint(&err, "did you mean 'help %s'?", verb_near(topic));
	else
		error_hint(&err, "dadamctl help");
	return shell_fail(sh, &err, EXIT_USAGE);
}
