/* A real worker of a pipeline job whose neighbour breaks the rules: the link ends with the reason, and the worker fails
 * naming that neighbour; it never hangs, and nothing that was said is believed. */
#include "tests/integration/worker_bad_peer.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#define NUMBERS 32U /* batch 4, width 8 */

static const char spec[] = "name: t\nmodel: {plugin: quadratic, options: {layers: 4, width: 8}}\ndata: {format: none}\n"
			   "algorithm: {name: pprs, samples: 2, smoothing: 0}\nsteps: 3\nbatch: 4\nstages: 2\ncut: [2]\n"
			   "timeouts: {link: 1s}\nwire: {segment: 1024}\n";

static uint32_t peer; /* the rank that the test plays */

/* ---- what a peer may say ---- */

static void up(struct buf *out)
{
	bad_peer_put(out, &(struct link_msg){.type = LINK_UP, .u.up = {.rank = peer, .n_params = 32, .segment = 1024}});
}

static void cut(struct buf *out, uint32_t n_stages, uint32_t second, uint64_t rows)
{
	struct link_msg m = {.type = LINK_PIPELINE_BEGIN, .u.pipeline = {.n_stages = n_stages, .train_rows = rows, .test_rows = 64}};

	for (uint32_t s = 1; s < n_stages; s++)
		m.u.pipeline.stages[s].layer = second + s - 1;
	bad_peer_put(out, &m);
}

static void begin(struct buf *out)
{
	up(out);
	cut(out, 2, 2, 64);
}

/* n numbers of an activation or gradient. */
static void part(struct buf *out, enum link_type type, struct link_activation a, uint32_t n)
{
	bad_peer_put_payload(out, &(struct link_msg){.type = type, .u.activation = a}, 0x3f, n * link_format_bytes(a.format));
}

static void activation(struct buf *out, uint64_t iteration, uint32_t sample, enum link_pass pass)
{
	part(out, LINK_ACTIVATION, (struct link_activation){.iteration = iteration, .sample = sample, .pass = pass, .total = NUMBERS},
			NUMBERS);
}

static void before_up(struct buf *out)
{
	activation(out, 0, 0, LINK_PASS_TRAIN);
}

static void before_the_cut(struct buf *out)
{
	up(out);
	activation(out, 0, 0, LINK_PASS_TRAIN);
}

static void other_total(struct buf *out)
{
	begin(out);
	part(out, LINK_ACTIVATION, (struct link_activation){.total = NUMBERS + 1}, NUMBERS + 1);
}

static void huge_total(struct buf *out)
{
	begin(out);
	part(out, LINK_ACTIVATION, (struct link_activation){.total = LINK_MAX_NUMBERS}, NUMBERS);
}

static void other_iteration(struct buf *out)
{
	begin(out);
	activation(out, 1, 0, LINK_PASS_TRAIN);
}

static void other_sample(struct buf *out)
{
	begin(out);
	activation(out, 0, 1, LINK_PASS_TRAIN);
}

static void test_rows(struct buf *out)
{
	begin(out);
	activation(out, 0, 0, LINK_PASS_TEST);
}

static void repeated(struct buf *out)
{
	begin(out);
	activation(out, 0, 0, LINK_PASS_TRAIN);
	activation(out, 0, 0, LINK_PASS_TRAIN);
}

static void other_format(struct buf *out)
{
	begin(out);
	part(out, LINK_ACTIVATION, (struct link_activation){.total = NUMBERS, .format = LINK_BF16}, NUMBERS);
}

static void second_half_first(struct buf *out)
{
	begin(out);
	part(out, LINK_ACTIVATION, (struct link_activation){.total = NUMBERS, .offset = 16}, 16);
}

static void another_between(struct buf *out)
{
	begin(out);
	part(out, LINK_ACTIVATION, (struct link_activation){.total = NUMBERS}, 16);
	part(out, LINK_ACTIVATION, (struct link_activation){.total = NUMBERS, .sample = 1, .offset = 16}, 16);
}

static void gradient_downstream(struct buf *out)
{
	begin(out);
	part(out, LINK_ACTIVATION_GRAD, (struct link_activation){.total = NUMBERS}, NUMBERS);
}

static void second_cut(struct buf *out)
{
	begin(out);
	cut(out, 2, 2, 64);
}

static void three_stages(struct buf *out)
{
	up(out);
	cut(out, 3, 1, 64);
}

static void other_cut(struct buf *out)
{
	up(out);
	cut(out, 2, 3, 64);
}

static void other_rows(struct buf *out)
{
	up(out);
	cut(out, 2, 2, 63);
}

static void early_end(struct buf *out)
{
	begin(out);
	bad_peer_put(out, &(struct link_msg){.type = LINK_PIPELINE_END, .u.end = {.iteration = 1}});
}

static void round_begin(struct buf *out)
{
	begin(out);
	bad_peer_put(out, &(struct link_msg){.type = LINK_ROUND_BEGIN});
}

static void ask_downstream(struct buf *out)
{
	begin(out);
	bad_peer_put(out, &(struct link_msg){.type = LINK_PIPELINE_ASK_STOP});
}

static void lost_self(struct buf *out)
{
	begin(out);
	bad_peer_put(out, &(struct link_msg){.type = LINK_PIPELINE_LOST, .u.lost = {.stage = 1}});
}

static void not_a_number(struct buf *out)
{
	begin(out);
	bad_peer_put_payload(out, &(struct link_msg){.type = LINK_ACTIVATION, .u.activation = {.total = NUMBERS}}, 0xff, 4 * NUMBERS);
}

static void closes(struct buf *out)
{
	begin(out);
	activation(out, 0, 0, LINK_PASS_TRAIN);
}

