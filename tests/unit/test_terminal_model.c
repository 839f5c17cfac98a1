// SPDX-License-Identifier: GPL-2.0-or-later
/* The interactive report without a terminal: keys go in, lines come out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "terminal/model.h"
#include "terminal/palette.h"

#define DEEP 5000

/* ---- A profile ------------------------------------------------------------------------------- */

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

static void add_group(struct xf_profile *profile, const char *domain, uint32_t pcpu, uint64_t xen)
{
	struct xf_profile_group *group = &profile->groups[profile->nr_groups++];

	*group = (struct xf_profile_group){.pcpu = pcpu, .counts = {.xen = xen}};
	xf_calltree_frame(profile->tree, XF_FRAME_DOMAIN, domain, &group->domain);
	profile->samples += xen;
}

/* one { entry { lock 6, Spin 3 } 1 }, two { entry { lock 2 } } */
static struct xf_profile *make_profile(void)
{
	struct xf_profile *profile = calloc(1, sizeof(*profile));
	struct xf_node_id one, two;

	profile->tree = xf_calltree_new();
	profile->groups = calloc(4, sizeof(*profile->groups));
	profile->host = profile->xen_version = profile->build_id = "";
	one = add(profile->tree, XF_CALLTREE_ROOT, XF_FRAME_DOMAIN, "one", 0);
	two = add(profile->tree, XF_CALLTREE_ROOT, XF_FRAME_DOMAIN, "two", 0);
	one = add(profile->tree, one, XF_FRAME_XEN, "entry", 1);
	two = add(profile->tree, two, XF_FRAME_XEN, "entry", 0);
	add(profile->tree, one, XF_FRAME_XEN, "lock", 6);
	add(profile->tree, one, XF_FRAME_XEN, "Spin", 3);
	add(profile->tree, two, XF_FRAME_XEN, "lock", 2);
	add_group(profile, "one", 0, 10);
	add_group(profile, "two", 3, 2);
	assert_int_equal(xf_calltree_finish(profile->tree), 0);
	return profile;
}

static struct xf_model *make_model(const struct xf_profile *profile)
{
	struct xf_model *model;

	assert_int_equal(xf_model_new(profile, &XF_PROFILE_DEFAULTS, &model), 0);
	xf_model_resize(model, 18);
	return model;
}

static void finish(struct xf_model *model, struct xf_profile *profile)
{
	xf_model_free(model);
	xf_profile_free(profile);
}

/* ---- Looking --------------------------------------------------------------------------------- */

static void press(struct xf_model *model, const char *keys)
{
	for (; *keys; keys++)
		assert_int_equal(xf_model_press(model, (uint32_t)*keys), XF_WISH_DRAW);
}

/* The names that are shown, with '>' before the selected one and ':' behind headings. */
static void assert_lines(struct xf_model *model, const char *expected)
{
	struct xf_model_screen screen;
	struct xf_model_line line;
	char text[1024] = "";

	xf_model_screen(model, &screen);
	for (size_t i = 0; i < screen.nr; i++) {
		size_t used = strlen(text);

		xf_model_line(model, i, &line);
		snprintf(text + used, sizeof(text) - used, "%s%s%s%s ",
		         i == screen.selected ? ">" : "", line.name, line.right,
		         line.heading ? ":" : "");
	}
	assert_string_equal(text, expected);
}

static void assert_status(struct xf_model *model, const char *expected)
{
	struct xf_model_screen screen;

	xf_model_screen(model, &screen);
	assert_string_equal(screen.status, expected);
}

static void assert_left(struct xf_model *model, size_t index, const char *expected)
{
	struct xf_model_line line;

	xf_model_line(model, index, &line);
	assert_string_equal(line.left, expected);
}

/* ---- Tests ----------------------------------------------------------------------------------- */

static void functions_stand_by_self_total_or_name(void **state)
{
	struct xf_profile *profile = make_profile();
	struct xf_model *model = make_model(profile);

	(void)state;
	assert_lines(model, ">lock Spin entry ");
	assert_left(model, 0, "  66.67%  66.67%           8  ");
	assert_left(model, 2, "   8.33% 100.00%           1  ");
	press(model, "s");
	assert_lines(model, ">entry lock Spin ");
	assert_status(model, "by total");
	press(model, "s");
	assert_lines(model, ">Spin entry lock ");
	press(model, "s");
	assert_status(model, "by self");
	finish(model, profile);
}

