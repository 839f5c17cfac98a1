// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The self-test's report: each promise that is broken is told as broken, and no other. With
 * XENFLAME_UPDATE_GOLDEN=1 what comes out is written as what is expected.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output/self_test.h"
#include "read_file.h"
#include "xenflame/sample.h"

#define GOLDEN "tests/golden/expected/self-test.report"

static const struct xf_self_test_line head[] = {
        {"xenflame", "0.1.0"},
        {"version", "Xen 4.20.1"},
        {"live patches", "vendor\x1b[31m (applied)"},
};

struct fixture {
	struct xf_profile profile;
	struct xf_pcpu_statistics books[2];
	struct xf_self_test test;
};

static void add_stack(struct xf_calltree *tree, enum xf_frame_kind first, const char *name,
                      enum xf_frame_kind then, const char *inner, uint64_t count)
{
	struct xf_frame_id frame;
	struct xf_node_id node;

	assert_int_equal(xf_calltree_frame(tree, first, name, &frame), 0);
	assert_int_equal(xf_calltree_child(tree, XF_CALLTREE_ROOT, frame, &node), 0);
	assert_int_equal(xf_calltree_frame(tree, then, inner, &frame), 0);
	assert_int_equal(xf_calltree_child(tree, node, frame, &node), 0);
	xf_calltree_count(tree, node, count);
}

/* 990 ticks of two pCPUs in five seconds: 600 samples, 590 of them delivered, and 390 idle. */
static int set_up(void **state)
{
	struct fixture *made = calloc(1, sizeof(*made));
	struct xf_self_test_state host = {
	        .known = true, .patches = "vendor (applied)", .mask = 0x0ffff000};

	made->profile.tree = xf_calltree_new();
	add_stack(made->profile.tree, XF_FRAME_DOMAIN, "secret", XF_FRAME_XEN, "do_sched_op", 380);
	add_stack(made->profile.tree, XF_FRAME_DOMAIN, "secret", XF_FRAME_AGENT, "xf_pace_tick", 7);
	add_stack(made->profile.tree, XF_FRAME_AGENT, "xf_emit_softirq", XF_FRAME_AGENT, "emit", 3);
	add_stack(made->profile.tree, XF_FRAME_INCOMPLETE, "[incomplete: not-text]", XF_FRAME_XEN,
	          "a", 4);
	add_stack(made->profile.tree, XF_FRAME_INCOMPLETE, "[incomplete: livepatch-text]",
	          XF_FRAME_XEN, "b", 6);
	assert_int_equal(xf_calltree_finish(made->profile.tree), 0);
	made->profile.counts =
	        (struct xf_profile_counts){.guest = 190, .xen = 400, .idle = 390, .incomplete = 10};
	made->profile.samples = 980;
	made->books[0] = (struct xf_pcpu_statistics){.pcpu = 0,
	                                             .flags = XF_STATISTICS_CLOSED,
	                                             .produced = 400,
	                                             .taken = 396,
	                                             .lost_slot = 1,
	                                             .lost_nmi = 3,
	                                             .delivered = 394,
	                                             .lost_trace = 2,
	                                             .idle = 100};
	made->books[1] = (struct xf_pcpu_statistics){.pcpu = 1,
	                                             .flags = XF_STATISTICS_CLOSED,
	                                             .produced = 200,
	                                             .taken = 196,
	                                             .lost_nmi = 4,
	                                             .delivered = 196,
	                                             .idle = 290};
	made->test = (struct xf_self_test){.head = head,
	                                   .nr_head = 3,
	                                   .books = made->books,
	                                   .nr_books = 2,
	                                   .online_pcpus = 2,
	                                   .idle = 390,
	                                   .skipped = 5,
	                                   .before = host,
	                                   .between = host,
	                                   .last = host,
	                                   .profile = &made->profile,
	                                   .second_went_quiet = true,
	                                   .frequency = 99,
	                                   .duration_ms = 5000,
	                                   .start_ms = 110,
	                                   .stop_ms = 20,
	                                   .end_ms = 30,
	                                   .lease_ms = 1760,
	                                   .cpu_ms = 250,
	                                   .bytes = 100000,
	                                   .tsc_hz = 2400000000,
	                                   .measured_hz = 2400100000,
	                                   .monotonic_ms = 5200};
	*state = made;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *made = *state;

	xf_calltree_free(made->profile.tree);
	free(made);
	return 0;
}

/* Return: the report, to be freed, which has @broken lines "NOT ok". */
static char *report(const struct xf_self_test *test, unsigned int broken)
{
	char *text = NULL, *line;
	size_t size = 0;
	unsigned int found = 0;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(xf_self_test_write(out, test), broken);
	fclose(out);
	for (line = text; line && *line; line = strchr(line, '\n')) {
		line += *line == '\n';
		found += strncmp(line, "NOT ok  ", 8) == 0;
	}
	assert_int_equal(found, broken);
	return text;
}

