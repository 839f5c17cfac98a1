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
#include "profile/breakdown.h"

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
	              "   Share     Xen  Kernel    User          Samples  Process\n"
	              "  20.00%  20.00%       -       -               40  xl (7)\n"
	              "  15.00%       -  10.00%   5.00%               30  bash (31)\n"
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

static void only_so_many_functions_and_processes_are_listed(void **state)
{
	struct made_moment *made = make_moment("web-1");
	char *text = written(&made->moment, 1);

	(void)state;
	assert_non_null(strstr(text, "30  do_xen_version\n(7 more)\n\n"));
	assert_non_null(strstr(text, "40  xl (7)\n(1 more)\n"));
	assert_non_null(strstr(text, "23  web-1\n"));
	free(text);
	free_moment(made);
}

/* Of processes that were not recorded, and of samples whose process is not known. */
static void what_is_not_known_of_processes_is_told(void **state)
{
	struct made_moment *made = make_moment("web-1");
	char *text;

	(void)state;
	made->profile.counts.process_unknown = 1234;
	text = written(&made->moment, 0);
	assert_non_null(strstr(text, "incomplete 2 (4.5% of Xen's), process unknown 1,234\n"));
	free(text);
	made->profile.counts.process_unknown = made->groups[0].counts.processes = 0;
	text = written(&made->moment, 0);
	assert_non_null(strstr(text, "incomplete 2 (4.5% of Xen's), without processes\n"));
	free(text);
	free_moment(made);
}

/* Those of other domains bear its name. */
static void processes_of_guests_are_told_by_their_domain(void **state)
{
	struct made_moment *made = make_moment("web-1");
	struct xf_profile *profile = &made->profile;
	struct xf_top_lines lines;
	static const struct xf_sort own_order = {0};
	struct xf_node_id node;

	(void)state;
	node = made_node(profile->tree, XF_CALLTREE_ROOT, XF_FRAME_DOMAIN, "web-1", 0);
	node = made_node(profile->tree, node, XF_FRAME_PROCESS, "bash (31)", 90);
	assert_int_equal(xf_calltree_finish(profile->tree), 0);
	assert_int_equal(
	        xf_top_lines_of(&made->moment, XF_TOP_PROCESSES, &own_order, "bash", &lines), 0);
	assert_int_equal(lines.nr, 2);
	assert_string_equal(lines.lines[0].name, "web-1: bash (31)");
	assert_string_equal(lines.lines[1].name, "bash (31)");
	free(lines.lines);
	assert_int_equal(
	        xf_top_lines_of(&made->moment, XF_TOP_PROCESSES, &own_order, "WEB", &lines), 0);
	assert_int_equal(lines.nr, 1);
	free(lines.lines);
	free_moment(made);
}

/* A process is one line whatever pCPU it ran on, and its samples are all that stands on its frame.
 */
static void a_processs_samples_are_counted_once_by_whose_code_ran(void **state)
{
	static const struct xf_sort by_name = {.keys = {XF_SORT_NAME}, .nr = 1};
	struct xf_profile profile = {.tree = xf_calltree_new()};
	struct xf_node_id domain, process;
	struct xf_breakdown_row *rows;
	size_t nr;

	(void)state;
	for (int i = 0; i < 2; i++) {
		domain = made_node(profile.tree, XF_CALLTREE_ROOT, XF_FRAME_DOMAIN, "Domain-0", 0);
		domain = made_node(profile.tree, domain, XF_FRAME_PCPU, i ? "pCPU 1" : "pCPU 0", 0);
		process = made_node(profile.tree, domain, XF_FRAME_PROCESS, "b", 0);
		made_node(profile.tree, process, XF_FRAME_GUEST, "[guest kernel]", 1);
		made_node(profile.tree, process, XF_FRAME_GUEST, "[guest user]", 2);
		process = made_node(profile.tree, process, XF_FRAME_USER, "main", 4);
		process = made_node(profile.tree, process, XF_FRAME_KERNEL, "read", 8);
		process = made_node(profile.tree, process, XF_FRAME_XEN, "hypercall", 16);
		made_node(profile.tree, process, XF_FRAME_UNKNOWN, "[run-time stub]", 32);
		made_node(profile.tree, domain, XF_FRAME_XEN, "nobody's", 64);
	}
	assert_int_equal(xf_calltree_finish(profile.tree), 0);
	assert_int_equal(xf_breakdown(&profile, XF_BY_PROCESS, &by_name, &rows, &nr), 0);
	assert_int_equal(nr, 2);
	assert_int_equal(rows[0].process.index, 0);
	assert_int_equal(rows[0].samples, 128);
	assert_string_equal(xf_calltree_name(profile.tree, rows[1].process), "b");
	assert_string_equal(xf_calltree_name(profile.tree, rows[1].domain), "Domain-0");
	assert_int_equal(rows[1].samples, 126);
	assert_int_equal(rows[1].counts.xen, 96);
	assert_int_equal(rows[1].counts.guest, 30);
	assert_int_equal(rows[1].counts.guest_kernel, 18);
	free(rows);
	xf_calltree_free(profile.tree);
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
	        cmocka_unit_test(only_so_many_functions_and_processes_are_listed),
	        cmocka_unit_test(what_is_not_known_of_processes_is_told),
	        cmocka_unit_test(processes_of_guests_are_told_by_their_domain),
	        cmocka_unit_test(a_processs_samples_are_counted_once_by_whose_code_ran),
	        cmocka_unit_test(names_that_nobody_would_choose_stay_in_their_line),
	        cmocka_unit_test(without_a_sample_all_pcpus_are_there_still),
	        cmocka_unit_test(a_filter_leaves_what_has_it_in_its_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
