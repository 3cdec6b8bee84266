/* Real workers without neighbours whose plugin misbehaves, or whose numbers get out of hand: the job hears what was
 * wrong, where and at which step, and the worker ends. No daemon. */
#include "tests/integration/worker_driver.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define DEADLINE_MS 40000

struct fault {
	const char *plugin, *options, *more, *says; /* options: of the plugin, behind those that it always gets */
	int sig; /* the signal that ends the worker, or 0: exit 1 and FAILED */
	enum status status;
};

static const char *algorithm = "d-adam", *rate = "0.05";

/* Rounds of three steps. */
static const char *spec_of(const struct fault *f)
{
	static char text[1024];

	snprintf(text, sizeof text,
			"name: t\nseed: 5\nmodel: {plugin: %s, options: {params: 5000, rows: 64%s}}\ndata: {format: none}\n"
			"algorithm: {name: %s, period: 3, learning_rate: %s}\nbatch: 4\nsteps: 14\nwire: {segment: 1024}\n%s",
			f->plugin, f->options, algorithm, rate, f->more);
	return text;
}

static const struct fault faults[] = {
	{"refusing", ", where: create", "", "plugin refusing: create: this plugin refuses on purpose", 0, ST_PLUGIN},
	{"refusing", ", where: load", "", "plugin refusing: load: this plugin refuses on purpose", 0, ST_PLUGIN},
	{"refusing", ", where: init", "", "plugin refusing: init: this plugin refuses on purpose", 0, ST_PLUGIN},
	{"refusing", ", at: 4", "", "step 4: plugin refusing: gradient: this plugin refuses on purpose", 0, ST_PLUGIN},
	{"refusing", ", where: evaluate", "", "plugin refusing: evaluate: this plugin refuses on purpose", 0, ST_PLUGIN},
	{"quadratic", ", colour: red", "", "plugin quadratic: create: unknown option colour", 0, ST_PLUGIN},
	{"nan", ", at: 5", "", "the gradient of tensor rest is not finite at step 5 (element 4999 of it is nan)", 0, ST_NOT_FINITE},
	{"nan", ", at: 5, gives: 1e20", "", "the square of the gradient of tensor rest is not finite at step 5 (element 4999 of it is 1e+20)", 0,
			ST_NOT_FINITE},
	{"nan", ", at: 5, gives: -nan", "", "the gradient of tensor rest is not finite at step 5 (element 4999 of it is nan)", 0, ST_NOT_FINITE},
	{"nan", ", where: loss, at: 5", "", "the loss is nan at step 5", 0, ST_NOT_FINITE},
	{"hanging", ", at: 4", "timeouts: {step: 1s}\n", "plugin hanging: gradient of step 4 has not returned for", 0, ST_TIMEOUT},
	{"hanging", ", where: load", "timeouts: {step: 200ms}\n", "plugin hanging: load has not returned for", 0, ST_TIMEOUT},
	{"crashing", ", at: 3", "", "plugin crashing: gradient of step 3: crashed with signal 11", SIGSEGV, ST_OK},
	{"crashing", ", where: load", "", "plugin crashing: load: crashed with signal 11", SIGSEGV, ST_OK},
};

static void read_stderr(const struct driver *d, char out[4096])
{
	char path[80];
	FILE *f;
	size_t n = 0;

	snprintf(path, sizeof path, "%s/stderr", d->dir);
	f = fopen(path, "r");
	if (f != NULL) {
		n = fread(out, 1, 4095, f);
		fclose(f);
	}
	out[n] = 0;
}

