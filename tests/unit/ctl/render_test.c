/* The views of dadamctl against golden texts, at 80 and 120 columns, and the promised JSON. */
#include "ctl/render_json.h"
#include "ctl/render_peer.h"
#include "ctl/render_pipeline.h"
#include "ctl/render_schedule.h"
#include "ctl/render_text.h"
#include "ctl/render_topology.h"
#include "ctl/watch.h"
#include "tests/lib/fail_mem.h"
#include "tests/unit/ctl/fixture.h"

#include <criterion/criterion.h>
#include <stdlib.h>

static struct control_rank ranks[4], more[4];
static struct control_job jobs[3];

static void setup(void)
{
	fixture_job(&jobs[0], ranks);
	fixture_waiting(&jobs[1]);
	fixture_done(&jobs[2], more);
}

TestSuite(render, .init = setup);

static void draw_status(struct page *p)
{
	struct control_status s;

	fixture_status(&s);
	render_status(p, &s, jobs, 3);
}

static void draw_peers(struct page *p)
{
	struct control_member m[3];

	fixture_members(m);
	render_peers(p, m, 3);
}

static void draw_peer(struct page *p)
{
	struct control_member m[3];
	struct control_place a[3];

	fixture_members(m);
	fixture_places(a);
	m[2].state_ms = 11520000;
	render_peer(p, &m[2], a, 3);
}

static void draw_peer_alive(struct page *p)
{
	struct control_member m[3];
	struct control_place a = {.address = "10.0.4.12:17326", .flags = "SI", .worked_ms = 60000};

	fixture_members(m);
	m[1].session_ms = 59000;
	m[1].protocol_min = m[1].protocol_max = 1;
	(void)snprintf(m[1].local, sizeof m[1].local, "10.0.4.11:17326");
	render_peer(p, &m[1], &a, 1);
}

static void draw_ls(struct page *p)
{
	(void)render_jobs(p, jobs, 3, 1, 0);
}

static void draw_show(struct page *p)
{
	render_show(p, &jobs[2]);
}

static void draw_submitted(struct page *p)
{
	render_submitted(p, &jobs[1]);
}

static void draw_watch(struct page *p)
{
	struct watch w;

	watch_init(&w);
	watch_update(&w, &jobs[0], 1000);
	watch_render(p, &w, &jobs[0]);
}

static void draw_pipeline(struct page *p, int what)
{
	struct control_rank three[3];
	struct control_job job;
	struct watch w;

	fixture_pipeline(&job, three);
	watch_init(&w);
	watch_update(&w, &job, 1000);
	if (what == 0)
		render_show(p, &job);
	else if (what == 1)
		watch_render(p, &w, &job);
	else if (what == 2)
		render_chain(p, &job);
	else if (what == 4)
		render_chain_dot(p, &job);
	else
		json_jobs(p, &job, 1, 1, NULL);
}

static void draw_pipeline_show(struct page *p)
{
	draw_pipeline(p, 0);
}

static void draw_pipeline_watch(struct page *p)
{
	draw_pipeline(p, 1);
}

static void draw_chain(struct page *p)
{
	draw_pipeline(p, 2);
}

static void draw_chain_dot(struct page *p)
{
	draw_pipeline(p, 4);
}

static void draw_pipeline_json(struct page *p)
{
	draw_pipeline(p, 3);
}

static void draw_topology(struct page *p, int what)
{
	struct topology t;
	struct graph *whole = NULL, *g = NULL;
	double gap = 0;

	cr_assert_eq(topology_parse(&t, "ring", NULL), ST_OK);
	cr_assert_eq(graph_build(&whole, &t, 4, 1, NULL), ST_OK);
	cr_assert_eq(topology_present(&g, &gap, whole, &jobs[2], NULL), ST_OK);
	if (what == 0)
		render_topology(p, &jobs[2], g, gap);
	else if (what == 1)
		render_dot(p, &jobs[2], g);
	else
		json_topology(p, &jobs[2], g, gap, 197776);
	graph_destroy(g);
	graph_destroy(whole);
}

static void draw_topology_text(struct page *p)
{
	draw_topology(p, 0);
}

