/* One invented but consistent moment of a cluster of four, for the tests of dadamctl. */
#ifndef TESTS_UNIT_CTL_FIXTURE_H
#define TESTS_UNIT_CTL_FIXTURE_H

#include "proto/control.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define FIXTURE_NOW 1796050000000ULL /* 2026-11-30T14:46:40Z */

static inline struct id fixture_id(unsigned seed)
{
	struct id id;

	for (unsigned i = 0; i < ID_BYTES; i++)
		id.b[i] = (uint8_t)(seed * 37 + i * 11);
	return id;
}

static inline void fixture_status(struct control_status *s)
{
	*s = (struct control_status){.node = fixture_id(1), .node_name = "node-1", .cluster = "lab", .listen = "10.0.4.11:17326",
		.version = "0.1.0", .up_ms = 273840000, .alive = 4, .suspect = 1, .jobs_running = 1, .jobs_waiting = 1,
		.loop_lag_us = 400, .resident_bytes = 8200000, .open = 1, .state_dir = "/var/lib/dadamd",
		.data_roots = "/srv/data:/mnt/more"};
}

static inline void fixture_members(struct control_member m[3])
{
	m[0] = (struct control_member){.id = fixture_id(1), .name = "node-1", .address = "10.0.4.11:17326",
		.state = CONTROL_ALIVE, .self = 1, .version = "0.1.0"};
	m[1] = (struct control_member){.id = fixture_id(2), .name = "node-2", .address = "10.0.4.12:17326",
		.state = CONTROL_ALIVE, .inbound = 1, .flags = "SIN", .rtt_us = 310, .seen_ms = 400, .version = "0.1.0"};
	m[2] = (struct control_member){.id = fixture_id(3), .name = "node-3", .address = "192.168.7.20:17326",
		.state = CONTROL_DEAD, .flags = "X", .seen_ms = 11520000, .note = "connection refused, 14 tries"};
}

/* node-3's addresses, for fixture_members' third. */
static inline void fixture_places(struct control_place a[3])
{
	a[0] = (struct control_place){.address = "192.168.7.20:17326", .flags = "XO", .reach = CONTROL_REACH_REFUSED, .tries = 14,
		.worked_ms = 11520000, .failed_ms = 2100, .next_ms = 7400, .note = "connection refused"};
	a[1] = (struct control_place){.address = "10.0.4.13:17326", .flags = "S", .reach = CONTROL_REACH_TIMED_OUT, .tries = 3,
		.failed_ms = 61000, .trying = 1, .note = "no connection in 5000 ms"};
	a[2] = (struct control_place){.address = "10.0.9.13:17326", .flags = "V", .next_ms = 100};
}

static inline void fixture_rank(struct control_rank *r, uint32_t rank, const char *name)
{
	*r = (struct control_rank){.rank = rank, .node = fixture_id(rank + 1), .state = CONTROL_RANK_RUNNING, .step = 41216,
		.round = 644, .loss = 0.4498 + 0.002 * rank, .payload_bytes = 12000000000, .wire_bytes = 9912000000,
		.compute_s = 700, .wait_s = 790, .waiting_for = -1, .links_up = 2, .links_wanted = 2, .metrics_step = 41000,
		.n_metrics = 2, .n_params = 5033164, .train_rows = 11460154, .test_rows = 100004};
	(void)snprintf(r->node_name, sizeof r->node_name, "%s", name);
	r->metrics[0] = (struct control_metric){"auc", 0.8021 - 0.001 * rank};
	r->metrics[1] = (struct control_metric){"logloss", 0.45};
}

/* A running job; ranks has room for 4 and stays the caller's. */
static inline void fixture_job(struct control_job *j, struct control_rank ranks[4])
{
	static const char *const names[] = {"node-1", "node-2", "node-3", "node-4"};

	*j = (struct control_job){.id = fixture_id(7), .name = "deepfm-criteo", .algorithm = "d-adam", .topology = "ring",
		.plugin = "deepfm", .phase = CONTROL_RUNNING, .steps_total = 67149, .created_ms = FIXTURE_NOW - 3120000,
		.started_ms = FIXTURE_NOW - 3100000, .submitter = fixture_id(1), .digest = "5d1e08c4a0b1c2d3",
		.workers_min = 4, .workers_max = 8, .n_ranks = 4, .n_left = 4, .ranks = ranks, .n_ranks_sent = 4, .step_min = 41152,
		.step_max = 41216, .loss = 0.4519};
	for (uint32_t i = 0; i < 4; i++)
		fixture_rank(&ranks[i], i, names[i]);
	ranks[0].waiting_for = 1;
	ranks[1].waiting_for = 2;
	ranks[2].step = 41152;
	ranks[2].compute_s = 1470;
	ranks[2].wait_s = 20;
	ranks[3].waiting_for = 2;
}

