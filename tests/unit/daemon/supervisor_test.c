/* The line that `systemctl status` shows. */
#include "daemon/supervisor.h"

#include <criterion/criterion.h>
#include <string.h>

static const struct {
	struct control_status st;
	struct control_job jobs[3];
	size_t n;
	const char *text;
} rows[] = {
	{{.alive = 1}, {{.n_ranks = 0}}, 0, "0 peers; no job"},
	{{.alive = 2, .dead = 1}, {{.name = "a", .phase = CONTROL_DONE}, {.name = "b", .phase = CONTROL_FAILED}}, 2,
		"1 peer, 1 dead; no job"},
	{{.alive = 4, .suspect = 1}, {{.name = "ratings", .phase = CONTROL_RUNNING, .step_min = 1200, .steps_total = 2000}}, 1,
		"3 peers, 1 suspect; job ratings RUNNING, step 1200 of 2000"},
	{{.alive = 4}, {{.name = "a", .phase = CONTROL_RUNNING, .step_min = 7}, {.name = "b", .phase = CONTROL_STOPPED},
		{.name = "c", .phase = CONTROL_WAITING}}, 3, "3 peers; job a RUNNING, step 7, and 1 more"},
	{{.alive = 1, .open = 1}, {{.name = "a", .phase = CONTROL_WAITING, .why = "peers 1/2:\nREADY=1"}}, 1,
		"0 peers; job a WAITING: peers 1/2: READY=1; OPEN: anyone on this network can join"},
	{{.alive = 1, .unwritten = {.status = ST_IO, .msg = "cannot write members.tmp: No space left on device"}}, {{.n_ranks = 0}}, 0,
		"0 peers; no job; STATE CANNOT BE WRITTEN, see dadamctl status"},
	{{.alive = 3}, {{.name = "a", .phase = CONTROL_FINISHING, .step_min = 2000, .steps_total = 2000}}, 1,
		"2 peers; job a FINISHING, step 2000"},
};

Test(supervisor, the_status_line_has_peers_and_the_newest_job)
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char out[SUPERVISOR_MAX_STATUS];

		supervisor_text(out, &rows[i].st, rows[i].jobs, rows[i].n);
		cr_assert_str_eq(out, rows[i].text, "row %zu: \"%s\"", i, out);
	}
}
