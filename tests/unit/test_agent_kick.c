// SPDX-License-Identifier: GPL-2.0-or-later
/* agent/kick.c beside Xen's watchdog, one case after the other; test_nmi_interleavings.c has all.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fake.h"

#define CPU   1u
#define ARMED ((uint64_t)-1500000000)

static int set_up(void **state)
{
	(void)state;
	fake_start(2, 0);
	fake_set_watchdog(XEN_MSR_K7_PERFCTR0, ARMED);
	fake_configure(100);
	fake_load();
	fake_enter(CPU);
	assert_int_equal(xf_start(), XF_REFUSAL_NONE);
	fake_leave();
	fake_set_life(CPU, FAKE_HYPERCALL);
	return 0;
}

/* The other pCPU sends one; it stays on its way. Return: whether it was sent. */
static bool kick(int64_t now)
{
	uint64_t before = fake_counts(CPU)->nmis_sent;

	fake_enter(0);
	xf_kick(CPU, now);
	fake_leave();
	return fake_counts(CPU)->nmis_sent > before;
}

/* An NMI arrives. Return: whether the agent took it, so that Xen does not see it. */
static bool nmi_arrives(void)
{
	struct xen_cpu_user_regs regs = {
	        .cs = 0xe008, .rip = FAKE_TEXT, .rsp = (uint64_t)fake_stack(CPU) + 0x7ef0};

	return fake_nmi(CPU, &regs);
}

static void overflowing_by(uint32_t msr)
{
	static const uint64_t counts[] = {0, 1, 1000, (1u << 31) - 1};
	static const uint64_t before[] = {UINT64_MAX, 0xffffffffffffull, 0xffff80000000ull,
	                                  0xff80000000ull, 1u << 31};
	size_t i;

	for (i = 0; i < sizeof(before) / sizeof(before[0]); i++) {
		fake_set_watchdog(msr, before[i]);
		kick(i);
		assert_true(nmi_arrives());
	}
	for (i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		fake_set_watchdog(msr, counts[i]);
		kick(100 + i);
		assert_false(nmi_arrives());
		fake_set_watchdog(msr, ARMED);
		assert_true(nmi_arrives());
	}
}

static void a_counter_that_has_overflowed_makes_it_the_watchdogs(void **state)
{
	(void)state;
	overflowing_by(XEN_MSR_K7_PERFCTR0);
	overflowing_by(XEN_MSR_P6_PERFCTR0);
}

static void without_a_watchdog_no_msr_is_read(void **state)
{
	(void)state;
	fake_set_watchdog(0, 0);
	kick(0);
	assert_true(nmi_arrives());
	assert_false(nmi_arrives());
}

static void a_sample_whose_nmi_was_merged_is_sent_again_with_the_next_one(void **state)
{
	const struct xf_pcpu *pcpu = &xf_pcpus[CPU];

	(void)state;
	assert_true(kick(0));
	fake_set_watchdog(XEN_MSR_K7_PERFCTR0, 7);
	assert_false(nmi_arrives());
	fake_set_watchdog(XEN_MSR_K7_PERFCTR0, ARMED);
	assert_true(kick(FAKE_MS));
	assert_int_equal(pcpu->lost_nmi, 1);
	assert_true(nmi_arrives());
	assert_int_equal(pcpu->taken, 1);
	assert_int_equal(pcpu->kicks, pcpu->taken + pcpu->lost_nmi);
}

static void a_sample_whose_nmi_is_missing_is_sent_again_after_a_second(void **state)
{
	(void)state;
	assert_true(kick(0));
	assert_false(kick(FAKE_SECOND / 2));
	assert_false(kick(FAKE_SECOND - 1));
	assert_true(kick(FAKE_SECOND));
	/* Now two may come, close to each other, and no third. */
	assert_true(nmi_arrives());
	assert_true(nmi_arrives());
	assert_false(nmi_arrives());
	assert_int_equal(xf_pcpus[CPU].taken, 1);
}

static void a_second_one_is_expected_for_a_moment_only(void **state)
{
	(void)state;
	fake_set_tsc(UINT64_MAX - 5);
	kick(0);
	assert_true(kick(FAKE_SECOND));
	assert_true(nmi_arrives());
	fake_set_tsc((1u << 26) - 5);
	assert_false(nmi_arrives());
}

static void a_counter_at_zero_for_ever_is_believed_twice(void **state)
{
	unsigned int i;

	(void)state;
	fake_set_watchdog(XEN_MSR_P6_PERFCTR0, 0);
	for (i = 0; i < 2; i++) {
		kick(i * FAKE_SECOND);
		assert_false(nmi_arrives());
	}
	for (; i < 20; i++) {
		kick(i * FAKE_SECOND);
		assert_true(nmi_arrives());
	}
}

static void a_watchdog_by_an_unknown_counter_is_refused(void **state)
{
	(void)state;
	fake_start(2, 0);
	fake_set_watchdog(0x30c, ARMED); /* the Pentium 4's */
	fake_enter(CPU);
	assert_int_equal(xf_start(), XF_REFUSAL_WATCHDOG);
	fake_leave();
	assert_null(fake_nmi_slot());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup(name, set_up)
	        TEST(a_counter_that_has_overflowed_makes_it_the_watchdogs),
	        TEST(without_a_watchdog_no_msr_is_read),
	        TEST(a_sample_whose_nmi_was_merged_is_sent_again_with_the_next_one),
	        TEST(a_sample_whose_nmi_is_missing_is_sent_again_after_a_second),
	        TEST(a_second_one_is_expected_for_a_moment_only),
	        TEST(a_counter_at_zero_for_ever_is_believed_twice),
	        TEST(a_watchdog_by_an_unknown_counter_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
