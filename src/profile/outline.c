// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/outline.h"

#include <errno.h>
#include <stdlib.h>

struct builder {
	const struct xf_calltree *tree;
	const struct xf_outline_options *options;
	struct xf_outline_line *stack; /* still to be placed; the next one is the last */
	size_t nr;
	struct xf_outline *outline;
};

struct order {
	const struct xf_calltree *tree;
	const struct xf_sort *sort;
};

static int compare_lines(const void *left, const void *right, void *context)
{
	static const struct xf_sort by_total = {.keys = {XF_SORT_TOTAL, XF_SORT_KIND}, .nr = 1};
	const struct xf_outline_line *lines[2] = {left, right};
	const struct order *order = context;
	struct xf_sort_line keys[2];
	int result;

	for (size_t i = 0; i < 2; i++) {
		const struct xf_node *node = xf_calltree_node(order->tree, lines[i]->node);

		keys[i] = (struct xf_sort_line){.self = node->self,
		                                .total = node->total,
		                                .samples = node->total,
		                                .name = xf_calltree_name(order->tree, node->frame),
		                                .kind = xf_calltree_kind(order->tree, node->frame)};
	}
	/* The last one is placed first. */
	result = xf_sort_compare(order->sort->nr ? order->sort : &by_total, &keys[1], &keys[0]);
	if (result)
		return result;
	return lines[0]->node.index > lines[1]->node.index ? -1 : 1;
}

static void push_children(struct builder *builder, struct xf_node_id parent, uint32_t indent)
{
	const struct xf_outline_options *options = builder->options;
	const struct xf_calltree *tree = builder->tree;
	const struct xf_node_id *children;
	size_t nr = xf_calltree_children(tree, parent, &children);
	size_t first = builder->nr;
	struct order order = {.tree = tree, .sort = options->sort};

	for (size_t i = 0; i < nr; i++) {
		uint64_t total = xf_calltree_node(tree, children[i])->total;
		const struct xf_node_id *grandchildren;
		bool only = parent.index && total == xf_calltree_node(tree, parent)->total;

		if (options->keep && !options->keep[children[i].index])
			continue;
		if (options->whole &&
		    100.0 * (double)total / (double)options->whole < options->limit) {
			builder->outline->left_out++;
			continue;
		}
		builder->stack[builder->nr++] = (struct xf_outline_line){
		        .node = children[i],
		        .indent = indent + (parent.index && !only),
		        .only = only,
		        .parent = xf_calltree_children(tree, children[i], &grandchildren) > 0};
	}
	qsort_r(builder->stack + first, builder->nr - first, sizeof(*builder->stack), compare_lines,
	        &order);
}

int xf_outline_make(const struct xf_calltree *tree, const struct xf_outline_options *options,
                    struct xf_outline *outline)
{
	size_t nodes = xf_calltree_nr_nodes(tree);
	struct builder builder = {.tree = tree, .options = options, .outline = outline};

	*outline = (struct xf_outline){.lines = calloc(nodes, sizeof(*outline->lines))};
	builder.stack = calloc(nodes, sizeof(*builder.stack));
	if (!outline->lines || !builder.stack) {
		free(outline->lines);
		free(builder.stack);
		return -ENOMEM;
	}
	push_children(&builder, XF_CALLTREE_ROOT, 0);
	while (builder.nr) {
		struct xf_outline_line line = builder.stack[--builder.nr];

		outline->lines[outline->nr++] = line;
		if (!options->open || options->open[line.node.index])
			push_children(&builder, line.node, line.indent);
	}
	free(builder.stack);
	return 0;
}
