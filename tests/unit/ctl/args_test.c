/* The command line: what good ones mean, and what bad ones are told. */
#include "ctl/args.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define MAX_WORDS 12

static enum status parse(struct args *a, const char *line, const struct args_environment *env, struct error *err)
{
	static char words[512];
	static const struct args_environment none;
	char *argv[MAX_WORDS] = {NULL};
	int argc = 0;

	strncpy(words, line, sizeof words - 1);
	for (char *w = strtok(words, " "); w != NULL && argc < MAX_WORDS - 1; w = strtok(NULL, " "))
		argv[argc++] = w;
	return args_parse(a, argc, argv, env != NULL ? env : &none, err);
}

Test(args, flags_stand_before_and_after_the_verb)
{
	struct args a;
	struct error err = {0};

	cr_assert_eq(parse(&a, "dadamctl --socket /s -o json --timeout 2s ls -a", NULL, &err), ST_OK, "%s", err.msg);
	cr_assert_str_eq(a.socket, "/s");
	cr_assert_eq(a.output, OUTPUT_JSON);
	cr_assert_eq(a.timeout_ms, 2000);
	cr_assert_eq(a.verb, VERB_LS);
	cr_assert_eq(a.all, 1);
	cr_assert_eq(parse(&a, "dadamctl ls -ao json --socket=/t --color=never", NULL, &err), ST_OK, "%s", err.msg);
	cr_assert_str_eq(a.socket, "/t");
	cr_assert_eq(a.output, OUTPUT_JSON);
	cr_assert_eq(a.color, COLOR_NEVER);
	cr_assert_eq(a.timeout_ms, 5000);
}

Test(args, the_o_of_export_is_a_file_after_the_verb_and_the_format_before_it)
{
	struct args a;

	cr_assert_eq(parse(&a, "dadamctl -o json export x -o F --take local", NULL, NULL), ST_OK);
	cr_assert_eq(a.output, OUTPUT_JSON);
	cr_assert_str_eq(a.file, "F");
	cr_assert_eq(a.take, CONTROL_TAKE_LOCAL);
	cr_assert_eq(parse(&a, "dadamctl export x -o -", NULL, NULL), ST_OK);
	cr_assert_str_eq(a.file, "-");
	cr_assert_eq(a.force, 0);
	cr_assert_eq(parse(&a, "dadamctl export x -o F --force", NULL, NULL), ST_OK);
	cr_assert_eq(a.force, 1);
}

Test(args, submit_takes_many_sets_and_a_dash_for_stdin)
{
	struct args a;

	cr_assert_eq(parse(&a, "dadamctl submit - --set a=1 --set=b=2 --wait --id-only", NULL, NULL), ST_OK);
	cr_assert_str_eq(a.operand, "-");
	cr_assert_eq(a.n_sets, 2);
	cr_assert_str_eq(a.sets[1], "b=2");
	cr_assert(a.wait && a.id_only);
}

Test(args, the_environment_is_read_and_flags_win)
{
	struct args_environment env = {"json", "9s", "always", "1"};
	struct args a;

	cr_assert_eq(parse(&a, "dadamctl ls", &env, NULL), ST_OK);
	cr_assert_eq(a.output, OUTPUT_JSON);
	cr_assert_eq(a.timeout_ms, 9000);
	cr_assert_eq(a.color, COLOR_ALWAYS);
	cr_assert_eq(parse(&a, "dadamctl -o table --color auto ls", &env, NULL), ST_OK);
	cr_assert_eq(a.output, OUTPUT_TABLE);
	cr_assert_eq(a.color, COLOR_AUTO);
	env.color = NULL;
	cr_assert_eq(parse(&a, "dadamctl ls", &env, NULL), ST_OK);
	cr_assert_eq(a.color, COLOR_NEVER);
}

Test(args, help_and_version_win_over_the_rest)
{
	struct args a;

	cr_assert_eq(parse(&a, "dadamctl submit --help", NULL, NULL), ST_OK);
	cr_assert_eq(a.verb, VERB_HELP);
	cr_assert_str_eq(a.operand, "submit");
	cr_assert_eq(parse(&a, "dadamctl -h", NULL, NULL), ST_OK);
	cr_assert_eq(a.verb, VERB_HELP);
	cr_assert_null(a.operand);
	cr_assert_eq(parse(&a, "dadamctl --version", NULL, NULL), ST_OK);
	cr_assert_eq(a.verb, VERB_VERSION);
}

