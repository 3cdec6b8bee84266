/* The command line of dadamctl as a struct. See args.h.
 *
 * Two tables: verbs (name, operand) and options (letter, word, the verb it belongs to, what it sets).
 * Options may stand before and after the operand; what follows `--` is an operand. */
#include "ctl/args.h"

#include "libcore/base/nearest.h"
#include "libcore/settings/value.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define ANY_VERB N_VERBS

struct verb_row {
	const char *name;
	const char *operand; /* its name; NULL: takes none */
	bool needed;
};

/* In the order of enum verb. */
static const struct verb_row verbs[N_VERBS] = {
	{"status", NULL, false}, {"peers", "NODE", false}, {"ls", NULL, false}, {"submit", "FILE", true},
	{"show", "JOB", true}, {"watch", "JOB", true}, {"logs", "JOB", true}, {"stop", "JOB", true},
	{"export", "JOB", true}, {"topology", "JOB", true}, {"version", NULL, false}, {"help", "VERB", false},
};

enum option {
	OPTION_SOCKET,
	OPTION_OUTPUT,
	OPTION_JSON,
	OPTION_TIMEOUT,
	OPTION_COLOR,
	OPTION_HELP,
	OPTION_VERSION,
	OPTION_ALL,
	OPTION_WAIT,
	OPTION_ID_ONLY,
	OPTION_SET,
	OPTION_SPEC,
	OPTION_FOLLOW,
	OPTION_LINES,
	OPTION_FILE,
	OPTION_TAKE,
	OPTION_FORCE,
	OPTION_DOT
};

struct option_row {
	enum option option;
	char letter;      /* 0: none */
	const char *word; /* without the dashes */
	unsigned verb;    /* an enum verb, or ANY_VERB */
	const char *value; /* its name; NULL: takes none */
};

/* Rows of one verb stand before those for any, so that `export -o FILE` is found first. */
static const struct option_row options[] = {
	{OPTION_ALL, 'a', "all", VERB_LS, NULL},
	{OPTION_WAIT, 0, "wait", VERB_SUBMIT, NULL},
	{OPTION_ID_ONLY, 0, "id-only", VERB_SUBMIT, NULL},
	{OPTION_SET, 0, "set", VERB_SUBMIT, "KEY=VALUE"},
	{OPTION_SPEC, 0, "spec", VERB_SHOW, NULL},
	{OPTION_FOLLOW, 'f', "follow", VERB_LOGS, NULL},
	{OPTION_LINES, 'n', "lines", VERB_LOGS, "N"},
	{OPTION_FILE, 'o', "output", VERB_EXPORT, "FILE"},
	{OPTION_TAKE, 0, "take", VERB_EXPORT, "mean|local"},
	{OPTION_FORCE, 0, "force", VERB_EXPORT, NULL},
	{OPTION_DOT, 0, "dot", VERB_TOPOLOGY, NULL},
	{OPTION_SOCKET, 0, "socket", ANY_VERB, "PATH"},
	{OPTION_OUTPUT, 'o', "output", ANY_VERB, "table|json"},
	{OPTION_JSON, 0, "json", ANY_VERB, NULL},
	{OPTION_TIMEOUT, 0, "timeout", ANY_VERB, "TIME"},
	{OPTION_COLOR, 0, "color", ANY_VERB, "auto|always|never"},
	{OPTION_HELP, 'h', "help", ANY_VERB, NULL},
	{OPTION_VERSION, 'V', "version", ANY_VERB, NULL},
};

#define N_OPTIONS (sizeof options / sizeof *options)

/* The reading: where we are, and whether a verb was seen. */
struct reader {
	struct args *out;
	int argc, at;
	char *const *argv;
	bool has_verb, only_operands, help, version;
	struct error *err;
};

const char *verb_name(enum verb verb)
{
	return verbs[verb].name;
}

int verb_find(enum verb *out, const char *name)
{
	for (unsigned i = 0; i < N_VERBS; i++)
		if (strcmp(verbs[i].name, name) == 0) {
			*out = (enum verb)i;
			return 1;
		}
	return 0;
}

