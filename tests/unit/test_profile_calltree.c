// SPDX-License-Identifier: GPL-2.0-or-later
/* The call tree and its sums against a list of stacks that cannot be wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "profile/calltree.h"
#include "profile/shares.h"

#define STACKS 400
#define DEPTH  12
#define NAMES  9

struct naive {
	int frames[DEPTH]; /* outermost first */
	int depth;
	uint64_t count;
};

static void make_stacks(struct naive *stacks)
{
	for (int i = 0; i < STACKS; i++) {
		stacks[i].depth = rand() % (DEPTH + 1);
		stacks[i].count = (uint64_t)rand() % 1000;
		for (int d = 0; d < stacks[i].depth; d++)
			stacks[i].frames[d] = rand() % NAMES; /* recursion included */
	}
}

static struct xf_calltree *make_tree(const struct naive *stacks, struct xf_frame_id *frames)
{
	struct xf_calltree *tree = xf_calltree_new();

	for (int n = 0; n < NAMES; n++) {
		char name[16];

		snprintf(name, sizeof(name), "f%d", n);
		assert_int_equal(xf_calltree_frame(tree, XF_FRAME_XEN, name, &frames[n]), 0);
	}
	for (int i = 0; i < STACKS; i++) {
		struct xf_node_id node = XF_CALLTREE_ROOT;

		for (int d = 0; d < stacks[i].depth; d++)
			assert_int_equal(
			        xf_calltree_child(tree, node, frames[stacks[i].frames[d]], &node),
			        0);
		xf_calltree_count(tree, node, stacks[i].count);
	}
	assert_int_equal(xf_calltree_finish(tree), 0);
	return tree;
}

/* Samples whose stacks begin with the path to @node, and those that are it. */
static void check_node(const struct xf_calltree *tree, struct xf_node_id id,
                       const struct naive *stacks, const struct xf_frame_id *frames)
{
	const struct xf_node *node = xf_calltree_node(tree, id);
	uint32_t path[DEPTH];
	uint64_t total = 0;
	uint64_t self = 0;
	struct xf_node_id at = id;

	assert_true(!id.index || node->parent.index < id.index);
	for (uint32_t d = node->depth; d > 0; d--) {
		path[d - 1] = xf_calltree_node(tree, at)->frame.index;
		at = xf_calltree_node(tree, at)->parent;
	}
	for (int i = 0; i < STACKS; i++) {
		bool same = (uint32_t)stacks[i].depth >= node->depth;

		for (uint32_t d = 0; same && d < node->depth; d++)
			same = frames[stacks[i].frames[d]].index == path[d];
		total += same ? stacks[i].count : 0;
		self += same && (uint32_t)stacks[i].depth == node->depth ? stacks[i].count : 0;
	}
	assert_true(node->total == total);
	assert_true(node->self == self);
}

static void check_shares(const struct xf_calltree *tree, const struct naive *stacks,
                         const struct xf_frame_id *frames)
{
	struct xf_share *shares;
	size_t nr;

	assert_int_equal(xf_shares_functions(tree, &shares, &nr), 0);
	for (size_t s = 0; s < nr; s++) {
		uint64_t total = 0;
		uint64_t self = 0;

		for (int i = 0; i < STACKS; i++) {
			bool in = false;

			for (int d = 0; d < stacks[i].depth; d++)
				in = in ||
				     frames[stacks[i].frames[d]].index == shares[s].frame.index;
			total += in ? stacks[i].count : 0;
			if (stacks[i].depth &&
			    frames[stacks[i].frames[stacks[i].depth - 1]].index ==
			            shares[s].frame.index)
				self += stacks[i].count;
		}
		assert_true(shares[s].total == total);
		assert_true(shares[s].self == self);
	}
	free(shares);
}

/* Callers by outermost call, callees by innermost, each sample once. */
static void check_neighbours(const struct xf_calltree *tree, const struct naive *stacks,
                             const struct xf_frame_id *frames, int name, bool callers)
{
	uint64_t expected[NAMES + 1] = {0}; /* the last one: none */
	struct xf_share *shares;
	size_t nr;

	for (int i = 0; i < STACKS; i++) {
		int at = -1;

		for (int d = 0; d < stacks[i].depth; d++) {
			if (stacks[i].frames[d] == name && (!callers || at < 0))
				at = d;
		}
		if (at < 0)
			continue;
		at += callers ? -1 : 1;
		expected[at < 0 || at >= stacks[i].depth ? NAMES : stacks[i].frames[at]] +=
		        stacks[i].count;
	}
	assert_int_equal(
	        (callers ? xf_shares_callers : xf_shares_callees)(tree, frames[name], &shares, &nr),
	        0);
	for (size_t s = 0; s < nr; s++) {
		int which = NAMES;

		for (int n = 0; n < NAMES; n++)
			which = frames[n].index == shares[s].frame.index ? n : which;
		assert_true(shares[s].total == expected[which]);
		expected[which] = 0;
	}
	for (int n = 0; n <= NAMES; n++)
		assert_true(expected[n] == 0);
	free(shares);
}