static void activation_upstream(struct buf *out)
{
	up(out);
	activation(out, 0, 0, LINK_PASS_TRAIN);
}

static void gradient(struct buf *out, struct link_activation a)
{
	up(out);
	part(out, LINK_ACTIVATION_GRAD, a, (uint32_t)a.total);
}

static void other_gradient(struct buf *out)
{
	gradient(out, (struct link_activation){.iteration = 2, .total = NUMBERS});
}

static void test_gradient(struct buf *out)
{
	gradient(out, (struct link_activation){.pass = LINK_PASS_TEST, .total = NUMBERS});
}

static void cut_upstream(struct buf *out)
{
	begin(out);
}

static const struct breach {
	uint32_t peer;
	const char *name;
	void (*say)(struct buf *out);
	const char *link; /* part of why the link ended; NULL: the worker fails for its own reason */
	const char *why;  /* part of why the worker failed */
} breaches[] = {
		{0, "before LINK_UP", before_up, "before LINK_UP", NULL},
		{0, "before the cut", before_the_cut, "before the cut was told", "rank 0 (a) is lost"},
		{0, "of another size", other_total, "of 33 numbers, 32 are right", "rank 0 (a) is lost"},
		{0, "of a size beyond any memory", huge_total, "of 1099511627776 numbers, 32 are right", "rank 0 (a) is lost"},
		{0, "of another iteration", other_iteration, "activation 0 of iteration 1, the next one is", "rank 0 (a) is lost"},
		{0, "of another sample", other_sample, "activation 1 of iteration 0, the next one is", "rank 0 (a) is lost"},
		{0, "of test rows that are not due", test_rows, "test chunk 0 of iteration 0", "rank 0 (a) is lost"},
		{0, "repeated", repeated, "activation 0 of iteration 0, the next one is", "rank 0 (a) is lost"},
		{0, "in another format", other_format, "in format 1, the job has 0", "rank 0 (a) is lost"},
		{0, "without its beginning", second_half_first, "from number 16 on, where number 0", "rank 0 (a) is lost"},
		{0, "mixed with another one", another_between, "where number 16 of iteration 0, sample 0 was due", "rank 0 (a) is lost"},
		{0, "a gradient from upstream", gradient_downstream, "ACTIVATION_GRAD came to rank 1 from rank 0", "rank 0 (a) is lost"},
		{0, "a second cut", second_cut, NULL, "it was told before"},
		{0, "a cut into three", three_stages, NULL, "a cut into 3 stages, the job has 2"},
		{0, "another cut", other_cut, NULL, "stage 1 shall begin with layer 3, the job says 2"},
		{0, "a cut for other data", other_rows, NULL, "rank 0 has 63 training and 64 test rows"},
		{0, "an end in the middle", early_end, "an end after 1 iterations", "rank 0 (a) is lost"},
		{0, "a round", round_begin, "ROUND_BEGIN in a pipeline job", "rank 0 (a) is lost"},
		{0, "a wish from upstream", ask_downstream, "PIPELINE_ASK_STOP came to rank 1 from rank 0", "rank 0 (a) is lost"},
		{0, "the news that we are lost", lost_self, "that is not on its side", "rank 0 (a) is lost"},
		{0, "not a number", not_a_number, NULL, "stage 1: the loss of this stage is not finite in iteration 0"},
		{0, "the last word", closes, NULL, "rank 0 (a) is lost"},
		{1, "an activation from downstream", activation_upstream, "ACTIVATION came to rank 0 from rank 1", NULL},
		{1, "a gradient of another iteration", other_gradient, "gradient", NULL},
		{1, "a gradient of test rows", test_gradient, "a gradient of test rows", NULL},
		{1, "a cut from downstream", cut_upstream, "PIPELINE_BEGIN came to rank 0 from rank 1", NULL},
};

/* ---- one worker and its bad neighbour ---- */

static int has_said(const struct driver *d, void *data)
{
	const struct breach *b = data;

	return b->link != NULL ? d->ranks[0].link_why[peer][0] != 0 : d->ranks[0].failed;
}

static int has_failed(const struct driver *d, void *data)
{
	(void)data;
	return d->ranks[0].failed;
}

static void check_words(const struct breach *b, const char *found, const char *want)
{
	if (want != NULL && strstr(found, want) == NULL)
		driver_die("\"%s\": \"%s\" should say \"%s\"", b->name, found, want);
}

static void try_breach(const struct breach *b)
{
	struct driver d;
	int fd;

	peer = b->peer;
	driver_init(&d, 1, "quadratic", spec);
	fd = bad_peer_link(&d, peer);
	bad_peer_say(fd, b->say);
	if (b->say == closes)
		close(fd);
	if (driver_until(&d, has_said, (void *)(uintptr_t)b, BAD_PEER_DEADLINE_MS) != 0)
		driver_die("\"%s\": nothing came of it", b->name);
	check_words(b, d.ranks[0].link_why[peer], b->link);
	if (b->why != NULL && driver_until(&d, has_failed, NULL, BAD_PEER_DEADLINE_MS) != 0)
		driver_die("\"%s\": the worker hangs; it said:\n%s", b->name, (char *)d.ranks[0].log.data);
	check_words(b, d.ranks[0].why.why, b->why);
	if (b->say != closes)
		close(fd);
	driver_fini(&d);
}

int main(void)
{
	size_t n = sizeof breaches / sizeof breaches[0];

	signal(SIGPIPE, SIG_IGN);
	for (size_t i = 0; i < n; i++) {
		try_breach(&breaches[i]);
		driver_ok("%s: refused with its reason", breaches[i].name);
	}
	driver_plan();
	return 0;
}
