// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/difference.h"

#include <errno.h>
#include <stdlib.h>

#include "profile/match.h"

/* Of all weights together: room for the rounding of each, and none for an overflow. */
#define WEIGHTS ((long double)(1ull << 50))

/* ---- Building -------------------------------------------------------------------------------- */

struct builder {
	struct xf_difference *made;
	const struct xf_calltree *trees[2];
	char **names[2];
	struct xf_frame_id *frames[2]; /* of the made tree, for each of a side's own */
	struct xf_node_id *nodes[2];
	size_t allocated;
	long double scale;
};

static int map_frames(struct builder *builder, int side)
{
	const struct xf_calltree *tree = builder->trees[side];
	size_t nr = xf_calltree_nr_frames(tree);
	int code = 0;

	builder->frames[side] = calloc(nr, sizeof(*builder->frames[side]));
	if (!builder->frames[side])
		return -ENOMEM;
	for (size_t i = 0; !code && i < nr; i++)
		code = xf_calltree_frame(builder->made->tree,
		                         xf_calltree_kind(tree, (struct xf_frame_id){(uint32_t)i}),
		                         builder->names[side][i], &builder->frames[side][i]);
	return code;
}

static int map_nodes(struct builder *builder, int side)
{
	const struct xf_calltree *tree = builder->trees[side];
	size_t nr = xf_calltree_nr_nodes(tree);
	int code = 0;

	builder->nodes[side] = calloc(nr, sizeof(*builder->nodes[side]));
	if (!builder->nodes[side])
		return -ENOMEM;
	for (size_t i = 1; !code && i < nr; i++) {
		const struct xf_node *node =
		        xf_calltree_node(tree, (struct xf_node_id){(uint32_t)i});

		code = xf_calltree_child(
		        builder->made->tree, builder->nodes[side][node->parent.index],
		        builder->frames[side][node->frame.index], &builder->nodes[side][i]);
	}
	return code;
}

static uint64_t weight_of(const struct builder *builder, uint64_t count, int side)
{
	long double weight = (long double)count * builder->scale / builder->made->whole.count[side];

	return weight < 1 ? count > 0 : (uint64_t)weight;
}

static void count_side(struct builder *builder, int side)
{
	const struct xf_calltree *tree = builder->trees[side];

	for (size_t i = 0; i < xf_calltree_nr_nodes(tree); i++) {
		struct xf_node_id node = builder->nodes[side][i];
		uint64_t self = xf_calltree_node(tree, (struct xf_node_id){(uint32_t)i})->self;

		builder->made->self[node.index].count[side] += self;
		xf_calltree_count(builder->made->tree, node, weight_of(builder, self, side));
	}
}

static void sum_up(struct xf_difference *made)
{
	size_t nr = xf_calltree_nr_nodes(made->tree);

	for (size_t i = 0; i < nr; i++)
		made->total[i] = made->self[i];
	for (size_t i = nr - 1; i > 0; i--) {
		uint32_t parent = xf_calltree_node(made->tree, (struct xf_node_id){(uint32_t)i})
		                          ->parent.index;

		made->total[parent].count[0] += made->total[i].count[0];
		made->total[parent].count[1] += made->total[i].count[1];
	}
}

static long double worth(const struct builder *builder, int side)
{
	return (long double)xf_calltree_node(builder->trees[side], XF_CALLTREE_ROOT)->total /
	       builder->made->whole.count[side];
}

static int build(struct builder *builder)
{
	struct xf_difference *made = builder->made;
	int code = 0;

	for (int side = 0; !code && side < 2; side++)
		code = map_frames(builder, side);
	for (int side = 0; !code && side < 2; side++)
		code = map_nodes(builder, side);
	if (code)
		return code;
	made->self = calloc(xf_calltree_nr_nodes(made->tree), sizeof(*made->self));
	made->total = calloc(xf_calltree_nr_nodes(made->tree), sizeof(*made->total));
	if (!made->self || !made->total)
		return -ENOMEM;
	builder->scale = WEIGHTS / (worth(builder, 0) + worth(builder, 1));
	count_side(builder, 0);
	count_side(builder, 1);
	sum_up(made);
	return xf_calltree_finish(made->tree);
}