static void draw_dot(struct page *p)
{
	draw_topology(p, 1);
}

static void draw_topology_json(struct page *p)
{
	draw_topology(p, 2);
}

static void draw_schedule(struct page *p, int what)
{
	double gap;

	(void)snprintf(jobs[2].topology, sizeof jobs[2].topology, "one-peer-exponential");
	cr_assert_eq(schedule_gap(&gap, 4, NULL), ST_OK);
	if (what == 0)
		render_schedule(p, &jobs[2], gap);
	else if (what == 1)
		render_schedule_dot(p, &jobs[2]);
	else
		json_schedule(p, &jobs[2], gap, 197776);
}

static void draw_schedule_text(struct page *p)
{
	draw_schedule(p, 0);
}

static void draw_schedule_dot(struct page *p)
{
	draw_schedule(p, 1);
}

static void draw_schedule_json(struct page *p)
{
	draw_schedule(p, 2);
}

static void full_disk(struct control_status *s)
{
	fixture_status(s);
	(void)error_set(&s->unwritten, ST_IO, "cannot write /var/lib/dadamd/members.tmp: No space left on device");
	error_hint(&s->unwritten, "make room on that disk (df -h says how full it is); it is tried again every 5 s");
	s->unwritten_ms = FIXTURE_NOW - 185000;
}

static void draw_status_full(struct page *p)
{
	struct control_status s;

	full_disk(&s);
	render_status(p, &s, NULL, 0);
}

static void draw_status_full_json(struct page *p)
{
	struct control_status s;

	full_disk(&s);
	json_status(p, &s);
}

static void draw_status_json(struct page *p)
{
	struct control_status s;

	fixture_status(&s);
	json_status(p, &s);
}

static void draw_peers_json(struct page *p)
{
	struct control_member m[3];

	fixture_members(m);
	json_peers(p, m, 3);
}

static void draw_peer_json(struct page *p)
{
	struct control_member m[3];
	struct control_place a[3];

	fixture_members(m);
	fixture_places(a);
	json_peer(p, &m[2], a, 3);
}

static void draw_jobs_json(struct page *p)
{
	json_jobs(p, jobs, 3, 1, NULL);
}

static void draw_logs_json(struct page *p)
{
	static const char log[] = "first\n\nthird \xff\x1b\nhalf";

	json_logs(p, "ctr", log, strlen(log), 1);
}

static void draw_error_json(struct page *p)
{
	struct error err;

	(void)error_set(&err, ST_NOT_FOUND, "no job \"x\"");
	error_hint(&err, "dadamctl ls -a");
	json_error(p, &err, 3);
}

static const struct {
	const char *name;
	size_t width;
	void (*draw)(struct page *p);
} rows[] = {
	{"status-80", 80, draw_status}, {"status-120", 120, draw_status}, {"peers-80", 80, draw_peers},
	{"peers-120", 120, draw_peers}, {"peer-80", 80, draw_peer}, {"peer-120", 120, draw_peer},
	{"peer-alive", 80, draw_peer_alive}, {"peer-json", 0, draw_peer_json}, {"ls-80", 80, draw_ls}, {"ls-120", 120, draw_ls}, {"show-80", 80, draw_show},
	{"show-120", 120, draw_show}, {"watch-80", 80, draw_watch}, {"watch-120", 120, draw_watch},
	{"submitted-80", 80, draw_submitted}, {"topology-80", 80, draw_topology_text}, {"topology-dot", 0, draw_dot},
	{"status-json", 0, draw_status_json}, {"status-full-80", 80, draw_status_full}, {"status-full-json", 0, draw_status_full_json}, {"peers-json", 0, draw_peers_json}, {"jobs-json", 0, draw_jobs_json},
	{"pipeline-show-80", 80, draw_pipeline_show}, {"pipeline-show-120", 120, draw_pipeline_show},
	{"pipeline-watch-80", 80, draw_pipeline_watch}, {"pipeline-chain", 80, draw_chain}, {"pipeline-dot", 0, draw_chain_dot}, {"pipeline-json", 0, draw_pipeline_json},
	{"topology-json", 0, draw_topology_json}, {"schedule-80", 80, draw_schedule_text}, {"schedule-dot", 0, draw_schedule_dot},
	{"schedule-json", 0, draw_schedule_json}, {"logs-json", 0, draw_logs_json}, {"error-json", 0, draw_error_json},
};