static void enter_shows_callers_and_callees_and_escape_goes_back(void **state)
{
	struct xf_profile *profile = make_profile();
	struct xf_model *model = make_model(profile);

	(void)state;
	press(model, "jj\n");
	assert_lines(model, "Called by: >one two The function: entry Calls: lock Spin (itself) ");
	press(model, "jjj\n");
	assert_lines(model, "Called by: >entry The function: lock Calls: (itself) ");
	press(model, "j\n");
	assert_lines(model, "Called by: entry The function: >lock Calls: (itself) ");
	press(model, "\x1b");
	assert_lines(model, "Called by: one two The function: entry Calls: >lock Spin (itself) ");
	press(model, "\x1b");
	assert_lines(model, "lock Spin >entry ");
	assert_int_equal(xf_model_press(model, XF_KEY_ESCAPE), XF_WISH_LEAVE);
	assert_int_equal(xf_model_press(model, 'q'), XF_WISH_LEAVE);
	finish(model, profile);
}

static void no_function_chosen_is_said(void **state)
{
	struct xf_profile *profile = make_profile();
	struct xf_model *model = make_model(profile);

	(void)state;
	press(model, "42");
	assert_lines(model, "No function is chosen: Enter on one of page 1 does that. ");
	press(model, "j\n/");
	finish(model, profile);
}

static void a_filter_is_typed_kept_and_taken_away(void **state)
{
	struct xf_profile *profile = make_profile();
	struct xf_model *model = make_model(profile);

	(void)state;
	press(model, "/sP");
	assert_lines(model, ">Spin ");
	assert_status(model, "1 of 3, in 25.00% of samples, by self");
	press(model, "q");
	assert_lines(model, "No name here has that in it; Esc takes the filter away. ");
	press(model, "\x7f\n3");
	assert_lines(model, ">one two ");
	press(model, "\x1b");
	assert_lines(model, ">Spin ");
	press(model, "\x1b");
	assert_lines(model, ">lock Spin entry ");
	press(model, "/lo\x1b");
	assert_lines(model, ">lock Spin entry ");
	finish(model, profile);
}

static void a_filter_takes_characters_whole_and_no_more_than_fit(void **state)
{
	struct xf_profile *profile = make_profile();
	struct xf_model *model = make_model(profile);
	struct xf_model_screen screen;

	(void)state;
	press(model, "/");
	xf_model_press(model, 0x5fae);
	xf_model_press(model, 0x1f525);
	xf_model_press(model, 0xe9);
	xf_model_screen(model, &screen);
	assert_string_equal(screen.filter, "\xe5\xbe\xae\xf0\x9f\x94\xa5\xc3\xa9");
	press(model, "\x7f\x7f");
	xf_model_screen(model, &screen);
	assert_string_equal(screen.filter, "\xe5\xbe\xae");
	for (int i = 0; i < 200; i++)
		xf_model_press(model, 0x5fae);
	xf_model_screen(model, &screen);
	assert_true(strlen(screen.filter) < XF_FILTER_BYTES && strlen(screen.filter) % 3 == 0);
	for (int i = 0; i < 200; i++)
		xf_model_press(model, XF_KEY_BACKSPACE);
	xf_model_screen(model, &screen);
	assert_string_equal(screen.filter, "");
	finish(model, profile);
}

static void a_tree_opens_closes_and_turns_over(void **state)
{
	struct xf_profile *profile = make_profile();
	struct xf_model *model = make_model(profile);

	(void)state;
	press(model, "3");
	assert_lines(model, ">one two ");
	xf_model_press(model, XF_KEY_RIGHT);
	assert_lines(model, ">one entry lock Spin two ");
	assert_left(model, 1, "  83.33%   8.33%  - ");
	assert_left(model, 2, "  50.00%  50.00%      ");
	press(model, "jj");
	xf_model_press(model, XF_KEY_LEFT);
	assert_lines(model, "one >entry lock Spin two ");
	xf_model_press(model, XF_KEY_LEFT);
	assert_lines(model, "one >entry two ");
	assert_left(model, 1, "  83.33%   8.33%  + ");
	press(model, "\n");
	assert_lines(model, "one >entry lock Spin two ");
	press(model, "i");
	assert_lines(model, ">lock Spin entry ");
	assert_status(model, "innermost first");
	press(model, "e");
	assert_lines(model, ">lock entry one two Spin entry ");
	press(model, "i");
	assert_lines(model, ">one entry lock Spin two ");
	press(model, "jf");
	assert_lines(model, "Called by: >one two The function: entry Calls: lock Spin (itself) ");
	finish(model, profile);
}

