// SPDX-License-Identifier: GPL-2.0-or-later
/* Profiles read from folded stacks and from what perf script prints, made up, odd and damaged. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "output/folded.h"
#include "profile/text_input.h"

static struct xf_error error;

static struct xf_profile *read_with(const char *text, struct xf_profile_options options)
{
	struct xf_profile *profile = NULL;

	error = (struct xf_error){0};
	if (xf_text_profile(text, strlen(text), &options, &profile, &error))
		assert_null(profile);
	return profile;
}

static struct xf_profile *read_text(const char *text)
{
	return read_with(text, XF_PROFILE_DEFAULTS);
}

/* @profile's stacks, to be freed; it is freed itself. */
static char *fold(struct xf_profile *profile)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(profile);
	assert_int_equal(xf_folded_write(out, profile), 0);
	fclose(out);
	xf_profile_free(profile);
	return text;
}

static void assert_folds(const char *text, const char *expected)
{
	char *folded = fold(read_text(text));

	assert_string_equal(folded, expected);
	free(folded);
}

static void assert_refused(const char *text, const char *why)
{
	assert_null(read_text(text));
	if (!strstr(error.text, why))
		fail_msg("'%s' is not in '%s'", why, error.text);
}

/* ---- Folded stacks --------------------------------------------------------------------------- */

static void folded_stacks_stay_as_they_are(void **state)
{
	(void)state;
	assert_folds("a;b;c 1\na;b;d 2\n", "a;b;c 1\na;b;d 2\n");
	assert_folds("# comment\r\n\r\na;b 3\r\na;b 4", "a;b 7\n");
	assert_folds("alone 5\n", "alone 5\n");
	assert_folds("a;operator new(unsigned long);x y 12 3\n",
	             "a;operator new(unsigned long);x y 12 3\n");
	assert_folds("a;;b 1\n", "a;;b 1\n");
	assert_folds("a;b 9007199254740993\n", "a;b 9007199254740993\n");
	assert_folds("a;\xff\xfe\x1b[31m 1\n", "a;\\xff\\xfe\\x1b[31m 1\n");
}

static void bracketed_names_tell_their_kind(void **state)
{
	struct xf_profile *profile = read_text("d;[guest user] 1\nIdle;[idle] 2\nd;f 4\n"
	                                       "d;[incomplete: x];[unknown 0x12] 8\n");

	(void)state;
	assert_non_null(profile);
	assert_int_equal(profile->samples, 15);
	assert_int_equal(profile->counts.guest, 1);
	assert_int_equal(profile->counts.idle, 2);
	assert_int_equal(profile->counts.other, 12);
	assert_int_equal(profile->counts.incomplete, 8);
	assert_int_equal(profile->counts.unnamed, 8);
	assert_int_equal(profile->nr_groups, 2);
	xf_profile_free(profile);
}

static void what_is_no_stack_is_refused(void **state)
{
	(void)state;
	assert_refused("this is no recording\n", "line 1 is no folded stack");
	assert_refused("a;b 1\n\na;b\n", "line 3 is no folded stack");
	assert_refused("a;b 1.5\n", "line 1");
	assert_refused("a;b -1\n", "line 1");
	assert_refused("a;b 18446744073709551616\n", "line 1");
	assert_refused("a;b 18446744073709551615\na;c 1\n", "64 bits");
	assert_refused("", "no samples");
	assert_refused("a;b 0\n", "no samples");
	assert_refused("# nothing\n", "no samples");
}

static void what_folded_stacks_do_not_tell_is_refused(void **state)
{
	struct xf_profile_options options = XF_PROFILE_DEFAULTS;

	(void)state;
	options.timeline = XF_TIMELINE_NEEDED;
	assert_null(read_with("a;b 1\n", options));
	assert_non_null(strstr(error.text, "have no times"));
	options.timeline = XF_TIMELINE_IF_KNOWN;
	xf_profile_free(read_with("a;b 1\n", options));
	options.by_pcpu = true;
	assert_null(read_with("a;b 1\n", options));
	assert_non_null(strstr(error.text, "do not tell"));
}

