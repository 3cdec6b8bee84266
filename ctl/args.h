/* The command line of dadamctl as a struct: global flags, a verb, its flags and operands. Pure. */
#ifndef CTL_ARGS_H
#define CTL_ARGS_H

#include "libcore/base/err.h"
#include "proto/control.h"

#include <stddef.h>
#include <stdint.h>

#define ARGS_MAX_SETS 32

enum verb {
	VERB_STATUS,
	VERB_PEERS,
	VERB_LS,
	VERB_SUBMIT,
	VERB_SHOW,
	VERB_WATCH,
	VERB_LOGS,
	VERB_STOP,
	VERB_EXPORT,
	VERB_TOPOLOGY,
	VERB_VERSION,
	VERB_HELP
};
#define N_VERBS 12

enum output { OUTPUT_TABLE, OUTPUT_JSON };
enum color_when { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };

struct args {
	const char *socket; /* NULL: look in the usual places */
	enum output output;
	uint64_t timeout_ms;
	enum color_when color;
	enum verb verb;
	const char *operand; /* JOB, FILE or VERB; NULL: none */

	int all;          /* ls -a */
	int wait;         /* submit --wait */
	int id_only;      /* submit --id-only */
	const char *sets[ARGS_MAX_SETS]; /* submit --set */
	size_t n_sets;
	int spec;         /* show --spec */
	int follow;       /* logs -f */
	int64_t lines;    /* logs -n; -1: all */
	const char *file; /* export -o */
	enum control_take take; /* export --take */
	int force;        /* export --force */
	int dot;          /* topology --dot */
};

/* What the environment says: DADAM_OUTPUT, DADAM_TIMEOUT, DADAM_COLOR, NO_COLOR; flags win over it.
 * (DADAM_SOCKET is part of the places that are looked in: daemon_config.h.) */
struct args_environment {
	const char *output, *timeout, *color, *no_color; /* NULL: not set */
};

/* Read argv[1..argc-1]. --help gives VERB_HELP, --version VERB_VERSION without a talk to the daemon
 * being asked for (operand "client"). The result points into argv.
 * ST_INVALID: the sentence says what is wrong, the hint what to type. */
MUST_CHECK enum status args_parse(struct args *out, int argc, char *const *argv,
		const struct args_environment *env, struct error *err);

const char *verb_name(enum verb verb);

/* The text of `help`, and of `help VERB`. */
const char *help_text(void);
const char *help_of(enum verb verb);

/* The verb of that name; 0 when there is none. */
int verb_find(enum verb *out, const char *name);

/* The verb nearest to a misspelt one, NULL: none is near. */
const char *verb_near(const char *name);

#endif