static void a_filtered_tree_keeps_what_leads_there_and_what_follows(void **state)
{
	struct xf_profile *profile = make_profile();
	struct xf_model *model = make_model(profile);

	(void)state;
	press(model, "3/spin");
	assert_lines(model, ">one entry Spin ");
	press(model, "\x7f\x7f\x7f\x7f"
	             "two\n");
	assert_lines(model, ">two ");
	press(model, "e");
	assert_lines(model, ">two entry lock ");
	finish(model, profile);
}

static void a_row_restricts_to_its_domain_or_cpu(void **state)
{
	struct xf_profile *profile = make_profile();
	struct xf_profile *other = make_profile();
	struct xf_model *model = make_model(profile);

	(void)state;
	press(model, "4");
	assert_lines(model, "Domains: >one two Physical CPUs: pCPU 0 pCPU 3 Virtual CPUs: one "
	                    "vCPU 0 two vCPU 0 What was running: xen ");
	press(model, "j");
	assert_int_equal(xf_model_press(model, XF_KEY_ENTER), XF_WISH_PROFILE);
	assert_string_equal(xf_model_selection(model)->domain, "two");
	assert_int_equal(xf_model_selection(model)->pcpu, XF_ANY_PCPU);
	assert_int_equal(xf_model_show(model, other), 0);
	xf_profile_free(profile);
	press(model, "4jjj");
	assert_int_equal(xf_model_press(model, XF_KEY_ENTER), XF_WISH_PROFILE);
	assert_string_equal(xf_model_selection(model)->domain, "two");
	assert_int_equal(xf_model_selection(model)->pcpu, 3);
	assert_int_equal(xf_model_show(model, other), 0);
	assert_int_equal(xf_model_press(model, XF_KEY_ESCAPE), XF_WISH_PROFILE);
	assert_null(xf_model_selection(model)->domain);
	assert_int_equal(xf_model_selection(model)->pcpu, XF_ANY_PCPU);
	assert_int_equal(xf_model_show(model, other), 0);
	assert_int_equal(xf_model_press(model, XF_KEY_ESCAPE), XF_WISH_LEAVE);
	finish(model, other);
}

static void add_times(struct xf_profile *profile, const char *domain, uint16_t domid,
                      uint64_t waiting)
{
	struct xf_vcpu_times *times = &profile->vcpu_times;

	times->rows = realloc(times->rows, (times->nr + 1) * sizeof(*times->rows));
	times->rows[times->nr++] = (struct xf_vcpu_time){
	        .domain = strdup(domain), .domid = domid, .time = {100 - waiting, waiting}};
}

static void what_the_scheduler_did_stands_with_the_domains(void **state)
{
	struct xf_profile *profile = make_profile();
	struct xf_model *model;
	struct xf_model_line line;

	(void)state;
	add_times(profile, "one", 1, 20);
	add_times(profile, "one", 1, 40);
	add_times(profile, "two", 2, 100);
	add_times(profile, "Idle", XF_DOMID_IDLE, 0);
	model = make_model(profile);
	press(model, "4");
	assert_lines(model,
	             "Domains: >one two  Running Waiting Blocked Offline Unknown  What Xen's "
	             "scheduler did: one, 2 vCPUs two, 1 vCPU Physical CPUs: pCPU 0 pCPU 3 Virtual "
	             "CPUs: one vCPU 0 two vCPU 0 What was running: xen ");
	xf_model_line(model, 4, &line);
	assert_string_equal(line.left, "  70.00%  30.00%       -       -       -  ");
	press(model, "jj");
	/* Enter and the sandwich have nothing to do there. */
	assert_int_equal(xf_model_press(model, XF_KEY_ENTER), XF_WISH_DRAW);
	press(model, "2");
	assert_lines(model, "No function is chosen: Enter on one of page 1 does that. ");
	press(model, "4/two\r");
	assert_lines(model, "Domains: >two  Running Waiting Blocked Offline Unknown  What Xen's "
	                    "scheduler did: two, 1 vCPU Physical CPUs: Virtual CPUs: two vCPU 0 "
	                    "What was running: ");
	finish(model, profile);
}

/* ---- Long and deep --------------------------------------------------------------------------- */

