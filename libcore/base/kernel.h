/* Marks for tuned loops. Files that use them are compiled with kernel_args (-O3 -fno-math-errno).
 *
 * KERNEL       one function, three machines: the loader picks SSE2, AVX2 or AVX-512 once at start.
 * No fused multiply-add is made of it (-ffp-contract=off), so all three give the same bits. gcc on
 * x86-64 only; clang 14 does not know the attribute and takes the plain one. KERNEL_LOOP  before a
 * for: turn i touches no element that another turn touches, although pointers may be equal (out ==
 * in is allowed, a shifted overlap is not). With KERNEL_ONE_VERSION only what -march says is made:
 * tests compile kernels once per machine and compare bits.
 *
 * KERNEL_V4    beside a KERNEL: the same loop by hand for AVX-512, with instructions that no compiler finds
 *              in the portable one. Defined where that can be compiled; the caller asks KERNEL_HAS_V4.
 * KERNEL_BODY  what both are made of. */
#ifndef LIBCORE_BASE_KERNEL_H
#define LIBCORE_BASE_KERNEL_H

#include <stddef.h>
#include <stdint.h>

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(KERNEL_ONE_VERSION)
#define KERNEL __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#define KERNEL_V4 __attribute__((target("arch=x86-64-v4")))
#define KERNEL_HAS_V4 __builtin_cpu_supports("x86-64-v4")
#else
#define KERNEL
#if defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
#define KERNEL_V4
#define KERNEL_HAS_V4 1
#endif
#endif

#define KERNEL_BODY static inline __attribute__((always_inline))

#if defined(__clang__)
#define KERNEL_LOOP _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define KERNEL_LOOP _Pragma("GCC ivdep")
#else
#define KERNEL_LOOP
#endif

/* Ask for the `bytes` that a loop over a long vector reads 4 KiB from here: the CPU's own guess stops at
 * the end of a page, and loops that also compute then wait. Beyond the vector it does nothing. */
static inline void kernel_read_ahead(const void *at, size_t bytes)
{
	for (size_t i = 0; i < bytes; i += 64)
		__builtin_prefetch((const void *)((uintptr_t)at + 4096 + i));
}

#endif
