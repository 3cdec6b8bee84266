/* The daemon's composition and its pump. See daemon.h.
 *
 *   daemon_create ─► state directory, node, records and members of the last run, listeners, START
 *   daemon_run    ─► events from sockets, children, clients, the clock ─► daemon_feed ─► node_step ─►
 *                    actions, carried out in order; events that this brings wait for the end of the list
 *   SIGTERM       ─► LEAVE, workers are told to quit (5 s), then everything closes; a second signal: now */
#include "daemon/daemon_private.h"

#include "daemon/io/netaddr.h"
#include "daemon/io/orphans.h"
#include "daemon/store/files.h"

#include "libcore/base/mem.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define SWEEP_MS 1000U
#define LEAVE_SWEEP_MS 20U
#define LEAVE_MS 5000U
#define REWRITE_MS 5000U /* between attempts to write a state directory that could not be written */
#define DEFAULT_PORT "17326"

/* An event that came up while actions were carried out. */
struct late {
	struct node_event ev;
	struct worker_msg worker;
	struct late *next;
};

/* ---- the pump ---- */

static void log_action(struct daemon *d, const struct node_action *a)
{
	static const enum log_level levels[] = {
			[NODE_LOG_DEBUG] = LOG_DEBUG,
			[NODE_LOG_INFO] = LOG_INFO,
			[NODE_LOG_WARN] = LOG_WARN,
			[NODE_LOG_BUG] = LOG_BUG,
	};

	LOG(d->log, levels[a->level], a->what != NULL ? a->what : "node", "%s", a->text);
}

static void log_job(struct daemon *d, const struct node_action *a)
{
	static const char *const levels[] = {"debug", "info", "warn", "bug"};

	store_log(d->store, &a->job, clock_wall_ms(), levels[a->level], d->node_name, a->text);
}

static void put_record(struct daemon *d, const struct id *job)
{
	const struct job_record *r = node_record(d->node, job);
	struct error err = {0};

	if (r != NULL && store_put_record(d->store, r, &err) != ST_OK)
		LOG(d->log, LOG_WARN, "job record not stored", "job=%s why=\"%s\"", r->terms.name, err.msg);
}

static void put_members(struct daemon *d)
{
	static struct peer_member members[PEER_MAX_MEMBERS]; /* too large for the stack; used for this call only */
	size_t n = node_members(d->node, members, PEER_MAX_MEMBERS);
	struct error err = {0};

	if (store_put_members(d->store, members, n, &err) != ST_OK)
		LOG(d->log, LOG_WARN, "members not stored", "why=\"%s\"", err.msg);
}

static void carry_out(struct daemon *d, const struct node_action *a)
{
	switch (a->type) {
	case NODE_DO_DIAL:
		peers_dial(d, a);
		break;
	case NODE_DO_SEND:
		peers_send(d, a);
		break;
	case NODE_DO_CLOSE:
		peers_close(d, a);
		break;
	case NODE_DO_HANDOVER:
		peers_hand_over(d, a);
		break;
	case NODE_DO_CHECK:
		workers_check(d, &a->job);
		break;
	case NODE_DO_SPAWN:
		workers_spawn(d, a);
		break;
	case NODE_DO_WORKER_SEND:
		workers_send(d, a);
		break;
	case NODE_DO_WORKER_KILL:
		workers_kill(d, &a->job);
		break;
	case NODE_DO_STORE_RECORD:
		put_record(d, &a->job);
		break;
	case NODE_DO_STORE_MEMBERS:
		put_members(d);
		break;
	case NODE_DO_JOB_LOG:
		log_job(d, a);
		break;
	case NODE_DO_LOG:
		log_action(d, a);
		break;
	}
}

static void step(struct daemon *d, struct node_event *ev)
{
	struct node_actions actions = {0};

	ev->now_ms = uv_now(&d->loop);
	ev->now_us = uv_hrtime() / 1000;
	ev->wall_ms = clock_wall_ms();
	node_step(d->node, ev, &actions);
	for (size_t i = 0; i < actions.n; i++)
		carry_out(d, &actions.list[i]);
	node_actions_fini(&actions);
}

void daemon_feed(struct daemon *d, struct node_event *ev)
{
	struct late *l;

	if (d->stepping) { /* a bug of the shell; the event is not lost for it */
		LOG(d->log, LOG_BUG, "event within an event", "type=%d", (int)ev->type);
		daemon_feed_later(d, ev, NULL);
		return;
	}
	d->stepping = 1;
	step(d, ev);
	while ((l = d->late_first) != NULL) {
		d->late_first = l->next;
		step(d, &l->ev);
		if (l->ev.worker != NULL)
			worker_msg_fini(&l->worker);
		mem_free(l);
	}
	d->stepping = 0;
	if (d->clock != NULL)
		clock_arm(d->clock, node_wake_ms(d->node));
}

