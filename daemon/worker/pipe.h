/* The shell of the pipeline machines of one rank: its stages, their compute threads, and whom they talk to.
 *
 *   pipe_create ─► pipe_load ─► `loaded` ─► pipe_start (links) ─► links come up, the cut goes downstream
 *        ─► operations, activations, gradients ─► `trained` ─► pipe_model
 *
 * A rank owns one or several consecutive stages; each has a machine (libcore/round/pipeline.h), a plugin instance and
 * a compute thread. The first one's upstream and the last one's downstream neighbour are other ranks, at the end of
 * links; all others are in this process: what would be a frame there is a copy and an event here. One pump moves the
 * events; no machine calls another. Decides nothing that the machines can decide. Loop thread. */
#ifndef DAEMON_WORKER_PIPE_H
#define DAEMON_WORKER_PIPE_H

#include "daemon/worker/links.h"
#include "daemon/worker/pipe_stage.h"
#include "daemon/worker/trainer.h"

#include <uv.h>

struct pipe_host {
	void *data;
	void (*loaded)(void *data);
	void (*begun)(void *data);                /* the cut is known: the first operations follow */
	void (*evaluated)(void *data);
	void (*trained)(void *data, int stopped); /* all stages of this rank; compute is at rest */
	void (*lost)(void *data, uint32_t rank, const char *why); /* a rank, maybe not a neighbour; nothing goes on */
	void (*log)(void *data, int level, const char *text);     /* as worker_log */
	void (*fail)(void *data, const struct error *err);
};

struct pipe_config {
	const struct job_spec *spec; /* the caller's, as long as the pipe */
	uint32_t rank, n_ranks;
	const char *plugin_path, *data_roots;
	uv_loop_t *loop;
	struct pipe_host host;
};

struct pipe;

/* ST_INVALID: no stage is left for this rank; ST_NOMEM, ST_IO. */
MUST_CHECK enum status pipe_create(struct pipe **out, const struct pipe_config *cfg, struct error *err);

/* Load plugin and data of all stages: `loaded`, or `fail`. */
void pipe_load(struct pipe *p);

/* After `loaded`. links: made with pipe_place and the events that go to pipe_link. */
void pipe_start(struct pipe *p, struct links *links);

/* links_config.place; data: the pipe. */
enum status pipe_place(void *p, const struct link_msg *m, uint8_t **place, struct error *err);

/* Every event of links but those of the closing mean. */
void pipe_link(struct pipe *p, const struct links_event *ev);

void pipe_stop(struct pipe *p); /* an order; also before pipe_start */

uint64_t pipe_n_params(const struct pipe *p); /* after `loaded`, as all that follow */

/* After `trained`: the parameters of this rank's stages at their places in x (the whole model), zeros elsewhere. */
void pipe_model(const struct pipe *p, real *x);

/* Instance i < pipe_n_stages: plugin_watch and plugin_take_log, at any time. */
uint32_t pipe_n_stages(const struct pipe *p);
struct plugin *pipe_plugin(struct pipe *p, uint32_t i);

/* The last rank knows loss and metrics. */
int pipe_has_metrics(const struct pipe *p);
void pipe_report(struct pipe *p, struct trainer_report *out);
uint64_t pipe_total_iterations(const struct pipe *p);
int32_t pipe_waiting_for(const struct pipe *p); /* rank, or -1 */

/* How stage i < pipe_n_stages of this rank spent the last window of about a second, before that all the time: parts of 1000.
 * busy: forward and backward; what is left is stepping, evaluating and handing over. kept: activations now, and the
 * most there ever were. */
struct pipe_use {
	uint32_t stage, first_layer, n_layers; /* n_layers 0: the cut is not known yet */
	uint32_t busy, wait_up, wait_down;
	uint32_t kept, kept_most;
};
void pipe_use(struct pipe *p, uint32_t i, struct pipe_use *out);

/* Seconds that the stages waited for another one, all together. */
double pipe_wait_s(const struct pipe *p);

/* Seconds of an iteration, mean of the last ones; 0: not known yet. */
double pipe_iteration_s(const struct pipe *p);

uint32_t pipe_samples(const struct pipe *p); /* K */

#endif
