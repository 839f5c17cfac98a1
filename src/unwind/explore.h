// SPDX-License-Identifier: GPL-2.0-or-later
/* The first half of building a graph: finding every instruction, by following control flow. */
#ifndef XF_UNWIND_EXPLORE_H
#define XF_UNWIND_EXPLORE_H

#include "unwind/graph.h"

/*
 * Decodes what can be reached from @entries, then whatever lies undecoded behind it, and marks
 * where blocks begin. @graph's array `marks` is there and zero.
 * Return: 0 or -ENOMEM.
 */
int xf_graph_explore(struct xf_graph *graph, const uint64_t *entries, size_t nr_entries);

#endif
