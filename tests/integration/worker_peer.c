/* A real worker whose neighbour breaks the rules: every breach ends that link with its reason, the worker
 * goes on alone and ends in order. */
#include "tests/integration/worker_bad_peer.h"

#include "libcore/base/bytes.h"
#include "libcore/compress/compress.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PARAMS 5000U /* 5 segments of 1024, the last of 904 */

static const char spec[] = "name: t\nmodel: {plugin: quadratic, options: {params: 5000}}\ndata: {format: none}\n"
			   "algorithm: {period: 2}\nsteps: 8\nwire: {segment: 1024}\n";

/* Of an algorithm with replicas: a neighbour's rules are stricter. */
static const char lagged[] = "name: t\nmodel: {plugin: quadratic, options: {params: 5000}}\ndata: {format: none}\n"
			     "algorithm: {name: cd-adam, period: 2, compress: sign}\nsteps: 8\nwire: {segment: 1024}\n";
static const char fresh[] = "name: t\nmodel: {plugin: quadratic, options: {params: 5000}}\ndata: {format: none}\n"
			    "algorithm: {name: cd-adam, order: fresh, period: 2, compress: sign}\nsteps: 8\nwire: {segment: 1024}\n";

/* ---- what a peer may say ---- */

static void up(struct buf *out)
{
	struct link_msg m = {.type = LINK_UP, .u.up = {.rank = 1, .next_round = 0, .n_params = PARAMS, .segment = 1024}};

	bad_peer_put(out, &m);
}

static void begin(struct buf *out, uint64_t round)
{
	struct link_msg m = {.type = LINK_ROUND_BEGIN, .u.begin = {.round = round, .step = 2, .degree = 1}};

	bad_peer_put(out, &m);
}

/* A model frame with d as it is, and a payload of len bytes. */
static void model(struct buf *out, enum link_type type, struct link_model_delta d, uint32_t len)
{
	bad_peer_put_payload(out, &(struct link_msg){.type = type, .u.delta = d}, 0x3f, len);
}

static struct link_model_delta segment(uint32_t s)
{
	uint32_t n = s == 4 ? 904 : 1024;

	return (struct link_model_delta){.round = 0, .segment = s, .n = n, .encoded_len = 4 * n};
}

static void garbage(struct buf *out)
{
	if (buf_printf(out, "GET / HTTP/1.1\r\nHost: example\r\n\r\n") != ST_OK)
		driver_die("out of memory");
}

static void other_rank(struct buf *out)
{
	bad_peer_put(out, &(struct link_msg){.type = LINK_UP, .u.up = {.rank = 5, .n_params = PARAMS, .segment = 1024}});
}

static void other_model(struct buf *out)
{
	bad_peer_put(out, &(struct link_msg){.type = LINK_UP, .u.up = {.rank = 1, .n_params = PARAMS + 1, .segment = 1024}});
}

static void other_segments(struct buf *out)
{
	bad_peer_put(out, &(struct link_msg){.type = LINK_UP, .u.up = {.rank = 1, .n_params = PARAMS, .segment = 2048}});
}

static void no_up(struct buf *out)
{
	begin(out, 0);
}

static void model_first(struct buf *out)
{
	model(out, LINK_MODEL_DELTA, segment(0), 4096);
}

static void two_ups(struct buf *out)
{
	up(out);
	up(out);
}

static void no_such_segment(struct buf *out)
{
	struct link_model_delta d = segment(0);

	up(out);
	begin(out, 0);
	d.segment = 5;
	model(out, LINK_MODEL_DELTA, d, 4096);
}

static void wrong_length(struct buf *out)
{
	struct link_model_delta d = segment(4);

	up(out);
	begin(out, 0);
	d.n = 1024;
	d.encoded_len = 4096;
	model(out, LINK_MODEL_DELTA, d, 4096);
}

static void other_compressor(struct buf *out)
{
	struct link_model_delta d = segment(0);

	up(out);
	begin(out, 0);
	d.compressor = 9;
	model(out, LINK_MODEL_DELTA, d, 4096);
}

static void no_zstd(struct buf *out)
{
	struct link_model_delta d = segment(0);

	up(out);
	begin(out, 0);
	d.lossless = LINK_PLANES_ZSTD;
	model(out, LINK_MODEL_DELTA, d, 500);
}

static void no_begin(struct buf *out)
{
	up(out);
	model(out, LINK_MODEL_DELTA, segment(0), 4096);
}

static void out_of_order(struct buf *out)
{
	up(out);
	begin(out, 0);
	model(out, LINK_MODEL_DELTA, segment(1), 4096);
}