static void check_fault(const struct driver *d, const struct fault *f)
{
	char said[4096];
	const char *at;
	const struct driver_rank *r = &d->ranks[0];

	if (f->sig != 0) {
		read_stderr(d, said);
		if (strstr(said, "Sanitizer") != NULL || strstr(said, "runtime error:") != NULL) /* then the signal and the last words are theirs */
			return;
		if (r->failed || !WIFSIGNALED(r->status) || WTERMSIG(r->status) != f->sig || strstr(said, f->says) == NULL)
			driver_die("%s%s: status %#x, stderr: %s", f->plugin, f->options, r->status, said);
		return;
	}
	if (!r->failed || strstr(r->why.why, f->says) == NULL || r->why.status != f->status)
		driver_die("%s%s: said \"%s\" (%d), should say \"%s\"", f->plugin, f->options, r->failed ? r->why.why : "nothing",
				(int)r->why.status, f->says);
	if (f->status == ST_NOT_FINITE && r->why.hint[0] == '\0')
		driver_die("%s%s: no hint with \"%s\"", f->plugin, f->options, r->why.why);
	at = strstr(f->says, "at step ");
	if (at != NULL && r->last.view.step - strtoull(at + 8, NULL, 10) > 1) /* taken before that one, or with it */
		driver_die("%s%s: the daemon knows of step %llu, it ends %s", f->plugin, f->options,
				(unsigned long long)r->last.view.step, at);
	if (!WIFEXITED(r->status) || WEXITSTATUS(r->status) != 1)
		driver_die("%s%s: status %#x, exit 1 is right", f->plugin, f->options, r->status);
}

static void try_fault(const struct fault *f)
{
	struct driver d;

	driver_init(&d, 1, f->plugin, spec_of(f));
	d.keep_stderr = 1;
	driver_start(&d);
	if (driver_run(&d, DEADLINE_MS) != 0)
		driver_die("%s%s: the worker hangs", f->plugin, f->options);
	check_fault(&d, f);
	driver_fini(&d);
	driver_ok("plugin %s%s: the worker ends: %s", f->plugin, f->options, f->says);
}

/* A half-step overflows within a round of steps 3 to 5, as its last one, after a round of gradients, at the end. */
static void try_overflows(void)
{
	static const struct {
		const char *algorithm, *options, *says;
	} rows[] = {
		{"d-psgd", ", at: 4, gives: 3e38", "the value of tensor rest is not finite at step 4 (element 4999 of x is -inf)"},
		{"choco-sgd", ", at: 5, gives: 3e38", "the value of tensor rest is not finite at step 5 (element 4999 of x is -inf)"},
		{"central-sgd", ", at: 4, gives: 3e38", "the value of tensor rest is not finite at step 4 (element 4999 of x is -inf)"},
		{"central-sgd", ", at: 13, gives: 3e38", "the value of tensor rest is not finite at step 13 (element 4999 of x is -inf)"},
	};

	rate = "20";
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		algorithm = rows[i].algorithm;
		try_fault(&(struct fault){"nan", rows[i].options, "", rows[i].says, 0, ST_NOT_FINITE});
	}
}

/* Both models end at -2.7e38: each is finite, their sum is not. */
static void try_sum(void)
{
	static const char says[] = "add up to -inf in tensor rest at step 13 (element 4999 of x is -2.7e+38 here)";
	const struct fault f = {"nan", ", at: 13, gives: 3e38", "", says, 0, ST_NOT_FINITE};
	struct driver d;
	int failed = 0;

	algorithm = "d-psgd";
	rate = "0.9";
	driver_init(&d, 2, f.plugin, spec_of(&f));
	driver_start(&d);
	if (driver_run(&d, DEADLINE_MS) != 0)
		driver_die("an infinite sum: a worker hangs");
	for (int r = 0; r < 2; r++)
		failed += d.ranks[r].failed && d.ranks[r].why.status == ST_NOT_FINITE && strstr(d.ranks[r].why.why, says) != NULL;
	if (failed != 1)
		driver_die("an infinite sum: %d ranks say so; they said \"%s\" and \"%s\"", failed, d.ranks[0].why.why, d.ranks[1].why.why);
	driver_fini(&d);
	driver_ok("two models whose sum is infinite: the job fails: %s", says);
}

static void try_plugins(void)
{
	for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++)
		try_fault(&faults[i]);
}

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	signal(SIGPIPE, SIG_IGN);
	try_plugins();
	try_overflows();
	try_sum();
	driver_plan();
	return 0;
}