const char *verb_near(const char *name)
{
	const char *words[N_VERBS];

	for (unsigned i = 0; i < N_VERBS; i++)
		words[i] = verbs[i].name;
	return nearest_word(name, words, N_VERBS);
}

static enum status usage_hint(struct error *err, const struct args *out, bool has_verb)
{
	error_hint(err, "dadamctl help%s%s", has_verb ? " " : "", has_verb ? verb_name(out->verb) : "");
	return ST_INVALID;
}

static enum status bad_value(struct error *err, const char *what, const char *found, const char *allowed)
{
	return error_set(err, ST_INVALID, "%s: found '%.60s', allowed: %s", what, found, allowed);
}

static enum status set_output(struct args *a, const char *what, const char *value, struct error *err)
{
	if (strcmp(value, "json") == 0)
		a->output = OUTPUT_JSON;
	else if (strcmp(value, "table") == 0)
		a->output = OUTPUT_TABLE;
	else
		return bad_value(err, what, value, "table, json");
	return ST_OK;
}

static enum status set_timeout(struct args *a, const char *what, const char *value, struct error *err)
{
	uint64_t ms;

	if (!value_time_ms(&ms, value) || ms < 1 || ms > 3600000)
		return bad_value(err, what, value, "a time from 1ms to 1h, as 5s");
	a->timeout_ms = ms;
	return ST_OK;
}

static enum status set_color(struct args *a, const char *what, const char *value, struct error *err)
{
	static const char *const words[] = {"auto", "always", "never"};

	for (unsigned i = 0; i < 3; i++)
		if (strcmp(words[i], value) == 0) {
			a->color = (enum color_when)i;
			return ST_OK;
		}
	return bad_value(err, what, value, "auto, always, never");
}

static enum status set_lines(struct args *a, const char *value, struct error *err)
{
	uint64_t n;

	if (!value_integer(&n, value) || n > 1000000)
		return bad_value(err, "-n", value, "a whole number from 0 to 1000000");
	a->lines = (int64_t)n;
	return ST_OK;
}

static enum status set_take(struct args *a, const char *value, struct error *err)
{
	if (strcmp(value, "mean") == 0)
		a->take = CONTROL_TAKE_MEAN;
	else if (strcmp(value, "local") == 0)
		a->take = CONTROL_TAKE_LOCAL;
	else
		return bad_value(err, "--take", value, "mean, local");
	return ST_OK;
}

static enum status add_set(struct args *a, const char *value, struct error *err)
{
	if (a->n_sets == ARGS_MAX_SETS)
		return error_set(err, ST_INVALID, "--set: more than %d of them", ARGS_MAX_SETS);
	a->sets[a->n_sets++] = value;
	return ST_OK;
}

static enum status apply(struct reader *r, enum option option, const char *value)
{
	struct args *a = r->out;

	switch (option) {
	case OPTION_SOCKET:
		a->socket = value;
		return ST_OK;
	case OPTION_OUTPUT:
		return set_output(a, "-o", value, r->err);
	case OPTION_JSON:
		a->output = OUTPUT_JSON;
		return ST_OK;
	case OPTION_TIMEOUT:
		return set_timeout(a, "--timeout", value, r->err);
	case OPTION_COLOR:
		return set_color(a, "--color", value, r->err);
	case OPTION_HELP:
		r->help = true;
		return ST_OK;
	case OPTION_VERSION:
		r->version = true;
		return ST_OK;
	case OPTION_ALL:
		a->all = 1;
		return ST_OK;
	case OPTION_WAIT:
		a->wait = 1;
		return ST_OK;
	case OPTION_ID_ONLY:
		a->id_only = 1;
		return ST_OK;
	case OPTION_SET:
		return add_set(a, value, r->err);
	case OPTION_SPEC:
		a->spec = 1;
		return ST_OK;
	case OPTION_FOLLOW:
		a->follow = 1;
		return ST_OK;
	case OPTION_LINES:
		return set_lines(a, value, r->err);
	case OPTION_FILE:
		a->file = value;
		return ST_OK;
	case OPTION_TAKE:
		return set_take(a, value, r->err);
	case OPTION_FORCE:
		a->force = 1;
		return ST_OK;
	case OPTION_DOT:
		a->dot = 1;
		return ST_OK;
	}
	return ST_OK;
}