static void other_round(struct buf *out)
{
	struct link_model_delta d = segment(0);

	up(out);
	begin(out, 0);
	d.round = 7;
	model(out, LINK_MODEL_DELTA, d, 4096);
}

static void round_goes_back(struct buf *out)
{
	up(out);
	begin(out, 5);
	begin(out, 4);
}

static void session_frame(struct buf *out)
{
	if (frame_append(out, 1, 0, NULL, 0, NULL, 0, 0, NULL) != ST_OK)
		driver_die("frame_append");
}

static void bad_checksum(struct buf *out)
{
	up(out);
	begin(out, 0);
	model(out, LINK_MODEL_DELTA, segment(0), 4096);
	out->data[out->len - 1] ^= 1;
}

static void huge_head(struct buf *out)
{
	up(out);
	bytes_store_u32(out->data + 8, FRAME_MAX_HEAD + 1);
}

static void half_a_frame(struct buf *out)
{
	up(out);
	begin(out, 0);
	model(out, LINK_MODEL_DELTA, segment(0), 4096);
	out->len -= 1000;
}

static void early_sums(struct buf *out)
{
	struct link_model_delta d = segment(0);

	up(out);
	for (int i = 0; i < 40; i++) {
		d.round = 1;
		d.segment = (uint32_t)i % 4;
		d.ranks = 1;
		model(out, LINK_MODEL_SUM, d, 4096);
	}
}

/* A whole round from its number on, d's other fields in every segment; 0xff everywhere is NaN everywhere. */
static void not_numbers(struct buf *out, uint64_t round, struct link_model_delta d)
{
	struct link_msg at = {.type = LINK_UP, .u.up = {.rank = 1, .next_round = round, .n_params = PARAMS, .segment = 1024}};

	bad_peer_put(out, &at);
	bad_peer_put(out, &(struct link_msg){.type = LINK_ROUND_BEGIN,
			.u.begin = {.round = round, .step = 2 * (round + 1), .degree = 1, .dense = d.dense}});
	d.round = round;
	for (d.segment = 0; d.segment < 5; d.segment++) {
		d.n = segment(d.segment).n;
		d.encoded_len = 4 * d.n;
		bad_peer_put_payload(out, &(struct link_msg){.type = LINK_MODEL_DELTA, .u.delta = d}, 0xff, d.encoded_len);
	}
}

static void poison(struct buf *out)
{
	not_numbers(out, 0, (struct link_model_delta){.n = 0});
}

static void poison_at_the_end(struct buf *out)
{
	not_numbers(out, 3, (struct link_model_delta){.n = 0});
	bad_peer_put(out, &(struct link_msg){.type = LINK_BYE, .u.bye = {.why = "trained"}});
}

static void poisoned_base(struct buf *out)
{
	not_numbers(out, 0, (struct link_model_delta){.seq = 1});
}

static void poisoned_replica(struct buf *out)
{
	not_numbers(out, 1, (struct link_model_delta){.seq = 2, .dense = 1});
}

static void poisoned_sum(struct buf *out)
{
	struct link_model_delta d = segment(0);

	up(out);
	d.round = 1;
	d.ranks = 1;
	bad_peer_put_payload(out, &(struct link_msg){.type = LINK_MODEL_SUM, .u.delta = d}, 0xff, 4096);
}

static struct link_model_delta difference(uint64_t seq)
{
	return (struct link_model_delta){.n = 1024, .compressor = COMPRESS_SIGN, .encoded_len = 132, .seq = seq};
}

static void lost_difference(struct buf *out)
{
	up(out);
	begin(out, 0);
	model(out, LINK_MODEL_DELTA, difference(2), 132);
}

static void repeated_difference(struct buf *out)
{
	up(out);
	begin(out, 0);
	model(out, LINK_MODEL_DELTA, difference(0), 132);
}

static void wrong_hash(struct buf *out)
{
	struct link_model_delta d = difference(1);

	up(out);
	begin(out, 0);
	d.hash = 1;
	model(out, LINK_MODEL_DELTA, d, 132);
}

static void short_difference(struct buf *out)
{
	struct link_model_delta d = difference(1);

	up(out);
	begin(out, 0);
	d.encoded_len = 131;
	model(out, LINK_MODEL_DELTA, d, 131);
}

static void parameters_instead(struct buf *out)
{
	up(out);
	begin(out, 0);
	model(out, LINK_MODEL_DELTA, segment(0), 4096);
}

static void dense_unasked(struct buf *out)
{
	struct link_model_delta d = segment(0);

	up(out);
	begin(out, 0);
	d.dense = 1;
	model(out, LINK_MODEL_DELTA, d, 4096);
}

