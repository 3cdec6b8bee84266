/* What the reading verbs print, as text. Pure: structs in, a page out. */
#ifndef CTL_RENDER_TEXT_H
#define CTL_RENDER_TEXT_H

#include "ctl/page.h"
#include "proto/control.h"

/* What it means that a node is open, in one sentence: the table and JSON say it. */
extern const char render_open_means[];

void render_status(struct page *p, const struct control_status *s, const struct control_job *jobs, size_t n_jobs);
void render_peers(struct page *p, const struct control_member *members, size_t n);

/* The table of jobs; all: ended ones too. Returns how many there are in it. */
size_t render_jobs(struct page *p, const struct control_job *jobs, size_t n, int all, size_t indent);
void render_show(struct page *p, const struct control_job *job);
void render_submitted(struct page *p, const struct control_job *job);

/* "auc 0.7712  logloss 0.5432" */
void render_metrics(struct page *p, const struct control_metric *metrics, uint32_t n);

/* To whom a link of r is wanted and not up: ", none to node-c, node-d"; "" when that is not known. size > 0. */
void render_links_down(char *out, size_t size, const struct control_job *job, const struct control_rank *r);

/* How a phase is painted. */
enum paint render_phase_paint(enum control_phase phase);

#endif
