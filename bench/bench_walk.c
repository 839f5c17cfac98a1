// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The walk over captured words: its time a frame, against libdwfl over the same stacks and
 *libunwind over one as deep.
 *
 *	bench_walk XEN-SYMS [RECORDING]
 */
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"
#include "rivals.h"

#define NANO 1e9

#define NR_SAMPLES   20000u
#define NR_DWFL      500u
#define NR_LIBUNWIND 200u
#define ROUNDS       9u
#define MAX_FRAMES   64

struct walks {
	const struct xf_unwind_table *table;
	struct bench_samples samples;
	struct bench_samples few; /* the first of them, for libdwfl, which is slow */
	struct bench_dwfl *dwfl;
	size_t nr_frames, nr_ended, nr_dwfl_frames, nr_libunwind_frames;
	unsigned int depth; /* frames a sample */
	bool caching;       /* libunwind's */
};

static void walk(void *data)
{
	struct walks *walks = data;
	struct xf_frame frames[MAX_FRAMES];
	enum xf_unwind_reason reason;

	walks->nr_frames = walks->nr_ended = 0;
	for (size_t i = 0; i < walks->samples.count; i++) {
		walks->nr_frames += xf_unwind_walk(&walks->table, 1, &walks->samples.inputs[i],
		                                   frames, MAX_FRAMES, &reason);
		walks->nr_ended += reason == XF_UNWIND_END;
	}
}

static void walk_by_dwfl(void *data)
{
	struct walks *walks = data;

	walks->nr_dwfl_frames = bench_dwfl_walk(walks->dwfl, &walks->few);
}

static void walk_by_libunwind(void *data)
{
	struct walks *walks = data;

	walks->nr_libunwind_frames =
	        bench_libunwind_walk(walks->depth - 6, NR_LIBUNWIND, walks->caching);
}

static void nothing(void *data)
{
	(void)data;
}

static void show_walk(struct walks *walks, const char *which)
{
	struct bench_times times = bench_compare(walk, nothing, walks, ROUNDS);

	walks->depth = walks->nr_frames / walks->samples.count;
	bench_row(times.ours / walks->nr_frames * NANO, BENCH_AT_MOST, 25,
	          "nanoseconds a frame: %zu %s, %.1f frames and %.1f words each, %zu walked to "
	          "their end",
	          walks->samples.count, which, (double)walks->nr_frames / walks->samples.count,
	          (double)walks->samples.nr_words / walks->samples.count, walks->nr_ended);
}

static void compare_dwfl(struct walks *walks, const char *path)
{
	struct bench_times times;
	double ours, theirs;
	size_t same;

	walks->few = walks->samples;
	walks->few.count = NR_DWFL;
	walks->dwfl = bench_dwfl_open(path);
	same = bench_dwfl_agree(walks->dwfl, &walks->few, walks->table);
	times = bench_compare(walk, walk_by_dwfl, walks, ROUNDS);
	ours = times.ours / walks->nr_frames * NANO;
	theirs = times.theirs / walks->nr_dwfl_frames * NANO;
	bench_row(theirs / ours, BENCH_AT_LEAST, 20,
	          "libdwfl / the walk: %.0f ns / %.1f ns a frame of the same stacks, with the "
	          "compiler's .debug_frame; %zu of %zu alike, the others have frames in assembly",
	          theirs, ours, same, walks->few.count);
	bench_dwfl_close(walks->dwfl);
}

static void compare_libunwind(struct walks *walks, bool caching)
{
	struct bench_times times;
	double ours, theirs;

	walks->caching = caching;
	times = bench_compare(walk, walk_by_libunwind, walks, ROUNDS);
	ours = times.ours / walks->nr_frames * NANO;
	theirs = times.theirs / walks->nr_libunwind_frames * NANO;
	bench_row(theirs / ours, BENCH_AT_LEAST, caching ? 1 : 90,
	          "libunwind's unw_step, %s / the walk: %.0f ns / %.1f ns a frame; its own stack, "
	          "%zu frames deep, always the same",
	          caching ? "all from its cache" : "without its cache", theirs, ours,
	          walks->nr_libunwind_frames / NR_LIBUNWIND);
}

static void compare_libunwind_both_ways(struct walks *walks)
{
	if (bench_libunwind_walk(0, 1, false) == 0) {
		bench_skip("libunwind / the walk: libunwind is not installed (lab/install bench)");
		return;
	}
	compare_libunwind(walks, false);
	compare_libunwind(walks, true);
}

int main(int argc, char **argv)
{
	struct bench_image image;
	struct walks walks = {0};

	if (argc < 2 || argc > 3)
		bench_fail("usage: bench_walk XEN-SYMS [RECORDING]");
	if (argc == 3) {
		bench_samples_read(&walks.samples, &image, argv[2]);
		walks.table = bench_table(&image);
		show_walk(&walks, "recorded samples");
		return 0;
	}
	bench_image_load(&image, argv[1]);
	walks.table = bench_table(&image);
	bench_samples_make(&walks.samples, &image, NR_SAMPLES, 10, 20);
	show_walk(&walks, "made-up stacks of Xen 4.20");
	compare_dwfl(&walks, argv[1]);
	compare_libunwind_both_ways(&walks);
	return 0;
}