int xf_difference_build(const struct xf_calltree *a, const struct xf_calltree *b,
                        struct xf_sides whole, bool shares, struct xf_difference **difference)
{
	struct builder builder = {.trees = {a, b}};
	int code = -ENOMEM;

	builder.made = calloc(1, sizeof(*builder.made));
	if (!builder.made)
		return -ENOMEM;
	builder.made->whole = whole;
	builder.made->shares = shares;
	builder.made->tree = xf_calltree_new();
	if (builder.made->tree)
		code = xf_match_names(a, b, builder.names);
	if (!code) {
		code = build(&builder);
		xf_match_free(a, builder.names[0]);
		xf_match_free(b, builder.names[1]);
	}
	for (int side = 0; side < 2; side++) {
		free(builder.frames[side]);
		free(builder.nodes[side]);
	}
	if (code)
		xf_difference_free(builder.made);
	else
		*difference = builder.made;
	return code;
}

void xf_difference_free(struct xf_difference *difference)
{
	if (!difference)
		return;
	xf_calltree_free(difference->tree);
	free(difference->self);
	free(difference->total);
	free(difference);
}

/* ---- Reading --------------------------------------------------------------------------------- */

int xf_difference_functions(const struct xf_difference *difference, struct xf_change **changes,
                            size_t *nr)
{
	const struct xf_calltree *tree = difference->tree;
	size_t frames = xf_calltree_nr_frames(tree);
	struct xf_change *made = calloc(frames, sizeof(*made));
	uint32_t *open = calloc(frames, sizeof(*open)); /* how often each is on the path */
	struct xf_calltree_walk walk = {0};

	if (!made || !open) {
		free(made);
		free(open);
		return -ENOMEM;
	}
	while (xf_calltree_next(tree, &walk)) {
		uint32_t frame = xf_calltree_node(tree, walk.node)->frame.index;

		if (walk.leaving) {
			open[frame]--;
			continue;
		}
		made[frame].frame.index = frame;
		for (int side = 0; side < 2; side++) {
			made[frame].self.count[side] +=
			        difference->self[walk.node.index].count[side];
			if (!open[frame])
				made[frame].total.count[side] +=
				        difference->total[walk.node.index].count[side];
		}
		open[frame]++;
	}
	free(open);
	*nr = 0;
	for (size_t i = 1; i < frames; i++) { /* without the root's */
		if (made[i].total.count[0] || made[i].total.count[1])
			made[(*nr)++] = made[i];
	}
	*changes = made;
	return 0;
}

static double value(const struct xf_difference *difference, struct xf_sides sides, int side)
{
	return (double)sides.count[side] / (double)difference->whole.count[side];
}

double xf_difference_change(const struct xf_difference *difference, struct xf_sides sides)
{
	return value(difference, sides, 1) - value(difference, sides, 0);
}

bool xf_difference_is_significant(const struct xf_difference *difference, struct xf_sides sides)
{
	double wholes[2] = {(double)difference->whole.count[0], (double)difference->whole.count[1]};
	double pooled = ((double)sides.count[0] + (double)sides.count[1]) / (wholes[0] + wholes[1]);
	double least = pooled * (wholes[0] < wholes[1] ? wholes[0] : wholes[1]);
	double change = xf_difference_change(difference, sides);
	double variance = pooled * (1 / wholes[0] + 1 / wholes[1]);

	/* Counts that are parts of a whole spread less than those that are not (Poisson). */
	if (difference->shares)
		variance *= 1 - pooled;
	return least >= 5 && variance > 0 && change * change >= 9 * variance;
}
