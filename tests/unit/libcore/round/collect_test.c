/* The mean over a tree: by hand for the rules, and a little net of nodes with random order of delivery
 * for whole trees. A "vector" here is one number per segment. */
#include "libcore/round/collect.h"

#include "libcore/base/rng.h"
#include "tests/lib/fail_mem.h"

#include <criterion/criterion.h>
#include <string.h>

#define MAX_N 8U
#define MAX_SEGMENTS 200U
#define MAX_WINDOW 16U
#define MAX_MESSAGES 4096U

/* Messages between two nodes keep their order; a slot's number is the other node's. */
struct message {
	uint32_t from, to;
	struct collect_event ev; /* SUM, MEAN; SENT and LOST come through here as well */
	double value;
	int taken;
};

struct node {
	struct collect *machine;
	double x[MAX_SEGMENTS], sum[MAX_WINDOW], mean[MAX_SEGMENTS];
	double places[MAX_N][MAX_WINDOW];
	uint32_t place_of[MAX_N][MAX_WINDOW]; /* segment that lies there */
	int over, dead;
	uint32_t ranks;
};

static struct net {
	uint32_t n, n_segments, window;
	struct node nodes[MAX_N];
	struct message messages[MAX_MESSAGES];
	size_t n_messages;
	struct rng_stream random;
	uint64_t draws;
	uint32_t closes;
	uint32_t means; /* computed */
} net;

static void post(uint32_t from, uint32_t to, struct collect_event ev, double value)
{
	cr_assert_lt(net.n_messages, MAX_MESSAGES);
	net.messages[net.n_messages++] = (struct message){.from = from, .to = to, .ev = ev, .value = value};
}

static void send(uint32_t from, uint32_t to, enum collect_event_type type, const struct collect_action *a, double value)
{
	post(from, to, (struct collect_event){.type = type, .slot = from, .segment = a->segment, .ranks = a->ranks}, value);
	post(from, from, (struct collect_event){.type = COLLECT_EV_SENT, .slot = to, .segment = a->segment}, 0);
}

static void sum(struct node *node, const struct collect_action *a)
{
	uint32_t at = a->segment % net.window;

	node->sum[at] = node->x[a->segment];
	for (uint32_t i = 0; i < a->n_children; i++) {
		cr_assert_eq(node->place_of[a->children[i]][at], a->segment, "the place was overwritten");
		cr_assert(i == 0 || a->children[i] > a->children[i - 1], "not ascending");
		node->sum[at] += node->places[a->children[i]][at];
	}
}

static void step(uint32_t k, struct collect_event ev);

static void carry_out(uint32_t k, const struct collect_action *a)
{
	struct node *node = &net.nodes[k];

	switch (a->type) {
	case COLLECT_DO_SUM:
		sum(node, a);
		break;
	case COLLECT_DO_SEND_SUM:
		send(k, a->slot, COLLECT_EV_SUM, a, node->sum[a->segment % net.window]);
		break;
	case COLLECT_DO_MEAN:
		node->mean[a->segment] = node->sum[a->segment % net.window] / a->ranks;
		net.means++;
		break;
	case COLLECT_DO_SEND_HELD:
		send(k, a->slot, COLLECT_EV_HELD, a, node->mean[a->segment]);
		break;
	case COLLECT_DO_DROP:
		break;
	case COLLECT_DO_TAKE:
		cr_assert_eq(node->place_of[a->slot][a->segment % net.window], a->segment, "the place was overwritten");
		node->mean[a->segment] = node->places[a->slot][a->segment % net.window];
		break;
	case COLLECT_DO_SEND_MEAN:
		for (uint32_t j = 0; j < net.n; j++)
			if ((a->slots >> j & 1) != 0)
				send(k, j, COLLECT_EV_MEAN, a, node->mean[a->segment]);
		break;
	case COLLECT_DO_CLOSE:
		net.closes++;
		break;
	case COLLECT_DO_OVER:
		node->over = 1;
		node->ranks = a->ranks;
		break;
	case COLLECT_DO_AGAIN:
		step(k, (struct collect_event){.type = COLLECT_EV_AGAIN});
		break;
	}
}

static void step(uint32_t k, struct collect_event ev)
{
	struct collect_actions out;

	collect_step(net.nodes[k].machine, &ev, &out);
	for (uint32_t i = 0; i < out.n; i++)
		carry_out(k, &out.list[i]);
}

