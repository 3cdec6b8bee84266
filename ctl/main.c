/* dadamctl: talks to the daemon of its own host. Reads the command line, runs one verb, exits. */
#include "ctl/shell.h"

#include <stdio.h>
#include <stdlib.h>

static int run(struct shell *sh)
{
	switch (sh->args->verb) {
	case VERB_STATUS:
		return cmd_status(sh);
	case VERB_PEERS:
		return cmd_peers(sh);
	case VERB_LS:
		return cmd_ls(sh);
	case VERB_SUBMIT:
		return cmd_submit(sh);
	case VERB_SHOW:
		return cmd_show(sh);
	case VERB_WATCH:
		return cmd_watch(sh);
	case VERB_LOGS:
		return cmd_logs(sh);
	case VERB_STOP:
		return cmd_stop(sh);
	case VERB_EXPORT:
		return cmd_export(sh);
	case VERB_TOPOLOGY:
		return cmd_topology(sh);
	case VERB_VERSION:
		return cmd_version(sh);
	case VERB_HELP:
		return cmd_help(sh);
	}
	return EXIT_FAILED;
}

int main(int argc, char **argv)
{
	struct args_environment env = {getenv("DADAM_OUTPUT"), getenv("DADAM_TIMEOUT"), getenv("DADAM_COLOR"),
		getenv("NO_COLOR")};
	struct error err = {0};
	struct args args;
	struct shell sh;
	enum status st = args_parse(&args, argc, argv, &env, &err);
	int with;

	client_catch_signals();
	shell_init(&sh, &args);
	with = st == ST_OK ? run(&sh) : shell_fail(&sh, &err, EXIT_USAGE);
	shell_fini(&sh);
	return with;
}