static bool fits(const struct reader *r, const struct option_row *row)
{
	return row->verb == ANY_VERB || (r->has_verb && row->verb == (unsigned)r->out->verb);
}

static const struct option_row *find_option(const struct reader *r, const char *name, size_t len, bool word)
{
	for (size_t i = 0; i < N_OPTIONS; i++) {
		const struct option_row *row = &options[i];

		if (!fits(r, row))
			continue;
		if (word ? strlen(row->word) == len && memcmp(row->word, name, len) == 0 : row->letter == *name)
			return row;
	}
	return NULL;
}

/* Another verb's option, a near word, or just unknown. */
static enum status refuse_option(struct reader *r, const char *arg, const char *name, size_t len, bool word)
{
	const char *words[N_OPTIONS], *near;
	char text[64];
	size_t n = 0;

	for (size_t i = 0; i < N_OPTIONS; i++) {
		const struct option_row *row = &options[i];

		if (fits(r, row))
			words[n++] = row->word;
		else if (word ? strlen(row->word) == len && memcmp(row->word, name, len) == 0 : row->letter == *name) {
			(void)error_set(r->err, ST_INVALID, "%.60s belongs to '%s'", arg, verbs[row->verb].name);
			error_hint(r->err, "write it after the verb: %s ... %.60s", verbs[row->verb].name, arg);
			return ST_INVALID;
		}
	}
	(void)error_set(r->err, ST_INVALID, "unknown option '%.60s'", arg);
	(void)snprintf(text, sizeof text, "%.*s", (int)(len < 60 ? len : 60), name);
	near = word ? nearest_word(text, words, n) : NULL;
	if (near != NULL)
		error_hint(r->err, "did you mean '--%s'?", near);
	else
		(void)usage_hint(r->err, r->out, r->has_verb);
	return ST_INVALID;
}

/* --word, --word=value, --word value */
static enum status read_word(struct reader *r, const char *arg)
{
	const char *name = arg + 2, *equals = strchr(name, '=');
	size_t len = equals != NULL ? (size_t)(equals - name) : strlen(name);
	const struct option_row *row = find_option(r, name, len, true);

	if (row == NULL)
		return refuse_option(r, arg, name, len, true);
	if (row->value == NULL && equals != NULL)
		return error_set(r->err, ST_INVALID, "--%s takes no value", row->word);
	if (row->value == NULL)
		return apply(r, row->option, NULL);
	if (equals != NULL)
		return apply(r, row->option, equals + 1);
	if (r->at + 1 >= r->argc)
		return error_set(r->err, ST_INVALID, "--%s needs a value: %s", row->word, row->value);
	return apply(r, row->option, r->argv[++r->at]);
}

/* -a, -af, -nVALUE, -n VALUE */
static enum status read_letters(struct reader *r, const char *arg)
{
	enum status st = ST_OK;

	for (const char *p = arg + 1; *p != '\0' && st == ST_OK; p++) {
		const struct option_row *row = find_option(r, p, 1, false);

		if (row == NULL)
			return refuse_option(r, arg, p, 1, false);
		if (row->value == NULL) {
			st = apply(r, row->option, NULL);
			continue;
		}
		if (p[1] != '\0')
			return apply(r, row->option, p + 1);
		if (r->at + 1 >= r->argc)
			return error_set(r->err, ST_INVALID, "-%c needs a value: %s", row->letter, row->value);
		return apply(r, row->option, r->argv[++r->at]);
	}
	return st;
}

static enum status read_operand(struct reader *r, const char *arg)
{
	const char *near;