static struct xf_profile *make_deep(void)
{
	struct xf_profile *profile = make_profile();
	struct xf_node_id node = XF_CALLTREE_ROOT;
	char name[32];

	for (int i = 0; i < DEEP; i++) {
		snprintf(name, sizeof(name), "f%d", i);
		node = add(profile->tree, node, XF_FRAME_XEN, name, 0);
		/* A second way every thousand frames, so that it is indented. */
		if (i % 1000 == 0)
			add(profile->tree, node, XF_FRAME_XEN, "side", 1);
	}
	xf_calltree_count(profile->tree, node, 100);
	profile->samples += 105;
	assert_int_equal(xf_calltree_finish(profile->tree), 0);
	return profile;
}

static void assert_on_screen(struct xf_model *model, size_t rows)
{
	struct xf_model_screen screen;

	xf_model_screen(model, &screen);
	assert_true(screen.selected < screen.nr);
	assert_true(screen.top <= screen.selected && screen.selected < screen.top + rows);
	assert_true(screen.nr <= rows || screen.top + rows <= screen.nr);
}

static void the_selected_line_stays_on_the_screen(void **state)
{
	static const uint32_t keys[] = {XF_KEY_DOWN,    XF_KEY_PAGE_DOWN, XF_KEY_UP,
	                                XF_KEY_PAGE_UP, XF_KEY_END,       XF_KEY_PAGE_UP,
	                                XF_KEY_UP,      XF_KEY_HOME,      XF_KEY_PAGE_DOWN,
	                                XF_KEY_UP,      XF_KEY_PAGE_DOWN, XF_KEY_END};
	struct xf_profile *profile = make_deep();
	struct xf_model *model = make_model(profile);

	(void)state;
	for (size_t rows = 1; rows < 40; rows++) {
		xf_model_resize(model, rows);
		for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
			assert_on_screen(model, rows);
			xf_model_press(model, keys[i]);
			assert_on_screen(model, rows);
		}
	}
	finish(model, profile);
}

static void five_thousand_frames_are_shown_and_fit(void **state)
{
	struct xf_profile *profile = make_deep();
	struct xf_model *model = make_model(profile);
	struct xf_model_screen screen;
	struct xf_model_line line;

	(void)state;
	press(model, "3e");
	xf_model_press(model, XF_KEY_END);
	xf_model_screen(model, &screen);
	assert_true(screen.nr > DEEP);
	for (size_t i = 0; i < screen.nr; i++) {
		xf_model_line(model, i, &line);
		assert_true(strlen(line.left) < 70);
	}
	press(model, "g/f4999");
	xf_model_screen(model, &screen);
	assert_int_equal(screen.nr, DEEP);
	press(model, "\x1b"
	             "i");
	xf_model_press(model, XF_KEY_HOME);
	press(model, "e");
	finish(model, profile);
}

static void help_scrolls_and_ends(void **state)
{
	struct xf_profile *profile = make_profile();
	struct xf_model *model = make_model(profile);
	struct xf_model_screen screen;

	(void)state;
	press(model, "?j");
	xf_model_screen(model, &screen);
	assert_int_equal(screen.page, XF_PAGE_HELP);
	assert_int_equal(screen.top, 1);
	press(model, "G");
	xf_model_screen(model, &screen);
	assert_int_equal(screen.top + 18, screen.nr);
	press(model, "k/");
	xf_model_screen(model, &screen);
	assert_int_equal(screen.top + 19, screen.nr);
	assert_false(screen.typing);
	press(model, "\x1b");
	assert_lines(model, ">lock Spin entry ");
	finish(model, profile);
}

static void the_way_back_may_be_long(void **state)
{
	struct xf_profile *profile = make_profile();
	struct xf_model *model = make_model(profile);

	(void)state;
	for (int i = 0; i < 1000; i++)
		press(model, "\t");
	for (int i = 0; i < 64; i++)
		press(model, "\x1b");
	assert_int_equal(xf_model_press(model, XF_KEY_ESCAPE), XF_WISH_LEAVE);
	finish(model, profile);
}

