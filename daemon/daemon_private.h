/* What the files of the daemon itself share: daemon.c (composition, the pump), peers.c (sessions and
 * links before they are handed over), workers.c (children), clients.c and host.c (dadamctl). */
#ifndef DAEMON_DAEMON_PRIVATE_H
#define DAEMON_DAEMON_PRIVATE_H

#include "daemon/control/control.h"
#include "daemon/daemon.h"
#include "daemon/io/clock.h"
#include "daemon/io/conn.h"
#include "daemon/io/listener.h"
#include "daemon/io/resolver.h"
#include "daemon/node/node.h"
#include "daemon/store/store.h"
#include "daemon/supervisor.h"

enum daemon_phase {
	DAEMON_RUNNING,
	DAEMON_LEAVING, /* the others were told; workers have until leave_by_ms */
	DAEMON_CLOSING  /* everything is being closed */
};

struct peer;   /* peers.c */
struct worker; /* workers.c */
struct client; /* clients.c */
struct late;   /* daemon.c */

struct daemon {
	const struct daemon_config *cfg;
	const char *exe_dir;
	const struct log_sink *log;
	enum daemon_phase phase;
	int cut_short;
	uv_loop_t loop;
	uv_async_t disk; /* the disk's thread has results */
	uv_signal_t on_int, on_term;
	uv_timer_t sweep;
	struct supervisor supervisor;
	struct node *node;
	struct store *store;
	struct clock *clock;
	struct resolver *resolver;
	char trouble[400]; /* the resolver's last */
	struct error unwritten; /* of the state directory, the last; status ST_OK: it can be written */
	uint64_t unwritten_ms;  /* Unix time of the first since it could */
	uint64_t rewrite_ms;    /* when it is tried again */
	struct listener *peer_door, *control_door;
	struct peer *peers;
	unsigned n_greeting; /* accepted, no good frame yet */
	unsigned n_outside;  /* turned away since that was last logged */
	uint64_t outside_ms; /* when it may be logged again */
	uint64_t next_conn;
	struct worker *workers;
	struct client *clients;
	unsigned n_clients;
	struct late *late_first, *late_last;
	int stepping;
	uint64_t started_ms, leave_by_ms;
	char node_name[64];
};

/* Feed one event (time is filled in) and carry out what the node wants. Not from within. */
void daemon_feed(struct daemon *d, struct node_event *ev);

/* The same from within carrying out: after the actions at hand. worker, when not NULL, is copied
 * with what it owns (the original is zeroed). */
void daemon_feed_later(struct daemon *d, const struct node_event *ev, struct worker_msg *worker);

/* Does it listen beyond loopback? Without keys whoever reaches it may do all. */
int daemon_is_open(const struct daemon *d);

/* peers.c */
enum status peers_on_incoming(void *data, uv_stream_t *handle); /* of the listener */
void peers_dial(struct daemon *d, const struct node_action *a);
void peers_send(struct daemon *d, const struct node_action *a);
void peers_close(struct daemon *d, const struct node_action *a);
void peers_hand_over(struct daemon *d, const struct node_action *a);
void peers_close_all(struct daemon *d);

/* workers.c */
void workers_spawn(struct daemon *d, const struct node_action *a);
void workers_send(struct daemon *d, const struct node_action *a);
void workers_kill(struct daemon *d, const struct id *job);
void workers_check(struct daemon *d, const struct id *job); /* DO_CHECK, in libuv's pool */
struct conn *workers_conn(struct daemon *d, const struct id *job); /* NULL: none */
void workers_quit_all(struct daemon *d);
void workers_kill_all(struct daemon *d);

/* clients.c */
enum status clients_on_incoming(void *data, uv_stream_t *handle);
void clients_sweep(struct daemon *d);
void clients_close_all(struct daemon *d);

/* host.c */
struct control_host host_of(struct daemon *d);

#endif
