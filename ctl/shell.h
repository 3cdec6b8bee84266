/* What every verb needs: the talk with the daemon, stdout and stderr, and how to fail. */
#ifndef CTL_SHELL_H
#define CTL_SHELL_H

#include "ctl/args.h"
#include "ctl/client.h"
#include "ctl/exits.h"
#include "ctl/page.h"

struct shell {
	const struct args *args;
	struct client client;
	int connected;
	struct view view;
	char prefix[160]; /* "dadamctl", with --socket when one was given */
};

void shell_init(struct shell *sh, const struct args *args);
void shell_fini(struct shell *sh);

/* Print the error to stderr (in JSON mode as an object) and return `with`. */
int shell_fail(const struct shell *sh, const struct error *err, int with);

/* "dadamctl: warning: ..." to stderr. */
void shell_warn(const struct shell *sh, const struct error *warning);

/* Ask, connecting first when need be. A failure says whether the talk failed (*refused = 0) or the
 * daemon refused (1). The caller owns resp on ST_OK only. */
MUST_CHECK enum status shell_try(struct shell *sh, struct control_response *resp,
		const struct control_request *req, int *refused, struct error *err);

/* The same; a failure is printed. Returns 0, or the exit status. */
int shell_ask(struct shell *sh, struct control_response *resp, const struct control_request *req);

/* A request about the job that the command line names. */
struct control_request shell_job_request(const struct shell *sh, enum control_request_type type);

/* The page to stdout; finishes the page. Returns 0, or the exit status. */
int shell_print(const struct shell *sh, struct page *p);

/* The page to stderr; finishes the page. Returns 0, or the exit status. */
int shell_tell(const struct shell *sh, struct page *p);

/* Bytes to stdout, at once. Returns 0, or the exit status. */
int shell_write(const struct shell *sh, const void *bytes, size_t len);

/* The view now: the terminal's width and the time are asked anew. */
const struct view *shell_view(struct shell *sh);

/* What a signal means: 0 none, EXIT_INTERRUPTED, EXIT_TERMINATED. */
int shell_signal_exit(void);

/* The verbs. Each returns the exit status. */
int cmd_status(struct shell *sh);
int cmd_peers(struct shell *sh);
int cmd_version(struct shell *sh);
int cmd_ls(struct shell *sh);
int cmd_show(struct shell *sh);
int cmd_stop(struct shell *sh);
int cmd_submit(struct shell *sh);
int cmd_watch(struct shell *sh);
int cmd_logs(struct shell *sh);
int cmd_export(struct shell *sh);
int cmd_topology(struct shell *sh);
int cmd_help(struct shell *sh);

/* Follow a job to its end, as watch does; job: its whole id. Returns the exit status. */
int watch_follow(struct shell *sh, const char *job);

#endif