static void domains_are_selected_by_name(void **state)
{
	struct xf_profile_options options = XF_PROFILE_DEFAULTS;
	char *folded;

	(void)state;
	options.domain = "b";
	folded = fold(read_with("a;f 1\nb;g 2\n", options));
	assert_string_equal(folded, "b;g 2\n");
	free(folded);
	options.by_domain = false;
	folded = fold(read_with("a;f 1\nb;g 2\nb 3\n", options));
	assert_string_equal(folded, "b 3\ng 2\n");
	free(folded);
	options.domain = "c";
	assert_null(read_with("a;f 1\nb;g 2\n", options));
	assert_non_null(strstr(error.text, "lowest frame is 'c'"));
}

static void stacks_of_5000_frames_are_whole(void **state)
{
	char *text = calloc(1, 65536);
	char *folded;

	(void)state;
	for (int i = 0; i < 5000; i++)
		sprintf(text + strlen(text), "%sf%d", i ? ";" : "", i);
	strcat(text, " 7\n");
	folded = fold(read_text(text));
	assert_string_equal(folded, text);
	free(folded);
	free(text);
}

/* ---- perf script's text ---------------------------------------------------------------------- */

#define FRAMES                                                                                     \
	"\tffffffff81abc123 native_write_msr+0x3 ([kernel.kallsyms])\n"                            \
	"\t    7f12345 operator new(unsigned long)+0x1f (/usr/lib/libstdc++.so.6 (deleted))\n"     \
	"\t       1234 [unknown] ([unknown])\n\n"

static void events_have_their_stack(void **state)
{
	static const char stack[] = ";[unknown];operator new(unsigned long);native_write_msr 1\n";
	static const char *const heads[] = {
	        "qemu 1234/5678 [003] 12.345678:   250000 cpu-clock:u: \n",
	        "qemu 5678 12.345678: cycles: \n",
	        "qemu  5678 [003] 12.345678901:          1 cycles:ppp:\n",
	        "qemu 5678 [003] 12.345: sched:sched_switch: prev_comm=x [120] S ==> y:0\n",
	};
	char text[1024];
	char expected[256];

	(void)state;
	snprintf(expected, sizeof(expected), "qemu%s", stack);
	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
		snprintf(text, sizeof(text), "# header\n\n%s" FRAMES, heads[i]);
		assert_folds(text, expected);
	}
	assert_folds("CPU 0/KVM 12/34 [000] 1.000000: 1 cycles:\n" FRAMES,
	             "CPU 0/KVM;[unknown];operator new(unsigned long);native_write_msr 1\n");
	assert_folds("a b 7 8 1.5: 1 cycles:\n\t 12 f (x)\n", "a b 7;f 1\n");
	assert_folds("a 1 1.0: 1 cycles:\na 1 2.0: 1 cycles:\n\t 12 f (x)\n",
	             "a;[no stack] 1\na;f 1\n");
	assert_folds("a 1 1.0: 1 cycles:\n\t 12 f+0x1 (x)\n\t  file.c:12\n\t 34 g+0xz (y)\n\n",
	             "a;g+0xz;f 1\n");
}

/* Without stacks perf pads commands with blanks in front, and has no empty lines. */
static void events_without_stacks_have_their_frame(void **state)
{
	(void)state;
	assert_folds(
	        "             orc 20595 [000] 38476.866268:    1001001 cpu-clock:      55e1b1 "
	        "f+0x13 (/tmp/orc)\n"
	        "              dd   961 [001] 38476.866347:    1001001 cpu-clock:u:  ff1f54e7 "
	        "g+0x497 ([kernel.kallsyms])\n"
	        "         swapper     0 [001] 38476.866348: sched:sched_switch: prev_comm=x:1\n",
	        "dd;g 1\norc;f 1\nswapper;[no stack] 1\n");
}

static void commands_of_blanks_do_not_hide_events(void **state)
{
	(void)state;
	assert_folds("a 1 1.0: 1 x:\n\t 12 f (x)\n\n"
	             " 2 1.5: 1 x:\n\t 12 f (x)\n\n"
	             "a 1 2.0: 1 x:\n\t 12 f (x)\n"
	             "\tzz 3 2.5: 1 x:\n\t 12 f (x)\n"
	             "   4/5 [000] 3.0: 1 x:\n\t 12 f (x)\n",
	             "\\x09zz;f 1\n[no name];f 2\na;f 2\n");
}