/* The report has exactly one broken promise, in a line with @words. */
static void breaks(const struct xf_self_test *test, const char *words)
{
	char *text = report(test, 1);
	char *line = strstr(text, "NOT ok  ");

	line[strcspn(line, "\n")] = '\0';
	if (!strstr(line, words))
		fail_msg("'%s' has no '%s'", line, words);
	free(text);
}

static void has_line(const struct xf_self_test *test, const char *line)
{
	char *text = report(test, 0);

	if (!strstr(text, line))
		fail_msg("no '%s' in %s", line, text);
	free(text);
}

/* ---- Tests ----------------------------------------------------------------------------------- */

static void a_good_host_is_told_as_the_golden_file_says(void **state)
{
	struct fixture *made = *state;
	char *text = report(&made->test, 0);
	size_t size = 0;
	char *wanted;

	if (getenv("XENFLAME_UPDATE_GOLDEN")) {
		FILE *file = fopen(GOLDEN, "w");

		assert_non_null(file);
		fputs(text, file);
		fclose(file);
	}
	wanted = read_file(GOLDEN, &size);
	assert_non_null(wanted);
	assert_int_equal(strlen(text), size);
	assert_memory_equal(text, wanted, size);
	free(wanted);
	free(text);
}

static void no_names_of_domains_are_told(void **state)
{
	struct fixture *made = *state;
	char *text = report(&made->test, 0);

	assert_null(strstr(text, "secret"));
	assert_null(strchr(text, '\x1b'));
	free(text);
}

static void an_agent_that_does_not_start_is_all_that_is_told(void **state)
{
	struct fixture *made = *state;
	char *text;

	made->test.start_error = "the agent refuses to start: for this test";
	made->test.after = 5;
	breaks(&made->test, "the agent starts: the agent refuses");
	text = report(&made->test, 1);
	assert_null(strstr(text, "Figures"));
	assert_non_null(strstr(text, "1 of these promises is NOT kept"));
	free(text);
}

static void errors_on_the_way_break_their_promises(void **state)
{
	struct fixture *made = *state;
	struct xf_self_test *test = &made->test, good = made->test;

	test->early_end = "disk full";
	breaks(test, "goes on until its end: disk full");
	*test = good;
	test->stop_error = "not all pCPUs";
	breaks(test, "closed its books: 2 of 2 online; not all pCPUs");
	*test = good;
	test->end_error = "unloading: EBUSY";
	breaks(test, "live patches are as before: vendor (applied); unloading: EBUSY");
	*test = good;
	test->second_end_error = "unloading: EBUSY";
	breaks(test, "after that, too");
	*test = good;
	test->second_error = "something else has Xen's NMI callback";
	breaks(test, "were given back: a second agent did not start: something else");
	*test = good;
	test->second_went_quiet = false;
	breaks(test, "not all pCPUs had after 1760 ms");
}

static void books_that_do_not_add_up_are_told_with_their_pcpu(void **state)
{
	struct fixture *made = *state;
	struct xf_pcpu_statistics good = made->books[1];

	made->books[1].produced++;
	breaks(&made->test, "pCPU 1: 201 asked for, 196 taken, 0 lost for want of a slot, 4 lost");
	made->books[1] = good;
	made->books[1].lost_trace = 1;
	breaks(&made->test, "pCPU 1: 196 taken, 196 delivered, 1 lost");
	made->books[1] = good;
	made->books[1].flags = 0;
	breaks(&made->test, "closed its books: 1 of 2 online");
}

static void a_file_with_other_counts_is_told(void **state)
{
	struct fixture *made = *state;

	made->profile.samples--;
	breaks(&made->test, "979 in the file, 590 delivered, 390 idle ticks");
	made->profile.samples++;
	made->test.idle--;
	breaks(&made->test, "390 idle ticks counted by the agent, 389 heard of");
}

static void a_file_that_cannot_be_read_says_nothing_about_stacks(void **state)
{
	struct fixture *made = *state;
	char *text;

	made->test.profile = NULL;
	made->test.profile_error = "no sample";
	breaks(&made->test, "it cannot be read: no sample");
	text = report(&made->test, 1);
	assert_non_null(strstr(text, "cannot be told here  stacks in Xen are complete"));
	free(text);
}

static void a_pcpu_that_was_never_heard_of_is_told(void **state)
{
	struct fixture *made = *state;

	made->test.online_pcpus = 2;
	made->books[0] = (struct xf_pcpu_statistics){.flags = XF_STATISTICS_CLOSED};
	made->test.idle = 290;
	made->profile.samples = 196 + 290;
	breaks(&made->test, "sampled or found idle: 1 of 2");
}