static uint64_t sum_of_selves(const struct xf_calltree *tree)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < xf_calltree_nr_nodes(tree); i++)
		sum += xf_calltree_node(tree, (struct xf_node_id){(uint32_t)i})->self;
	return sum;
}

static void check_walk(const struct xf_calltree *tree)
{
	struct xf_calltree_walk walk = {0};
	uint64_t entered = 0;
	uint64_t left = 0;
	uint32_t depth = 0;

	while (xf_calltree_next(tree, &walk)) {
		const struct xf_node *node = xf_calltree_node(tree, walk.node);

		if (walk.leaving) {
			left++;
			depth = node->depth;
			continue;
		}
		assert_true(!entered || node->depth <= depth + 1);
		depth = node->depth;
		entered++;
	}
	assert_true(entered == xf_calltree_nr_nodes(tree));
	assert_true(left == entered);
}

static void the_tree_agrees_with_a_list(void **state)
{
	struct naive *stacks = calloc(STACKS, sizeof(*stacks));

	(void)state;
	for (unsigned int seed = 1; seed <= 20; seed++) {
		struct xf_frame_id frames[NAMES];
		struct xf_calltree *inverted;
		struct xf_calltree *tree;

		print_message("seed %u\n", seed);
		srand(seed);
		make_stacks(stacks);
		tree = make_tree(stacks, frames);
		for (size_t i = 0; i < xf_calltree_nr_nodes(tree); i++)
			check_node(tree, (struct xf_node_id){(uint32_t)i}, stacks, frames);
		check_shares(tree, stacks, frames);
		for (int n = 0; n < NAMES; n++) {
			check_neighbours(tree, stacks, frames, n, true);
			check_neighbours(tree, stacks, frames, n, false);
		}
		check_walk(tree);
		assert_int_equal(xf_calltree_invert(tree, &inverted), 0);
		assert_true(sum_of_selves(inverted) == sum_of_selves(tree));
		assert_true(xf_calltree_node(inverted, XF_CALLTREE_ROOT)->total ==
		            xf_calltree_node(tree, XF_CALLTREE_ROOT)->total);
		check_walk(inverted);
		xf_calltree_free(inverted);
		xf_calltree_free(tree);
	}
	free(stacks);
}

static void children_are_in_order(void **state)
{
	static const char *const names[] = {"vCPU 10", "vCPU 9", "b", "a"};
	struct xf_calltree *tree = xf_calltree_new();
	const struct xf_node_id *children;
	struct xf_frame_id frame;
	struct xf_node_id node;

	(void)state;
	xf_calltree_frame(tree, XF_FRAME_IDLE, "Idle", &frame);
	xf_calltree_child(tree, XF_CALLTREE_ROOT, frame, &node);
	for (size_t i = 0; i < 4; i++) {
		xf_calltree_frame(tree, XF_FRAME_DOMAIN, names[i], &frame);
		xf_calltree_child(tree, XF_CALLTREE_ROOT, frame, &node);
	}
	assert_int_equal(xf_calltree_finish(tree), 0);
	assert_int_equal(xf_calltree_children(tree, XF_CALLTREE_ROOT, &children), 5);
	for (size_t i = 0; i < 5; i++) {
		static const char *const sorted[] = {"a", "b", "vCPU 9", "vCPU 10", "Idle"};

		frame = xf_calltree_node(tree, children[i])->frame;
		assert_string_equal(xf_calltree_name(tree, frame), sorted[i]);
	}
	xf_calltree_free(tree);
	xf_calltree_free(NULL);
}