static struct link_model_delta exact(uint64_t round, uint64_t seq)
{
	struct link_model_delta d = segment(0);

	d.round = round;
	d.seq = seq;
	d.lossless = LINK_DELTA_ZSTD;
	return d;
}

static void exact_to_nothing(struct buf *out)
{
	up(out);
	begin(out, 0);
	model(out, LINK_MODEL_DELTA, exact(0, 2), 500);
}

static void exact_without_number(struct buf *out)
{
	up(out);
	begin(out, 0);
	model(out, LINK_MODEL_DELTA, exact(0, 0), 500);
}

/* A whole round under number 1, then a difference with another. */
static void exact_after(struct buf *out, uint64_t seq)
{
	up(out);
	begin(out, 0);
	for (uint32_t i = 0; i < 5; i++) {
		struct link_model_delta d = segment(i);

		d.seq = 1;
		model(out, LINK_MODEL_DELTA, d, d.encoded_len);
	}
	begin(out, 1);
	model(out, LINK_MODEL_DELTA, exact(1, seq), 500);
}

static void exact_skips(struct buf *out)
{
	exact_after(out, 3);
}

static void exact_repeats(struct buf *out)
{
	exact_after(out, 1);
}

static void exact_garbage(struct buf *out)
{
	exact_after(out, 2);
}

static const struct breach {
	const char *name;
	void (*say)(struct buf *out);
	const char *why; /* part of the reason in LINK_STATE; NULL: the link may stay until the peer ends */
	const char *spec;
} breaches[] = {
	{"lost difference", lost_difference, "difference 2 of segment 0 came, 1 is next", lagged},
	{"lost fresh difference", lost_difference, "difference 2 of segment 0 came, 1 is next", fresh},
	{"repeated difference", repeated_difference, "difference 0 of segment 0 came, 1 is next", lagged},
	{"wrong hash", wrong_hash, "the replica of segment 0 differs after round 0", lagged},
	{"wrong fresh hash", wrong_hash, "the replica of segment 0 differs after round 0", fresh},
	{"short difference", short_difference, "sign", lagged},
	{"parameters instead", parameters_instead, "with compressor 0, this job uses 1", lagged},
	{"dense unasked", dense_unasked, "sent segment 0, dense, as number 0 of round 0", lagged},
	{"exact to nothing", exact_to_nothing, "a difference, and the segment itself never came", NULL},
	{"exact without number", exact_without_number, "number 0, lossless 2: this job sends no exact differences here", NULL},
	{"exact skips", exact_skips, "difference number 3 after 1", NULL},
	{"exact repeats", exact_repeats, "difference number 1 after 1", NULL},
	{"exact garbage", exact_garbage, "zstd frame", NULL},
	{"exact in a compressed job", exact_to_nothing, "segment 0 with compressor 0, this job uses 1", lagged},
	{"not a number", poison, "segment 0 of round 0: number 0 is -nan, it must be finite", NULL},
	{"not a number in the last round", poison_at_the_end, "segment 0 of round 3: number 0 is -nan, it must be finite", NULL},
	{"not a number to begin differences with", poisoned_base, "segment 0 of round 0: number 0 is -nan, it must be finite", NULL},
	{"not a number in a sum", poisoned_sum, "segment 0 of round 1: number 0 is -nan, it must be finite", NULL},
	{"not a number in a replica", poisoned_replica, "segment 0: number 0 is -nan, it must be finite", lagged},
	{"not a number in a fresh replica", poisoned_replica, "segment 0: number 0 is -nan, it must be finite", fresh},
	{"garbage", garbage, "a frame starts with 44 41 44 4d", NULL},
	{"other rank", other_rank, "says that it is rank 5", NULL},
	{"other model", other_model, "has a model of 5001 parameters, here it has 5000", NULL},
	{"other segments", other_segments, "has segments of 2048 parameters, here they have 1024", NULL},
	{"no up", no_up, "ROUND_BEGIN before LINK_UP", NULL},
	{"model first", model_first, "a segment before LINK_UP", NULL},
	{"two ups", two_ups, "a second LINK_UP", NULL},
	{"no such segment", no_such_segment, "segment 5 of 5", NULL},
	{"wrong length", wrong_length, "segment 4 has 1024 parameters, 904 are right", NULL},
	{"other compressor", other_compressor, "segment 0 with compressor 9, this job uses 0", NULL},
	{"no zstd", no_zstd, "zstd frame", NULL},
	{"no begin", no_begin, "rank 1 sent a segment of round 0, which it is not in", NULL},
	{"out of order", out_of_order, "rank 1 sent segment 1, the next one is 0 of 5", NULL},
	{"other round", other_round, "rank 1 sent a segment of round 7, which it is not in", NULL},
	{"round goes back", round_goes_back, "rank 1 began round 4 again, or lower than agreed", NULL},
	{"session frame", session_frame, "frame type 1 is no message of a link", NULL},
	{"bad checksum", bad_checksum, "checksum", NULL},
	{"huge head", huge_head, "limit 65536", NULL},
	{"half a frame", half_a_frame, NULL, NULL},
	{"early sums", early_sums, NULL, NULL},
};

