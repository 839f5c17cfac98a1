// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Two call trees side by side, matched by names, so that recordings of different builds of Xen can
 * be compared: what a compiler adds to a function's name (".isra.0"), the addresses of what has no
 * name, and the file of a static function where it alone differs, make no difference.
 *
 * A count is worth 1 / whole of its side: a share where whole is the number of samples.
 */
#ifndef XF_PROFILE_DIFFERENCE_H
#define XF_PROFILE_DIFFERENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/calltree.h"

/* What is there on each side, A and B. */
struct xf_sides {
	uint64_t count[2];
};

struct xf_difference {
	struct xf_calltree *tree; /* all stacks of both, finished; counts are weights, see below */
	struct xf_sides *self;    /* of each node: samples that ended in it ... */
	struct xf_sides *total;   /* ... and those and all above */
	struct xf_sides whole;    /* what counts are compared with; not 0 */
	bool shares;              /* no count is larger than its whole */
};

/*
 * A node's count in the tree is in proportion to the sum of what its samples are worth on both
 * sides, so that what is gone has its place as well as what is new.
 * Return: 0 and *@difference, to be freed with xf_difference_free; -ENOMEM.
 */
int xf_difference_build(const struct xf_calltree *a, const struct xf_calltree *b,
                        struct xf_sides whole, bool shares, struct xf_difference **difference);
void xf_difference_free(struct xf_difference *difference);

/* One function's, over all of its places. */
struct xf_change {
	struct xf_frame_id frame;
	struct xf_sides self;
	struct xf_sides total;
};

/* Return: 0 and an array that the caller frees, one entry a frame that has samples, the root's
 * excepted, in the order of the frames; -ENOMEM. */
int xf_difference_functions(const struct xf_difference *difference, struct xf_change **changes,
                            size_t *nr);

/* What @sides is worth more in B than in A. */
double xf_difference_change(const struct xf_difference *difference, struct xf_sides sides);

/*
 * Whether the change is more than chance: by a test of two proportions, three standard deviations
 * or more (of samples that have nothing to do with each other one in 370 does that by chance), and
 * only where, had nothing changed, five samples or more were to be expected on each side: the test
 * is good for no fewer.
 */
bool xf_difference_is_significant(const struct xf_difference *difference, struct xf_sides sides);

#endif