static void a_pcpu_that_is_offline_has_no_part(void **state)
{
	struct fixture *made = *state;
	struct xf_pcpu_statistics three[] = {
	        made->books[0], made->books[1], {.pcpu = 2, .flags = XF_STATISTICS_CLOSED}};

	made->test.books = three;
	made->test.nr_books = 3;
	has_line(&made->test, "sampled or found idle: 2 of 2");
}

static void what_comes_after_the_stop_is_told(void **state)
{
	struct fixture *made = *state;

	made->test.after = 1;
	breaks(&made->test, "after that nothing more came: 1 samples");
}

static void samples_that_never_arrive_are_told(void **state)
{
	struct fixture *made = *state;

	made->books[0].produced += 200;
	made->books[0].lost_nmi += 200;
	breaks(&made->test, "most samples arrive: 210 of 800");
}

static void few_complete_stacks_are_told_with_their_reasons(void **state)
{
	struct fixture *made = *state;

	has_line(&made->test, "390 of 400 (97.5 %; 95 % are asked for); 6 [incomplete: "
	                      "livepatch-text]; 4 [incomplete: not-text]\n");
	made->profile.counts.incomplete = 21;
	breaks(&made->test, "379 of 400");
	made->profile.counts.xen = 49;
	has_line(&made->test, "cannot be told here  stacks in Xen are complete: only 49 samples");
}

static void clocks_that_disagree_are_told(void **state)
{
	struct fixture *made = *state;

	made->test.measured_hz = 2300000000;
	breaks(&made->test, "2300.000 MHz by dom0's clock");
	made->test.measured_hz = 0;
	has_line(&made->test, "cannot be told here  the TSC runs at the rate");
	made->test.ahead = 3;
	breaks(&made->test, "3 samples from the future");
	made->test.ahead = 0;
	made->test.early = true;
	breaks(&made->test, "some from before the beginning");
}

static void a_host_that_is_not_as_before_is_told(void **state)
{
	struct fixture *made = *state;
	struct xf_self_test_state good = made->test.before;

	strcat(made->test.between.patches, ", xenflame-agent (checked)");
	breaks(&made->test, "xenflame-agent (checked), before: vendor (applied)");
	made->test.between = good;
	made->test.between.mask = XF_TRACE_MASK | 5;
	breaks(&made->test, "event mask is as before: 0x0400f005, before: 0x0ffff000");
	made->test.between = good;
	made->test.last.mask = XF_TRACE_MASK;
	breaks(&made->test, "and Xen's trace event mask: 0x0400f000");
	made->test.last.known = false;
	has_line(&made->test, "cannot be told here  after that, too, the live patches");
}

static void a_mask_that_a_killed_recorder_left_is_not_to_come_back(void **state)
{
	struct fixture *made = *state;

	made->test.before.mask = XF_TRACE_MASK | 7;
	has_line(&made->test, "before: 0x0400f007, left by a killed recorder");
	made->test.between.mask = XF_TRACE_MASK | 9;
	breaks(&made->test, "event mask is as before: 0x0400f009");
}

static void what_an_error_says_is_broken_even_where_xen_does_not_answer(void **state)
{
	struct fixture *made = *state;
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	made->test.between.known = false;
	made->test.end_error = "reverting: EBUSY";
	assert_int_equal(xf_self_test_write(out, &made->test), 1);
	fclose(out);
	assert_non_null(strstr(text, "NOT ok  the live patches are as before"));
	free(text);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
	        TEST(a_good_host_is_told_as_the_golden_file_says),
	        TEST(no_names_of_domains_are_told),
	        TEST(an_agent_that_does_not_start_is_all_that_is_told),
	        TEST(errors_on_the_way_break_their_promises),
	        TEST(books_that_do_not_add_up_are_told_with_their_pcpu),
	        TEST(a_file_with_other_counts_is_told),
	        TEST(a_file_that_cannot_be_read_says_nothing_about_stacks),
	        TEST(a_pcpu_that_was_never_heard_of_is_told),
	        TEST(a_pcpu_that_is_offline_has_no_part),
	        TEST(what_comes_after_the_stop_is_told),
	        TEST(samples_that_never_arrive_are_told),
	        TEST(few_complete_stacks_are_told_with_their_reasons),
	        TEST(clocks_that_disagree_are_told),
	        TEST(a_host_that_is_not_as_before_is_told),
	        TEST(a_mask_that_a_killed_recorder_left_is_not_to_come_back),
	        TEST(what_an_error_says_is_broken_even_where_xen_does_not_answer),
	};

	return cmocka_run_group_tests_name("output/self_test", tests, NULL, NULL);
}
