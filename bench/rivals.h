// SPDX-License-Identifier: GPL-2.0-or-later
/* The unwinders that the walk is compared with. */
#ifndef XF_BENCH_RIVALS_H
#define XF_BENCH_RIVALS_H

#include "samples.h"

/* libdwfl over the same stacks, with the compiler's .debug_frame of the ELF file at @path. */
struct bench_dwfl;
struct bench_dwfl *bench_dwfl_open(const char *path);
void bench_dwfl_close(struct bench_dwfl *dwfl);

/*
 * Walks all of @samples, as perf does for stacks that it has copied: from given registers, with a
 * function that reads the memory. Return: the number of frames. @same counts the samples in which
 * they are the same as in ours, with @tables.
 */
size_t bench_dwfl_walk(struct bench_dwfl *dwfl, const struct bench_samples *samples);

/* Return: how many of @samples libdwfl and we walk alike, frame by frame. */
size_t bench_dwfl_agree(struct bench_dwfl *dwfl, const struct bench_samples *samples,
                        const struct xf_unwind_table *table);

/*
 * libunwind's unw_step over this very process's stack, made @depth calls deeper for that, @count
 * times. With @caching it decodes the few rows of that stack once for all times. Return: the number
 * of frames; 0 where libunwind was not there when this was built.
 */
size_t bench_libunwind_walk(unsigned int depth, unsigned int count, bool caching);

#endif
