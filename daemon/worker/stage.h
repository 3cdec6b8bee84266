/* `wire.zstd: auto`: is the lossless stage worth its time on this rank's links?
 *
 * A byte costs 1/speed on the slowest link, and (1 - saved)/speed + the stage's own time at both ends
 * with it. Speed comes from the kernel (conn_speed), time and saving from what was staged; all are of
 * this rank and this run, so that a slow link anywhere else changes nothing here. The stage is off
 * until a link was seen; one that pays much (a slow link) is turned on at once, one that pays little
 * after it did so STAGE_SURE rounds in a row, and it goes off the same way: one round that was slow
 * for another reason says nothing. While it is off on a link that is not too fast for any codec, a
 * segment of a round is staged now and then to see what it would save. Pure: no clock, no sockets. */
#ifndef DAEMON_WORKER_STAGE_H
#define DAEMON_WORKER_STAGE_H

#include <stddef.h>
#include <stdint.h>

#define STAGE_SURE 3U          /* rounds */
#define STAGE_MUCH 4.0         /* the gain is so many times the cost */
#define STAGE_SOME 1.25
#define STAGE_TOO_FAST 500e6   /* bytes/s: no link is that fast and still slower than the stage */
#define STAGE_LOOK_EVERY 64U   /* rounds, while it is off */
#define STAGE_BOTH_ENDS 1.5    /* decoding takes about half the time of encoding */

struct stage {
	int is_on;
	int look;           /* the next segment is to be staged, whatever is_on says */
	unsigned otherwise; /* rounds in a row that asked for the other answer */
	unsigned since_look;
	double seconds, in, out; /* staged since the last judgement */
	double cost;        /* seconds a byte, both ends; 0: not known */
	double saved;       /* of a byte */
	double speed;       /* of the slowest link, bytes/s; 0: not known */
};

/* len bytes were staged in so many seconds, and became out_len. */
void stage_saw(struct stage *s, double seconds, size_t len, size_t out_len);

/* A round is over; speed of the slowest link in bytes/s, 0 when none was seen. Returns 1 when is_on has
 * changed. */
int stage_judge(struct stage *s, double speed);

/* What it is now and why, for a log. what: "zstd", or what else it is that was tried. */
void stage_text(const struct stage *s, const char *what, char out[160]);

#endif
