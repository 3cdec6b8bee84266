/* The exit statuses of dadamctl. See exits.h. */
#include "ctl/exits.h"

const char exits_help[] =
	"exit statuses\n"
	"    0  done; watch, submit --wait: the job is DONE\n"
	"    1  failed; watch, submit --wait: the job FAILED\n"
	"    2  the command line is wrong\n"
	"    3  no such job or node, or the short id or name fits several\n"
	"    4  no daemon can be reached, or the connection broke\n"
	"    5  permission denied\n"
	"    6  the job file or the data is invalid\n"
	"    7  the job could not start: too few nodes, no plugin, no data\n"
	"    8  timed out\n"
	"   11  dadamctl and the daemon do not understand each other\n"
	"   12  watch, submit --wait: somebody stopped the job\n"
	"  130  interrupted; the job goes on\n";

enum exit_status exit_of_talk(enum status st)
{
	switch (st) {
	case ST_OK:
		return EXIT_DONE;
	case ST_UNAVAILABLE:
	case ST_CLOSED:
	case ST_IO:
		return EXIT_UNREACHABLE;
	case ST_DENIED:
		return EXIT_DENIED;
	case ST_TIMEOUT:
		return EXIT_TIMEOUT;
	case ST_PROTO:
	case ST_VERSION:
		return EXIT_PROTOCOL;
	case ST_STOPPED:
		return EXIT_INTERRUPTED;
	case ST_INVALID:
		return EXIT_USAGE;
	case ST_NOMEM:
	case ST_NOT_FOUND:
	case ST_STATE:
	case ST_DATA:
	case ST_PLUGIN:
	case ST_NOT_FINITE:
	case ST_BUG:
		break;
	}
	return EXIT_FAILED;
}

/* Only a job or node can be named ambiguously or wrongly; only a spec can be invalid. */
static enum exit_status exit_of_invalid(enum control_request_type type)
{
	switch (type) {
	case CONTROL_SUBMIT:
		return EXIT_INVALID;
	case CONTROL_JOB:
	case CONTROL_STOP:
	case CONTROL_LOG:
	case CONTROL_EXPORT:
	case CONTROL_PEERS:
		return EXIT_NOT_FOUND;
	case CONTROL_STATUS:
	case CONTROL_JOBS:
	case CONTROL_VERSION_INFO:
		break;
	}
	return EXIT_FAILED;
}

enum exit_status exit_of_refusal(enum control_request_type type, enum status st)
{
	switch (st) {
	case ST_OK:
		return EXIT_DONE;
	case ST_NOT_FOUND:
		return EXIT_NOT_FOUND;
	case ST_DENIED:
		return EXIT_DENIED;
	case ST_INVALID:
		return exit_of_invalid(type);
	case ST_DATA:
		return EXIT_INVALID;
	case ST_UNAVAILABLE:
	case ST_PLUGIN:
		return type == CONTROL_SUBMIT ? EXIT_NO_START : EXIT_FAILED;
	case ST_TIMEOUT:
		return EXIT_TIMEOUT;
	case ST_PROTO:
	case ST_VERSION:
		return EXIT_PROTOCOL;
	case ST_NOMEM:
	case ST_IO:
	case ST_STATE:
	case ST_NOT_FINITE:
	case ST_CLOSED:
	case ST_STOPPED:
	case ST_BUG:
		break;
	}
	return EXIT_FAILED;
}

enum exit_status exit_of_job(const struct control_job *job)
{
	if (job->phase == CONTROL_STOPPED)
		return EXIT_STOPPED;
	if (job->phase != CONTROL_FAILED)
		return EXIT_DONE;
	return job->started_ms == 0 ? EXIT_NO_START : EXIT_FAILED;
}
