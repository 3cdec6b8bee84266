/* A real worker of a pipeline job whose neighbour breaks the rules: the link ends with the reason, and the worker fails
 * naming that neighbour; it never hangs, and nothing that was said is believed. */
#include "tests/integration/worker_driver.h"

#include "proto/link.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define NUMBERS 32U /* batch 4, width 8 */
#define DEADLINE_MS 40000

static const char spec[] = "name: t\nmodel: {plugin: quadratic, options: {layers: 4, width: 8}}\ndata: {format: none}\n"
			   "algorithm: {name: pprs, samples: 2, smoothing: 0}\nsteps: 3\nbatch: 4\nstages: 2\ncut: [2]\n"
			   "timeouts: {link: 1s}\nwire: {segment: 1024}\n";

static uint32_t peer; /* the rank that the test plays */

/* ---- what a peer may say ---- */

static void put(struct buf *out, struct link_msg m)
{
	struct error err = {0};

	if (link_encode(out, &m, &err) != ST_OK)
		driver_die("link_encode: %s", err.msg);
}

static void up(struct buf *out)
{
	put(out, (struct link_msg){.type = LINK_UP, .u.up = {.rank = peer, .n_params = 32, .segment = 1024}});
}

static void cut(struct buf *out, uint32_t n_stages, uint32_t second, uint64_t rows)
{
	struct link_msg m = {.type = LINK_PIPELINE_BEGIN, .u.pipeline = {.n_stages = n_stages, .train_rows = rows, .test_rows = 64}};

	for (uint32_t s = 1; s < n_stages; s++)
		m.u.pipeline.stages[s].layer = second + s - 1;
	put(out, m);
}

static void begin(struct buf *out)
{
	up(out);
	cut(out, 2, 2, 64);
}

/* n numbers of an activation or gradient. */
static void part(struct buf *out, enum link_type type, struct link_activation a, uint32_t n)
{
	struct link_msg m = {.type = type, .u.activation = a};
	uint32_t len = n * link_format_bytes(a.format);
	struct blob *b = blob_create(len);
	struct error err = {0};

	if (b == NULL)
		driver_die("out of memory");
	memset(b->payload, 0x3f, len);
	b->payload_len = len;
	if (link_seal(b, &m, &err) != ST_OK || buf_append(out, b->bytes, b->head_len) != ST_OK ||
			buf_append(out, b->payload, len) != ST_OK)
		driver_die("link_seal: %s", err.msg);
	blob_unref(b);
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
	put(out, (struct link_msg){.type = LINK_PIPELINE_END, .u.end = {.iteration = 1}});
}

static void round_begin(struct buf *out)
{
	begin(out);
	put(out, (struct link_msg){.type = LINK_ROUND_BEGIN});
}

static void ask_downstream(struct buf *out)
{
	begin(out);
	put(out, (struct link_msg){.type = LINK_PIPELINE_ASK_STOP});
}

static void lost_self(struct buf *out)
{
	begin(out);
	put(out, (struct link_msg){.type = LINK_PIPELINE_LOST, .u.lost = {.stage = 1}});
}

static void not_a_number(struct buf *out)
{
	struct link_msg m = {.type = LINK_ACTIVATION, .u.activation = {.total = NUMBERS}};
	struct blob *b = blob_create(4 * NUMBERS);

	begin(out);
	memset(b->payload, 0xff, b->payload_len = 4 * NUMBERS);
	if (link_seal(b, &m, NULL) != ST_OK || buf_append(out, b->bytes, b->head_len) != ST_OK ||
			buf_append(out, b->payload, b->payload_len) != ST_OK)
		driver_die("link_seal");
	blob_unref(b);
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

static int is_ready(const struct driver *d, void *data)
{
	(void)data;
	return d->ranks[0].ready;
}

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
	struct buf out = {0};
	struct driver d;
	int fd[2];

	peer = b->peer;
	driver_init(&d, 1, "quadratic", spec);
	d.n_said = 2;
	d.said_first = 1 - peer;
	d.neighbours[0] = 1U << peer;
	d.no_links = 1;
	driver_start(&d);
	if (driver_until(&d, is_ready, NULL, DEADLINE_MS) != 0)
		driver_die("the worker did not get ready");
	driver_tcp_pair(fd);
	driver_hand_over(&d, 0, peer, 1, fd[0]);
	b->say(&out);
	(void)!send(fd[1], out.data, out.len, MSG_NOSIGNAL);
	buf_fini(&out);
	if (b->say == closes)
		close(fd[1]);
	if (driver_until(&d, has_said, (void *)(uintptr_t)b, DEADLINE_MS) != 0)
		driver_die("\"%s\": nothing came of it", b->name);
	check_words(b, d.ranks[0].link_why[peer], b->link);
	if (b->why != NULL && driver_until(&d, has_failed, NULL, DEADLINE_MS) != 0)
		driver_die("\"%s\": the worker hangs; it said:\n%s", b->name, (char *)d.ranks[0].log.data);
	check_words(b, d.ranks[0].why.why, b->why);
	if (b->say != closes)
		close(fd[1]);
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
