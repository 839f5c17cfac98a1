// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/shares.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static int compare_shares(const void *left, const void *right, void *context)
{
	const struct xf_share *a = left;
	const struct xf_share *b = right;
	const struct xf_calltree *tree = context;
	int names;

	if (a->self != b->self)
		return a->self > b->self ? -1 : 1;
	if (a->total != b->total)
		return a->total > b->total ? -1 : 1;
	names = strcmp(xf_calltree_name(tree, a->frame), xf_calltree_name(tree, b->frame));
	if (names)
		return names;
	return a->frame.index < b->frame.index ? -1 : a->frame.index > b->frame.index;
}

/* Leaves the shares that are not empty, sorted. */
static void sort_shares(const struct xf_calltree *tree, struct xf_share *shares, size_t *nr)
{
	size_t kept = 0;

	for (size_t i = 0; i < *nr; i++) {
		if (shares[i].total)
			shares[kept++] = shares[i];
	}
	*nr = kept;
	qsort_r(shares, kept, sizeof(*shares), compare_shares, (void *)tree);
}

static struct xf_share *new_shares(const struct xf_calltree *tree, size_t *nr)
{
	struct xf_share *shares;

	*nr = xf_calltree_nr_frames(tree);
	shares = calloc(*nr, sizeof(*shares));
	for (size_t i = 0; shares && i < *nr; i++)
		shares[i].frame.index = (uint32_t)i;
	return shares;
}

int xf_shares_functions(const struct xf_calltree *tree, struct xf_share **shares, size_t *nr)
{
	struct xf_share *made = new_shares(tree, nr);
	uint32_t *open = calloc(*nr, sizeof(*open)); /* how often each frame is on the path */
	struct xf_calltree_walk walk = {0};

	if (!made || !open) {
		free(made);
		free(open);
		return -ENOMEM;
	}
	while (xf_calltree_next(tree, &walk)) {
		const struct xf_node *node = xf_calltree_node(tree, walk.node);

		if (walk.leaving) {
			open[node->frame.index]--;
			continue;
		}
		made[node->frame.index].self += node->self;
		if (!open[node->frame.index]++)
			made[node->frame.index].total += node->total;
	}
	free(open);
	made[0] = (struct xf_share){0}; /* the root is no function */
	sort_shares(tree, made, nr);
	*shares = made;
	return 0;
}

/* Callers and callees are read off each stack, from its end towards the root. */
static int neighbours(const struct xf_calltree *tree, struct xf_frame_id frame, bool callers,
                      struct xf_share **shares, size_t *nr)
{
	struct xf_share *made = new_shares(tree, nr);

	if (!made)
		return -ENOMEM;
	for (size_t i = 0; i < xf_calltree_nr_nodes(tree); i++) {
		struct xf_node_id id = {.index = (uint32_t)i};
		uint64_t self = xf_calltree_node(tree, id)->self;
		uint32_t above = 0; /* the frame above the one looked at; the root's: none */
		uint32_t neighbour = UINT32_MAX;

		while (self && id.index) {
			const struct xf_node *node = xf_calltree_node(tree, id);

			if (node->frame.index == frame.index) {
				neighbour = above;
				if (callers)
					neighbour =
					        xf_calltree_node(tree, node->parent)->frame.index;
				else
					break;
			}
			above = node->frame.index;
			id = node->parent;
		}
		if (neighbour != UINT32_MAX)
			made[neighbour].total += self;
	}
	sort_shares(tree, made, nr);
	*shares = made;
	return 0;
}

int xf_shares_callers(const struct xf_calltree *tree, struct xf_frame_id frame,
                      struct xf_share **shares, size_t *nr)
{
	return neighbours(tree, frame, true, shares, nr);
}

int xf_shares_callees(const struct xf_calltree *tree, struct xf_frame_id frame,
                      struct xf_share **shares, size_t *nr)
{
	return neighbours(tree, frame, false, shares, nr);
}

struct order {
	const struct xf_calltree *tree;
	const struct xf_sort *sort;
	bool functions; /* some of them have time of their own */
};

static int compare_in_order(const void *left, const void *right, void *context)
{
	const struct xf_share *shares[2] = {left, right};
	const struct order *order = context;
	struct xf_sort_line lines[2];
	int result;

	for (size_t i = 0; i < 2; i++)
		lines[i] = (struct xf_sort_line){
		        .self = shares[i]->self,
		        .total = shares[i]->total,
		        .samples = order->functions ? shares[i]->self : shares[i]->total,
		        .name = xf_calltree_name(order->tree, shares[i]->frame),
		        .kind = xf_calltree_kind(order->tree, shares[i]->frame)};
	result = xf_sort_compare(order->sort, &lines[0], &lines[1]);
	if (result)
		return result;
	return shares[0]->frame.index < shares[1]->frame.index ? -1 : 1;
}

void xf_shares_sort(const struct xf_calltree *tree, const struct xf_sort *sort,
                    struct xf_share *shares, size_t nr)
{
	struct order order = {.tree = tree, .sort = sort};

	if (!sort->nr)
		return;
	for (size_t i = 0; i < nr; i++)
		order.functions = order.functions || shares[i].self;
	qsort_r(shares, nr, sizeof(*shares), compare_in_order, &order);
}