void daemon_feed_later(struct daemon *d, const struct node_event *ev, struct worker_msg *worker)
{
	struct late *l = mem_alloc(1, sizeof *l);

	if (l == NULL) {
		LOG(d->log, LOG_WARN, "event lost", "type=%d why=\"out of memory\"", (int)ev->type);
		return;
	}
	l->ev = *ev;
	if (worker != NULL) {
		l->worker = *worker;
		memset(worker, 0, sizeof *worker);
		l->ev.worker = &l->worker;
	}
	if (d->late_first == NULL)
		d->late_first = l;
	else
		d->late_last->next = l;
	d->late_last = l;
}

/* ---- events from the shells ---- */

static void on_time(void *data)
{
	struct node_event ev = {.type = NODE_EV_TICK};

	daemon_feed(data, &ev);
}

static void on_resolved(void *data, const char (*addresses)[64], size_t n, const char *trouble)
{
	struct daemon *d = data;
	struct node_event ev = {.type = NODE_EV_SEEDS, .addresses = addresses, .n_items = n};

	if (strcmp(d->trouble, trouble) != 0) {
		(void)snprintf(d->trouble, sizeof d->trouble, "%s", trouble);
		if (trouble[0] != '\0')
			LOG(d->log, LOG_WARN, "seeds not resolved", "why=\"%s\"", trouble);
		else
			LOG(d->log, LOG_INFO, "seeds resolved", "addresses=%zu", n);
	}
	daemon_feed(d, &ev);
}

static void wake_loop(void *data)
{
	struct daemon *d = data;

	(void)uv_async_send(&d->disk);
}

static void on_disk(uv_async_t *a)
{
	struct daemon *d = a->data;

	if (d->store != NULL)
		store_poll(d->store);
}

static void on_trouble(void *data, const struct error *err)
{
	struct daemon *d = data;

	LOG(d->log, LOG_WARN, "state directory", "why=\"%s\" hint=\"%s\"", err->msg, err->hint);
}

/* Told in the log once; `dadamctl status` shows the last error until writes work again. */
static void on_writes(void *data, const struct error *err)
{
	struct daemon *d = data;

	if (err == NULL) {
		LOG(d->log, LOG_INFO, "state directory written again", "state=%s", d->cfg->state_dir);
		d->unwritten = (struct error){0};
		return;
	}
	LOG(d->log, d->unwritten.status == ST_OK ? LOG_WARN : LOG_DEBUG, "state directory", "why=\"%s\" hint=\"%s\"", err->msg, err->hint);
	if (d->unwritten.status == ST_OK) {
		d->unwritten_ms = clock_wall_ms();
		d->rewrite_ms = uv_now(&d->loop) + REWRITE_MS;
	}
	d->unwritten = *err;
	error_hint(&d->unwritten, "%s%sit is tried again every %u s", err->hint, err->hint[0] != '\0' ? "; " : "", REWRITE_MS / 1000);
}

/* The members are written too: when only log lines were lost, something must find out that the disk works. */
static void rewrite(struct daemon *d)
{
	if (d->unwritten.status == ST_OK || uv_now(&d->loop) < d->rewrite_ms)
		return;
	d->rewrite_ms = uv_now(&d->loop) + REWRITE_MS;
	put_members(d);
	store_retry(d->store);
}

/* ---- birth ---- */

static void on_signal(uv_signal_t *s, int signum);
static void on_sweep(uv_timer_t *t);

static void init_handles(struct daemon *d)
{
	(void)uv_async_init(&d->loop, &d->disk, on_disk);
	(void)uv_signal_init(&d->loop, &d->on_int);
	(void)uv_signal_init(&d->loop, &d->on_term);
	(void)uv_timer_init(&d->loop, &d->sweep);
	d->disk.data = d->on_int.data = d->on_term.data = d->sweep.data = d;
	(void)uv_signal_start(&d->on_int, on_signal, SIGINT);
	(void)uv_signal_start(&d->on_term, on_signal, SIGTERM);
	(void)uv_timer_start(&d->sweep, on_sweep, SWEEP_MS, SWEEP_MS);
}

/* What peers shall dial: `advertise`, else where we listen (":PORT" when that is every address: session.c
 * then says to each peer the address of its own connection). */
static void own_address(char out[64], const struct daemon *d)
{
	const char *listen = listener_address(d->peer_door);

	(void)snprintf(out, 64, "%.63s", d->cfg->advertise[0] != '\0' ? d->cfg->advertise : listen);
	if (strncmp(out, "0.0.0.0:", 8) == 0 || strncmp(out, "[::]:", 5) == 0)
		memmove(out, strrchr(out, ':'), strlen(strrchr(out, ':')) + 1);
}

