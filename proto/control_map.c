/* Which field of control.proto is which member of control.h. */
#include "proto/control_map.h"

#include "proto/codec.h"
#include "proto/control.h"
#include "proto/control.pb-c.h"

#define T struct control_metric
static const struct map_field metric[] = {
		MAP_LINE_(1, T, name),
		MAP_DOUBLE_(2, T, value),
};
#undef T
const struct map map_metric = MAP_OF(control_metric, dadam__metric__descriptor, metric);

#define T struct control_stage
static const struct map_field stage[] = {
		MAP_UINT_(1, T, stage, 0, CONTROL_STAGES - 1),
		MAP_UINT_(2, T, first_layer, 0, CONTROL_MAX_LAYERS - 1),
		MAP_UINT_(3, T, n_layers, 0, CONTROL_MAX_LAYERS),
		MAP_UINT_(4, T, busy_permille, 0, 1000),
		MAP_UINT_(5, T, wait_up_permille, 0, 1000),
		MAP_UINT_(6, T, wait_down_permille, 0, 1000),
		MAP_ANY_(7, T, kept),
		MAP_ANY_(8, T, kept_most),
};
#undef T
static const struct map map_stage = MAP_OF(control_stage, dadam__stage__descriptor, stage);

#define T struct control_rank
#define PROGRESS_ROWS \
		MAP_ANY_(6, T, step), \
		MAP_ANY_(7, T, round), \
		MAP_DOUBLE_(8, T, loss), \
		MAP_ANY_(9, T, payload_bytes), \
		MAP_ANY_(10, T, wire_bytes), \
		MAP_DOUBLE_(11, T, compute_s), \
		MAP_DOUBLE_(12, T, wait_s), \
		MAP_INT_(13, T, waiting_for, CONTROL_MAX_RANKS - 1), \
		MAP_UINT_(14, T, links_up, 0, CONTROL_MAX_RANKS), \
		MAP_UINT_(15, T, links_wanted, 0, CONTROL_MAX_RANKS), \
		MAP_ANY_(16, T, missed_segments), \
		MAP_ANY_(17, T, metrics_step), \
		MAP_ARRAY_(18, T, metrics, n_metrics, CONTROL_MAX_METRICS, &map_metric), \
		MAP_ANY_(19, T, n_params), \
		MAP_ANY_(20, T, train_rows), \
		MAP_ANY_(21, T, test_rows), \
		MAP_ARRAY_(22, T, stages, n_stages, CONTROL_MAX_STAGES, &map_stage), \
		MAP_ANY_(23, T, samples), \
		MAP_DOUBLE_(24, T, iteration_s), \
		MAP_ANY_(26, T, links_down), \
		MAP_UINT_(28, T, mean_of, 0, CONTROL_MAX_RANKS), \
		MAP_ANY_(29, T, plan), \
		MAP_BOOL_(30, T, no_mean)

static const struct map_field progress[] = {PROGRESS_ROWS};
static const struct map_field rank[] = {
		MAP_UINT_(1, T, rank, 0, CONTROL_MAX_RANKS - 1),
		MAP_BYTES_(2, T, node, 0),
		MAP_LINE_(3, T, node_name),
		MAP_UINT_(4, T, state, CONTROL_RANK_INVITED, CONTROL_RANK_STOPPED),
		MAP_LINE_(5, T, why),
		PROGRESS_ROWS,
		MAP_LINE_(25, T, hint),
		MAP_ANY_(27, T, news_ms),
};
#undef T
const struct map map_progress = MAP_OF(control_rank, dadam__rank__descriptor, progress);
const struct map map_rank = MAP_OF(control_rank, dadam__rank__descriptor, rank);

#define T struct control_job
static const struct map_field job[] = {
		MAP_BYTES_(1, T, id, 1),
		MAP_LINE_(2, T, name),
		MAP_LINE_(3, T, algorithm),
		MAP_LINE_(4, T, topology),
		MAP_LINE_(5, T, plugin),
		MAP_UINT_(6, T, phase, CONTROL_WAITING, CONTROL_STOPPED),
		MAP_LINE_(7, T, why),
		MAP_LINE_(8, T, hint),
		MAP_ANY_(9, T, steps_total),
		MAP_ANY_(10, T, created_ms),
		MAP_ANY_(11, T, started_ms),
		MAP_ANY_(12, T, ended_ms),
		MAP_BYTES_(13, T, submitter, 0),
		MAP_LINE_(14, T, digest),
		MAP_UINT_(15, T, workers_min, 0, CONTROL_MAX_RANKS),
		MAP_UINT_(16, T, workers_max, 0, CONTROL_MAX_RANKS),
		MAP_UINT_(17, T, n_ranks, 0, CONTROL_MAX_RANKS),
		MAP_LIST_(18, T, ranks, n_ranks_sent, CONTROL_MAX_RANKS, &map_rank),
		MAP_ANY_(19, T, step_min),
		MAP_ANY_(20, T, step_max),
		MAP_DOUBLE_(21, T, loss),
		MAP_UINT_(22, T, mean_of, 0, CONTROL_MAX_RANKS),
		MAP_ARRAY_(23, T, mean_metrics, n_mean_metrics, CONTROL_MAX_METRICS, &map_metric),
		MAP_UINT_(24, T, stages, 0, CONTROL_STAGES),
		MAP_UINT_(25, T, n_left, 0, CONTROL_MAX_RANKS),
		MAP_ANY_(26, T, active),
};
#undef T
const struct map map_job = MAP_OF(control_job, dadam__job__descriptor, job);

