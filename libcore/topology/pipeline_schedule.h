/* The order in which the stages of a pipeline work off one iteration, and the time that it takes.
 *
 * Every one of `depth` stages runs the forward F and the backward B of K samples; F(k) needs F(k) of
 * the stage before, B(k) needs B(k) of the stage after (the last stage: its own F(k)). The order of a
 * stage's operations is fixed; when one starts follows from its inputs.
 *
 *   fill-drain  F0 .. F(K-1), then B0 .. B(K-1): every stage keeps K activations
 *   1f1b        min(K, depth - s) forwards on stage s, then one backward and one forward by turns:
 *               stage s keeps at most depth - s activations
 *
 * Both are 2 (K + depth - 1) units long when F and B take one unit each, so each stage idles 2 (depth - 1)
 * of them (Colin, Dos Santos & Scaman, arXiv 1910.05104, section 3: "bubbling"). Pure arithmetic. */
#ifndef LIBCORE_TOPOLOGY_PIPELINE_SCHEDULE_H
#define LIBCORE_TOPOLOGY_PIPELINE_SCHEDULE_H

#include <stdint.h>

#define PIPELINE_MAX_STAGES 64U
#define PIPELINE_MAX_SAMPLES 65536U

enum pipeline_schedule { PIPELINE_1F1B, PIPELINE_FILL_DRAIN };

struct pipeline_op {
	uint8_t backward;  /* 0: forward */
	uint32_t sample;
};

/* Operation number i < 2 samples of a stage. */
struct pipeline_op pipeline_op_at(enum pipeline_schedule schedule, uint32_t depth, uint32_t samples, uint32_t stage,
		uint32_t i);

/* The greatest number of samples that are forward, but not backward, on a stage. */
uint32_t pipeline_kept_max(enum pipeline_schedule schedule, uint32_t depth, uint32_t samples, uint32_t stage);

/* When each operation starts if each stage begins its next one as soon as its inputs are there.
 *
 * forward, backward  the time of one F and one B on each stage: depth numbers each, or NULL: 1
 * start              receives depth x 2 samples times, of operation i of stage s at s * 2 samples + i
 * Gives the end of the last operation. */
double pipeline_clock(enum pipeline_schedule schedule, uint32_t depth, uint32_t samples, const double *forward,
		const double *backward, double *start);

#endif
