/* What dadamctl topology says of a job's graph: as text, as JSON and for Graphviz. */
#include "ctl/render_json.h"
#include "ctl/render_topology.h"
#include "tests/unit/ctl/fixture.h"

#include <criterion/criterion.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static struct graph *graph_of(const struct control_job *job, double *gap)
{
	struct topology ring = {.kind = TOPOLOGY_RING};
	struct graph *whole = NULL, *g = NULL;

	cr_assert_eq(topology_graph(&whole, &ring, job, 1, NULL), ST_OK);
	cr_assert_eq(topology_present(&g, gap, whole, job, NULL), ST_OK);
	graph_destroy(whole);
	return g;
}

static void contains(void (*draw)(struct page *p, const struct control_job *job, const struct graph *g), const struct control_job *job,
		const struct graph *g, const char *text, bool yes)
{
	struct view view = {0};
	struct page p;

	page_init(&p, &view);
	draw(&p, job, g);
	cr_expect((strstr(page_text(&p), text) != NULL) == yes, "%s: %s", text, page_text(&p));
	page_fini(&p);
}

static void draw_graph_text(struct page *p, const struct control_job *job, const struct graph *g)
{
	render_topology(p, job, g, 0.5);
}

static void draw_graph_json(struct page *p, const struct control_job *job, const struct graph *g)
{
	json_topology(p, job, g, 0.5, 400);
}

Test(topology, an_elastic_jobs_topology_is_the_graph_of_those_that_it_has_a_place_for)
{
	static struct control_rank five[5];
	struct control_job job = {.name = "late", .topology = "ring", .ranks = five, .n_ranks = 5, .n_ranks_sent = 5, .active = 0x1d};
	struct graph *g;
	double gap = 0;

	for (uint32_t k = 0; k < 5; k++) {
		five[k] = (struct control_rank){.rank = k, .state = k == 1 ? CONTROL_RANK_LOST : CONTROL_RANK_RUNNING};
		(void)snprintf(five[k].node_name, sizeof five[k].node_name, "n%u", k);
	}
	g = graph_of(&job, &gap);
	cr_assert_eq(graph_n_edges(g), 4);
	cr_assert_float_eq(gap, 2.0 / 3, 1e-9); /* a ring of four */
	contains(draw_graph_text, &job, g, "ring of 4  4 links", true);
	contains(draw_graph_text, &job, g, "n2 0.333, n4 0.333", true);
	contains(draw_graph_text, &job, g, "lost", false);
	contains(draw_graph_json, &job, g, "\"n1\"", false);
	contains(render_dot, &job, g, "r0 -- r2", true);
	contains(render_dot, &job, g, "r1 ", false);
	graph_destroy(g);
	five[3].state = CONTROL_RANK_LOST; /* it had a place: a gap is left */
	g = graph_of(&job, &gap);
	contains(draw_graph_text, &job, g, "ring of 4  2 links", true);
	contains(draw_graph_text, &job, g, "lost", true);
	graph_destroy(g);
}

Test(topology, the_topology_of_a_pipeline_has_no_mixing_weights_in_json)
{
	struct control_rank three[3];
	struct control_job job;
	struct graph *g;
	double gap = 0;

	fixture_pipeline(&job, three);
	g = graph_of(&job, &gap);
	contains(draw_graph_json, &job, g, "\"spectral_gap\": null", true);
	contains(draw_graph_json, &job, g, "\"weight\"", false);
	contains(draw_graph_json, &job, g, "\"round_bytes\"", false);
	graph_destroy(g);
}

Test(topology, without_its_hub_a_star_has_no_link_that_bytes_go_over)
{
	static struct control_rank three[3];
	struct control_job job = {.ranks = three, .n_ranks = 3, .n_ranks_sent = 3};
	struct topology star = {.kind = TOPOLOGY_STAR};
	struct job_spec spec = {.algorithm = JOB_D_ADAM};
	struct graph *whole, *g;
	struct view view = {0};
	struct page p;
	double gap;

	for (uint32_t k = 0; k < 3; k++)
		three[k] = (struct control_rank){.rank = k, .n_params = 100, .state = k == 0 ? CONTROL_RANK_LOST : CONTROL_RANK_RUNNING};
	cr_assert_eq(topology_graph(&whole, &star, &job, 1, NULL), ST_OK);
	cr_assert_eq(topology_present(&g, &gap, whole, &job, NULL), ST_OK);
	page_init(&p, &view);
	render_round_bytes(&p, &job, &spec, g);
	cr_assert_str_eq(page_text(&p), "\nNo link is left: nothing is sent.\n");
	page_fini(&p);
	graph_destroy(g);
	graph_destroy(whole);
}

Test(topology, a_topology_says_what_a_round_sends_over_a_link)
{
	static const struct {
		enum job_algorithm algorithm;
		enum job_moments moments;
		const char *says;
	} said[] = {{JOB_D_ADAM, JOB_MOMENTS_LOCAL, "A round sends 400 bytes each way on every link.\n"},
			{JOB_D_ADAM, JOB_MOMENTS_MIXED, "With the moments 1 200, in one round of 4.\n"},
			{JOB_CENTRAL_ADAM, JOB_MOMENTS_LOCAL, "A round sends 400 bytes each way on the links of a spanning tree, none on the others.\n"},
			{JOB_CD_ADAM, JOB_MOMENTS_LOCAL, "A round has sent 25 bytes each way on a link (sign).\n"}};
	static struct control_rank four[4];
	struct control_job job = {.ranks = four, .n_ranks = 4, .n_ranks_sent = 4};
	struct topology ring = {.kind = TOPOLOGY_RING};
	struct graph *g;

	for (int k = 0; k < 4; k++)
		four[k] = (struct control_rank){.rank = (uint32_t)k, .n_params = 100, .round = 10, .payload_bytes = 500};
	cr_assert_eq(graph_build(&g, &ring, 4, 1, NULL), ST_OK);
	for (size_t i = 0; i < sizeof said / sizeof said[0]; i++) {
		struct job_spec spec = {.algorithm = said[i].algorithm, .moments = said[i].moments, .mix_moments_every = 4,
				.compress = "sign"};
		struct view view = {0};
		struct page p;

		page_init(&p, &view);
		render_round_bytes(&p, &job, &spec, g);
		cr_assert_not_null(strstr(page_text(&p), said[i].says), "%s", page_text(&p));
		page_fini(&p);
	}
	graph_destroy(g);
	cr_assert_eq(graph_build_over(&g, &ring, 4, 7, 1, NULL), ST_OK);
	cr_assert_float_eq(topology_round_bytes(&job, &(struct job_spec){.algorithm = JOB_CD_ADAM}, g), 25, 1e-9,
			"the fourth is lost: neither its bytes nor its links count");
	for (int k = 0; k < 4; k++)
		four[k].round = 0;
	cr_assert(isnan(topology_round_bytes(&job, &(struct job_spec){.algorithm = JOB_CD_ADAM}, g)), "nothing was sent yet");
	graph_destroy(g);
}