static char *read_golden(const char *name)
{
	static char text[32768];
	char path[4096];
	size_t n;
	FILE *f;

	cr_assert_not_null(getenv("DADAM_SOURCE"));
	(void)snprintf(path, sizeof path, "%s/tests/unit/ctl/golden/%s.txt", getenv("DADAM_SOURCE"), name);
	f = fopen(path, "r");
	cr_assert_not_null(f, "%s", path);
	n = fread(text, 1, sizeof text - 1, f);
	text[n] = '\0';
	(void)fclose(f);
	return text;
}

/* What it is now, for whoever changed it on purpose. */
static void keep(const char *name, const char *text)
{
	char path[4096];
	FILE *f;

	(void)snprintf(path, sizeof path, "%s/%s.txt", getenv("DADAM_BUILD"), name);
	f = fopen(path, "w");
	cr_assert_not_null(f, "%s", path);
	(void)fputs(text, f);
	(void)fclose(f);
	cr_log_error("%s is now another text, see %s", name, path);
}

Test(render, every_view_is_as_its_golden_text)
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct view view = {.width = rows[i].width, .now_ms = FIXTURE_NOW, .prefix = "dadamctl"};
		struct page p;

		page_init(&p, &view);
		rows[i].draw(&p);
		cr_expect_eq(p.st, ST_OK);
		if (strcmp(page_text(&p), read_golden(rows[i].name)) != 0)
			keep(rows[i].name, page_text(&p));
		cr_expect_str_eq(page_text(&p), read_golden(rows[i].name), "%s", rows[i].name);
		page_fini(&p);
	}
}

/* The drawing of the first units must not depend on how many samples follow. */
Test(render, a_gantt_is_cut_where_the_view_ends_and_says_so)
{
	static const struct {
		struct pipeline_shape shape;
		const char *line, *note;
	} cases[] = {
		{{PIPELINE_1F1B, 1, 1}, "stage 0   F0 B0\n", "idle\n"},
		{{PIPELINE_1F1B, 2, 1}, "stage 1   .  F0 B0 .\n", "idle\n"},
		{{PIPELINE_FILL_DRAIN, 2, 2}, "stage 0   F0 F1 .  .  B0 B1\n", "idle\n"},
		{{PIPELINE_1F1B, 4, 65536}, "stage 0   F0  F1  F2  F3  .   .   .   B0  F4  B1  F5  B2  F6  B3  F7  B4  F8\n",
			"the first 17 of 131078 units\n"},
		{{PIPELINE_FILL_DRAIN, 4, 100}, "stage 3   .   .   .   F0  F1  F2 ", "the first 17 of 206 units\n"},
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct view view = {.width = 80, .now_ms = FIXTURE_NOW, .prefix = "dadamctl"};
		struct page p;

		page_init(&p, &view);
		render_gantt(&p, &cases[i].shape);
		cr_expect_not_null(strstr(page_text(&p), cases[i].line), "row %zu:\n%s", i, page_text(&p));
		cr_expect_not_null(strstr(page_text(&p), cases[i].note), "row %zu:\n%s", i, page_text(&p));
		for (const char *line = page_text(&p); *line != '\0'; line += strcspn(line, "\n") + 1)
			cr_expect_leq(strcspn(line, "\n"), 80, "row %zu", i);
		page_fini(&p);
	}
}

Test(render, no_line_of_a_table_is_wider_than_the_terminal)
{
	static const struct {
		size_t width;
		void (*draw)(struct page *);
	} cases[] = {{80, draw_ls}, {80, draw_watch}, {40, draw_ls}, {40, draw_peers}};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct view view = {.width = cases[i].width, .now_ms = FIXTURE_NOW, .prefix = "dadamctl"};
		struct page p;

		page_init(&p, &view);
		cases[i].draw(&p);
		for (const char *line = page_text(&p); *line != '\0'; line += strcspn(line, "\n") + 1)
			if (strncmp(line, "why it", 6) != 0) /* a command is not cut: it shall be copied */
				cr_expect_leq(strcspn(line, "\n"), cases[i].width, "row %zu: %.*s", i, (int)strcspn(line, "\n"), line);
		page_fini(&p);
	}
}