static void deliver(const struct message *m)
{
	struct node *node = &net.nodes[m->to];

	if (node->dead)
		return;
	if (m->ev.type == COLLECT_EV_SUM || m->ev.type == COLLECT_EV_HELD || m->ev.type == COLLECT_EV_MEAN) {
		node->places[m->from][m->ev.segment % net.window] = m->value;
		node->place_of[m->from][m->ev.segment % net.window] = m->ev.segment;
	}
	step(m->to, m->ev);
}

/* The first message of a random pair; false: there is none. */
static int deliver_any(void)
{
	size_t left = 0, pick;

	for (size_t i = 0; i < net.n_messages; i++)
		if (!net.messages[i].taken)
			net.messages[left++] = net.messages[i];
	net.n_messages = left;
	if (left == 0)
		return 0;
	pick = rng_below(&net.random, net.draws++, (uint32_t)left);
	for (size_t i = 0; i < left; i++)
		if (net.messages[i].from == net.messages[pick].from && net.messages[i].to == net.messages[pick].to) {
			struct message m = net.messages[i];

			net.messages[i].taken = 1;
			deliver(&m);
			return 1;
		}
	return 0;
}

/* parents[k] of k > 0; 0 is the root. holders: bit k: node k has a mean of 3 ranks from before. */
static void set_up_with(uint32_t holders, const uint32_t *parents, uint32_t n, uint32_t n_segments, uint32_t window, uint64_t seed)
{
	memset(&net, 0, sizeof net);
	net.n = n;
	net.n_segments = n_segments;
	net.window = window;
	net.random = rng_stream(seed, RNG_TEST, 1, 2, 3);
	for (uint32_t k = 0; k < n; k++) {
		struct collect_config cfg = {.n_segments = n_segments, .window = window,
				.parent = k == 0 ? COLLECT_NONE : parents[k], .held = (holders >> k & 1) != 0 ? 3 : 0};

		for (uint32_t j = 1; j < n; j++)
			if (parents[j] == k)
				cfg.children[cfg.n_children++] = j;
		cr_assert_eq(collect_create(&net.nodes[k].machine, &cfg, NULL), ST_OK);
		for (uint32_t s = 0; s < n_segments; s++)
			net.nodes[k].x[s] = k + 1 + 100.0 * s;
		for (uint32_t s = 0; cfg.held > 0 && s < n_segments; s++)
			net.nodes[k].mean[s] = 0.25 + s;
		post(k, k, (struct collect_event){.type = COLLECT_EV_START}, 0);
	}
}

static void set_up(const uint32_t *parents, uint32_t n, uint32_t n_segments, uint32_t window, uint64_t seed)
{
	set_up_with(0, parents, n, n_segments, window, seed);
}

static void tear_down(void)
{
	for (uint32_t k = 0; k < net.n; k++)
		collect_destroy(net.nodes[k].machine);
}

static const uint32_t trees[][MAX_N] = {{0, 0, 0, 1, 1, 2, 2, 3}, {0, 0, 1, 2, 3, 4, 5, 6}, {0, 0, 0, 0, 0, 0, 0, 0}};

Test(collect, everybody_gets_the_mean_of_all_whatever_the_order)
{
	for (uint64_t seed = 0; seed < 120; seed++) {
		uint32_t n = 1 + (uint32_t)seed % MAX_N, window = 1 + (uint32_t)seed % 5, n_segments = 1 + (uint32_t)(seed % 3) * 20;

		set_up(trees[seed % 3], n, n_segments, window, seed);
		while (deliver_any())
			;
		cr_assert_eq(net.closes, 0);
		for (uint32_t k = 0; k < n; k++) {
			cr_assert(net.nodes[k].over, "node %u of %u hangs", k, n);
			cr_assert(collect_is_over(net.nodes[k].machine));
			cr_assert_eq(net.nodes[k].ranks, n);
			for (uint32_t s = 0; s < n_segments; s++)
				cr_assert_eq(net.nodes[k].mean[s], (n * (n + 1) / 2 + n * 100.0 * s) / n);
		}
		tear_down();
	}
}

