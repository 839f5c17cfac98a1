// SPDX-License-Identifier: GPL-2.0-or-later
/* The live view without a terminal: moments and keys go in, lines come out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "make_moment.h"
#include "terminal/top_model.h"

#define SECOND 1000000000ull

static struct xf_top_model *begin(const struct made_moment *made, size_t rows)
{
	struct xf_top_model *model = xf_top_model_new(SECOND);

	assert_non_null(model);
	assert_int_equal(xf_top_model_resize(model, rows), 0);
	if (made)
		assert_int_equal(xf_top_model_show(model, &made->moment), 0);
	return model;
}

static void press(struct xf_top_model *model, const char *keys)
{
	for (; *keys; keys++)
		assert_int_equal(xf_top_model_press(model, (uint32_t)*keys), XF_WISH_DRAW);
}

/* The names that are shown, headings as ':'. */
static void assert_lines(struct xf_top_model *model, const char *expected)
{
	struct xf_top_screen screen;
	struct xf_model_line line;
	char text[1024] = "";

	xf_top_model_screen(model, &screen);
	for (size_t i = 0; i < screen.nr; i++) {
		size_t used = strlen(text);

		xf_top_model_line(model, i, &line);
		snprintf(text + used, sizeof(text) - used, "%s ", line.heading ? ":" : line.name);
	}
	assert_string_equal(text, expected);
}

static void assert_status(struct xf_top_model *model, const char *expected)
{
	struct xf_top_screen screen;

	xf_top_model_screen(model, &screen);
	assert_string_equal(screen.status, expected);
}

static void assert_prompt(struct xf_top_model *model, const char *expected)
{
	struct xf_top_screen screen;

	xf_top_model_screen(model, &screen);
	assert_string_equal(screen.prompt, expected);
}

static void the_first_page_has_the_beginning_of_all(void **state)
{
	struct made_moment *made = make_moment("web-1");
	struct xf_top_model *model = begin(made, 18);

	(void)state;
	assert_lines(model, ": all pCPU 0 pCPU 1 : Idle Domain-0 web-1 : xl (7) bash (31) "
	                    ": do_xen_version vfs_read [guest user] pv_hypercall [user] trace ");
	assert_int_equal(xf_top_model_resize(model, 12), 0);
	assert_lines(model, ": all pCPU 0 : Idle Domain-0 : xl (7) bash (31) : do_xen_version "
	                    "vfs_read ");
	assert_int_equal(xf_top_model_resize(model, 7), 0);
	assert_lines(model, ": all pCPU 0 : Idle Domain-0 : xl (7) bash (31) ");
	assert_int_equal(xf_top_model_resize(model, 1), 0);
	press(model, "2345h1");
	xf_top_model_free(model);
	free_moment(made);
}

static void each_page_has_all_of_one_kind(void **state)
{
	struct made_moment *made = make_moment("web-1");
	struct xf_top_model *model = begin(made, 6);

	(void)state;
	press(model, "2");
	assert_lines(model, ": do_xen_version vfs_read [guest user] pv_hypercall [user] ");
	press(model, "jj");
	assert_lines(model, ": [guest user] pv_hypercall [user] trace xf_emit ");
	press(model, "G");
	assert_lines(model, ": exit ");
	press(model, "g");
	assert_lines(model, ": do_xen_version vfs_read [guest user] pv_hypercall [user] ");
	press(model, "G\t");
	assert_lines(model, ": xl (7) bash (31) ");
	press(model, "\t");
	assert_lines(model, ": Idle Domain-0 web-1 ");
	press(model, "\t");
	assert_lines(model, ": all pCPU 0 pCPU 1 pCPU 2 ");
	press(model, "\t\t2");
	assert_status(model, "every 1 s, by self");
	xf_top_model_free(model);
	free_moment(made);
}

static void functions_stand_by_self_total_or_name(void **state)
{
	struct made_moment *made = make_moment("web-1");
	struct xf_top_model *model = begin(made, 4);

	(void)state;
	press(model, "2s");
	assert_lines(model, ": pv_hypercall do_xen_version vfs_read ");
	assert_status(model, "every 1 s, by total");
	press(model, "s");
	assert_lines(model, ": [guest user] [user] do_xen_version ");
	press(model, "s");
	assert_lines(model, ": do_xen_version vfs_read [guest user] ");
	xf_top_model_free(model);
	free_moment(made);
}

