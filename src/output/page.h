// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A profile as one self-contained page (HTML that is well-formed XML too): the data once, in
 * columns, and a script that draws what is asked for (src/output/page/).
 *
 * The data are in three script elements that are not run. "about" is JSON: what was recorded and
 * how well; in it "frames", each a kind, a name and, where there is more to say, where it is in the
 * source or why the stack is incomplete; and "groups", each the domain's frame, the vCPU and the
 * pCPU. The others are columns (columns.h).
 *
 * "nodes" has two numbers for each node of the call tree but the root, callers before their
 * callees: how many levels up from the node before it its caller is, and its frame.
 *
 * "samples" is in the order of time. Each entry has the units of time since the one before; the
 * group; and twice the node's number, plus one where a count other than 1 follows.
 *
 * Of a comparison there is "sides" in its place: for each node the samples that ended in it, in A
 * and in B.
 */
#ifndef XF_OUTPUT_PAGE_H
#define XF_OUTPUT_PAGE_H

#include <stdbool.h>
#include <stdio.h>

#include "output/comparison.h"
#include "profile/profile.h"

struct xf_page_options {
	const char *title; /* NULL: one that names the host */
	bool icicle;       /* how it opens: callers on top ... */
	bool callers;      /* ... or innermost functions first */
};

/* @profile has a timeline. Return: 0 or -ENOMEM; the caller looks at ferror(@out). */
int xf_page_write(FILE *out, const struct xf_profile *profile,
                  const struct xf_page_options *options);

/* The same of two profiles. */
int xf_page_write_comparison(FILE *out, const struct xf_comparison *comparison,
                             const struct xf_page_options *options);

#endif
