/* Stories of members, told by a simulated cluster: how nodes find each other, and lose each other. */
#include "tests/lib/sim_node.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static int all_see(struct sim_nodes *s, void *arg)
{
	const uint32_t *n = arg; /* nodes, and how many each shall see */

	for (uint32_t i = 0; i < n[0]; i++)
		if (sim_node_is_up(s, i) && sim_node_alive(s, i) != n[1])
			return 0;
	return 1;
}

/* Node i knows node i - 1, which is one other address each. */
static struct sim_nodes *chain(uint32_t n, uint64_t seed)
{
	struct sim_nodes *s = sim_node_create(n, seed);

	for (uint32_t i = 0; i < n; i++)
		sim_node_seed_is(s, i, i == 0 ? 1 % n : i - 1);
	for (uint32_t i = 0; i < n; i++)
		sim_node_start(s, i);
	return s;
}

static void ends_clean(struct sim_nodes *s)
{
	cr_assert_eq(sim_node_bugs(s), 0, "a BUG was logged:\n%s", sim_node_trace(s));
	sim_node_destroy(s);
}

static void must_mesh(struct sim_nodes *s, uint32_t n, uint64_t by)
{
	uint32_t want[2] = {n, n};

	cr_assert(sim_node_run_until(s, by, all_see, want), "no full mesh of %u at %lu ms; node 0 sees %u:\n%s", n, (unsigned long)by,
			sim_node_alive(s, 0), sim_node_trace(s));
}

Test(node_members, eight_nodes_that_know_one_address_each_are_a_mesh_in_three_seconds)
{
	for (uint64_t seed = 1; seed <= 10; seed++) {
		struct sim_nodes *s = chain(8, seed);

		must_mesh(s, 8, 3000);
		ends_clean(s);
	}
}

Test(node_members, a_settled_mesh_dials_no_more)
{
	struct sim_nodes *s = chain(6, 3);
	uint32_t before = 0, after = 0;

	must_mesh(s, 6, 3000);
	sim_node_run(s, 5000);
	for (uint32_t i = 0; i < 6; i++)
		before += sim_node_dials(s, i);
	sim_node_run(s, 60000);
	for (uint32_t i = 0; i < 6; i++)
		after += sim_node_dials(s, i);
	cr_assert_eq(before, after, "%u dials while all are connected:\n%s", after - before, sim_node_trace(s));
	must_mesh(s, 6, 60001);
	ends_clean(s);
}

Test(node_members, the_same_seed_gives_the_same_trace_and_another_seed_another)
{
	struct sim_nodes *s[3];

	for (int i = 0; i < 3; i++) {
		s[i] = chain(5, i < 2 ? 7 : 8);
		sim_node_run(s[i], 20000);
	}
	cr_assert_str_eq(sim_node_trace(s[0]), sim_node_trace(s[1]));
	cr_assert_str_neq(sim_node_trace(s[0]), sim_node_trace(s[2]));
	for (int i = 0; i < 3; i++)
		ends_clean(s[i]);
}

Test(node_members, a_node_that_is_its_own_seed_forgets_the_address)
{
	struct sim_nodes *s = sim_node_create(2, 1);
	uint32_t dials;

	sim_node_seed_is(s, 0, 0);
	sim_node_seed_is(s, 1, 0);
	sim_node_start(s, 0);
	sim_node_start(s, 1);
	must_mesh(s, 2, 2000);
	dials = sim_node_dials(s, 0);
	sim_node_run(s, 60000);
	cr_assert_eq(sim_node_dials(s, 0), dials);
	ends_clean(s);
}

Test(node_members, a_killed_node_is_suspect_at_once_dead_after_dead_ms_and_alive_when_it_is_back)
{
	struct sim_nodes *s = chain(4, 5);
	struct control_status st = {0};
	uint32_t want[2] = {4, 4};

	must_mesh(s, 4, 3000);
	sim_node_kill(s, 2);
	sim_node_run(s, sim_node_now(s) + 100);
	node_view_status(sim_node_at(s, 0), &st);
	cr_assert_eq(st.suspect, 1);
	sim_node_run(s, sim_node_now(s) + 5100);
	node_view_status(sim_node_at(s, 0), &st);
	cr_assert_eq(st.dead, 1);
	cr_assert_eq(st.suspect, 0);
	sim_node_start(s, 2);
	cr_assert(sim_node_run_until(s, sim_node_now(s) + 11000, all_see, want), "%s", sim_node_trace(s));
	ends_clean(s);
}

Test(node_members, a_node_that_leaves_is_left_and_not_dead)
{
	struct sim_nodes *s = chain(3, 5);
	struct control_status st = {0};

	must_mesh(s, 3, 3000);
	sim_node_leave(s, 1);
	sim_node_run(s, sim_node_now(s) + 10000);
	node_view_status(sim_node_at(s, 0), &st);
	cr_assert_eq(st.dead + st.suspect, 0);
	cr_assert_eq(st.alive, 2);
	cr_assert_not_null(strstr(sim_node_trace(s), "state=left"), "%s", sim_node_trace(s));
	ends_clean(s);
}

Test(node_members, a_partition_is_noticed_by_silence_and_heals)
{
	struct sim_nodes *s = chain(6, 11);
	uint32_t half[2] = {6, 3}, whole[2] = {6, 6};

	must_mesh(s, 6, 3000);
	sim_node_partition(s, 7);
	cr_assert(sim_node_run_until(s, sim_node_now(s) + 4000, all_see, half), "%s", sim_node_trace(s));
	sim_node_run(s, sim_node_now(s) + 20000);
	sim_node_partition(s, 0);
	cr_assert(sim_node_run_until(s, sim_node_now(s) + 20000, all_see, whole), "%s", sim_node_trace(s));
	ends_clean(s);
}

Test(node_members, nobody_of_another_cluster_is_let_in_and_both_say_why)
{
	struct sim_nodes *s = sim_node_create(2, 1);

	sim_node_seed_is(s, 1, 0);
	sim_node_cluster(s, 1, "blue");
	sim_node_start(s, 0);
	sim_node_start(s, 1);
	sim_node_run(s, 5000);
	cr_assert_eq(sim_node_alive(s, 0), 1);
	cr_assert_eq(sim_node_alive(s, 1), 1);
	cr_assert_not_null(strstr(sim_node_trace(s), "node-b is in cluster \"blue\", node-a in \"default\""), "%s", sim_node_trace(s));
	cr_assert_not_null(strstr(sim_node_trace(s), "node-a is in cluster \"default\", node-b in \"blue\""), "%s", sim_node_trace(s));
	ends_clean(s);
}

Test(node_members, sixty_four_nodes_mesh_and_the_sixty_fifth_is_refused_with_the_reason)
{
	struct sim_nodes *s = chain(65, 2);

	sim_node_kill(s, 64);
	must_mesh(s, 64, 15000);
	sim_node_start(s, 64);
	sim_node_run(s, 20000);
	cr_assert_eq(sim_node_alive(s, 64), 1);
	cr_assert_eq(sim_node_alive(s, 0), 64);
	cr_assert_not_null(strstr(sim_node_trace(s), "cluster is full"));
	ends_clean(s);
}