/* Deep and wide enough to hurt whatever recurses or is quadratic; counts beyond 2^53. */
static void big_trees_hold(void **state)
{
	struct xf_calltree *tree = xf_calltree_new();
	struct xf_node_id node = XF_CALLTREE_ROOT;
	struct xf_calltree *inverted;
	struct xf_frame_id frame;
	char name[16];

	(void)state;
	for (int i = 0; i < 5000; i++) {
		snprintf(name, sizeof(name), "f%d", i);
		assert_int_equal(xf_calltree_frame(tree, XF_FRAME_XEN, name, &frame), 0);
		assert_int_equal(xf_calltree_child(tree, node, frame, &node), 0);
	}
	xf_calltree_count(tree, node, UINT64_MAX / 4);
	assert_int_equal(xf_calltree_finish(tree), 0);
	assert_true(xf_calltree_node(tree, XF_CALLTREE_ROOT)->total == UINT64_MAX / 4);
	check_walk(tree);
	assert_int_equal(xf_calltree_invert(tree, &inverted), 0);
	assert_int_equal(xf_calltree_nr_nodes(inverted), 5001);
	xf_calltree_free(inverted);
	xf_calltree_free(tree);
}

static void frames_at_addresses_are_told_apart(void **state)
{
	struct xf_calltree *tree = xf_calltree_new();
	struct xf_calltree *inverted;
	struct xf_frame_id plain, first, second, again;
	struct xf_node_id node;
	struct xf_node_id path[2];

	(void)state;
	assert_int_equal(xf_calltree_frame(tree, XF_FRAME_XEN, "f", &plain), 0);
	assert_int_equal(xf_calltree_frame_at(tree, XF_FRAME_XEN, "f", 2, &second), 0);
	assert_int_equal(xf_calltree_frame_at(tree, XF_FRAME_XEN, "f", 1, &first), 0);
	assert_int_equal(xf_calltree_frame_at(tree, XF_FRAME_XEN, "f", 2, &again), 0);
	assert_true(plain.index != first.index && first.index != second.index);
	assert_int_equal(again.index, second.index);
	assert_int_equal(xf_calltree_child(tree, XF_CALLTREE_ROOT, second, &node), 0);
	assert_int_equal(xf_calltree_child(tree, node, first, &node), 0);
	xf_calltree_count(tree, node, 1);
	assert_int_equal(xf_calltree_finish(tree), 0);
	assert_int_equal(xf_calltree_height(tree), 2);
	assert_int_equal(xf_calltree_path(tree, node, path), 2);
	assert_int_equal(xf_calltree_node(tree, path[0])->frame.index, second.index);
	assert_int_equal(path[1].index, node.index);
	assert_int_equal(xf_calltree_invert(tree, &inverted), 0);
	assert_true(xf_calltree_address(inverted, first) == 1);
	assert_true(xf_calltree_address(inverted, plain) == 0);
	xf_calltree_free(inverted);
	xf_calltree_free(tree);
}

/* All at once as one by one, in trees that have some of the nodes and in those that have none. */
static void descending_is_going_from_child_to_child(void **state)
{
	enum {
		LONG = 100
	};
	struct xf_calltree *tree = xf_calltree_new();
	struct xf_frame_id frames[NAMES], path[LONG];
	struct xf_node_id node, other;

	(void)state;
	for (int n = 0; n < NAMES; n++) {
		char name[16];

		snprintf(name, sizeof(name), "f%d", n);
		assert_int_equal(xf_calltree_frame(tree, XF_FRAME_XEN, name, &frames[n]), 0);
	}
	for (int round = 0; round < 200; round++) {
		size_t nr = (size_t)rand() % LONG, stem = nr ? (size_t)rand() % nr : 0;

		for (size_t i = 0; i < nr; i++)
			path[i] = frames[i < stem ? 0 : rand() % NAMES];
		node = other = XF_CALLTREE_ROOT;
		if (round % 2)
			assert_int_equal(xf_calltree_descend(tree, path, nr, &node), 0);
		for (size_t i = 0; i < nr; i++)
			assert_int_equal(xf_calltree_child(tree, other, path[i], &other), 0);
		if (!(round % 2))
			assert_int_equal(xf_calltree_descend(tree, path, nr, &node), 0);
		assert_int_equal(node.index, other.index);
		assert_int_equal(xf_calltree_node(tree, node)->depth, nr);
	}
	xf_calltree_free(tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(the_tree_agrees_with_a_list),
	        cmocka_unit_test(children_are_in_order),
	        cmocka_unit_test(big_trees_hold),
	        cmocka_unit_test(frames_at_addresses_are_told_apart),
	        cmocka_unit_test(descending_is_going_from_child_to_child),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
