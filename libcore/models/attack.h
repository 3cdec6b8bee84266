/* Adversarial examples: the input is the parameter. A frozen trained mlp looks at rows v_i + x_i; x_i, one
 * perturbation per row, is what is trained, and z are the outputs, y_i the row's true class:
 *
 *   constrained   mean of max(z_y - max_{j != y} z_j, -margin),   |x_i|_inf <= epsilon  (by projection)
 *   smallest      mean of lambda |x_i|_inf + max(z_y - max_{j != y} z_j + margin, 0)
 *
 * (Colin, Dos Santos & Scaman, NeurIPS 2019, section 5; Carlini & Wagner, S&P 2017, section V). With clip, v_i + x_i
 * stays in [0, 1] too. Layer 0, "input", has all perturbations as its parameters; behind it come the layers of the
 * model, without parameters. Rows that leave it carry |x_i|_inf as one number more, which the loss needs.
 *
 * Options of mlp: attack (constrained, smallest), epsilon (0.1), margin (1), lambda (30), clip (on).
 * Data: as for mlp, and model: FILE, what `dadamctl export` wrote. The training rows are attacked; classes, shots
 * and limit choose them. Metrics: loss, success (rows that are no longer taken for their class), linf (mean). */
#ifndef LIBCORE_MODELS_ATTACK_H
#define LIBCORE_MODELS_ATTACK_H

#include "libcore/base/err.h"
#include "libcore/base/real.h"
#include "libcore/models/mlp_net.h"
#include "libcore/models/rows.h"

enum attack_kind { ATTACK_NONE, ATTACK_CONSTRAINED, ATTACK_SMALLEST };
enum attack_clip { ATTACK_CLIP_ON, ATTACK_CLIP_OFF };

extern const char *const attack_words[];

struct attack {
	int kind; /* enum attack_kind */
	int clip; /* enum attack_clip */
	double epsilon, margin, lambda;
	real *frozen; /* parameters of the model, net->offset[net->n] of them */
	size_t n_frozen;
	real *row; /* scratch: n_row = features numbers */
	size_t n_row;
};

/* Read the model file into a->frozen and net (with one extra number per row), and see that it fits the rows.
 *
 * ST_NOT_FOUND, ST_DENIED, ST_IO  the file
 * ST_DATA  no mlp, or another number of inputs, or fewer outputs than there are classes; rows outside [0, 1]
 *          with clip
 * ST_NOMEM */
MUST_CHECK enum status attack_load(struct attack *a, struct mlp_net *net, const struct rows *rows, const char *path,
		struct error *err);
void attack_fini(struct attack *a);

/* out (n x (features + 1)): the rows v (n x features) with these numbers, perturbed by x, and the norm. */
void attack_perturb(real *out, const real *x, const real *v, const uint64_t *numbers, size_t n, size_t features);

/* Mean loss of outputs z (n x (width + 1)); dz (may be z, or NULL): its gradient. */
double attack_loss(const struct attack *a, const real *z, const uint32_t *labels, size_t n, size_t width, real *dz);

/* "loss", "success", "linf" */
void attack_metrics(const struct attack *a, const real *z, const uint32_t *labels, size_t n, size_t width,
		struct dadam_metric *out, uint32_t *n_metrics);

/* From d, the gradient with respect to attack_perturb()'s out: that with respect to all n_rows perturbations. Of
 * equally great |x| the first one has the norm's subgradient; at x = 0 it is 0. */
void attack_input_gradient(real *grad, size_t n_rows, const real *x, const real *d, const uint64_t *numbers, size_t n,
		size_t features);

/* Move all perturbations x into the allowed set. */
void attack_project(const struct attack *a, real *x, const struct rows *rows);

#endif