#define T struct control_member
static const struct map_field member[] = {
		MAP_BYTES_(1, T, id, 0), /* zero: a seed that was never reached */
		MAP_LINE_(2, T, name),
		MAP_LINE_(3, T, address),
		MAP_UINT_(4, T, state, CONTROL_ALIVE, CONTROL_LEFT),
		MAP_BOOL_(5, T, self),
		MAP_BOOL_(6, T, inbound),
		MAP_LINE_(7, T, flags),
		MAP_ANY_(8, T, rtt_us),
		MAP_ANY_(9, T, seen_ms),
		MAP_LINE_(10, T, version),
		MAP_LINE_(11, T, note),
		MAP_LINE_(12, T, local),
		MAP_ANY_(13, T, state_ms),
		MAP_ANY_(14, T, session_ms),
		MAP_ANY_(15, T, protocol_min),
		MAP_ANY_(16, T, protocol_max),
};
#undef T
const struct map map_member = MAP_OF(control_member, dadam__member__descriptor, member);

#define T struct control_place
static const struct map_field place[] = {
		MAP_LINE_(1, T, address),
		MAP_LINE_(2, T, flags),
		MAP_BOOL_(3, T, current),
		MAP_BOOL_(4, T, trying),
		MAP_UINT_(5, T, reach, CONTROL_REACH_NONE, CONTROL_REACH_OTHER),
		MAP_ANY_(6, T, tries),
		MAP_ANY_(7, T, worked_ms),
		MAP_ANY_(8, T, failed_ms),
		MAP_ANY_(9, T, next_ms),
		MAP_LINE_(10, T, note),
};
#undef T
static const struct map map_place = MAP_OF(control_place, dadam__place__descriptor, place);

#define T struct error
static const struct map_field error_rows[] = {
		MAP_UINT_(1, T, status, 0, CODEC_MAX_STATUS),
		MAP_LINES_(2, T, msg),
		MAP_LINES_(3, T, hint),
};
#undef T
static const struct map map_error = MAP_OF(error, dadam__error__descriptor, error_rows);

#define T struct control_status
static const struct map_field info[] = {
		MAP_BYTES_(1, T, node, 0),
		MAP_LINE_(2, T, node_name),
		MAP_LINE_(3, T, cluster),
		MAP_LINE_(4, T, listen),
		MAP_LINE_(5, T, version),
		MAP_ANY_(6, T, up_ms),
		MAP_ANY_(7, T, alive),
		MAP_ANY_(8, T, suspect),
		MAP_ANY_(9, T, dead),
		MAP_ANY_(10, T, jobs_running),
		MAP_ANY_(11, T, jobs_waiting),
		MAP_ANY_(12, T, loop_lag_us),
		MAP_ANY_(13, T, resident_bytes),
		MAP_BOOL_(14, T, open),
		MAP_LINE_(15, T, state_dir),
		MAP_LINE_(16, T, data_roots),
		MAP_SUB_(17, T, unwritten, 0, &map_error),
		MAP_ANY_(18, T, unwritten_ms),
};
#undef T
static const struct map map_status = MAP_OF(control_status, dadam__status__descriptor, info);

#define T struct control_request
static const struct map_field request[] = {
		MAP_UINT_(1, T, type, CONTROL_STATUS, CONTROL_VERSION_INFO),
		MAP_LINE_(2, T, job),
		MAP_LINE_(3, T, source),
		MAP_ANY_(4, T, offset),
		MAP_UINT_(5, T, take, CONTROL_TAKE_MEAN, CONTROL_TAKE_LOCAL),
		MAP_LINE_(6, T, node),
};
#undef T
const struct map map_request = MAP_OF(control_request, dadam__control_request__descriptor, request);

#define T struct control_response
static const struct map_field response[] = {
		MAP_UINT_(1, T, type, CONTROL_STATUS, CONTROL_VERSION_INFO),
		MAP_UINT_(2, T, status, 0, CODEC_MAX_STATUS),
		MAP_SUB_(3, T, error, 0, &map_error),
		MAP_SUB_(4, T, info, 0, &map_status),
		MAP_LIST_(5, T, members, n_members, CONTROL_MAX_MEMBERS, &map_member),
		MAP_LIST_(6, T, jobs, n_jobs, CONTROL_MAX_JOBS, &map_job),
		MAP_SUB_(7, T, warning, 0, &map_error),
		MAP_ANY_(8, T, total),
		MAP_BOOL_(9, T, ended),
		MAP_LIST_(10, T, places, n_places, CONTROL_MAX_PLACES, &map_place),
};
#undef T
const struct map map_response = MAP_OF(control_response, dadam__control_response__descriptor, response);
