/* A start without starting. See trial.h. */
#include "daemon/trial.h"

#include "daemon/io/listener.h"
#include "daemon/store/files.h"
#include "daemon/store/store.h"

#include <string.h>

/* The lock's holder is this configuration's own daemon when it listens at the control socket too. */
static enum status try_state(struct trial *out, const struct daemon_config *cfg, struct error *err)
{
	long holder, owner;
	enum status st = store_try(cfg->state_dir, &holder, err);

	if (st == ST_STATE && holder > 0 && listener_try_unix(cfg->control_socket, &owner, NULL) == ST_STATE && owner == holder) {
		out->running = holder;
		*err = (struct error){0};
		return ST_OK;
	}
	return st;
}

static enum status try_control(const struct daemon_config *cfg, struct error *err)
{
	char dir[sizeof cfg->control_socket];
	enum status st = ST_OK;
	char *slash;
	long owner;

	memcpy(dir, cfg->control_socket, sizeof dir);
	slash = strrchr(dir, '/');
	if (slash != NULL && slash != dir) {
		*slash = '\0';
		st = files_try_dirs(dir, err);
	}
	if (st == ST_OK)
		return listener_try_unix(cfg->control_socket, &owner, err);
	(void)error_wrap(err, st, "control socket");
	error_hint(err, "set `control.socket:` to a path in a directory that this user may write");
	return st;
}

enum status trial_start(struct trial *out, const struct daemon_config *cfg, struct error *err)
{
	enum status st;

	*out = (struct trial){0};
	st = try_state(out, cfg, err);
	out->state_failed = st != ST_OK;
	if (st != ST_OK)
		return st;
	st = listener_try_tcp(cfg->listen, err);
	if (st == ST_OK || (st == ST_STATE && out->running != 0))
		st = out->running != 0 ? ST_OK : try_control(cfg, err);
	return st;
}
