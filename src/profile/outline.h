// SPDX-License-Identifier: GPL-2.0-or-later
/* A call tree as lines: what stands under what, how far indented, and what is left out. */
#ifndef XF_PROFILE_OUTLINE_H
#define XF_PROFILE_OUTLINE_H

#include "profile/calltree.h"
#include "profile/sort.h"

struct xf_outline_line {
	struct xf_node_id node;
	uint32_t indent;
	bool only;   /* it has all of its caller's samples, and stands in the same column: so deep
	                stacks keep within the screen's width */
	bool parent; /* it has children, shown or not */
};

struct xf_outline_options {
	const struct xf_sort *sort; /* of the children of one node; no keys: by total */
	double limit;               /* nodes below that share, in percent, are left out ... */
	uint64_t whole;             /* ... of so many samples */
	const bool *open;           /* of each node: its children are shown; NULL: all are */
	const bool *keep;           /* of each node: it may be shown; NULL: all may */
};

struct xf_outline {
	struct xf_outline_line *lines; /* without the root */
	size_t nr;
	uint64_t left_out; /* nodes, by the limit; what is above them is not counted */
};

/* Return: 0 and *@outline, its lines to be freed, or -ENOMEM. The tree is a finished one. */
int xf_outline_make(const struct xf_calltree *tree, const struct xf_outline_options *options,
                    struct xf_outline *outline);

#endif
