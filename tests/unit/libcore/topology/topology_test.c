/* Topologies as text. */
#include "libcore/topology/topology.h"

#include <criterion/criterion.h>
#include <string.h>

Test(topology, every_text_form_is_read)
{
	static const struct {
		const char *text;
		struct topology t;
	} forms[] = {
			{"ring", {.kind = TOPOLOGY_RING}},
			{"path", {.kind = TOPOLOGY_PATH}},
			{"complete", {.kind = TOPOLOGY_COMPLETE}},
			{"star", {.kind = TOPOLOGY_STAR}},
			{"torus", {.kind = TOPOLOGY_TORUS}},
			{"torus(3,4)", {.kind = TOPOLOGY_TORUS, .rows = 3, .cols = 4}},
			{"hypercube", {.kind = TOPOLOGY_HYPERCUBE}},
			{"exponential", {.kind = TOPOLOGY_EXPONENTIAL}},
			{"one-peer-exponential", {.kind = TOPOLOGY_ONE_PEER}},
			{"random(4)", {.kind = TOPOLOGY_RANDOM, .degree = 4}},
	};

	for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
		const struct topology *want = &forms[i].t;
		struct topology t;

		cr_assert_eq(topology_parse(&t, forms[i].text, NULL), ST_OK, "%s", forms[i].text);
		cr_assert(t.kind == want->kind && t.rows == want->rows && t.cols == want->cols && t.degree == want->degree, "%s",
				forms[i].text);
		cr_assert_eq(t.n_edges, 0);
	}
}

Test(topology, a_list_of_edges_is_read_from_its_text)
{
	static const char *const no_lists[] = {"0-1 1", "0-1-2", "0-1,1-2", "0-", "-1-2", "0-1 x", "99999-1"};
	struct topology t;
	struct error err = {0};
	uint32_t edge[2];

	cr_assert_eq(topology_parse(&t, " 0-1  12 - 3", NULL), ST_OK);
	cr_assert(t.kind == TOPOLOGY_EDGES && t.n_edges == 2);
	topology_edge(&t, 1, edge);
	cr_assert(edge[0] == 12 && edge[1] == 3);
	cr_assert_str_eq(topology_name("0-1 1-2"), "edges");
	cr_assert_str_eq(topology_name("ring"), "ring");
	for (size_t i = 0; i < sizeof no_lists / sizeof *no_lists; i++)
		cr_assert_eq(topology_parse(&t, no_lists[i], NULL), ST_INVALID, "%s", no_lists[i]);
	cr_assert_eq(topology_check(&t, 13, NULL), ST_OK);
	cr_assert_eq(topology_check(&t, 4, &err), ST_INVALID);
	cr_assert_str_eq(err.msg, "the edges name ranks 0 to 12, which is 13 workers, the job has 4");
	cr_assert_not_null(strstr(err.hint, "min: 13"));
}

Test(topology, spaces_count_for_nothing)
{
	struct topology t;

	cr_assert_eq(topology_parse(&t, "  torus ( 3 , 12 ) ", NULL), ST_OK);
	cr_assert_eq(t.kind, TOPOLOGY_TORUS);
	cr_assert_eq(t.rows, 3);
	cr_assert_eq(t.cols, 12);
}

static const struct {
	const char *text, *hint;
} refused[] = {
		{"rign", "did you mean \"ring\"?"},
		{"Torus", "did you mean \"torus\"?"},
		{"thorus(2,2)", "did you mean \"torus\"?"},
		{"banana", "ring is the usual choice"},
		{"", "ring is the usual choice"},
		{"(3)", "ring is the usual choice"},
		{"ring(3)", "write it as \"ring\""},
		{"ring x", "write it as \"ring\""},
		{"torus(3)", "write it as \"torus(3,4)\""},
		{"torus(0,3)", "write it as \"torus(3,4)\""},
		{"torus(3,3", "write it as \"torus(3,4)\""},
		{"torus(3,3,3)", "write it as \"torus(3,4)\""},
		{"torus(-1,3)", "write it as \"torus(3,4)\""},
		{"torus(99999999999,3)", "write it as \"torus(3,4)\""},
		{"random", "write it as \"random(4)\""},
		{"random()", "write it as \"random(4)\""},
		{"random(0)", "write it as \"random(4)\""},
		{"random(4))", "write it as \"random(4)\""},
		{"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
		 "ring is the usual choice"},
};

