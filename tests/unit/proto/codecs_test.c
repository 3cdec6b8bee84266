/* What holds for every message of every protocol: round trips, cuts, changed bytes, no memory. */
#include "tests/lib/codec_check.h"
#include "tests/lib/proto_samples.h"

#include <criterion/criterion.h>

#define PAYLOAD 100

typedef const char *(*check_fn)(const struct codec_ops *ops, const void *m);

static void every_peer(check_fn check, enum sample_size size)
{
	for (const uint8_t *t = sample_peer_types; *t != 0; t++) {
		struct peer_msg m;
		const char *wrong;

		sample_peer(&m, *t, size);
		wrong = check(&codec_peer, &m);
		cr_assert_null(wrong, "%s: %s", peer_type_text(*t), wrong);
		peer_msg_fini(&m);
	}
}

static void every_link(check_fn check, enum sample_size size)
{
	for (const uint8_t *t = sample_link_types; *t != 0; t++) {
		struct link_msg m;
		const char *wrong;

		sample_link(&m, *t, PAYLOAD, size);
		wrong = check(&codec_link, &m);
		cr_assert_null(wrong, "%s: %s", link_type_text(*t), wrong);
	}
}

static void every_worker(check_fn check, enum sample_size size)
{
	for (const uint8_t *t = sample_worker_types; *t != 0; t++) {
		struct worker_msg m;
		const char *wrong;

		sample_worker(&m, *t, size);
		wrong = check(&codec_worker, &m);
		cr_assert_null(wrong, "%s: %s", worker_type_text(*t), wrong);
		worker_msg_fini(&m);
	}
}

static void every_control(check_fn check, enum sample_size size)
{
	for (int t = CONTROL_STATUS; t <= CONTROL_VERSION_INFO; t++) {
		struct control_request req;
		struct control_response resp;
		const char *wrong;

		sample_request(&req, t, size);
		wrong = check(&codec_request, &req);
		cr_assert_null(wrong, "request %d: %s", t, wrong);
		control_request_fini(&req);
		sample_response(&resp, t, size);
		wrong = check(&codec_response, &resp);
		cr_assert_null(wrong, "response %d: %s", t, wrong);
		control_response_fini(&resp);
	}
}

Test(codecs, every_message_comes_back_as_it_went)
{
	every_peer(codec_check_round_trip, SAMPLE_DISTINCT);
	every_link(codec_check_round_trip, SAMPLE_DISTINCT);
	every_worker(codec_check_round_trip, SAMPLE_DISTINCT);
	every_control(codec_check_round_trip, SAMPLE_DISTINCT);
}

Test(codecs, every_message_at_its_greatest_comes_back_as_it_went)
{
	every_peer(codec_check_round_trip, SAMPLE_GREATEST);
	every_link(codec_check_round_trip, SAMPLE_GREATEST);
	every_worker(codec_check_round_trip, SAMPLE_GREATEST);
	every_control(codec_check_round_trip, SAMPLE_GREATEST);
}

Test(codecs, a_head_cut_at_any_byte_is_refused_or_a_smaller_message)
{
	every_peer(codec_check_cut_short, SAMPLE_DISTINCT);
	every_link(codec_check_cut_short, SAMPLE_DISTINCT);
	every_worker(codec_check_cut_short, SAMPLE_DISTINCT);
	every_control(codec_check_cut_short, SAMPLE_DISTINCT);
}

Test(codecs, a_head_changed_at_any_byte_is_refused_or_another_message)
{
	every_peer(codec_check_changed, SAMPLE_DISTINCT);
	every_link(codec_check_changed, SAMPLE_DISTINCT);
	every_worker(codec_check_changed, SAMPLE_DISTINCT);
	every_control(codec_check_changed, SAMPLE_DISTINCT);
}

Test(codecs, every_failing_allocation_is_reported_and_nothing_leaks)
{
	every_peer(codec_check_no_memory, SAMPLE_DISTINCT);
	every_link(codec_check_no_memory, SAMPLE_DISTINCT);
	every_worker(codec_check_no_memory, SAMPLE_DISTINCT);
	every_control(codec_check_no_memory, SAMPLE_DISTINCT);
}