/* ---- one worker and its bad neighbour ---- */

static int link_has_ended(const struct driver *d, void *data)
{
	(void)data;
	return d->ranks[0].link_why[1][0] != 0;
}

static void say_and_see(struct driver *d, int fd, const struct breach *b)
{
	uint64_t end = driver_now_ms() + 500;

	bad_peer_say(fd, b->say);
	if (b->why == NULL) { /* nothing need happen; then the connection ends */
		while (driver_now_ms() < end && !link_has_ended(d, NULL))
			driver_poll(d, 20);
		close(fd);
	}
	if (driver_until(d, link_has_ended, NULL, BAD_PEER_DEADLINE_MS) != 0)
		driver_die("\"%s\": the link did not end", b->why);
	if (b->why != NULL && strstr(d->ranks[0].link_why[1], b->why) == NULL)
		driver_die("the link ended with \"%s\", should say \"%s\"", d->ranks[0].link_why[1], b->why);
	if (b->why != NULL)
		close(fd);
}

static void try_breach(const struct breach *b)
{
	struct worker_msg gone = {.type = WORKER_RANK_GONE, .u.gone = {.rank = 1, .why = "it broke the rules"}};
	struct driver d;

	driver_init(&d, 1, "quadratic", b->spec != NULL ? b->spec : spec);
	say_and_see(&d, bad_peer_link(&d, 1), b);
	driver_send(&d, 0, &gone);
	if (driver_run(&d, BAD_PEER_DEADLINE_MS) != 0)
		driver_die("\"%s\": the worker hangs; it said:\n%s", b->why != NULL ? b->why : "", (char *)d.ranks[0].log.data);
	if (!d.ranks[0].done || d.ranks[0].failed || !WIFEXITED(d.ranks[0].status) || WEXITSTATUS(d.ranks[0].status) != 0)
		driver_die("\"%s\": status %#x, %s", b->why != NULL ? b->why : "", d.ranks[0].status, d.ranks[0].why.why);
	if (!(d.ranks[0].worst_row <= 1e-12) || d.ranks[0].last.view.step != 8)
		driver_die("step %llu, row sum off by %g", (unsigned long long)d.ranks[0].last.view.step, d.ranks[0].worst_row);
	driver_fini(&d);
}

/* ---- one that joins, and gets a copy that is none ---- */

static void poisoned_copy(struct buf *out)
{
	struct link_msg m = {.type = LINK_MODEL_COPY, .u.activation = {.iteration = 4, .total = 3 * PARAMS}};

	up(out);
	bad_peer_put_payload(out, &m, 0xff, 4 * 3 * PARAMS);
}

static void try_copy(void)
{
	static const char why[] = "in the copy of step 4 that this rank starts from, x of tensor first is not finite (element 0 is -nan)";
	struct driver d;
	int fd;

	driver_init(&d, 1, "quadratic", spec);
	d.joins = 1;
	fd = bad_peer_link(&d, 1);
	bad_peer_say(fd, poisoned_copy);
	if (driver_run(&d, BAD_PEER_DEADLINE_MS) != 0)
		driver_die("a poisoned copy: the worker hangs; it said:\n%s", (char *)d.ranks[0].log.data);
	if (!d.ranks[0].failed || strstr(d.ranks[0].why.why, why) == NULL || d.ranks[0].why.status != ST_NOT_FINITE)
		driver_die("a poisoned copy: the worker said \"%s\", should say \"%s\"", d.ranks[0].why.why, why);
	close(fd);
	driver_fini(&d);
	driver_ok("a copy with what is not a number: the worker that joins ends with the place of it");
}

int main(void)
{
	size_t n = sizeof breaches / sizeof breaches[0];

	signal(SIGPIPE, SIG_IGN);
	for (size_t i = 0; i < n; i++) {
		try_breach(&breaches[i]);
		driver_ok("a neighbour that is \"%s\": the link ends, the worker goes on", breaches[i].name);
	}
	try_copy();
	driver_plan();
	return 0;
}