static void frames_of_our_own_text_have_their_kinds(void **state)
{
	struct xf_profile *profile = read_text(
	        "Domain-0 0/1 [000] 1.0: 1 x:\n\t 1 f (xen)\n\t 2 g ([guest.kernel.kallsyms])\n"
	        "\t 3 main (/bin/a)\n\t 0 [user incomplete: no-file] (guest)\n"
	        "\t 0 [unknown process] (process)\n\n"
	        "Domain-0 0/1 [000] 2.0: 1 x:\n\t 0 [guest switched away] (guest)\n"
	        "\t 0 sh (process)\n\n");
	size_t nr[XF_FRAME_KINDS] = {0};

	(void)state;
	assert_non_null(profile);
	for (uint32_t i = 1; i < xf_calltree_nr_frames(profile->tree); i++)
		nr[xf_calltree_kind(profile->tree, (struct xf_frame_id){i})]++;
	assert_int_equal(nr[XF_FRAME_PROCESS], 2);
	assert_int_equal(nr[XF_FRAME_INCOMPLETE], 2);
	assert_int_equal(nr[XF_FRAME_KERNEL], 1);
	assert_int_equal(nr[XF_FRAME_UNKNOWN], 0);
	assert_int_equal(profile->counts.incomplete, 2);
	assert_int_equal(profile->counts.unnamed, 0);
	xf_profile_free(profile);
}

static void vcpus_bear_their_domain_where_it_is_no_frame(void **state)
{
	static const char text[] = "a 1 1.0: 1 x:\n\t 1 f (y)\n\nb 1 2.0: 1 x:\n\t 1 f (y)\n";
	struct xf_profile_options options = XF_PROFILE_DEFAULTS;
	char *folded;

	(void)state;
	options.by_vcpu = true;
	folded = fold(read_with(text, options));
	assert_string_equal(folded, "a;vCPU 1;f 1\nb;vCPU 1;f 1\n");
	free(folded);
	options.by_domain = false;
	folded = fold(read_with(text, options));
	assert_string_equal(folded, "a vCPU 1;f 1\nb vCPU 1;f 1\n");
	free(folded);
}

static void events_have_times_threads_and_cpus(void **state)
{
	struct xf_profile_options options = XF_PROFILE_DEFAULTS;
	struct xf_profile *profile;

	(void)state;
	options.timeline = XF_TIMELINE_NEEDED;
	profile = read_with("a 1/2 [003] 12.000000001: 1 x:\n\t 1 f (xen)\n\n"
	                    "a 1/3 [001] 11.5: 1 x:\n\t 1 g (xenflame-agent)\n\n"
	                    "Idle 0/0 [001] 12.5: 1 x:\n\t 0 [idle] (xen)\n\n",
	                    options);
	assert_non_null(profile);
	assert_int_equal(profile->timeline.nr, 3);
	assert_int_equal(profile->timeline.events[0].time, 0);
	assert_int_equal(profile->timeline.events[1].time, 500000001);
	assert_int_equal(profile->duration, 1000000000);
	assert_int_equal(profile->groups[profile->timeline.events[0].group].vcpu, 3);
	assert_int_equal(profile->groups[profile->timeline.events[0].group].pcpu, 1);
	assert_int_equal(profile->counts.xen, 2);
	assert_int_equal(profile->counts.idle, 1);
	xf_profile_free(profile);
	options.by_vcpu = options.by_pcpu = true;
	options.pcpu = 3;
	free(fold(read_with("a 1/2 [003] 1.0: 1 x:\n\t 1 f (xen)\n", options)));
	assert_null(read_with("a 1/2 [002] 1.0: 1 x:\n\t 1 f (xen)\n", options));
	assert_non_null(strstr(error.text, "pCPU"));
}