Test(render, of_several_addresses_the_one_that_came_farthest_says_why)
{
	static const struct {
		enum control_member_state state;
		enum control_reach a, b;
		const char *why, *next;
	} cases[] = {
		{CONTROL_DEAD, CONTROL_REACH_TIMED_OUT, CONTROL_REACH_REFUSED, "nobody listens at 10.0.0.2:7", "cluster.open: on"},
		{CONTROL_DEAD, CONTROL_REACH_TIMED_OUT, CONTROL_REACH_NO_ROUTE, "10.0.0.1:7 does not answer", "ping 10.0.0.1; "},
		{CONTROL_SUSPECT, CONTROL_REACH_NO_ROUTE, CONTROL_REACH_OTHER, "no route to 10.0.0.1:7", "ip route get 10.0.0.1"},
		{CONTROL_DEAD, CONTROL_REACH_REFUSED, CONTROL_REACH_OTHER_CLUSTER, "another cluster: the note", "cluster.name"},
		{CONTROL_DEAD, CONTROL_REACH_VERSION, CONTROL_REACH_OTHER_CLUSTER, "no protocol in common: the note", "dadamctl version"},
		{CONTROL_DEAD, CONTROL_REACH_FULL, CONTROL_REACH_STRANGER, "table full: the note", "second cluster"},
		{CONTROL_DEAD, CONTROL_REACH_PUBLIC, CONTROL_REACH_NO_ROUTE, "10.0.0.1:7 is a public address", "VPN"},
		{CONTROL_DEAD, CONTROL_REACH_SILENT, CONTROL_REACH_REFUSED, "no hello comes", "sport = :7"},
		{CONTROL_DEAD, CONTROL_REACH_SILENT, CONTROL_REACH_STRANGER, "10.0.0.2:7 hangs up", "log of dadamd there"},
		{CONTROL_DEAD, CONTROL_REACH_OTHER, CONTROL_REACH_NONE, "10.0.0.1:7: the note", "log of dadamd here"},
		{CONTROL_SUSPECT, CONTROL_REACH_NONE, CONTROL_REACH_NONE, "first time", "few seconds"},
		{CONTROL_LEFT, CONTROL_REACH_REFUSED, CONTROL_REACH_NONE, "stopped in order", "start dadamd"},
		{CONTROL_LEFT, CONTROL_REACH_TIMED_OUT, CONTROL_REACH_NONE, "does not answer", "ping"},
		{CONTROL_ALIVE, CONTROL_REACH_REFUSED, CONTROL_REACH_NONE, "", ""},
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct control_member m = {.state = cases[i].state};
		struct control_place places[2] = {{.address = "10.0.0.1:7", .reach = cases[i].a, .note = "the note"},
			{.address = "10.0.0.2:7", .reach = cases[i].b, .note = "the note"}};
		struct peer_reason r;

		peer_reason(&r, &m, places, 2);
		cr_expect_not_null(strstr(r.why, cases[i].why), "row %zu: %s", i, r.why);
		cr_expect_not_null(strstr(r.next, cases[i].next), "row %zu: %s", i, r.next);
		cr_expect_eq(r.why[0] == '\0', cases[i].why[0] == '\0', "row %zu: %s", i, r.why);
	}
}

Test(render, a_node_without_an_address_can_only_dial_and_a_v6_one_is_named_as_ping_takes_it)
{
	struct control_member m = {.state = CONTROL_SUSPECT};
	struct control_place v6 = {.address = "[fd00::5]:17326", .reach = CONTROL_REACH_TIMED_OUT};
	struct peer_reason r;

	peer_reason(&r, &m, NULL, 0);
	cr_assert_not_null(strstr(r.why, "it can dial this node, but not be dialled"), "%s", r.why);
	peer_reason(&r, &m, &v6, 1);
	cr_assert_not_null(strstr(r.next, "ping fd00::5; let the firewall there accept TCP port 17326"), "%s", r.next);
}

