/* How fast a job goes and when it will end, from the steps seen so far.
 *
 * After restic's estimator: one sample a second, kept for at least two minutes, and the rate is the
 * slope over all that is kept, so that the ETA does not jump. Pure: time is a parameter. */
#ifndef CTL_PROGRESS_H
#define CTL_PROGRESS_H

#include <stdint.h>

#define PROGRESS_BUCKETS 150U /* seconds that are kept */
#define PROGRESS_SURE 20U     /* buckets before an ETA is one */
#define PROGRESS_ROUGH_MS 3000U

struct progress_sample {
	uint64_t ms;
	uint64_t step;
};

struct progress {
	struct progress_sample samples[PROGRESS_BUCKETS]; /* a ring, oldest at `first` */
	uint32_t first, n;
	struct progress_sample last; /* the newest, also within a bucket */
};

enum progress_trust {
	PROGRESS_UNKNOWN, /* less than 3 s seen, or nothing moves */
	PROGRESS_ROUGH,   /* print it with a ~ */
	PROGRESS_GOOD     /* at least PROGRESS_SURE buckets */
};

struct progress_estimate {
	enum progress_trust trust;
	double steps_per_second; /* 0 when UNKNOWN */
	double seconds_left;     /* to `total`; 0 when UNKNOWN or total is 0 */
};

/* Start anew. */
void progress_init(struct progress *p);

/* At time now_ms (monotonic), step steps were done. A step below the last one starts anew: another
 * rank is the slowest now, or the job began again. */
void progress_add(struct progress *p, uint64_t now_ms, uint64_t step);

/* total: steps of the whole job, 0: not known. */
struct progress_estimate progress_estimate(const struct progress *p, uint64_t total);

#endif