	if (!r->has_verb) {
		r->has_verb = verb_find(&r->out->verb, arg);
		if (r->has_verb)
			return ST_OK;
		(void)error_set(r->err, ST_INVALID, "unknown verb '%.60s'", arg);
		near = verb_near(arg);
		if (near != NULL)
			error_hint(r->err, "did you mean '%s'?", near);
		else
			error_hint(r->err, "dadamctl help");
		return ST_INVALID;
	}
	if (verbs[r->out->verb].operand == NULL || r->out->operand != NULL)
		return error_set(r->err, ST_INVALID, "%s: one word too many: '%.60s'", verb_name(r->out->verb), arg);
	r->out->operand = arg;
	return ST_OK;
}

static enum status read_environment(struct args *out, const struct args_environment *env, struct error *err)
{
	enum status st = ST_OK;

	if (env->no_color != NULL && *env->no_color != '\0')
		out->color = COLOR_NEVER;
	if (env->color != NULL && *env->color != '\0')
		st = set_color(out, "DADAM_COLOR", env->color, err);
	if (st == ST_OK && env->output != NULL && *env->output != '\0')
		st = set_output(out, "DADAM_OUTPUT", env->output, err);
	if (st == ST_OK && env->timeout != NULL && *env->timeout != '\0')
		st = set_timeout(out, "DADAM_TIMEOUT", env->timeout, err);
	return st;
}

/* --help and --version win over whatever else was written. */
static bool settle_help(struct reader *r)
{
	struct args *a = r->out;

	if (r->help) {
		a->operand = r->has_verb ? verb_name(a->verb) : NULL;
		a->verb = VERB_HELP;
	} else if (r->version) {
		a->verb = VERB_VERSION;
		a->operand = "client";
	}
	return r->help || r->version;
}

static enum status check(const struct reader *r)
{
	const struct args *a = r->out;
	const struct verb_row *row = &verbs[a->verb];
	enum status st = ST_OK;

	if (row->needed && a->operand == NULL)
		st = error_set(r->err, ST_INVALID, "%s: which %s?", row->name, strcmp(row->operand, "FILE") == 0 ? "file" : "job");
	else if (row->needed && strcmp(row->operand, "JOB") == 0 && (*a->operand == '\0' || strlen(a->operand) > 63))
		st = error_set(r->err, ST_INVALID, "%s: found '%.40s', allowed: a job's id, the start of one, or a name", row->name,
				a->operand);
	else if (a->verb == VERB_PEERS && a->operand != NULL && (*a->operand == '\0' || strlen(a->operand) > 63))
		st = error_set(r->err, ST_INVALID, "peers: found '%.40s', allowed: a node's name, id or address, or the start of one",
				a->operand);
	else if (a->verb == VERB_EXPORT && a->file == NULL)
		st = error_set(r->err, ST_INVALID, "export: where to? Add -o FILE.safetensors");
	else if (a->verb == VERB_LOGS && a->follow && a->output == OUTPUT_JSON)
		st = error_set(r->err, ST_INVALID, "logs -f never ends, a JSON document must: leave one of both away");
	if (st != ST_OK)
		(void)usage_hint(r->err, a, true);
	return st;
}

enum status args_parse(struct args *out, int argc, char *const *argv, const struct args_environment *env,
		struct error *err)
{
	struct reader r = {.out = out, .argc = argc, .argv = argv, .err = err};
	enum status st;

	memset(out, 0, sizeof *out);
	out->timeout_ms = 5000;
	out->lines = -1;
	st = read_environment(out, env, err);
	for (r.at = 1; r.at < argc && st == ST_OK; r.at++) {
		const char *arg = argv[r.at];

		if (!r.only_operands && strcmp(arg, "--") == 0)
			r.only_operands = true;
		else if (!r.only_operands && strncmp(arg, "--", 2) == 0)
			st = read_word(&r, arg);
		else if (!r.only_operands && arg[0] == '-' && arg[1] != '\0')
			st = read_letters(&r, arg);
		else
			st = read_operand(&r, arg);
	}
	if (st != ST_OK || settle_help(&r))
		return st;
	if (!r.has_verb) {
		out->verb = VERB_HELP;
		(void)error_set(err, ST_INVALID, "no verb");
		error_hint(err, "dadamctl status, or dadamctl help");
		return ST_INVALID;
	}
	return check(&r);
}