Test(render, without_memory_a_page_says_so_and_leaks_nothing)
{
	struct view view = {.width = 80, .now_ms = FIXTURE_NOW, .prefix = "dadamctl"};
	enum status st = ST_NOMEM;

	for (int k = 0; st != ST_OK; k++) {
		struct page p;

		fail_mem_at(k);
		page_init(&p, &view);
		draw_ls(&p);
		st = p.st;
		page_fini(&p);
		cr_assert_eq(fail_mem_outstanding(), 0);
	}
	fail_mem_off();
}

Test(render, without_memory_the_graph_of_those_present_leaks_nothing)
{
	struct graph *whole = NULL, *g = NULL;
	enum status st = ST_NOMEM;
	struct topology t;
	double gap = 0;

	cr_assert_eq(topology_parse(&t, "ring", NULL), ST_OK);
	cr_assert_eq(graph_build(&whole, &t, 4, 1, NULL), ST_OK);
	for (int k = 0; st != ST_OK; k++) {
		fail_mem_at(k);
		st = topology_present(&g, &gap, whole, &jobs[2], NULL);
		cr_assert(st == ST_OK || fail_mem_outstanding() == 0, "k %d", k);
	}
	graph_destroy(g);
	cr_assert_eq(fail_mem_outstanding(), 0);
	fail_mem_off();
	graph_destroy(whole);
}

Test(render, a_failed_jobs_reason_is_not_repeated_for_the_ranks_that_stopped_for_it)
{
	static struct control_rank two[2] = {{.rank = 0, .node_name = "n0", .state = CONTROL_RANK_FAILED, .why = "bad data", .hint = "mend it"},
			{.rank = 1, .node_name = "n1", .state = CONTROL_RANK_STOPPED, .why = "the job failed: rank 0 (n0): bad data"}};
	struct control_job bad = {.name = "x", .phase = CONTROL_FAILED, .why = "rank 0 (n0): bad data", .hint = "mend it", .ranks = two,
			.n_ranks = 2, .n_ranks_sent = 2};
	struct view view = {0};
	struct page p;

	page_init(&p, &view);
	render_show(&p, &bad);
	cr_expect_null(strstr(page_text(&p), "the job failed"), "%s", page_text(&p));
	cr_expect_not_null(strstr(page_text(&p), "rank 0 on n0: bad data\n"), "%s", page_text(&p));
	page_fini(&p);
	(void)snprintf(bad.hint, sizeof bad.hint, "something else");
	page_init(&p, &view);
	render_show(&p, &bad);
	cr_expect_not_null(strstr(page_text(&p), "rank 0 on n0: bad data\n  mend it\n"), "%s", page_text(&p));
	page_fini(&p);
}

Test(render, show_says_which_links_are_not_up)
{
	static struct control_rank two[2] = {{.rank = 0, .node_name = "n0", .state = CONTROL_RANK_RUNNING, .links_up = 2, .links_wanted = 2},
			{.rank = 1, .node_name = "n1", .state = CONTROL_RANK_READY, .links_up = 1, .links_wanted = 2, .links_down = 1}};
	struct control_job job = {.name = "x", .phase = CONTROL_RUNNING, .ranks = two, .n_ranks = 2, .n_ranks_sent = 2};
	struct view view = {0};
	struct page p;

	page_init(&p, &view);
	render_show(&p, &job);
	cr_expect_not_null(strstr(page_text(&p), "rank 1 on n1: 1 of 2 links are up, none to n0\n"), "%s", page_text(&p));
	cr_expect_null(strstr(page_text(&p), "rank 0 on"), "%s", page_text(&p));
	page_fini(&p);
}

