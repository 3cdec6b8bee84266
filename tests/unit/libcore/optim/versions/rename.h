/* Put before the generator and the optimisers when they are compiled for one machine (-include): every
 * name that the linker sees gets the machine's name behind it. A function that is missing here shows as
 * a symbol defined twice, or as the product's. */
#ifndef TESTS_UNIT_LIBCORE_OPTIM_VERSIONS_RENAME_H
#define TESTS_UNIT_LIBCORE_OPTIM_VERSIONS_RENAME_H

#define RENAME_PASTE(name, version) name##_##version
#define RENAME_EXPAND(name, version) RENAME_PASTE(name, version)
#define RENAME(name) RENAME_EXPAND(name, OPTIM_VERSION)

#define rng_splitmix64 RENAME(rng_splitmix64)
#define rng_philox4x32 RENAME(rng_philox4x32)
#define rng_stream RENAME(rng_stream)
#define rng_u64 RENAME(rng_u64)
#define rng_u01 RENAME(rng_u01)
#define rng_normal RENAME(rng_normal)
#define rng_below RENAME(rng_below)
#define rng_u64_fill RENAME(rng_u64_fill)
#define rng_normal_fill RENAME(rng_normal_fill)
#define rng_ln RENAME(rng_ln)
#define rng_normal_quantile RENAME(rng_normal_quantile)
#define rng_permutation RENAME(rng_permutation)
#define rng_sample RENAME(rng_sample)
#define rng_blocks_draw RENAME(rng_blocks_draw)
#define optim_kernel_adam RENAME(optim_kernel_adam)
#define optim_kernel_adam_decay RENAME(optim_kernel_adam_decay)
#define optim_kernel_sgd RENAME(optim_kernel_sgd)
#define optim_kernel_momentum RENAME(optim_kernel_momentum)
#define optim_kernel_add RENAME(optim_kernel_add)
#define optim_kernel_nesterov RENAME(optim_kernel_nesterov)
#define optim_kernel_descent RENAME(optim_kernel_descent)
#define optim_kernel_shift RENAME(optim_kernel_shift)
#define optim_kernel_decay RENAME(optim_kernel_decay)
#define optim_kernel_all_below RENAME(optim_kernel_all_below)
#define pprs_config_check RENAME(pprs_config_check)
#define pprs_mu RENAME(pprs_mu)
#define pprs_sequence RENAME(pprs_sequence)
#define pprs_perturb RENAME(pprs_perturb)
#define pprs_add RENAME(pprs_add)
#define pprs_step RENAME(pprs_step)
#define pprs_auto_smoothing RENAME(pprs_auto_smoothing)
#define pprs_from_theory RENAME(pprs_from_theory)

#endif