/* A running pipeline: six stages over three nodes. The spec is text of its own. */
static inline void fixture_pipeline(struct control_job *j, struct control_rank ranks[3])
{
	static char spec[] = "model: {plugin: mlp}\nsteps: 400\nalgorithm: {name: pprs, samples: 8}\nplace: [node-1, node-1, node-2, node-3]\n";
	static const char *const names[] = {"node-1", "node-2", "node-3"};
	static const struct control_stage stages[] = {{0, 0, 3, 690, 0, 290, 3, 4}, {1, 3, 2, 655, 120, 210, 2, 3},
		{2, 5, 1, 660, 230, 95, 1, 2}, {3, 6, 2, 702, 280, 0, 1, 1}};

	*j = (struct control_job){.id = fixture_id(13), .name = "few-shot", .algorithm = "pprs", .topology = "path",
		.plugin = "mlp", .phase = CONTROL_RUNNING, .steps_total = 400, .created_ms = FIXTURE_NOW - 20000,
		.started_ms = FIXTURE_NOW - 18000, .submitter = fixture_id(1), .digest = "5d1e08c4a0b1c2d3", .workers_min = 3,
		.workers_max = 3, .n_ranks = 3, .n_left = 3, .ranks = ranks, .n_ranks_sent = 3, .step_min = 120, .step_max = 120, .loss = 0.7519,
		.stages = 4, .spec = spec};
	for (uint32_t i = 0; i < 3; i++) {
		fixture_rank(&ranks[i], i, names[i]);
		ranks[i].step = 120;
		ranks[i].loss = NAN;
		ranks[i].n_metrics = 0;
		ranks[i].samples = 8;
		ranks[i].iteration_s = 0.0123;
		ranks[i].n_stages = i == 0 ? 2 : 1;
		memcpy(ranks[i].stages, &stages[i == 0 ? 0 : i + 1], ranks[i].n_stages * sizeof stages[0]);
	}
	ranks[2].loss = 0.7519;
}

static inline void fixture_waiting(struct control_job *j)
{
	*j = (struct control_job){.id = fixture_id(9), .name = "pprs-cifar", .algorithm = "d-adam", .topology = "complete",
		.plugin = "convnet", .phase = CONTROL_WAITING, .why = "peers 3/4: node-5 has no plugin convnet",
		.hint = "install the plugin there, or lower workers.min", .created_ms = FIXTURE_NOW - 360000, .digest = "aa",
		.workers_min = 4, .workers_max = 4, .n_ranks = 0, .loss = NAN};
}

static inline void fixture_done(struct control_job *j, struct control_rank ranks[4])
{
	fixture_job(j, ranks);
	(void)snprintf(j->name, sizeof j->name, "deepfm-old");
	j->id = fixture_id(11);
	j->phase = CONTROL_DONE;
	j->ended_ms = FIXTURE_NOW - 60000;
	j->step_min = j->step_max = j->steps_total;
	j->mean_of = 4;
	j->n_mean_metrics = 2;
	j->mean_metrics[0] = (struct control_metric){"auc", 0.8034};
	j->mean_metrics[1] = (struct control_metric){"logloss", 0.4497};
	for (uint32_t i = 0; i < 4; i++) {
		ranks[i].state = CONTROL_RANK_DONE;
		ranks[i].step = j->steps_total;
		ranks[i].waiting_for = -1;
	}
	ranks[3].state = CONTROL_RANK_LOST;
	j->n_left = 3;
	ranks[3].missed_segments = 12;
	(void)snprintf(ranks[3].why, sizeof ranks[3].why, "link to node-4 closed: no byte for 3 s");
}

#endif