Test(render, show_has_the_whole_reason_in_lines_that_fit)
{
	struct control_job job = {.name = "x", .phase = CONTROL_WAITING,
			.why = "peers 2/4: only 2 nodes are here: node-c is suspect, node-with-quite-a-long-name is dead, node-e has left"};
	struct view view = {.width = 60};
	struct page p;

	page_init(&p, &view);
	render_show(&p, &job);
	cr_expect_not_null(strstr(page_text(&p), "  why        peers 2/4: only 2 nodes are here: node-c is\n"
			"             suspect, node-with-quite-a-long-name is dead,\n             node-e has left\n"), "%s", page_text(&p));
	page_fini(&p);
	view.width = 0;
	page_init(&p, &view);
	render_show(&p, &job);
	cr_expect_not_null(strstr(page_text(&p), "is dead, node-e has left\n"), "no terminal, no lines: %s", page_text(&p));
	page_fini(&p);
}

Test(render, show_says_which_rank_gives_no_news)
{
	static struct control_rank two[2] = {{.rank = 0, .node_name = "n0", .state = CONTROL_RANK_RUNNING, .news_ms = 4900},
			{.rank = 1, .node_name = "n1", .state = CONTROL_RANK_RUNNING, .news_ms = 7600, .links_wanted = 2}};
	struct control_job job = {.name = "x", .phase = CONTROL_RUNNING, .ranks = two, .n_ranks = 2, .n_ranks_sent = 2};
	struct view view = {0};
	struct page p;

	page_init(&p, &view);
	render_show(&p, &job);
	cr_expect_not_null(strstr(page_text(&p), "rank 1 on n1: no news for 7 s\n"), "%s", page_text(&p));
	cr_expect_null(strstr(page_text(&p), "rank 0 on"), "%s", page_text(&p));
	page_fini(&p);
}

Test(render, who_left_in_order_is_not_offered_to_be_looked_into_and_a_namesake_goes_by_its_id)
{
	struct control_member three[3] = {{.name = "n0", .state = CONTROL_ALIVE, .self = 1}, {.name = "n1", .state = CONTROL_LEFT},
			{.name = "n1", .state = CONTROL_ALIVE}};
	struct view view = {.prefix = "dadamctl"};
	struct page p;

	three[1].id.b[0] = 0xab;
	page_init(&p, &view);
	render_peers(&p, three, 3);
	cr_expect_null(strstr(page_text(&p), "reached"), "%s", page_text(&p));
	page_fini(&p);
	three[1].state = CONTROL_DEAD;
	page_init(&p, &view);
	render_peers(&p, three, 3);
	cr_expect_not_null(strstr(page_text(&p), "why it can't be reached: dadamctl peers ab0000\n"), "%s", page_text(&p));
	page_fini(&p);
	three[2].name[1] = '2';
	page_init(&p, &view);
	render_peers(&p, three, 3);
	cr_expect_not_null(strstr(page_text(&p), "why it can't be reached: dadamctl peers n1\n"), "%s", page_text(&p));
	page_fini(&p);
}

Test(render, an_address_that_nobody_answers_at_was_never_seen)
{
	struct control_member two[2] = {{.name = "n0", .state = CONTROL_ALIVE, .self = 1},
			{.name = "-", .address = "127.0.0.1:27419", .state = CONTROL_SUSPECT}};
	struct view view = {.prefix = "dadamctl"};
	struct page p;

	page_init(&p, &view);
	render_peers(&p, two, 2);
	cr_expect_not_null(strstr(page_text(&p), "no answer"), "%s", page_text(&p));
	cr_expect_null(strstr(page_text(&p), "0.0s"), "%s", page_text(&p));
	cr_expect_not_null(strstr(page_text(&p), "dadamctl peers 127.0.0.1:27419\n"), "%s", page_text(&p));
	page_fini(&p);
	page_init(&p, &view);
	json_peers(&p, two, 2);
	cr_expect_not_null(strstr(page_text(&p), "\"seen_seconds\": null"), "%s", page_text(&p));
	page_fini(&p);
}

Test(render, a_model_that_was_not_tested_has_no_line_of_metrics)
{
	struct view view = {.width = 80, .now_ms = FIXTURE_NOW, .prefix = "dadamctl"};
	struct page p;

	jobs[2].n_mean_metrics = 0;
	page_init(&p, &view);
	render_show(&p, &jobs[2]);
	cr_assert_not_null(strstr(page_text(&p), "deepfm-old"));
	cr_assert_null(strstr(page_text(&p), "mean model of"), "%s", page_text(&p));
	page_fini(&p);
}
