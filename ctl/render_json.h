/* What the reading verbs print, as JSON: the promised interface. Only additive changes; the schema's
 * number grows otherwise. snake_case, bytes and seconds, times in RFC 3339 UTC, ids whole, null for
 * what is not known. Pure. */
#ifndef CTL_RENDER_JSON_H
#define CTL_RENDER_JSON_H

#include "ctl/page.h"
#include "libcore/topology/graph.h"
#include "proto/control.h"

void json_status(struct page *p, const struct control_status *s);                           /* dadam.status/1 */
void json_peer(struct page *p, const struct control_member *m, const struct control_place *places, size_t n); /* dadam.peer/1 */
void json_peers(struct page *p, const struct control_member *members, size_t n);            /* dadam.peers/1 */

/* dadam.jobs/1. Ranks and spec of a job when it has them. warning: NULL or what to think of. */
void json_jobs(struct page *p, const struct control_job *jobs, size_t n, int all, const struct error *warning);

/* dadam.logs/1: text is cut at line ends. */
void json_logs(struct page *p, const char *job, const char *text, size_t len, int ended);
void json_export(struct page *p, const char *job, const char *file, uint64_t bytes);        /* dadam.export/1 */
void json_version(struct page *p, const struct control_status *daemon);                     /* dadam.version/1; NULL: no daemon */

/* dadam.topology/1; g: ranks are its nodes. round_bytes: of topology_round_bytes(). A pipeline has neither weights, gap
 * nor bytes of a round. */
void json_topology(struct page *p, const struct control_job *job, const struct graph *g, double gap, double round_bytes);

/* The same for a one-peer schedule: ranks name whom they hear in each round of a turn. */
void json_schedule(struct page *p, const struct control_job *job, double gap, double round_bytes);

/* {"error":{"status":...,"message":...,"hint":...,"exit":N}} on one line. */
void json_error(struct page *p, const struct error *err, int exit_status);

#endif