static enum status create_node(struct daemon *d, struct error *err)
{
	struct node_config cfg;

	node_config_default(&cfg);
	cfg.id = store_node_id(d->store);
	cfg.incarnation = store_incarnation(d->store);
	if (getrandom(&cfg.seed, sizeof cfg.seed, 0) != (ssize_t)sizeof cfg.seed)
		return error_set(err, ST_IO, "no random numbers from the system");
	(void)snprintf(cfg.name, sizeof cfg.name, "%s", d->node_name);
	(void)snprintf(cfg.cluster, sizeof cfg.cluster, "%s", d->cfg->cluster_name);
	(void)snprintf(cfg.version, sizeof cfg.version, "%s", DADAM_VERSION);
	own_address(cfg.address, d);
	cfg.ping_ms = d->cfg->ping_ms;
	cfg.silence_ms = d->cfg->silence_ms;
	cfg.dead_ms = d->cfg->dead_ms;
	return node_create(&d->node, &cfg, err);
}

/* Root's daemon and a supervisor's are the host's: the group of the socket may talk to them. */
static unsigned control_mode(void)
{
	return geteuid() == 0 || getenv("RUNTIME_DIRECTORY") != NULL ? 0660 : 0600;
}

/* The directory of the control socket: ours alone, but for the system's, where the socket's own mode decides. */
static enum status open_control_door(struct daemon *d, struct error *err)
{
	char dir[sizeof d->cfg->control_socket];
	char *slash;

	memcpy(dir, d->cfg->control_socket, sizeof dir);
	slash = strrchr(dir, '/');
	if (slash != NULL && slash != dir) {
		*slash = '\0';
		if (access(dir, F_OK) != 0) {
			if (files_make_dirs(dir, err) != ST_OK)
				return error_wrap(err, ST_IO, "control socket");
			if (geteuid() == 0)
				(void)chmod(dir, 0755);
		}
	}
	return listener_unix(&d->control_door, &d->loop, d->cfg->control_socket, control_mode(),
			clients_on_incoming, d, err);
}

static void load_record(void *data, struct job_record *r)
{
	struct node_event ev = {.type = NODE_EV_RECORD_LOADED, .record = r};

	daemon_feed(data, &ev);
	job_record_fini(r);
}

static void load_members(struct daemon *d)
{
	struct peer_member *members = mem_alloc(PEER_MAX_MEMBERS, sizeof *members);
	struct node_event ev = {.type = NODE_EV_REMEMBERED, .members = members};

	if (members != NULL)
		ev.n_items = store_load_members(d->store, members, PEER_MAX_MEMBERS);
	if (ev.n_items > 0)
		daemon_feed(d, &ev);
	mem_free(members);
}

static enum status start(struct daemon *d, int *state_failed, struct error *err)
{
	const struct store_host host = {d, wake_loop, on_trouble, on_writes};
	struct node_event ev = {.type = NODE_EV_START};
	enum status st;

	st = store_open(&d->store, d->cfg->state_dir, &host, clock_wall_ms(), err);
	*state_failed = st != ST_OK;
	if (st == ST_OK)
		st = listener_tcp(&d->peer_door, &d->loop, d->cfg->listen, peers_on_incoming, d, err);
	if (st == ST_OK)
		st = open_control_door(d, err);
	if (st == ST_OK)
		st = create_node(d, err);
	if (st == ST_OK)
		st = clock_create(&d->clock, &d->loop, on_time, d, err);
	if (st != ST_OK)
		return st;
	daemon_feed(d, &ev);
	store_load_records(d->store, load_record, d);
	load_members(d);
	return resolver_start(&d->resolver, &d->loop, d->cfg->seeds, d->cfg->n_seeds, DEFAULT_PORT, on_resolved, d, err);
}

static void close_all(struct daemon *d);

enum status daemon_create(struct daemon **out, const struct daemon_config *cfg, const char *exe_dir,
		const struct log_sink *log, int *state_failed, struct error *err)
{
	struct daemon *d = mem_alloc(1, sizeof *d);
	enum status st;

	*out = NULL;
	*state_failed = 0;
	if (d == NULL || uv_loop_init(&d->loop) != 0) {
		mem_free(d);
		return error_set(err, ST_NOMEM, "no memory for an event loop");
	}
	d->cfg = cfg;
	d->exe_dir = exe_dir;
	d->log = log;
	d->started_ms = uv_now(&d->loop);
	if (cfg->node_name[0] != '\0')
		(void)snprintf(d->node_name, sizeof d->node_name, "%s", cfg->node_name);
	else if (gethostname(d->node_name, sizeof d->node_name - 1) != 0)
		(void)snprintf(d->node_name, sizeof d->node_name, "node");
	init_handles(d);
	supervisor_init(&d->supervisor, &d->loop, log);
	st = start(d, state_failed, err);
	if (st != ST_OK) {
		close_all(d);
		(void)uv_run(&d->loop, UV_RUN_DEFAULT);
		daemon_destroy(d);
		return st;
	}
	*out = d;
	return ST_OK;
}

