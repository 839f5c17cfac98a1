// SPDX-License-Identifier: GPL-2.0-or-later
/* What reports and views show, line by line: orders, breakdowns, outlines of trees. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "profile/breakdown.h"
#include "profile/outline.h"

static const struct xf_sort no_sort = {0};

/* ---- Orders ---------------------------------------------------------------------------------- */

static void keys_are_read_in_their_order(void **state)
{
	struct xf_sort sort = {0};

	(void)state;
	assert_true(xf_sort_parse("total,name", &sort));
	assert_int_equal(sort.nr, 2);
	assert_int_equal(sort.keys[0], XF_SORT_TOTAL);
	assert_int_equal(sort.keys[1], XF_SORT_NAME);
	assert_true(xf_sort_parse("kind", &sort));
	assert_int_equal(sort.nr, 1);
}

static void nonsense_is_no_sort(void **state)
{
	static const char *const nonsense[] = {
	        "",    ",",     "self,",      ",self",      "moon",
	        "sel", "selfs", "self,,name", "self, name", "self,total,samples,name,kind,self"};
	struct xf_sort sort = {.nr = 1};

	(void)state;
	for (size_t i = 0; i < sizeof(nonsense) / sizeof(nonsense[0]); i++)
		assert_false(xf_sort_parse(nonsense[i], &sort));
	assert_int_equal(sort.nr, 1);
}

static void numbers_in_names_count_as_numbers(void **state)
{
	(void)state;
	assert_true(xf_sort_names("vCPU 9", "vCPU 10") < 0);
	assert_true(xf_sort_names("b", "a") > 0);
	assert_int_equal(xf_sort_names("a", "a"), 0);
}

static void most_stand_first_and_the_alike_by_name(void **state)
{
	struct xf_sort_line a = {.self = 5, .total = 9, .samples = 5, .name = "a"};
	struct xf_sort_line b = {.self = UINT64_MAX, .total = 9, .samples = 5, .name = "b"};
	struct xf_sort sort;

	(void)state;
	assert_true(xf_sort_parse("self", &sort));
	assert_true(xf_sort_compare(&sort, &a, &b) > 0);
	assert_true(xf_sort_parse("total,samples", &sort));
	assert_true(xf_sort_compare(&sort, &a, &b) < 0);
	assert_true(xf_sort_compare(&no_sort, &a, &b) < 0);
}

/* ---- Trees ----------------------------------------------------------------------------------- */

static struct xf_node_id add(struct xf_calltree *tree, struct xf_node_id parent,
                             enum xf_frame_kind kind, const char *name, uint64_t count)
{
	struct xf_frame_id frame;
	struct xf_node_id node;

	assert_int_equal(xf_calltree_frame(tree, kind, name, &frame), 0);
	assert_int_equal(xf_calltree_child(tree, parent, frame, &node), 0);
	xf_calltree_count(tree, node, count);
	return node;
}

/* dom { entry { a { deep 30 } 10, b 2 }, [guest] 50 }, Idle { [idle] 100 } */
static struct xf_calltree *make_tree(struct xf_node_id *entry)
{
	struct xf_calltree *tree = xf_calltree_new();
	struct xf_node_id domain = add(tree, XF_CALLTREE_ROOT, XF_FRAME_DOMAIN, "dom", 0);
	struct xf_node_id idle = add(tree, XF_CALLTREE_ROOT, XF_FRAME_IDLE, "Idle", 0);
	struct xf_node_id a;

	*entry = add(tree, domain, XF_FRAME_XEN, "entry", 0);
	a = add(tree, *entry, XF_FRAME_XEN, "a", 10);
	add(tree, a, XF_FRAME_XEN, "deep", 30);
	add(tree, *entry, XF_FRAME_XEN, "b", 2);
	add(tree, domain, XF_FRAME_GUEST, "[guest]", 50);
	add(tree, idle, XF_FRAME_IDLE, "[idle]", 100);
	assert_int_equal(xf_calltree_finish(tree), 0);
	return tree;
}