Test(collect, who_holds_a_mean_gives_it_to_all_and_nobody_computes_another)
{
	for (uint64_t seed = 0; seed < 400; seed++) {
		uint32_t n = 2 + (uint32_t)seed % (MAX_N - 1), holders = 1 + (uint32_t)(seed * 37 % ((1U << n) - 1));

		set_up_with(holders, trees[seed % 3], n, 1 + (uint32_t)(seed % 4) * 7, 1 + (uint32_t)seed % 4, seed);
		while (deliver_any())
			;
		cr_assert(net.closes == 0 && net.means == 0, "holders %x of %u: %u computed", holders, n, net.means);
		for (uint32_t k = 0; k < n; k++) {
			cr_assert(net.nodes[k].over, "holders %x: node %u of %u hangs", holders, k, n);
			cr_assert_eq(net.nodes[k].ranks, 3);
			for (uint32_t s = 0; s < net.n_segments; s++)
				cr_assert_eq(net.nodes[k].mean[s], 0.25 + s, "holders %x: node %u", holders, k);
		}
		tear_down();
	}
}

Test(collect, one_rank_alone_is_its_own_mean_in_more_segments_than_actions)
{
	set_up(trees[0], 1, MAX_SEGMENTS, 2, 1);
	while (deliver_any())
		;
	cr_assert(net.nodes[0].over);
	cr_assert_eq(net.nodes[0].ranks, 1);
	cr_assert_eq(net.nodes[0].mean[MAX_SEGMENTS - 1], net.nodes[0].x[MAX_SEGMENTS - 1]);
	tear_down();
}

/* Node `dead` is silent from its delivery `at` on; neighbours hear LOST in order behind its messages. */
static void kill(uint32_t dead, const uint32_t *parents)
{
	net.nodes[dead].dead = 1;
	for (uint32_t k = 0; k < net.n; k++)
		if (k != dead && ((dead > 0 && parents[dead] == k) || (k > 0 && parents[k] == dead)))
			post(dead, k, (struct collect_event){.type = COLLECT_EV_LOST, .slot = dead}, 0);
}

/* Who has no mean because a parent died closes his own links in the end. */
static void spread_losses(const uint32_t *parents)
{
	for (uint32_t k = 1; k < net.n; k++)
		if (!net.nodes[k].over && net.nodes[parents[k]].over)
			step(k, (struct collect_event){.type = COLLECT_EV_LOST, .slot = parents[k]});
}

Test(collect, a_node_that_dies_at_any_moment_hangs_nobody)
{
	const uint32_t *parents = trees[0];
	unsigned without = 0, partial = 0;

	for (uint32_t dead = 0; dead < MAX_N; dead++)
		for (unsigned at = 0; at < 120; at++) {
			set_up(parents, MAX_N, 4, 2, at);
			for (unsigned i = 0; i < at; i++)
				(void)deliver_any();
			if (!net.nodes[dead].over)
				kill(dead, parents);
			while (deliver_any())
				;
			spread_losses(parents);
			for (uint32_t k = 0; k < MAX_N; k++) {
				cr_assert(net.nodes[k].over || k == dead, "dead %u at %u: node %u hangs", dead, at, k);
				without += net.nodes[k].ranks == 0;
				partial += net.nodes[k].ranks > 0 && net.nodes[k].ranks < MAX_N;
			}
			cr_assert_eq(net.closes, 0);
			tear_down();
		}
	cr_assert(without > 0 && partial > 0);
}

/* ---- by hand ---- */

static struct collect *c;
static struct collect_actions out;

static void feed(enum collect_event_type type, uint32_t slot, uint32_t segment, uint32_t ranks)
{
	collect_step(c, &(struct collect_event){.type = type, .slot = slot, .segment = segment, .ranks = ranks}, &out);
}

static void create(uint32_t parent)
{
	struct collect_config cfg = {.n_segments = 5, .window = 2, .parent = parent, .n_children = 2, .children = {3, 9}};

	cr_assert_eq(collect_create(&c, &cfg, NULL), ST_OK);
}

