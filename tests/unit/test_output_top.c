// SPDX-License-Identifier: GPL-2.0-or-later
/* The live view as text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "make_moment.h"

static char *written(const struct xf_top_moment *moment, uint32_t most)
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(xf_top_write(out, moment, most), 0);
	fclose(out);
	return text;
}

static void a_moment_is_a_block_of_text(void **state)
{
	struct made_moment *made = make_moment("web-1");
	char *text = written(&made->moment, 0);

	(void)state;
	assert_string_equal(
	        text, "Top        2026-11-30 04:13:07 UTC, labhost, Xen 4.17.7, 3 pCPUs\n"
	              "Samples    200 in 1.0 s at 99 Hz (guests 24.5%, Xen 22.0%, idle 53.5%)\n"
	              "Quality    lost 3, incomplete 2 (4.5% of Xen's)\n"
	              "Own cost   93 samples/s, agent 2.0%, 50.0 KiB/s, 1.2% of a CPU in dom0\n"
	              "    Idle     Xen dom0krn dom0usr  Guests  Samples  pCPU\n"
	              "  53.50%  22.00%  10.00%   5.00%   9.50%      200  all\n"
	              "  30.69%  39.60%  19.80%   9.90%       -      101  pCPU 0\n"
	              "  76.77%   4.04%       -       -  19.19%       99  pCPU 1\n"
	              "       -       -       -       -       -        0  pCPU 2\n"
	              "   Share     Xen  Kernel    User          Samples  Domain\n"
	              "  35.00%  20.00%  10.00%   5.00%               70  Domain-0\n"
	              "  11.50%   2.00%       -   9.50%               23  web-1\n"
	              "  53.50%       -       -       -              107  Idle\n"
	              "    Self   Total  Samples  Function\n"
	              "  15.00%  15.00%       30  do_xen_version\n"
	              "  10.00%  10.00%       20  vfs_read\n"
	              "   9.50%   9.50%       19  [guest user]\n"
	              "   5.00%  20.00%       10  pv_hypercall\n"
	              "   5.00%   5.00%       10  [user]\n"
	              "   1.50%   1.50%        3  trace\n"
	              "   0.50%   2.00%        1  xf_emit\n"
	              "       -   2.00%        0  exit\n"
	              "\n");
	free(text);
	free_moment(made);
}

static void only_so_many_functions_are_listed(void **state)
{
	struct made_moment *made = make_moment("web-1");
	char *text = written(&made->moment, 2);

	(void)state;
	assert_non_null(strstr(text, "20  vfs_read\n(6 more)\n\n"));
	free(text);
	free_moment(made);
}

static void names_that_nobody_would_choose_stay_in_their_line(void **state)
{
	struct made_moment *made = make_moment("a\nTop \x1b[31m\xff\xe2\x80\xae");
	char *text;

	(void)state;
	made->interval.host = "h\n\x07";
	text = written(&made->moment, 0);
	assert_non_null(strstr(text, "23  a\\x0aTop \\x1b[31m\\xff\\u202e\n"));
	assert_non_null(strstr(text, ", h\\x0a\\x07, Xen"));
	free(text);
	free_moment(made);
}

static void without_a_sample_all_pcpus_are_there_still(void **state)
{
	struct made_moment *made = make_moment("web-1");
	char *text;

	(void)state;
	made->interval.profile = NULL;
	made->interval.host = made->interval.xen_version = "";
	made->interval.frequency = made->interval.bytes = made->interval.lost = 0;
	made->interval.skipped = 12345;
	made->interval.left_out = 4096;
	made->moment.nanoseconds = made->moment.time = 0;
	made->moment.records = false;
	text = written(&made->moment, 0);
	assert_string_equal(
	        text, "Top        unnamed host, 3 pCPUs\n"
	              "Samples    0 in 0.0 s\n"
	              "Quality    lost 0, skipped 12,345, incomplete 0, too much to show: 4 KiB "
	              "left out\n"
	              "Own cost   0 samples/s, agent 0.0%, 0.0 KiB/s, 0.0% of a CPU for this view\n"
	              "    Idle     Xen dom0krn dom0usr  Guests  Samples  pCPU\n"
	              "       -       -       -       -       -        0  all\n"
	              "       -       -       -       -       -        0  pCPU 0\n"
	              "       -       -       -       -       -        0  pCPU 1\n"
	              "       -       -       -       -       -        0  pCPU 2\n"
	              "\n");
	free(text);
	free_moment(made);
}

static void a_filter_leaves_what_has_it_in_its_name(void **state)
{
	static const struct xf_sort by_name = {.keys = {XF_SORT_NAME}, .nr = 1};
	struct made_moment *made = make_moment("web-1");
	struct xf_top_lines lines;

	(void)state;
	assert_int_equal(xf_top_lines_of(&made->moment, XF_TOP_FUNCTIONS, &by_name, "USER", &lines),
	                 0);
	assert_int_equal(lines.of, 8);
	assert_int_equal(lines.nr, 2);
	assert_string_equal(lines.lines[0].name, "[guest user]");
	assert_string_equal(lines.lines[1].name, "[user]");
	free(lines.lines);
	assert_int_equal(xf_top_lines_of(&made->moment, XF_TOP_PCPUS, &by_name, "CPU 1", &lines),
	                 0);
	assert_int_equal(lines.nr, 1);
	assert_string_equal(lines.lines[0].name, "pCPU 1");
	free(lines.lines);
	free_moment(made);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(a_moment_is_a_block_of_text),
	        cmocka_unit_test(only_so_many_functions_are_listed),
	        cmocka_unit_test(names_that_nobody_would_choose_stay_in_their_line),
	        cmocka_unit_test(without_a_sample_all_pcpus_are_there_still),
	        cmocka_unit_test(a_filter_leaves_what_has_it_in_its_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
