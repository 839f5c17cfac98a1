// SPDX-License-Identifier: GPL-2.0-or-later
/* Sums over a call tree: per frame, and per caller or callee of one frame. */
#ifndef XF_PROFILE_SHARES_H
#define XF_PROFILE_SHARES_H

#include <stddef.h>
#include <stdint.h>

#include "profile/calltree.h"
#include "profile/sort.h"

struct xf_share {
	struct xf_frame_id frame; /* the root's where there is no caller, or no callee */
	uint64_t self;            /* samples that ended in it */
	uint64_t total;           /* samples that it is in, each once, however often it recurs */
};

/*
 * All below return 0 and an array that the caller frees, most samples first, or -ENOMEM. The trees
 * are finished ones.
 */

/* One share per frame, the root's excepted; by self, then total. */
int xf_shares_functions(const struct xf_calltree *tree, struct xf_share **shares, size_t *nr);

/*
 * Who called @frame: each sample that @frame is in counts once in @total, for the caller of its
 * outermost call. The sum over all callers is @frame's own total.
 */
int xf_shares_callers(const struct xf_calltree *tree, struct xf_frame_id frame,
                      struct xf_share **shares, size_t *nr);

/* Whom @frame called, by its innermost call; samples that ended in it are the root's share. */
int xf_shares_callees(const struct xf_calltree *tree, struct xf_frame_id frame,
                      struct xf_share **shares, size_t *nr);

/* Puts shares in another order; "samples" is what ended in a function, or what passed between it
 * and its neighbour. Without keys nothing happens. */
void xf_shares_sort(const struct xf_calltree *tree, const struct xf_sort *sort,
                    struct xf_share *shares, size_t nr);

#endif
