// SPDX-License-Identifier: GPL-2.0-or-later
/* What is recognised of the machine, and what is not concluded where a source does not tell. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "xen/hardware.h"

/* ---- The Xen of this test: it answers two questions -------------------------------------------
 */

static const char *xens_log; /* NULL: Xen does not give it */
static int idle_states;      /* negative: Xen does not tell */
static char memory[64 * 1024];

int xf_xen_sysctl(struct xf_xen *xen, uint32_t command, void *body, size_t size)
{
	uint32_t *words = body;

	(void)xen;
	assert_true(size >= 12);
	if (command == 1) {
		assert_int_equal(words[0], 0); /* neither clear nor incremental */
		if (!xens_log)
			return -EPERM;
		memcpy(memory, xens_log, strlen(xens_log));
		words[4] = (uint32_t)strlen(xens_log);
		return 0;
	}
	assert_int_equal(command, 10);
	assert_int_equal(words[0], 0x21);
	words[2] = (uint32_t)idle_states;
	return idle_states < 0 ? idle_states : 0;
}

void *xf_xen_buffer(struct xf_xen *xen, size_t size)
{
	(void)xen;
	assert_true(size <= sizeof(memory));
	return memory;
}

void xf_xen_buffer_free(struct xf_xen *xen, void *buffer)
{
	(void)xen;
	assert_ptr_equal(buffer, memory);
}

/* ---- Helpers --------------------------------------------------------------------------------- */

#define BOOT        "(XEN) Xen version 4.20.1 (somebody) debug=n\n"
#define STACKS      "(XEN) Enabling Supervisor Shadow Stacks\n"
#define TRACKING    "(XEN) Enabling Indirect Branch Tracking\n"
#define SHSTK_WORD  6
#define SHSTK_BIT   (1u << 7)
#define NESTED_WORD 1
#define NESTED_BIT  (1u << 31)

static struct xf_hardware of_log(const char *log, bool has_shadow_stacks)
{
	struct xf_hardware hardware = {.has_shadow_stacks = has_shadow_stacks};

	xf_hardware_read_log(log, &hardware);
	return hardware;
}

static const char *told(const struct xf_hardware *hardware, const char *name)
{
	static char detail[XF_HARDWARE_DETAIL];
	const struct xf_hardware_fact *fact = xf_hardware_facts;

	while (fact->name && strcmp(fact->name, name) != 0)
		fact++;
	assert_non_null(fact->name);
	fact->tell(hardware, detail);
	return detail;
}

/* ---- Tests ----------------------------------------------------------------------------------- */

static void the_first_processor_of_cpuinfo_is_told(void **state)
{
	struct xf_hardware hardware = {0};

	(void)state;
	xf_hardware_read_cpuinfo("processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\n"
	                         "model\t\t: 143\nmodel name\t: Intel(R) Xeon(R)\nstepping\t: 8\n"
	                         "microcode\t: 0x2b000603\n\nprocessor\t: 1\nvendor_id\t: Other\n",
	                         &hardware);
	assert_string_equal(told(&hardware, "processor"),
	                    "GenuineIntel, family 6, model 143, stepping 8, microcode 0x2b000603, "
	                    "\"Intel(R) Xeon(R)\"");
	assert_non_null(strstr(told(&hardware, "NMIs in guests"), "VM exit"));
}

static void a_cpuinfo_that_does_not_tell_is_said_to_be_unknown(void **state)
{
	struct xf_hardware hardware = {0};

	(void)state;
	xf_hardware_read_cpuinfo("", &hardware);
	assert_non_null(strstr(told(&hardware, "processor"), "not known"));
	assert_non_null(strstr(told(&hardware, "NMIs in guests"), "not known"));
	xf_hardware_read_cpuinfo("vendor_id\t: CentaurHauls\nmicrocode", &hardware);
	assert_string_equal(hardware.microcode, "");
	assert_non_null(strstr(told(&hardware, "NMIs in guests"), "not known"));
}