Test(collect, sums_that_come_before_the_start_are_kept)
{
	create(COLLECT_NONE);
	feed(COLLECT_EV_SUM, 9, 0, 1);
	feed(COLLECT_EV_SUM, 3, 0, 4);
	cr_assert_eq(out.n, 0);
	feed(COLLECT_EV_START, 0, 0, 0);
	cr_assert_eq(out.n, 3);
	cr_assert(out.list[0].type == COLLECT_DO_SUM && out.list[0].n_children == 2 && out.list[0].children[1] == 9);
	cr_assert(out.list[1].type == COLLECT_DO_MEAN && out.list[1].ranks == 6);
	cr_assert(out.list[2].type == COLLECT_DO_SEND_MEAN && out.list[2].slots == ((1U << 3) | (1U << 9)));
	collect_destroy(c);
}

Test(collect, a_lost_child_is_left_out_of_what_it_owed)
{
	create(COLLECT_NONE);
	feed(COLLECT_EV_START, 0, 0, 0);
	feed(COLLECT_EV_SUM, 9, 0, 1);
	feed(COLLECT_EV_LOST, 9, 0, 0);
	feed(COLLECT_EV_SUM, 3, 0, 1);
	cr_assert(out.list[0].n_children == 2 && out.list[0].ranks == 3);
	feed(COLLECT_EV_SUM, 3, 1, 1);
	cr_assert(out.list[0].n_children == 1 && out.list[0].ranks == 2);
	collect_destroy(c);
}

static int closes_slot(uint32_t slot)
{
	return out.n == 1 && out.list[0].type == COLLECT_DO_CLOSE && out.list[0].slot == slot;
}

Test(collect, the_root_takes_no_sum_of_too_few_ranks_for_a_mean)
{
	struct collect_config cfg = {.n_segments = 1, .window = 2, .parent = COLLECT_NONE, .n_children = 1, .children = {3}, .least = 4};

	for (uint32_t ranks = 2; ranks <= 3; ranks++) {
		cr_assert_eq(collect_create(&c, &cfg, NULL), ST_OK);
		feed(COLLECT_EV_START, 0, 0, 0);
		feed(COLLECT_EV_SUM, 3, 0, ranks);
		cr_assert_eq(out.list[1].type, ranks == 3 ? COLLECT_DO_MEAN : COLLECT_DO_OVER);
		cr_assert(ranks == 3 || (out.list[1].ranks == 0 && strstr(out.list[1].why, "3 of 4 ranks reached the root") != NULL));
		cr_assert_eq(collect_has(c), ranks == 3 ? 4 : 0);
		collect_destroy(c);
	}
	cr_assert_eq(collect_create(&c, &cfg, NULL), ST_OK);
	feed(COLLECT_EV_START, 0, 0, 0);
	feed(COLLECT_EV_HELD, 3, 0, 2); /* a mean is one, of however many */
	cr_assert_eq(out.list[0].type, COLLECT_DO_TAKE);
	cr_assert_eq(collect_has(c), 2);
	collect_destroy(c);
}

Test(collect, who_holds_the_mean_gives_it_below_also_without_a_rank_above)
{
	struct collect_config cfg = {.n_segments = 3, .window = 2, .parent = 7, .n_children = 1, .children = {3}, .held = 5};

	cr_assert_eq(collect_create(&c, &cfg, NULL), ST_OK);
	feed(COLLECT_EV_START, 0, 0, 0);
	cr_assert(out.n == 2 && out.list[1].type == COLLECT_DO_SEND_HELD && out.list[1].segment == 1, "as far up as there is room");
	feed(COLLECT_EV_LOST, 7, 0, 0);
	for (uint32_t s = 0; s < 3; s++) {
		feed(COLLECT_EV_SUM, 3, s, 1);
		cr_assert(out.n == 2 && out.list[0].type == COLLECT_DO_DROP && out.list[1].type == COLLECT_DO_SEND_MEAN && out.list[1].ranks == 5);
		feed(COLLECT_EV_SENT, 3, s, 0);
	}
	cr_assert(out.n == 1 && out.list[0].type == COLLECT_DO_OVER && out.list[0].ranks == 5);
	collect_destroy(c);
}

/* On a new link: the mean has gone to everybody but it, which was lost. Were it silent, it would be waited for in vain. */
Test(collect, a_sum_that_comes_when_all_is_over_closes_its_link)
{
	struct collect_config cfg = {.n_segments = 1, .window = 2, .parent = COLLECT_NONE};

	cr_assert_eq(collect_create(&c, &cfg, NULL), ST_OK);
	feed(COLLECT_EV_START, 0, 0, 0);
	cr_assert(collect_is_over(c));
	feed(COLLECT_EV_SUM, 3, 0, 1);
	cr_assert(closes_slot(3));
	feed(COLLECT_EV_HELD, 9, 0, 1);
	cr_assert(closes_slot(9));
	collect_destroy(c);
}

