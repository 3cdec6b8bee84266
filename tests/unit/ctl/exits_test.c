/* Exit statuses: each way to fail has its own, as the help says. */
#include "ctl/exits.h"

#include <criterion/criterion.h>

Test(exits, a_talk_that_fails_has_its_status)
{
	cr_assert_eq(exit_of_talk(ST_OK), 0);
	cr_assert_eq(exit_of_talk(ST_UNAVAILABLE), 4);
	cr_assert_eq(exit_of_talk(ST_CLOSED), 4);
	cr_assert_eq(exit_of_talk(ST_DENIED), 5);
	cr_assert_eq(exit_of_talk(ST_TIMEOUT), 8);
	cr_assert_eq(exit_of_talk(ST_PROTO), 11);
	cr_assert_eq(exit_of_talk(ST_VERSION), 11);
	cr_assert_eq(exit_of_talk(ST_STOPPED), 130);
	cr_assert_eq(exit_of_talk(ST_NOMEM), 1);
}

Test(exits, a_refusal_has_the_status_of_what_was_asked)
{
	cr_assert_eq(exit_of_refusal(CONTROL_JOB, ST_NOT_FOUND), 3);
	cr_assert_eq(exit_of_refusal(CONTROL_JOB, ST_INVALID), 3, "an id that fits several");
	cr_assert_eq(exit_of_refusal(CONTROL_PEERS, ST_NOT_FOUND), 3);
	cr_assert_eq(exit_of_refusal(CONTROL_PEERS, ST_INVALID), 3, "a name that fits several");
	cr_assert_eq(exit_of_refusal(CONTROL_STOP, ST_STATE), 1);
	cr_assert_eq(exit_of_refusal(CONTROL_SUBMIT, ST_INVALID), 6);
	cr_assert_eq(exit_of_refusal(CONTROL_SUBMIT, ST_DATA), 6);
	cr_assert_eq(exit_of_refusal(CONTROL_SUBMIT, ST_UNAVAILABLE), 7);
	cr_assert_eq(exit_of_refusal(CONTROL_STATUS, ST_DENIED), 5);
	cr_assert_eq(exit_of_refusal(CONTROL_STATUS, ST_VERSION), 11);
}

Test(exits, a_job_that_has_ended_decides)
{
	struct control_job j = {.phase = CONTROL_DONE};

	cr_assert_eq(exit_of_job(&j), 0);
	j.phase = CONTROL_STOPPED;
	cr_assert_eq(exit_of_job(&j), 12);
	j.phase = CONTROL_FAILED;
	cr_assert_eq(exit_of_job(&j), 7, "it never ran");
	j.started_ms = 1;
	cr_assert_eq(exit_of_job(&j), 1);
}