/* ---- the end ---- */

/* Everything but what the disk's thread needs is closed; then that. */
static void close_all(struct daemon *d)
{
	d->phase = DAEMON_CLOSING;
	listener_close(d->peer_door);
	listener_close(d->control_door);
	clock_close(d->clock);
	resolver_close(d->resolver);
	d->clock = NULL;
	d->resolver = NULL;
	peers_close_all(d);
	store_close(d->store); /* writes what waits, answers clients that waited for the disk */
	d->store = NULL;
	clients_close_all(d);
	uv_close((uv_handle_t *)&d->disk, NULL);
	uv_close((uv_handle_t *)&d->sweep, NULL);
	supervisor_close(&d->supervisor);
	uv_unref((uv_handle_t *)&d->on_int); /* still heard, but they keep nothing alive */
	uv_unref((uv_handle_t *)&d->on_term);
}

static void leave(struct daemon *d, int signum)
{
	struct node_event ev = {.type = NODE_EV_LEAVE};

	LOG(d->log, LOG_INFO, "leaving", "signal=%s", signum == SIGINT ? "INT" : "TERM");
	d->phase = DAEMON_LEAVING;
	supervisor_stopping(&d->supervisor);
	d->leave_by_ms = uv_now(&d->loop) + LEAVE_MS;
	daemon_feed(d, &ev);
	workers_quit_all(d);
	(void)uv_timer_start(&d->sweep, on_sweep, 0, LEAVE_SWEEP_MS);
}

static void on_signal(uv_signal_t *s, int signum)
{
	struct daemon *d = s->data;

	if (d->phase == DAEMON_RUNNING) {
		leave(d, signum);
		return;
	}
	LOG(d->log, LOG_WARN, "ending now", "signal=%s", signum == SIGINT ? "INT" : "TERM");
	if (d->cut_short)
		uv_stop(&d->loop); /* the third one: whatever still holds us */
	d->cut_short = 1;
	workers_kill_all(d);
	if (d->phase == DAEMON_CLOSING) { /* do not linger */
		peers_close_all(d);
		clients_close_all(d);
	}
}

static void on_sweep(uv_timer_t *t)
{
	struct daemon *d = t->data;

	if (getpid() == 1) /* of a container */
		(void)orphans_reap(&d->loop);
	if (d->phase == DAEMON_RUNNING) {
		clients_sweep(d);
		supervisor_sweep(&d->supervisor);
		rewrite(d);
	} else if (d->phase == DAEMON_LEAVING) {
		if (d->workers == NULL)
			close_all(d);
		else if (uv_now(&d->loop) >= d->leave_by_ms)
			workers_kill_all(d);
	}
}

int daemon_is_open(const struct daemon *d)
{
	struct sockaddr_storage ss;

	return netaddr_parse(&ss, listener_address(d->peer_door), NULL) != ST_OK || !netaddr_is_loopback(&ss);
}

static void log_start(struct daemon *d)
{
	char hex[ID_HEX_SIZE];
	struct id id = store_node_id(d->store);

	id_to_hex(hex, &id);
	LOG(d->log, LOG_INFO, "started", "version=%s node=%s name=%s cluster=%s listen=%s control=%s state=%s pid=%ld",
			DADAM_VERSION, hex, d->node_name, d->cfg->cluster_name, listener_address(d->peer_door),
			listener_address(d->control_door), d->cfg->state_dir, (long)getpid());
	if (daemon_is_open(d))
		LOG(d->log, LOG_WARN, "open cluster", "listen=%s whoever reaches this port from a private address can join, "
				"take models and start jobs", listener_address(d->peer_door));
}

int daemon_run(struct daemon *d)
{
	log_start(d);
	supervisor_ready(&d->supervisor, d->node, d->cfg->cluster_open, &d->unwritten);
	(void)uv_run(&d->loop, UV_RUN_DEFAULT);
	LOG(d->log, LOG_INFO, "ended", "cut_short=%d", d->cut_short);
	return d->cut_short;
}

void daemon_destroy(struct daemon *d)
{
	if (d == NULL)
		return;
	node_destroy(d->node);
	supervisor_fini(&d->supervisor);
	store_close(d->store);
	uv_close((uv_handle_t *)&d->on_int, NULL);
	uv_close((uv_handle_t *)&d->on_term, NULL);
	(void)uv_run(&d->loop, UV_RUN_NOWAIT);
	if (uv_loop_close(&d->loop) == 0)
		mem_free(d); /* else stopped by a third signal: the process ends with handles open */
}
