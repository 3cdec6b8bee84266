/* Small graphs as pictures, and what is no small graph. */
#include "ctl/render_arcs.h"

#include "libcore/base/mem.h"

#include <criterion/criterion.h>

/* Of the topology over n ranks, all running, on a terminal of that width (0: none). */
static struct page drawn(const char *topology, uint32_t n, size_t width)
{
	struct page p = {.view = {.width = width}};
	struct control_job job = {.n_ranks = n};
	struct topology t;
	struct graph *g;

	cr_assert_eq(topology_parse(&t, topology, NULL), ST_OK);
	cr_assert_eq(graph_build(&g, &t, n, 1, NULL), ST_OK);
	render_arcs(&p, &job, g);
	graph_destroy(g);
	return p;
}

static void is_drawn(const char *topology, uint32_t n, size_t width, const char *want)
{
	struct page p = drawn(topology, n, width);

	cr_assert_str_eq(p.text.len > 0 ? (const char *)p.text.data : "", want, "%s of %u", topology, n);
	buf_fini(&p.text);
}

Test(arcs, every_link_is_an_arc_between_the_ranks_above_its_ends)
{
	is_drawn("ring", 4, 80,
			"\n   0   1   2   3\n"
			"   +---+---+---+\n"
			"   +-----------+\n");
	is_drawn("star", 4, 0,
			"\n   0   1   2   3\n"
			"   +---+\n"
			"   +-------+\n"
			"   +-----------+\n");
	is_drawn("hypercube", 4, 80,
			"\n   0   1   2   3\n"
			"   +---+   +---+\n"
			"   +-------+\n"
			"       +-------+\n");
	is_drawn("ring", 12, 80,
			"\n   0   1   2   3   4   5   6   7   8   9   10  11\n"
			"   +---+---+---+---+---+---+---+---+---+---+---+\n"
			"   +-------------------------------------------+\n");
}

Test(arcs, what_does_not_fit_is_not_drawn)
{
	is_drawn("ring", 17, 0, "");
	is_drawn("complete", 16, 0, "");
	is_drawn("ring", 12, 40, "");
}