static void a_filter_is_typed_kept_and_taken_away(void **state)
{
	struct made_moment *made = make_moment("web-1");
	struct xf_top_model *model = begin(made, 9);

	(void)state;
	press(model, "2/XEq");
	assert_prompt(model, "/XEq_");
	assert_lines(model, ": ");
	press(model, "\x7fN\n");
	assert_prompt(model, "/XEN");
	assert_lines(model, ": do_xen_version ");
	assert_status(model, "every 1 s, by self, 1 of 8");
	assert_int_equal(xf_top_model_show(model, &made->moment), 0);
	assert_lines(model, ": do_xen_version ");
	press(model, "\x1b");
	assert_prompt(model, "");
	press(model, "fweb\n4");
	assert_lines(model, ": web-1 ");
	press(model, "\x1b/BASH\n3");
	assert_lines(model, ": bash (31) ");
	press(model, "5");
	assert_lines(model, ": all pCPU 0 pCPU 1 pCPU 2 ");
	xf_top_model_free(model);
	free_moment(made);
}

static void the_delay_can_be_chosen(void **state)
{
	struct made_moment *made = make_moment("web-1");
	struct xf_top_model *model = begin(made, 9);

	(void)state;
	press(model, "++");
	assert_int_equal(xf_top_model_delay(model), 3 * SECOND);
	press(model, "------");
	assert_int_equal(xf_top_model_delay(model), SECOND / 2);
	press(model, "++++++++++++");
	assert_int_equal(xf_top_model_delay(model), 60 * SECOND);
	press(model, "d2.5\n");
	assert_int_equal(xf_top_model_delay(model), 5 * SECOND / 2);
	press(model, "d9");
	assert_prompt(model, "Seconds: 9_");
	press(model, "\x1b");
	assert_int_equal(xf_top_model_delay(model), 5 * SECOND / 2);
	press(model, "d0\ndx\nd1e9\ndnan\nd\nd-1\n");
	assert_int_equal(xf_top_model_delay(model), 5 * SECOND / 2);
	press(model, "+");
	assert_int_equal(xf_top_model_delay(model), 3 * SECOND);
	xf_top_model_free(model);
	free_moment(made);
}

static void it_can_be_held(void **state)
{
	struct made_moment *made = make_moment("web-1");
	struct xf_top_model *model = begin(made, 9);

	(void)state;
	press(model, "p");
	assert_true(xf_top_model_paused(model));
	assert_status(model, "held; every 1 s, by self");
	xf_top_model_note(model, "the recording has ended");
	assert_status(model, "held; the recording has ended; every 1 s, by self");
	press(model, " ");
	assert_false(xf_top_model_paused(model));
	assert_int_equal(xf_top_model_press(model, 'q'), XF_WISH_LEAVE);
	xf_top_model_free(model);
	free_moment(made);
}

static void help_goes_back_to_where_it_came_from(void **state)
{
	struct made_moment *made = make_moment("web-1");
	struct xf_top_model *model = begin(made, 4);
	struct xf_model_line line;

	(void)state;
	press(model, "4h");
	xf_top_model_line(model, 0, &line);
	assert_string_equal(line.name, "Pages");
	press(model, "j");
	xf_top_model_line(model, 0, &line);
	assert_non_null(strstr(line.name, "1 to 5"));
	press(model, "G?h\x1b");
	assert_lines(model, ": Idle Domain-0 web-1 ");
	xf_top_model_free(model);
	free_moment(made);
}

static void before_anything_has_come_keys_do_no_harm(void **state)
{
	struct xf_top_model *model = begin(NULL, 9);
	struct xf_top_screen screen;

	(void)state;
	press(model, "2345\t1jGgsp+-/x\n\x1b<>h\x1b");
	assert_lines(model, "");
	xf_top_model_screen(model, &screen);
	assert_string_equal(screen.facts->title, "");
	xf_top_model_free(model);
}

static void without_a_sample_pcpus_are_shown(void **state)
{
	struct made_moment *made = make_moment("web-1");
	struct xf_top_model *model;

	(void)state;
	made->interval.profile = NULL;
	model = begin(made, 18);
	assert_lines(model, ": all pCPU 0 pCPU 1 : ");
	press(model, "2G3G4G5G");
	xf_top_model_free(model);
	free_moment(made);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(the_first_page_has_the_beginning_of_all),
	        cmocka_unit_test(each_page_has_all_of_one_kind),
	        cmocka_unit_test(functions_stand_by_self_total_or_name),
	        cmocka_unit_test(a_filter_is_typed_kept_and_taken_away),
	        cmocka_unit_test(the_delay_can_be_chosen),
	        cmocka_unit_test(it_can_be_held),
	        cmocka_unit_test(help_goes_back_to_where_it_came_from),
	        cmocka_unit_test(before_anything_has_come_keys_do_no_harm),
	        cmocka_unit_test(without_a_sample_pcpus_are_shown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