Test(topology, a_bad_text_is_refused_with_found_allowed_and_what_to_do)
{
	for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
		struct topology t = {.kind = TOPOLOGY_STAR};
		struct error err = {0};

		cr_assert_eq(topology_parse(&t, refused[i].text, &err), ST_INVALID, "%s",
			     refused[i].text);
		cr_assert_not_null(strstr(err.msg, refused[i].text));
		cr_assert_not_null(strstr(err.msg, "allowed: ring, complete"));
		cr_assert_not_null(strstr(err.msg, "{edges: [[0, 1], [1, 2]]}"));
		cr_assert_str_eq(err.hint, refused[i].hint);
		cr_assert_eq(t.kind, TOPOLOGY_STAR);
	}
}

static const struct {
	const char *text;
	uint32_t n;
	enum status st;
	const char *hint;
} counts[] = {
		{"ring", 1, ST_OK, ""},
		{"ring", 1024, ST_OK, ""},
		{"ring", 1025, ST_INVALID, "set workers: {min, max} within these bounds"},
		{"ring", 0, ST_INVALID, "set workers: {min, max} within these bounds"},
		{"torus", 7, ST_OK, ""},
		{"torus(3,3)", 9, ST_OK, ""},
		{"torus(3,3)", 12, ST_INVALID, "torus(3,4), or plain \"torus\", suits 12 workers"},
		{"torus(9999,9999)", 12, ST_INVALID,
		 "torus(3,4), or plain \"torus\", suits 12 workers"},
		{"hypercube", 16, ST_OK, ""},
		{"hypercube", 12, ST_INVALID,
		 "take \"exponential\": as well connected, for any number"},
		{"random(4)", 12, ST_OK, ""},
		{"random(3)", 5, ST_INVALID, "random(2) always is possible"},
		{"random(5)", 5, ST_INVALID, "random(2) always is possible"},
		{"random(1)", 4, ST_INVALID, "random(2) always is possible"},
		{"random(1)", 2, ST_OK, ""},
		{"random(2)", 2, ST_INVALID, "take \"ring\""},
		{"random(4)", 1, ST_OK, ""},
};

Test(topology, a_topology_that_does_not_suit_the_workers_is_refused)
{
	for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
		struct topology t;
		struct error err = {0};

		cr_assert_eq(topology_parse(&t, counts[i].text, NULL), ST_OK);
		cr_expect_eq(topology_check(&t, counts[i].n, &err), counts[i].st, "%s %u",
			     counts[i].text, counts[i].n);
		cr_expect_str_eq(err.hint, counts[i].hint);
	}
}

Test(topology, a_degree_that_does_not_suit_is_refused_with_those_that_do)
{
	static const struct {
		uint32_t degree, n;
		const char *msg;
	} rows[] = {{4, 2, "degree 4 found, allowed with 2 workers is 1"}, {1, 3, "degree 1 found, allowed with 3 workers is 2"},
			{4, 4, "degree 4 found, allowed with 4 workers are those from 2 to 3"},
			{3, 5, "degree 3 found, allowed with 5 workers are even ones from 2 to 4"}};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct topology t = {.kind = TOPOLOGY_RANDOM, .degree = rows[i].degree};
		struct error err = {0};

		cr_expect_eq(topology_check(&t, rows[i].n, &err), ST_INVALID);
		cr_expect_str_eq(err.msg, rows[i].msg);
	}
}

Test(topology, a_plain_torus_is_as_square_as_the_number_allows)
{
	static const uint32_t cases[][3] = {{1, 1, 1},  {2, 1, 2},  {7, 1, 7},
					    {12, 3, 4}, {16, 4, 4}, {1000, 25, 40}};
	const struct topology torus = {.kind = TOPOLOGY_TORUS};

	for (size_t i = 0; i < 6; i++) {
		uint32_t rows, cols;

		topology_torus_sides(&torus, cases[i][0], &rows, &cols);
		cr_assert_eq(rows, cases[i][1]);
		cr_assert_eq(cols, cases[i][2]);
	}
}