static void features_are_read_from_their_words(void **state)
{
	struct xf_xen_host host = {.online_pcpus = 4, .max_pcpu = 7};
	struct xf_hardware hardware = {0};

	(void)state;
	xf_hardware_read_host(&host, &hardware);
	assert_false(hardware.nested || hardware.invariant_tsc || hardware.has_shadow_stacks);
	assert_non_null(strstr(told(&hardware, "machine"), "4 of 8 possible"));
	assert_non_null(strstr(told(&hardware, "TSC"), "not said to be invariant"));
	host.features[NESTED_WORD] = NESTED_BIT;
	host.features[SHSTK_WORD] = SHSTK_BIT;
	host.features[7] = 1u << 8;
	xf_hardware_read_host(&host, &hardware);
	assert_true(hardware.nested && hardware.invariant_tsc && hardware.has_shadow_stacks);
	assert_non_null(strstr(told(&hardware, "machine"), "under a hypervisor"));
}

static void shadow_stacks_are_on_where_the_boot_log_says_so(void **state)
{
	struct xf_hardware hardware = of_log(BOOT STACKS TRACKING, true);

	(void)state;
	assert_string_equal(told(&hardware, "CET"),
	                    "shadow stacks on, indirect branch tracking on");
	hardware = of_log("(XEN) [    0.123] Enabling Supervisor Shadow Stacks\n", true);
	assert_int_equal(hardware.shadow_stacks, XF_YES);
}

static void
shadow_stacks_are_off_only_where_the_log_is_whole_or_the_processor_has_none(void **state)
{
	struct xf_hardware hardware = of_log(BOOT "(XEN) and so on\n", true);

	(void)state;
	assert_int_equal(hardware.shadow_stacks, XF_NO);
	assert_int_equal(hardware.branch_tracking, XF_NO);
	hardware = of_log("(XEN) and so on\n", true);
	assert_int_equal(hardware.shadow_stacks, XF_UNKNOWN);
	assert_int_equal(hardware.branch_tracking, XF_UNKNOWN);
	assert_non_null(strstr(told(&hardware, "CET"), "does not go back"));
	hardware = of_log("", false);
	assert_int_equal(hardware.shadow_stacks, XF_NO);
	assert_non_null(strstr(told(&hardware, "event delivery"), "not known"));
	assert_non_null(strstr(told(&hardware, "speculation"), "not known"));
}

static void a_guest_cannot_say_it_in_xens_log(void **state)
{
	struct xf_hardware hardware =
	        of_log("(d5) Enabling Supervisor Shadow Stacks\n"
	               "(d5) (XEN) Xen version 4.20.1\nXen version 4.20.1\n(XEN) d5: Xen version\n",
	               true);

	(void)state;
	assert_false(hardware.log_is_whole);
	assert_int_equal(hardware.shadow_stacks, XF_UNKNOWN);
}

static void settings_and_events_are_those_of_the_log(void **state)
{
	struct xf_hardware hardware =
	        of_log(BOOT "(XEN) Using FRED event delivery\n"
	                    "(XEN)   Xen settings: SPEC_CTRL: IBRS+ STIBP+\r\n(XEN) more\n",
	               false);

	(void)state;
	assert_string_equal(told(&hardware, "speculation"), "SPEC_CTRL: IBRS+ STIBP+");
	assert_non_null(strstr(told(&hardware, "event delivery"), "FRED"));
	hardware = of_log(BOOT, false);
	assert_string_equal(told(&hardware, "event delivery"), "IDT");
}

static void xen_4_17_0_is_refused_unless_cet_is_known_to_be_off(void **state)
{
	struct xf_xen_version version = {.major = 4, .minor = 17, .extra = ".0"};
	struct xf_hardware on = of_log(BOOT STACKS, true), off = of_log(BOOT, true),
	                   unknown = of_log("", true), none = of_log("", false),
	                   tracking = of_log(BOOT TRACKING, false);

	(void)state;
	assert_true(xf_hardware_dies_of_live_patches(&on, &version));
	assert_true(xf_hardware_dies_of_live_patches(&unknown, &version));
	assert_true(xf_hardware_dies_of_live_patches(&tracking, &version));
	assert_false(xf_hardware_dies_of_live_patches(&off, &version));
	assert_false(xf_hardware_dies_of_live_patches(&none, &version));
	strcpy(version.extra, "-rc3");
	assert_true(xf_hardware_dies_of_live_patches(&on, &version));
	strcpy(version.extra, ".0-2");
	assert_true(xf_hardware_dies_of_live_patches(&on, &version));
}