static void assert_outline(const struct xf_calltree *tree, const struct xf_outline_options *options,
                           const char *expected, uint64_t left_out)
{
	struct xf_outline outline;
	char text[512] = "";

	assert_int_equal(xf_outline_make(tree, options, &outline), 0);
	for (size_t i = 0; i < outline.nr; i++) {
		const struct xf_outline_line *line = &outline.lines[i];
		size_t used = strlen(text);

		snprintf(text + used, sizeof(text) - used, "%u%s%s ", line->indent,
		         line->only     ? ">"
		         : line->parent ? "+"
		                        : " ",
		         xf_calltree_name(tree, xf_calltree_node(tree, line->node)->frame));
	}
	assert_string_equal(text, expected);
	assert_int_equal(outline.left_out, left_out);
	free(outline.lines);
}

static void an_outline_shows_most_first_and_only_ones_in_their_column(void **state)
{
	struct xf_node_id entry;
	struct xf_calltree *tree = make_tree(&entry);
	struct xf_outline_options options = {.sort = &no_sort};

	(void)state;
	assert_outline(tree, &options, "0+Idle 0>[idle] 0+dom 1 [guest] 1+entry 2+a 3 deep 2 b ",
	               0);
	xf_calltree_free(tree);
}

static void an_outline_leaves_out_what_is_below_the_limit(void **state)
{
	struct xf_node_id entry;
	struct xf_calltree *tree = make_tree(&entry);
	struct xf_sort by_name;
	struct xf_outline_options options = {.sort = &by_name, .limit = 20, .whole = 192};

	(void)state;
	assert_true(xf_sort_parse("name", &by_name));
	assert_outline(tree, &options, "0+Idle 0>[idle] 0+dom 1 [guest] 1+entry 2+a ", 2);
	options.limit = 100;
	assert_outline(tree, &options, "", 2);
	xf_calltree_free(tree);
}

static void an_outline_opens_what_is_open_and_keeps_what_is_kept(void **state)
{
	struct xf_node_id entry;
	struct xf_calltree *tree = make_tree(&entry);
	bool *open = calloc(xf_calltree_nr_nodes(tree), sizeof(*open));
	bool *keep = calloc(xf_calltree_nr_nodes(tree), sizeof(*keep));
	struct xf_outline_options options = {.sort = &no_sort, .open = open};

	(void)state;
	assert_outline(tree, &options, "0+Idle 0+dom ", 0);
	open[xf_calltree_node(tree, entry)->parent.index] = true;
	assert_outline(tree, &options, "0+Idle 0+dom 1 [guest] 1+entry ", 0);
	options.keep = keep;
	keep[xf_calltree_node(tree, entry)->parent.index] = keep[entry.index] = true;
	assert_outline(tree, &options, "0+dom 1+entry ", 0);
	free(open);
	free(keep);
	xf_calltree_free(tree);
}

/* ---- Breakdowns ------------------------------------------------------------------------------ */

static struct xf_profile *make_profile(void)
{
	struct xf_profile *profile = calloc(1, sizeof(*profile));
	static const struct {
		const char *domain;
		uint32_t vcpu, pcpu;
		struct xf_profile_counts counts;
	} groups[] = {
	        {"dom", 0, 0, {.guest = 30, .xen = 12}},
	        {"dom", 10, 1, {.guest = 20, .xen = 30}},
	        {"Idle", 0, 0, {.idle = 100}},
	};
	struct xf_node_id entry;

	profile->tree = make_tree(&entry);
	profile->samples = 192;
	profile->nr_groups = 3;
	profile->groups = calloc(3, sizeof(*profile->groups));
	for (size_t i = 0; i < 3; i++) {
		bool idle = groups[i].domain[0] == 'I';

		profile->groups[i] = (struct xf_profile_group){
		        .vcpu = groups[i].vcpu, .pcpu = groups[i].pcpu, .counts = groups[i].counts};
		xf_calltree_frame(profile->tree, idle ? XF_FRAME_IDLE : XF_FRAME_DOMAIN,
		                  groups[i].domain, &profile->groups[i].domain);
	}
	return profile;
}

