// SPDX-License-Identifier: GPL-2.0-or-later
/* Two call trees side by side: what is the same function, what adds up, what is chance. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "profile/difference.h"
#include "profile/match.h"
#include "profile/shares.h"

/* One node a name, on the root, with as many samples as its number plus one. */
static struct xf_calltree *make_flat(enum xf_frame_kind kind, const char *const *names)
{
	struct xf_calltree *tree = xf_calltree_new();

	for (uint64_t i = 0; names[i]; i++) {
		struct xf_frame_id frame;
		struct xf_node_id node;

		xf_calltree_frame(tree, kind, names[i], &frame);
		xf_calltree_child(tree, XF_CALLTREE_ROOT, frame, &node);
		xf_calltree_count(tree, node, i + 1);
	}
	xf_calltree_finish(tree);
	return tree;
}

/* What @a and @b are called once they have been matched; the kind as given. */
static void assert_match(enum xf_frame_kind kind, const char *const *a, const char *const *b,
                         const char *const *expected_a, const char *const *expected_b)
{
	struct xf_calltree *trees[2] = {make_flat(kind, a), make_flat(kind, b)};
	char **names[2];

	assert_int_equal(xf_match_names(trees[0], trees[1], names), 0);
	for (size_t i = 0; expected_a[i]; i++)
		assert_string_equal(names[0][i + 1], expected_a[i]);
	for (size_t i = 0; expected_b[i]; i++)
		assert_string_equal(names[1][i + 1], expected_b[i]);
	for (int side = 0; side < 2; side++) {
		xf_match_free(trees[side], names[side]);
		xf_calltree_free(trees[side]);
	}
}

static void what_a_compiler_adds_makes_no_difference(void **state)
{
	static const char *const a[] = {"f.isra.0",
	                                "g.part.12.cold",
	                                "h.constprop.0.isra.3",
	                                "i.llvm.1234",
	                                ".isra.0",
	                                "j.0",
	                                "k.",
	                                "...",
	                                "l.cold",
	                                "m.isra",
	                                "n.isra.x",
	                                "file.c#o.isra.1",
	                                NULL};
	static const char *const wanted[] = {"f",   "g", "h", "i",        ".isra.0",  "j.0", "k.",
	                                     "...", "l", "m", "n.isra.x", "file.c#o", NULL};

	(void)state;
	assert_match(XF_FRAME_XEN, a, wanted, wanted, wanted);
	/* A domain may be called what it likes. */
	assert_match(XF_FRAME_DOMAIN, a, a, a, a);
}

static void addresses_make_no_difference(void **state)
{
	static const char *const a[] = {"[unknown 0xffff82d040200123]", "[unknown 0x]", "x 0x12]",
	                                "[a 0x12", NULL};
	static const char *const wanted[] = {"[unknown]", "[unknown]", "x 0x12]", "[a 0x12", NULL};

	(void)state;
	assert_match(XF_FRAME_UNKNOWN, a, a, wanted, wanted);
}

static void a_file_that_moved_makes_no_difference(void **state)
{
	static const char *const a[] = {"common/sched_credit2.c#tick",
	                                "same.c#f",
	                                "one.c#init",
	                                "two.c#init",
	                                "gone.c#g",
	                                "#",
	                                "odd.c#",
	                                NULL};
	static const char *const b[] = {"same.c#f", "common/sched/credit2.c#tick.isra.0",
	                                "three.c#init", "g", NULL};
	static const char *const wanted_a[] = {"common/sched/credit2.c#tick",
	                                       "same.c#f",
	                                       "one.c#init",
	                                       "two.c#init",
	                                       "gone.c#g",
	                                       "#",
	                                       "odd.c#",
	                                       NULL};
	static const char *const wanted_b[] = {"same.c#f", "common/sched/credit2.c#tick",
	                                       "three.c#init", "g", NULL};

	(void)state;
	assert_match(XF_FRAME_XEN, a, b, wanted_a, wanted_b);
}

static struct xf_calltree *make_random(unsigned int stacks, uint64_t most)
{
	struct xf_calltree *tree = xf_calltree_new();

	for (unsigned int i = 0; i < stacks; i++) {
		struct xf_node_id node = XF_CALLTREE_ROOT;

		for (int depth = rand() % 8; depth >= 0; depth--) {
			struct xf_frame_id frame;
			char name[16];

			snprintf(name, sizeof(name), "f%d", rand() % 7);
			xf_calltree_frame(tree, XF_FRAME_XEN, name, &frame);
			xf_calltree_child(tree, node, frame, &node);
		}
		xf_calltree_count(tree, node, (uint64_t)rand() % most);
	}
	xf_calltree_finish(tree);
	return tree;
}