static void what_is_no_event_is_refused(void **state)
{
	(void)state;
	assert_refused("a 1 1.0: 1 x:\n\t 1 f (y)\n\nwhat is this\n",
	               "something else than an event");
	assert_refused("a 1 1.0: 1 x:\n\t 1 f (y)\n\n\t 1 f (y)\n", "something else than an event");
	assert_refused(" 1.0: 1 x:\n", "line 1");
	assert_refused("1 1.0: 1 x:\n", "line 1");
}

/* ---- Both ------------------------------------------------------------------------------------ */

static void text_is_told_from_other_bytes(void **state)
{
	static const uint8_t noise[] = {0x80, 0x91, 0xfe, 0xc3, 0x28, 0xa0, 0xa1, 0xe2,
	                                0x28, 0xa1, 0xf0, 0x28, 0x8c, 0xbc, 0x90, 0x28};

	(void)state;
	assert_int_equal(xf_text_recognize("a;b 1\n", 6, NULL), 0);
	assert_int_equal(
	        xf_text_recognize("\xe5\xbe\xae\xe8\xbb\x9f\xe5\xbe\xae\xe8\xbb", 11, NULL), 0);
	/* A process may call itself anything. */
	assert_int_equal(xf_text_recognize("sh \x1b[31m 2 12.5: 1 x:\n", 22, NULL), 0);
	assert_int_equal(xf_text_recognize("a;b\0 1\n", 7, NULL), -EBADMSG);
	assert_int_equal(xf_text_recognize("\x7f"
	                                   "ELF\2\1",
	                                   6, NULL),
	                 -EBADMSG);
	assert_int_equal(xf_text_recognize(noise, sizeof(noise), NULL), -EBADMSG);
}

/* Whatever is changed in a text, it is read or refused; the sanitizers look on. */
static void damage_is_survived(void **state)
{
	static const char *const texts[] = {
	        "a;b;c 12\nd;[idle] 3\n# x\ne 1\n",
	        "a b 1/2 [003] 12.5: 1 x:\n\tff f+0x1 (xen)\n\t0 g (y)\n\nIdle 0 1.0: 1 x:\n",
	};
	static const char bytes[] = "\0\n\t ;:.[]()/#+0x19af\xff";

	(void)state;
	srand(1);
	for (int i = 0; i < 40000; i++) {
		char text[128];
		size_t size = strlen(strcpy(text, texts[i % 2]));
		struct xf_profile_options options = XF_PROFILE_DEFAULTS;
		struct xf_profile *profile = NULL;
		char *exact;

		for (int n = rand() % 4; n >= 0; n--)
			text[(size_t)rand() % size] = bytes[(size_t)rand() % (sizeof(bytes) - 1)];
		size -= (size_t)rand() % 8;
		exact = malloc(size); /* the sanitizer sees what is read behind it */
		memcpy(exact, text, size);
		error = (struct xf_error){0};
		options.timeline = i % 3 ? XF_TIMELINE_IF_KNOWN : XF_TIMELINE_NONE;
		if (xf_text_profile(exact, size, &options, &profile, &error))
			assert_true(error.text[0]);
		else
			free(fold(profile));
		free(exact);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(folded_stacks_stay_as_they_are),
	        cmocka_unit_test(bracketed_names_tell_their_kind),
	        cmocka_unit_test(what_is_no_stack_is_refused),
	        cmocka_unit_test(what_folded_stacks_do_not_tell_is_refused),
	        cmocka_unit_test(domains_are_selected_by_name),
	        cmocka_unit_test(stacks_of_5000_frames_are_whole),
	        cmocka_unit_test(events_have_their_stack),
	        cmocka_unit_test(events_without_stacks_have_their_frame),
	        cmocka_unit_test(commands_of_blanks_do_not_hide_events),
	        cmocka_unit_test(frames_of_our_own_text_have_their_kinds),
	        cmocka_unit_test(vcpus_bear_their_domain_where_it_is_no_frame),
	        cmocka_unit_test(events_have_times_threads_and_cpus),
	        cmocka_unit_test(what_is_no_event_is_refused),
	        cmocka_unit_test(text_is_told_from_other_bytes),
	        cmocka_unit_test(damage_is_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
