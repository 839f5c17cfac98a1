// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "terminal/internal.h"

static struct tree_state *state_of(struct xf_model *model)
{
	return &model->trees[model->inverted];
}

const struct xf_calltree *xf_model_tree(struct xf_model *model)
{
	struct tree_state *state = state_of(model);
	size_t nodes;

	if (model->inverted && !state->inverted &&
	    xf_calltree_invert(model->profile->tree, &state->inverted))
		return NULL;
	if (!state->open) {
		nodes = xf_calltree_nr_nodes(state->inverted ? state->inverted
		                                             : model->profile->tree);
		state->open = calloc(nodes, sizeof(*state->open));
		state->keep = calloc(nodes, sizeof(*state->keep));
		state->shown_open = calloc(nodes, sizeof(*state->shown_open));
		if (!state->open || !state->keep || !state->shown_open)
			return NULL;
	}
	return state->inverted ? state->inverted : model->profile->tree;
}

void xf_model_forget(struct xf_model *model)
{
	for (size_t i = 0; i < 2; i++) {
		xf_calltree_free(model->trees[i].inverted);
		free(model->trees[i].open);
		free(model->trees[i].keep);
		free(model->trees[i].shown_open);
		model->trees[i] = (struct tree_state){0};
	}
}

void xf_model_open(struct xf_model *model, struct xf_node_id node)
{
	const struct xf_calltree *tree = xf_model_tree(model);
	bool *open = state_of(model)->open;
	const struct xf_node_id *children;

	for (;;) {
		size_t nr = xf_calltree_children(tree, node, &children);

		if (!nr)
			return;
		open[node.index] = true;
		if (nr != 1)
			return;
		node = children[0];
	}
}

/* Children come after their parents: one pass sees whatever is above @node. */
static void set_all(struct xf_model *model, struct xf_node_id node, bool value)
{
	const struct xf_calltree *tree = xf_model_tree(model);
	struct tree_state *state = state_of(model);
	bool *inside = state->shown_open; /* made anew before it is read */

	memset(inside, 0, xf_calltree_nr_nodes(tree) * sizeof(*inside));
	inside[node.index] = true;
	state->open[node.index] = value;
	for (size_t i = node.index + 1; i < xf_calltree_nr_nodes(tree); i++) {
		struct xf_node_id id = {.index = (uint32_t)i};

		if (!inside[xf_calltree_node(tree, id)->parent.index])
			continue;
		inside[i] = true;
		state->open[i] = value;
	}
}

void xf_model_open_all(struct xf_model *model, struct xf_node_id node)
{
	set_all(model, node, true);
}

void xf_model_close(struct xf_model *model, struct xf_node_id node)
{
	set_all(model, node, false);
}

/* Return: of each frame whether the filter lets it through, to be freed; NULL without memory. */
static bool *match_frames(const struct xf_model *model)
{
	const struct xf_calltree *tree = model->profile->tree;
	size_t nr = xf_calltree_nr_frames(tree);
	bool *matches = calloc(nr, sizeof(*matches));

	for (size_t i = 1; matches && i < nr; i++) {
		struct xf_frame_id frame = {.index = (uint32_t)i};

		matches[i] = xf_model_matches(model, xf_calltree_name(tree, frame));
	}
	return matches;
}

/* Kept are frames that match, what they stand on, which is shown open, and what stands on them. */
int xf_model_filter_tree(struct xf_model *model)
{
	const struct xf_calltree *tree = xf_model_tree(model);
	struct tree_state *state = state_of(model);
	bool *matches = tree ? match_frames(model) : NULL;
	size_t nodes;

	if (!matches)
		return -ENOMEM;
	nodes = xf_calltree_nr_nodes(tree);
	memcpy(state->shown_open, state->open, nodes * sizeof(*state->open));
	memset(state->keep, 0, nodes * sizeof(*state->keep));
	for (size_t i = 1; i < nodes; i++) {
		const struct xf_node *node =
		        xf_calltree_node(tree, (struct xf_node_id){.index = (uint32_t)i});

		state->keep[i] = state->keep[node->parent.index] || matches[node->frame.index];
	}
	for (size_t i = nodes; i-- > 1;) {
		const struct xf_node *node =
		        xf_calltree_node(tree, (struct xf_node_id){.index = (uint32_t)i});
		uint32_t parent = node->parent.index;

		if (!state->keep[i] || !parent || state->keep[parent])
			continue;
		state->keep[parent] = state->shown_open[parent] = true;
	}
	free(matches);
	return 0;
}

uint64_t xf_model_matched(const struct xf_model *model)
{
	const struct xf_calltree *tree = model->profile->tree;
	size_t nodes = xf_calltree_nr_nodes(tree);
	bool *inside = calloc(nodes, sizeof(*inside));
	bool *matches = match_frames(model);
	uint64_t matched = 0;

	for (size_t i = 1; inside && matches && i < nodes; i++) {
		const struct xf_node *node =
		        xf_calltree_node(tree, (struct xf_node_id){.index = (uint32_t)i});

		inside[i] = inside[node->parent.index];
		if (inside[i] || !matches[node->frame.index])
			continue;
		inside[i] = true;
		matched += node->total;
	}
	free(inside);
	free(matches);
	return matched;
}
