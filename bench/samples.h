// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Stacks to be walked. Made up: chains of calls that the code really makes, with each return
 * address and saved RBP where the inference says, and further words of the kind that a capture
 * takes along. Or recorded ones.
 */
#ifndef XF_BENCH_SAMPLES_H
#define XF_BENCH_SAMPLES_H

#include "image.h"

struct bench_samples {
	struct xf_walk_input *inputs;
	uint64_t *words; /* of all inputs, one after another */
	size_t count;
	size_t nr_words, room_words;
};

/* Stacks deeper than this can't be asked for. */
#define BENCH_MOST_FRAMES 64u

/* Makes @count stacks of @least to @most frames for the code of @image, the same each time. */
void bench_samples_make(struct bench_samples *samples, const struct bench_image *image,
                        size_t count, unsigned int least, unsigned int most);

/* Takes those of a recording that lie in Xen, and the code that was recorded along with them. */
void bench_samples_read(struct bench_samples *samples, struct bench_image *image, const char *path);

void bench_samples_free(struct bench_samples *samples);

#endif