static const struct {
	const char *why;
	struct collect_event ev;
} faults[] = {
		{"no child", {COLLECT_EV_SUM, 5, 0, 1}},
		{"next one is 0 of 5", {COLLECT_EV_SUM, 3, 1, 1}},
		{"0 ranks", {COLLECT_EV_SUM, 3, 0, 0}},
		{"65 ranks", {COLLECT_EV_SUM, 3, 0, 65}},
		{"not the parent", {COLLECT_EV_MEAN, 3, 0, 9}},
		{"0 sums went up", {COLLECT_EV_MEAN, 7, 0, 9}},
};

Test(collect, who_breaks_the_rules_is_closed_with_the_reason)
{
	for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
		create(7);
		feed(COLLECT_EV_START, 0, 0, 0);
		collect_step(c, &faults[i].ev, &out);
		cr_assert_geq(out.n, 1);
		cr_assert_eq(out.list[0].type, COLLECT_DO_CLOSE);
		cr_assert_eq(out.list[0].slot, faults[i].ev.slot);
		cr_assert_not_null(strstr(out.list[0].why, faults[i].why), "%s", out.list[0].why);
		cr_assert_eq(collect_is_over(c), faults[i].ev.slot == 7);
		for (uint32_t k = 0; k < out.n; k++)
			cr_assert_neq(out.list[k].type, COLLECT_DO_TAKE, "%s", faults[i].why);
		collect_destroy(c);
	}
}

Test(collect, a_mean_is_taken_once_and_from_the_parent_only)
{
	create(7);
	feed(COLLECT_EV_START, 0, 0, 0);
	feed(COLLECT_EV_SUM, 3, 0, 1);
	feed(COLLECT_EV_SUM, 9, 0, 1);
	feed(COLLECT_EV_MEAN, 7, 0, 9);
	cr_assert(out.list[0].type == COLLECT_DO_TAKE && out.list[0].slot == 7 && out.list[0].segment == 0);
	cr_assert(out.list[1].type == COLLECT_DO_SEND_MEAN, "it goes on when it is there");
	feed(COLLECT_EV_MEAN, 7, 0, 9);
	cr_assert_eq(out.list[0].type, COLLECT_DO_CLOSE);
	feed(COLLECT_EV_MEAN, 7, 1, 9);
	cr_assert_eq(out.n, 0, "over");
	collect_destroy(c);
}

Test(collect, a_sum_beyond_the_window_closes_the_child)
{
	create(7);
	feed(COLLECT_EV_SUM, 3, 0, 1);
	feed(COLLECT_EV_SUM, 3, 1, 1);
	feed(COLLECT_EV_SUM, 3, 2, 1);
	cr_assert_not_null(strstr(out.list[0].why, "only 0 means"));
	collect_destroy(c);
}

static const struct {
	struct collect_config cfg;
	const char *text;
} bad[] = {
		{{.window = 1, .parent = COLLECT_NONE}, "no segment"},
		{{.n_segments = 1, .window = 17, .parent = COLLECT_NONE}, "allowed 1 to 16"},
		{{.n_segments = 1, .window = 1, .parent = 64}, "parent in slot 64"},
		{{.n_segments = 1, .window = 1, .parent = 3, .n_children = 1, .children = {3}}, "each once"},
		{{.n_segments = 1, .window = 1, .parent = COLLECT_NONE, .n_children = 65}, "65 children"},
};

Test(collect, a_config_out_of_range_is_refused_and_a_failing_heap_survived)
{
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		struct error err = {0};

		cr_assert_eq(collect_create(&c, &bad[i].cfg, &err), ST_INVALID);
		cr_assert_not_null(strstr(err.msg, bad[i].text), "%s", err.msg);
	}
	fail_mem_at(0);
	cr_assert_eq(collect_create(&c, &(struct collect_config){.n_segments = 1, .window = 1, .parent = COLLECT_NONE}, NULL),
			ST_NOMEM);
	cr_assert_eq(fail_mem_outstanding(), 0);
	fail_mem_off();
}