/* The shares of one side are those of its own tree. */
static void assert_functions(const struct xf_difference *difference, const struct xf_calltree *tree,
                             int side)
{
	struct xf_change *changes;
	struct xf_share *shares;
	size_t nr_changes, nr_shares, found = 0;

	assert_int_equal(xf_difference_functions(difference, &changes, &nr_changes), 0);
	assert_int_equal(xf_shares_functions(tree, &shares, &nr_shares), 0);
	for (size_t i = 0; i < nr_shares; i++) {
		for (size_t j = 0; j < nr_changes; j++) {
			if (strcmp(xf_calltree_name(tree, shares[i].frame),
			           xf_calltree_name(difference->tree, changes[j].frame)) != 0)
				continue;
			assert_int_equal(changes[j].self.count[side], shares[i].self);
			assert_int_equal(changes[j].total.count[side], shares[i].total);
			found++;
		}
	}
	assert_int_equal(found, nr_shares);
	free(changes);
	free(shares);
}

static void each_side_adds_up(void **state)
{
	(void)state;
	for (unsigned int round = 0; round < 20; round++) {
		struct xf_calltree *trees[2] = {make_random(1 + round * 10, 1000),
		                                make_random(1 + round * 7, 1ull << (round + 3))};
		struct xf_sides whole = {{xf_calltree_node(trees[0], XF_CALLTREE_ROOT)->total + 1,
		                          xf_calltree_node(trees[1], XF_CALLTREE_ROOT)->total + 1}};
		struct xf_difference *difference;
		double width;

		assert_int_equal(xf_difference_build(trees[0], trees[1], whole, true, &difference),
		                 0);
		width = (double)xf_calltree_node(difference->tree, XF_CALLTREE_ROOT)->total;
		for (int side = 0; side < 2; side++) {
			assert_int_equal(difference->total[0].count[side], whole.count[side] - 1);
			assert_functions(difference, trees[side], side);
		}
		/* A node's width is its worth on both sides, of all that there is. */
		for (size_t i = 0; i < xf_calltree_nr_nodes(difference->tree); i++) {
			struct xf_node_id node = {(uint32_t)i};
			double all = 0, worth = 0;

			for (int side = 0; side < 2; side++) {
				worth += (double)difference->total[i].count[side] /
				         (double)whole.count[side];
				all += (double)difference->total[0].count[side] /
				       (double)whole.count[side];
			}
			worth = (double)xf_calltree_node(difference->tree, node)->total / width -
			        worth / all;
			assert_true(worth < 1e-9 && worth > -1e-9);
		}
		xf_difference_free(difference);
		xf_calltree_free(trees[0]);
		xf_calltree_free(trees[1]);
	}
}

static bool is_significant(uint64_t a, uint64_t whole_a, uint64_t b, uint64_t whole_b, bool shares)
{
	const struct xf_difference difference = {.whole = {{whole_a, whole_b}}, .shares = shares};

	return xf_difference_is_significant(&difference, (struct xf_sides){{a, b}});
}

static void chance_is_not_shouted_about(void **state)
{
	(void)state;
	assert_false(is_significant(100, 1000, 120, 1000, true)); /* 1.4 deviations */
	assert_true(is_significant(100, 1000, 150, 1000, true));  /* 3.4 */
	assert_false(is_significant(0, 1000, 9, 1000, true));     /* 4.5 expected */
	assert_true(is_significant(0, 1000, 10, 1000, true));     /* 3.2, and 5 expected */
	assert_false(is_significant(1, 1, 0, 20, true));
	assert_false(is_significant(500, 500, 700, 700, true)); /* everything, on both sides */
	assert_false(is_significant(0, 10, 0, 10, true));
	assert_false(is_significant(50, 100, 500, 1000, true)); /* ten times as long */
	assert_true(is_significant(1ull << 60, 1ull << 61, 1ull << 59, 1ull << 61, true));
	/* Not shares: the spread is that of counts. */
	assert_false(is_significant(100, 1, 130, 1, false)); /* 2.0 */
	assert_true(is_significant(100, 1, 150, 1, false));  /* 3.2 */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(what_a_compiler_adds_makes_no_difference),
	        cmocka_unit_test(addresses_make_no_difference),
	        cmocka_unit_test(a_file_that_moved_makes_no_difference),
	        cmocka_unit_test(each_side_adds_up),
	        cmocka_unit_test(chance_is_not_shouted_about),
	};

	srand(7);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