/* Whatever is pressed, every line can be shown and the screen holds what it says it holds. */
static void no_keys_lead_astray(void **state)
{
	static const uint32_t keys[] = {
	        XF_KEY_UP,   XF_KEY_DOWN,  XF_KEY_LEFT,   XF_KEY_RIGHT, XF_KEY_PAGE_UP,
	        XF_KEY_HOME, XF_KEY_END,   XF_KEY_ESCAPE, XF_KEY_ENTER, XF_KEY_TAB,
	        XF_KEY_DOWN, XF_KEY_RIGHT, XF_KEY_OTHER,  XF_KEY_ENTER, XF_KEY_PAGE_DOWN,
	        '1',         '2',          '3',           '4',          'e',
	        'i',         'f',          's',           '/',          '?',
	        '<',         '>',          '+',           '-',          XF_KEY_BACKSPACE,
	        'l',         'o',          0x5fae,        'G',          0};
	struct xf_profile *profile = make_profile();
	struct xf_model *model = make_model(profile);
	struct xf_model_screen screen;
	struct xf_model_line line;
	uint32_t random = 1;

	(void)state;
	for (int i = 0; i < 100000; i++) {
		enum xf_wish wish;

		random = random * 1664525 + 1013904223;
		if (random >> 28 == 0)
			xf_model_resize(model, random >> 20 & 31);
		wish = xf_model_press(model,
		                      keys[(random >> 8) % (sizeof(keys) / sizeof(keys[0]))]);
		assert_int_not_equal(wish, XF_WISH_GIVE_UP);
		if (wish == XF_WISH_PROFILE)
			assert_int_equal(xf_model_show(model, profile), 0);
		xf_model_screen(model, &screen);
		assert_true(screen.nr > 0 && screen.top < screen.nr);
		assert_true(screen.selected < screen.nr || screen.selected == SIZE_MAX);
		for (size_t at = 0; at < screen.nr; at++) {
			xf_model_line(model, at, &line);
			assert_non_null(line.name);
		}
	}
	finish(model, profile);
}

/* ---- Colours --------------------------------------------------------------------------------- */

static double linear(double channel)
{
	static const double table[] = {
	        [0] = 0.0,        [95] = 0.114435,  [118] = 0.181164, [135] = 0.242281,
	        [175] = 0.428690, [215] = 0.679542, [255] = 1.0};

	return table[(int)channel];
}

/* Of a colour of xterm's palette, by the W3C's relative luminance. */
static double luminance(int colour)
{
	static const double steps[] = {0, 95, 135, 175, 215, 255};
	int cube = colour - 16;

	if (colour >= 232)
		return linear(8 + 10 * (colour - 232));
	return 0.2126 * linear(steps[cube / 36]) + 0.7152 * linear(steps[cube / 6 % 6]) +
	       0.0722 * linear(steps[cube % 6]);
}

static void colours_are_read_on_black_and_on_white(void **state)
{
	(void)state;
	for (int kind = 0; kind < XF_FRAME_KINDS; kind++) {
		struct xf_colour colour = xf_palette((enum xf_frame_kind)kind);

		assert_true(colour.of_8 != 0 && colour.of_8 != 3 && colour.of_8 != 7);
		if (colour.of_256 == XF_COLOUR_DEFAULT)
			continue;
		assert_true((luminance(colour.of_256) + 0.05) / 0.05 >= 4);
		assert_true(1.05 / (luminance(colour.of_256) + 0.05) >= 4);
	}
	assert_int_equal(xf_palette(XF_FRAME_KINDS).of_256, XF_COLOUR_DEFAULT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(functions_stand_by_self_total_or_name),
	        cmocka_unit_test(enter_shows_callers_and_callees_and_escape_goes_back),
	        cmocka_unit_test(no_function_chosen_is_said),
	        cmocka_unit_test(a_filter_is_typed_kept_and_taken_away),
	        cmocka_unit_test(a_filter_takes_characters_whole_and_no_more_than_fit),
	        cmocka_unit_test(a_tree_opens_closes_and_turns_over),
	        cmocka_unit_test(a_filtered_tree_keeps_what_leads_there_and_what_follows),
	        cmocka_unit_test(a_row_restricts_to_its_domain_or_cpu),
	        cmocka_unit_test(what_the_scheduler_did_stands_with_the_domains),
	        cmocka_unit_test(the_selected_line_stays_on_the_screen),
	        cmocka_unit_test(five_thousand_frames_are_shown_and_fit),
	        cmocka_unit_test(help_scrolls_and_ends),
	        cmocka_unit_test(the_way_back_may_be_long),
	        cmocka_unit_test(no_keys_lead_astray),
	        cmocka_unit_test(colours_are_read_on_black_and_on_white),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