static const struct {
	const char *line, *msg, *hint;
} bad[] = {
	{"dadamctl", "no verb", "dadamctl status, or dadamctl help"},
	{"dadamctl sumbit x", "unknown verb 'sumbit'", "did you mean 'submit'?"},
	{"dadamctl sub x", "unknown verb 'sub'", "dadamctl help"},
	{"dadamctl zzzzzzzz", "unknown verb 'zzzzzzzz'", "dadamctl help"},
	{"dadamctl ls extra", "ls: one word too many: 'extra'", ""},
	{"dadamctl peers a b", "peers: one word too many: 'b'", ""},
	{"dadamctl peers 0123456789012345678901234567890123456789012345678901234567890123",
		"peers: found '0123456789012345678901234567890123456789', allowed: a node's name, id or address, or the start of one",
		"dadamctl help peers"},
	{"dadamctl show a b", "show: one word too many: 'b'", ""},
	{"dadamctl show", "show: which job?", "dadamctl help show"},
	{"dadamctl submit", "submit: which file?", "dadamctl help submit"},
	{"dadamctl export x", "export: where to? Add -o FILE.safetensors", "dadamctl help export"},
	{"dadamctl show 0123456789012345678901234567890123456789012345678901234567890123",
		"show: found '0123456789012345678901234567890123456789', allowed: a job's id, the start of one, or a name",
		"dadamctl help show"},
	{"dadamctl -o xml ls", "-o: found 'xml', allowed: table, json", ""},
	{"dadamctl ls -o", "-o needs a value: table|json", ""},
	{"dadamctl --timeout 5 ls", "--timeout: found '5', allowed: a time from 1ms to 1h, as 5s", ""},
	{"dadamctl --timeout 0s ls", "--timeout: found '0s', allowed: a time from 1ms to 1h, as 5s", ""},
	{"dadamctl --socket", "--socket needs a value: PATH", ""},
	{"dadamctl --sokcet x ls", "unknown option '--sokcet'", "did you mean '--socket'?"},
	{"dadamctl --color red ls", "--color: found 'red', allowed: auto, always, never", ""},
	{"dadamctl ls -f", "-f belongs to 'logs'", "write it after the verb: logs ... -f"},
	{"dadamctl --wait submit x", "--wait belongs to 'submit'", "write it after the verb: submit ... --wait"},
	{"dadamctl ls -x", "unknown option '-x'", "dadamctl help ls"},
	{"dadamctl ls --all=1", "--all takes no value", ""},
	{"dadamctl logs j -n -3", "-n: found '-3', allowed: a whole number from 0 to 1000000", ""},
	{"dadamctl logs j -f -o json", "logs -f never ends, a JSON document must: leave one of both away",
		"dadamctl help logs"},
	{"dadamctl export j -o f --take best", "--take: found 'best', allowed: mean, local", ""},
};

Test(args, each_bad_command_line_is_told_what_is_wrong_and_what_to_type)
{
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct error err = {0};
		struct args a;

		cr_expect_eq(parse(&a, bad[i].line, NULL, &err), ST_INVALID, "%s", bad[i].line);
		cr_expect_str_eq(err.msg, bad[i].msg, "%s:\n  %s", bad[i].line, err.msg);
		cr_expect_str_eq(err.hint, bad[i].hint, "%s:\n  %s", bad[i].line, err.hint);
	}
}

Test(args, every_verb_has_a_help_that_names_it)
{
	for (unsigned v = 0; v < N_VERBS; v++) {
		char start[64];

		(void)snprintf(start, sizeof start, "dadamctl %s", verb_name((enum verb)v));
		cr_assert_eq(strncmp(help_of((enum verb)v), start, strlen(start)), 0, "%s", start);
		cr_assert_not_null(strstr(help_of((enum verb)v), "examples"));
	}
}
