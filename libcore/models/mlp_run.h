/* An instance of the plugin mlp at work: a range of its layers forward and backward on training rows, forward on test rows,
 * loss and metrics at the end. Layers are those that DADAM_STAGES shows; ranges are valid (0 <= first < end <= layers).
 * Functions that return int return 0, or -1 after rows_fail(); so do pointers with NULL. */
#ifndef LIBCORE_MODELS_MLP_RUN_H
#define LIBCORE_MODELS_MLP_RUN_H

#include "libcore/data/options.h"
#include "libcore/model/dadam/model.h"
#include "libcore/models/attack.h"
#include "libcore/models/mlp_net.h"
#include "libcore/models/rows.h"

struct mlp {
	struct rows rows;
	struct mlp_options {
		struct option_list hidden;
		int loss; /* enum loss_kind */
		struct attack attack;
	} options;
	uint64_t widths[MLP_MAX_LAYERS + 1]; /* [0] and the last one come with the data */
	size_t n_widths;
	struct mlp_net net;
	real *work; /* n_work numbers: what forward keeps for the own backward, and backward's scratch */
	size_t n_work;
};

bool mlp_is_attack(const struct mlp *m);
uint32_t mlp_n_layers(const struct mlp *m);

/* Numbers per row that leave layer l; parameters before layer l (0 .. layers). */
size_t mlp_width_after(const struct mlp *m, uint32_t l);
uint64_t mlp_params_before(const struct mlp *m, uint32_t l);

/* m->work with room for n numbers; its content is lost when it grows. */
int mlp_work(struct mlp *m, uint64_t n);

/* Numbers that forward keeps for n rows: what leaves each layer of the range. */
uint64_t mlp_kept(const struct mlp *m, uint32_t first, uint32_t end, size_t n);

/* Rows of a split through the range; the result is what leaves it, in kept (mlp_kept() numbers). */
real *mlp_through(struct mlp *m, const struct dadam_range *r, enum data_split split, real *kept);

/* The mean loss of the last layer's outputs z of training rows; z becomes its gradient. */
int mlp_loss(struct mlp *m, const struct dadam_range *r, real *z, double *loss);

/* After mlp_through(), and mlp_loss() where the range has the last layer: as backward() of DADAM_STAGES. scratch:
 * mlp_scratch() numbers. */
int mlp_backward(struct mlp *m, const struct dadam_range *r, const real *d_out, real *grad, real *d_in, real *scratch);
uint64_t mlp_scratch(const struct mlp *m, size_t n_rows);

/* Test rows (of an attack: training rows) through the range; the result is what leaves it, in m->work. */
const real *mlp_test(struct mlp *m, const struct dadam_range *r);

/* Metrics of the last layer's outputs z of test rows. */
int mlp_metrics(struct mlp *m, const struct dadam_range *r, const real *z, struct dadam_metric *out, uint32_t *n);

#endif