static void without_a_boot_log_xens_command_line_tells_that_cet_is_off(void **state)
{
	static const struct {
		const char *commandline;
		bool dies;
	} cases[] = {
	        {"cet=no", false},
	        {"console=com1 cet=0 loglvl=all", false},
	        {"cet=off dom0=pvh", false},
	        {"cet=nothing", true},
	        {"cet=no-ibt", true},
	        {"facet=no", true},
	        {"", true},
	        {"cet=ibt cet=no", false},
	};
	struct xf_hardware unknown = of_log("", true), on = of_log(BOOT STACKS, true);
	struct xf_xen_version version = {.major = 4, .minor = 17, .extra = ".0"};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		strcpy(version.commandline, cases[i].commandline);
		assert_int_equal(xf_hardware_dies_of_live_patches(&unknown, &version),
		                 cases[i].dies);
	}
	strcpy(version.commandline, "cet=no");
	assert_true(xf_hardware_dies_of_live_patches(&on, &version));
}

static void xen_4_17_1_and_later_are_not_refused(void **state)
{
	struct xf_hardware on = of_log(BOOT STACKS TRACKING, true);
	struct xf_xen_version version = {.major = 4, .minor = 17, .extra = ".1"};

	(void)state;
	assert_false(xf_hardware_dies_of_live_patches(&on, &version));
	strcpy(version.extra, ".5-13");
	assert_false(xf_hardware_dies_of_live_patches(&on, &version));
	version = (struct xf_xen_version){.major = 4, .minor = 18, .extra = ".0"};
	assert_false(xf_hardware_dies_of_live_patches(&on, &version));
}

static void idle_states_are_what_xen_knows(void **state)
{
	struct xf_hardware hardware = {0};

	(void)state;
	assert_non_null(strstr(told(&hardware, "idle states"), "not known"));
	hardware.idle_states_known = true;
	assert_non_null(strstr(told(&hardware, "idle states"), "halt"));
	hardware.idle_states = 2;
	assert_string_equal(told(&hardware, "idle states"), "C1 alone");
	hardware.idle_states = 4;
	assert_string_equal(told(&hardware, "idle states"), "C1 and 2 deeper");
}

static void a_probe_puts_the_sources_together(void **state)
{
	struct xf_xen_host host = {.online_pcpus = 2, .max_pcpu = 1};
	struct xf_hardware hardware = {0};
	struct xf_error error = {0};

	(void)state;
	host.features[SHSTK_WORD] = SHSTK_BIT;
	xens_log = BOOT STACKS;
	idle_states = 3;
	assert_int_equal(xf_hardware_probe(NULL, &host, &hardware, &error), 0);
	assert_int_equal(hardware.shadow_stacks, XF_YES);
	assert_int_equal(hardware.idle_states, 3);
	xens_log = NULL;
	idle_states = -ENODEV;
	hardware = (struct xf_hardware){0};
	assert_int_equal(xf_hardware_probe(NULL, &host, &hardware, &error), 0);
	assert_int_equal(hardware.shadow_stacks, XF_UNKNOWN);
	assert_false(hardware.idle_states_known);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(the_first_processor_of_cpuinfo_is_told),
	        cmocka_unit_test(a_cpuinfo_that_does_not_tell_is_said_to_be_unknown),
	        cmocka_unit_test(features_are_read_from_their_words),
	        cmocka_unit_test(shadow_stacks_are_on_where_the_boot_log_says_so),
	        cmocka_unit_test(
	                shadow_stacks_are_off_only_where_the_log_is_whole_or_the_processor_has_none),
	        cmocka_unit_test(a_guest_cannot_say_it_in_xens_log),
	        cmocka_unit_test(settings_and_events_are_those_of_the_log),
	        cmocka_unit_test(xen_4_17_0_is_refused_unless_cet_is_known_to_be_off),
	        cmocka_unit_test(without_a_boot_log_xens_command_line_tells_that_cet_is_off),
	        cmocka_unit_test(xen_4_17_1_and_later_are_not_refused),
	        cmocka_unit_test(idle_states_are_what_xen_knows),
	        cmocka_unit_test(a_probe_puts_the_sources_together),
	};

	return cmocka_run_group_tests_name("xen/hardware", tests, NULL, NULL);
}