static void assert_rows(const struct xf_profile *profile, enum xf_breakdown_by by,
                        const struct xf_sort *sort, const char *expected)
{
	struct xf_breakdown_row *rows;
	char text[512] = "";
	size_t nr;

	assert_int_equal(xf_breakdown(profile, by, sort, &rows, &nr), 0);
	for (size_t i = 0; i < nr; i++) {
		size_t used = strlen(text);

		snprintf(text + used, sizeof(text) - used, "%s%u=%u ",
		         by == XF_BY_KIND ? xf_frame_kind_name(rows[i].kind)
		                          : xf_calltree_name(profile->tree, rows[i].domain),
		         rows[i].number, (unsigned int)rows[i].samples);
	}
	assert_string_equal(text, expected);
	free(rows);
}

static void breakdowns_add_up(void **state)
{
	struct xf_profile *profile = make_profile();
	struct xf_sort by_samples;

	(void)state;
	assert_rows(profile, XF_BY_DOMAIN, &no_sort, "dom0=92 Idle0=100 ");
	assert_rows(profile, XF_BY_VCPU, &no_sort, "dom10=50 dom0=42 Idle0=100 ");
	assert_rows(profile, XF_BY_PCPU, &no_sort, "0=142 1=50 ");
	assert_rows(profile, XF_BY_KIND, &no_sort, "idle0=100 guest0=50 xen0=42 ");
	assert_true(xf_sort_parse("samples", &by_samples));
	assert_rows(profile, XF_BY_DOMAIN, &by_samples, "Idle0=100 dom0=92 ");
	xf_profile_free(profile);
}

static void functions_are_what_ran_not_for_whom(void **state)
{
	struct xf_profile *profile = make_profile();
	struct xf_share *shares;
	struct xf_sort by_name;
	uint64_t sum = 0;
	size_t nr;

	(void)state;
	assert_true(xf_sort_parse("name", &by_name));
	assert_int_equal(xf_breakdown_functions(profile, &by_name, &shares, &nr), 0);
	assert_int_equal(nr, 6);
	assert_string_equal(xf_calltree_name(profile->tree, shares[0].frame), "[guest]");
	for (size_t i = 0; i < nr; i++)
		sum += shares[i].self;
	assert_int_equal(sum, profile->samples);
	free(shares);
	xf_profile_free(profile);
}

static void every_kind_has_a_name_of_its_own(void **state)
{
	(void)state;
	for (int kind = 0; kind < XF_FRAME_KINDS; kind++) {
		const char *name = xf_frame_kind_name((enum xf_frame_kind)kind);

		assert_string_not_equal(name, "other");
		for (int other = 0; other < kind; other++)
			assert_string_not_equal(name,
			                        xf_frame_kind_name((enum xf_frame_kind)other));
	}
	assert_string_equal(xf_frame_kind_name(XF_FRAME_KINDS), "other");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(keys_are_read_in_their_order),
	        cmocka_unit_test(nonsense_is_no_sort),
	        cmocka_unit_test(numbers_in_names_count_as_numbers),
	        cmocka_unit_test(most_stand_first_and_the_alike_by_name),
	        cmocka_unit_test(an_outline_shows_most_first_and_only_ones_in_their_column),
	        cmocka_unit_test(an_outline_leaves_out_what_is_below_the_limit),
	        cmocka_unit_test(an_outline_opens_what_is_open_and_keeps_what_is_kept),
	        cmocka_unit_test(breakdowns_add_up),
	        cmocka_unit_test(functions_are_what_ran_not_for_whom),
	        cmocka_unit_test(every_kind_has_a_name_of_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
