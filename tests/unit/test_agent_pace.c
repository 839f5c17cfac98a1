// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * agent/pace.c and start.c in virtual time, from load to unload. XF_TEST=pattern runs the tests of
 * these names.
 */
#include "tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void assert_near(uint64_t value, double expected, double tolerance)
{
	if ((double)value < expected * (1 - tolerance) ||
	    (double)value > expected * (1 + tolerance)) {
		print_error("%llu is not within %g %% of %g\n", (unsigned long long)value,
		            100 * tolerance, expected);
		fail();
	}
}
/* Rates. */

static void a_busy_pcpu_gets_its_frequency(void **state)
{
	static const unsigned int frequencies[] = {1, 10, 99, 1000, 5000};
	static const unsigned int pcpus[] = {2, 3, 8};
	size_t i, j;

	(void)state;
	for (i = 0; i < sizeof(frequencies) / sizeof(frequencies[0]); i++) {
		for (j = 0; j < sizeof(pcpus) / sizeof(pcpus[0]); j++) {
			int64_t seconds = 20000 / (frequencies[i] * pcpus[j]) + 4;
			unsigned int cpu;

			tool_start(pcpus[j], 1 + i, frequencies[i]);
			tool_set_lives(FAKE_PV_GUEST);
			fake_load();
			tool_run_for(seconds * FAKE_SECOND);
			assert_int_equal(tool.hellos, 1);
			for (cpu = 0; cpu < tool.nr; cpu++) {
				assert_near(tool.heard[cpu].samples,
				            (double)frequencies[i] * (double)seconds, 0.03);
				assert_int_equal(xf_pcpus[cpu].lost_nmi, 0);
			}
		}
	}
}

static void periods_vary_from_three_to_five_quarters(void **state)
{
	unsigned int cpu;

	(void)state;
	tool_start(4, 77, 100);
	tool_set_lives(FAKE_PV_GUEST);
	fake_load();
	tool_run_for(200 * FAKE_SECOND);
	for (cpu = 0; cpu < tool.nr; cpu++) {
		/* 10 ms, less or more what Xen's timers and the NMI's way may add or take. */
		assert_in_range(tool.heard[cpu].shortest, 7500000 - 250000, 7600000);
		assert_in_range(tool.heard[cpu].longest, 12400000, 12500000 + 250000);
		assert_int_equal(xf_pcpus[cpu].skipped, 0);
	}
}

/* Idle pCPUs. */

static void an_idle_pcpu_is_counted_and_left_alone(void **state)
{
	unsigned int cpu;

	(void)state;
	tool_start(4, 5, 99);
	fake_set_life(0, FAKE_PV_GUEST);
	fake_set_life(1, FAKE_PV_GUEST);
	fake_load();
	tool_run_for(FAKE_SECOND / 2);
	for (cpu = 2; cpu < 4; cpu++)
		assert_int_equal(fake_timer_expires(&xf_pcpus[cpu].timer), FAKE_NEVER);
	tool_run_for(60 * FAKE_SECOND);
	for (cpu = 2; cpu < 4; cpu++) {
		assert_int_equal(fake_counts(cpu)->nmis_sent, 0);
		assert_int_equal(fake_counts(cpu)->timers_run, 0);
		assert_near(tool.heard[cpu].idle, 99 * 60.5, 0.03);
	}
	assert_near(tool.heard[0].samples, 99 * 60.5, 0.03);
	assert_near(tool.heard[1].samples, 99 * 60.5, 0.03);
}

static void on_an_idle_host_only_pcpu_0s_timer_ticks(void **state)
{
	unsigned int cpu;

	(void)state;
	tool_start(8, 6, 99);
	fake_load();
	tool_run_for(30 * FAKE_SECOND);
	assert_int_equal(fake_timers_pending(), 1);
	assert_true(fake_timer_expires(&xf_pcpus[0].timer) != FAKE_NEVER);
	for (cpu = 0; cpu < tool.nr; cpu++) {
		assert_int_equal(fake_counts(cpu)->nmis_sent, 0);
		assert_near(tool.heard[cpu].idle, 99 * 30, 0.03);
		assert_true(xf_pcpus[cpu].skipped <= 1);
	}
}

static void an_idle_vcpu_with_work_is_busy(void **state)
{
	(void)state;
	tool_start(4, 7, 99);
	fake_set_life(2, FAKE_IDLE_WORK);
	fake_load();
	tool_run_for(10 * FAKE_SECOND);
	assert_near(tool.heard[2].samples, 99 * 10, 0.03);
	/* Where the idle call is not known, an idle vCPU is idle. */
	tool_start(4, 8, 99);
	xf_config.idle_return = 0;
	fake_set_life(2, FAKE_IDLE_WORK);
	fake_load();
	tool_run_for(10 * FAKE_SECOND);
	assert_int_equal(tool.heard[2].samples, 0);
	assert_near(tool.heard[2].idle, 99 * 10, 0.03);
}

static void busy_after_idle_for(int64_t idle)
{
	uint64_t before;

	tool_start(4, 9, 99);
	fake_set_life(0, FAKE_PV_GUEST);
	fake_load();
	tool_run_for(idle);
	assert_int_equal(tool.heard[2].samples, 0);
	fake_set_life(2, FAKE_PV_GUEST);
	tool_run_for(2 * FAKE_SECOND / 99);
	assert_true(tool.heard[2].samples >= 1);
	tool_run_for(2 * FAKE_SECOND);
	assert_near(tool.heard[2].samples, 2 * 99 + 1, 0.05);
	fake_set_life(2, FAKE_IDLE);
	before = tool.heard[2].samples;
	tool_run_for(2 * FAKE_SECOND);
	assert_true(tool.heard[2].samples <= before + 1);
	assert_int_equal(fake_timer_expires(&xf_pcpus[2].timer), FAKE_NEVER);
}

static void a_pcpu_that_gets_busy_is_noticed_at_once(void **state)
{
	(void)state;
	busy_after_idle_for(FAKE_SECOND);
	busy_after_idle_for(10 * FAKE_SECOND);
}

static void a_pcpu_that_gets_busy_after_an_idle_hour_is_sampled_at_full_rate(void **state)
{
	(void)state;
	busy_after_idle_for(3600 * FAKE_SECOND);
}

static void idle_time_is_not_counted_as_skipped(void **state)
{
	(void)state;
	tool_start(4, 10, 99);
	fake_set_life(0, FAKE_PV_GUEST);
	fake_load();
	tool_run_for(600 * FAKE_SECOND);
	/* pCPU 0 may look a little early or late; whole periods are never missed here. */
	assert_true(xf_pcpus[2].skipped <= 2);
}

/* Stuck pCPUs: busy in Xen, no timer and no softirq runs there. */

static void a_stuck_pcpu_is_sampled_by_its_neighbours(void **state)
{
	uint32_t kicks;

	(void)state;
	tool_start(4, 11, 99);
	tool_set_lives(FAKE_PV_GUEST);
	fake_load();
	tool_run_for(FAKE_SECOND);
	kicks = xf_pcpus[2].kicks;
	fake_set_life(2, FAKE_HYPERCALL);
	tool_run_for(FAKE_SECOND);
	assert_near(xf_pcpus[2].kicks - kicks, 99, 0.06);
	/* The ring holds eight samples; they come out when it is over. */
	assert_true(xf_pcpus[2].lost_slot > 80);
	fake_set_life(2, FAKE_PV_GUEST);
	tool_hear();
	assert_int_equal(tool.heard[2].samples, xf_pcpus[2].taken);
}

static void whom_a_stuck_pcpu_should_have_ticked_others_tick(void **state)
{
	uint32_t kicks[4];
	unsigned int stuck, cpu;

	(void)state;
	for (stuck = 0; stuck < 4; stuck++) {
		tool_start(4, 12 + stuck, 99);
		tool_set_lives(FAKE_PV_GUEST);
		fake_load();
		tool_run_for(FAKE_SECOND);
		for (cpu = 0; cpu < 4; cpu++)
			kicks[cpu] = xf_pcpus[cpu].kicks;
		fake_set_life(stuck, FAKE_HYPERCALL);
		tool_run_for(4 * FAKE_SECOND);
		/* Overdue for a period before others notice: half the rate at worst. */
		for (cpu = 0; cpu < 4; cpu++) {
			uint32_t got = xf_pcpus[cpu].kicks - kicks[cpu];

			if (got <= 4 * 99 * 45 / 100)
				print_error("pCPU %u stuck: pCPU %u gets %u samples of %u\n", stuck,
				            cpu, got, 4 * 99);
			assert_true(got > 4 * 99 * 45 / 100);
		}
		fake_set_life(stuck, FAKE_PV_GUEST);
		for (cpu = 0; cpu < 4; cpu++)
			kicks[cpu] = xf_pcpus[cpu].kicks;
		tool_run_for(4 * FAKE_SECOND);
		for (cpu = 0; cpu < 4; cpu++)
			assert_near(xf_pcpus[cpu].kicks - kicks[cpu], 4 * 99, 0.05);
	}
}

/* Few pCPUs, and changing ones. */

static void one_pcpu_alone_is_refused(void **state)
{
	(void)state;
	tool_start(1, 13, 99);
	fake_set_life(0, FAKE_PV_GUEST);
	fake_load();
	tool_run_for(FAKE_SECOND);
	assert_int_equal(tool.refusals, 1);
	assert_int_equal(tool.refusal, XF_REFUSAL_ONE_PCPU);
	assert_true(tool_sees_xen_as_before());
	assert_int_equal(xf_agent.state, XF_QUIET);
	fake_unload();
	assert_int_equal(fake_timers_alive(), 0);
}

/* Somebody else's, who calls Xen's as we do. */
static void their_softirq(void)
{
	xen_timer_softirq_action();
}

static void break_idle_vcpu(void)
{
	xf_config.vcpu_domain_offset += 8;
}

static void break_stack(void)
{
	xf_config.processor_id_offset += 4;
}

static void break_softirq(void)
{
	xen_softirq_handlers[FAKE_TIMER_SOFTIRQ] = their_softirq;
}

static int theirs(const struct xen_cpu_user_regs *regs, int cpu)
{
	(void)regs;
	(void)cpu;
	return 1;
}

static void break_nmi(void)
{
	fake_take_nmi_slot(theirs);
}

static void break_mask(void)
{
	tool.renewing = false;
	fake_set_event_mask(0);
}

static void each_refusal_leaves_xen_as_it_was(void **state)
{
	static const struct {
		void (*damage)(void);
		enum xf_refusal refusal;
		bool told; /* without a lease the trace lets nothing through */
	} cases[] = {
	        {break_idle_vcpu, XF_REFUSAL_IDLE_VCPU, true},
	        {break_stack, XF_REFUSAL_STACK, true},
	        {break_softirq, XF_REFUSAL_SOFTIRQ, true},
	        {break_nmi, XF_REFUSAL_NMI_TAKEN, true},
	        {break_mask, XF_REFUSAL_NO_LEASE, false},
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		xen_nmi_callback_t *slot;
		xen_softirq_handler_t *handler;

		tool_start(3, 14, 99);
		tool_set_lives(FAKE_PV_GUEST);
		cases[i].damage();
		slot = fake_nmi_slot();
		handler = xen_softirq_handlers[FAKE_TIMER_SOFTIRQ];
		fake_load();
		tool_run_for(3 * FAKE_SECOND);
		assert_int_equal(tool.refusals, cases[i].told);
		if (cases[i].told)
			assert_int_equal(tool.refusal, cases[i].refusal);
		assert_int_equal(tool.hellos, 0);
		assert_ptr_equal(fake_nmi_slot(), slot);
		assert_ptr_equal(xen_softirq_handlers[FAKE_TIMER_SOFTIRQ], handler);
		assert_int_equal(fake_timers_pending(), 0);
		assert_int_equal(fake_counts(1)->nmis_sent, 0);
		fake_unload();
		assert_ptr_equal(fake_nmi_slot(), slot);
		assert_ptr_equal(xen_softirq_handlers[FAKE_TIMER_SOFTIRQ], handler);
	}
}

static void a_pcpu_off_line_is_left_alone_and_sampled_when_it_is_back(void **state)
{
	uint64_t samples;
	unsigned int round;

	(void)state;
	tool_start(4, 15, 99);
	tool_set_lives(FAKE_PV_GUEST);
	fake_load();
	for (round = 0; round < 20; round++) {
		tool_run_for(FAKE_SECOND / 3 + (int64_t)round * 1234567);
		fake_set_online(3, false); /* any NMI or read from now on ends the program */
		tool_run_for(FAKE_SECOND);
		fake_set_online(3, true);
		fake_set_life(3, FAKE_PV_GUEST);
		samples = tool.heard[3].samples;
		tool_run_for(FAKE_SECOND);
		/* The NMI that went down with it may cost a second. */
		assert_true(tool.heard[3].samples > samples);
		tool_run_for(FAKE_SECOND);
		assert_true(tool.heard[3].samples >= samples + 90);
	}
	fake_set_online(3, false);
	tool_run_for(FAKE_SECOND);
	tool_request_stop();
	tool_run_for(FAKE_SECOND);
	tool_want_balanced_books(15);
	assert_true(tool_sees_xen_as_before());
}

/* The host must survive it; samples may stop. */
static void the_last_pcpu_on_line_does_not_tick_for_ever(void **state)
{
	(void)state;
	tool_start(2, 16, 99);
	tool_set_lives(FAKE_PV_GUEST);
	fake_load();
	tool_run_for(FAKE_SECOND);
	fake_set_online(1, false);
	tool_run_for(FAKE_SECOND);
	fake_set_online(1, true);
	fake_set_life(1, FAKE_PV_GUEST);
	tool_run_for(3 * FAKE_SECOND);
	assert_true(tool.heard[0].samples > 99 * 2);
	assert_true(tool.heard[1].samples > 99 * 2);
	tool_request_stop();
	tool_run_for(FAKE_SECOND);
	tool_want_balanced_books(16);
}

static void a_96_pcpu_host_is_served_as_well(void **state)
{
	unsigned int cpu;

	(void)state;
	tool_start(96, 17, 50);
	for (cpu = 0; cpu < tool.nr; cpu += 2)
		fake_set_life(cpu, FAKE_PV_GUEST);
	fake_load();
	tool_run_for(4 * FAKE_SECOND);
	for (cpu = 0; cpu < tool.nr; cpu += 2)
		assert_near(tool.heard[cpu].samples, 4 * 50, 0.06);
	for (cpu = 1; cpu < tool.nr; cpu += 2)
		assert_int_equal(fake_counts(cpu)->nmis_sent, 0);
	for (cpu = 0; cpu < tool.nr && getenv("XF_VERBOSE"); cpu++)
		if (fake_counts(cpu)->timers_run)
			print_message("pCPU %u has run %llu ticks\n", cpu,
			              (unsigned long long)fake_counts(cpu)->timers_run);
	tool_request_stop();
	tool_run_for(FAKE_SECOND);
	tool_want_balanced_books(17);
	assert_true(tool_sees_xen_as_before());
}

/* NMIs that get lost. */

static void a_swallowed_nmi_is_counted_and_sampling_goes_on(void **state)
{
	const struct fake_nmi_policy swallowing = {.swallow_of_1000 = 20, .delay_max = 3000};
	uint64_t samples, swallowed = 0, lost = 0;
	unsigned int cpu;

	(void)state;
	tool_start(4, 18, 99);
	tool_set_lives(FAKE_PV_GUEST);
	fake_set_nmi_policy(&swallowing);
	fake_load();
	tool_run_for(30 * FAKE_SECOND);
	for (cpu = 0; cpu < tool.nr; cpu++) {
		swallowed += fake_counts(cpu)->nmis_swallowed;
		lost += xf_pcpus[cpu].lost_nmi;
		samples = tool.heard[cpu].samples;
		assert_true(samples > 500);
	}
	assert_true(swallowed > 20);
	assert_true(lost >= swallowed - 4);
	tool_request_stop();
	tool_run_for(FAKE_SECOND);
	tool_want_balanced_books(18);
	for (cpu = 0; cpu < tool.nr; cpu++)
		assert_int_equal(fake_counts(cpu)->nmis_unknown, 0);
}

static void nmis_of_others_reach_xen(void **state)
{
	unsigned int i;

	(void)state;
	tool_start(3, 19, 99);
	tool_set_lives(FAKE_PV_GUEST);
	fake_load();
	for (i = 0; i < 200; i++) {
		tool_run_for(7 * FAKE_MS);
		if (xf_pcpus[1].kicked)
			continue;
		fake_inject_nmi(1);
		tool_run_for(0);
	}
	tool_run_for(FAKE_SECOND);
	assert_int_equal(fake_counts(1)->nmis_unknown, fake_counts(1)->nmis_foreign);
	assert_true(fake_counts(1)->nmis_foreign > 150);
}

/* The lease. */

static void without_a_lease_it_is_quiet_within_two_seconds(unsigned int frequency, bool busy)
{
	int64_t last = 0;
	unsigned int cpu;

	tool_start(4, 20 + frequency, frequency);
	tool_set_lives(busy ? FAKE_PV_GUEST : FAKE_IDLE);
	fake_load();
	tool_run_for(3 * FAKE_SECOND);
	assert_true(xf_agent.state == XF_RUNNING);
	tool.renewing = false; /* the tool has died */
	fake_run_until(tool.renewed + 5 * FAKE_SECOND);
	tool_hear();
	for (cpu = 0; cpu < tool.nr; cpu++)
		if (fake_counts(cpu)->last_sent > last)
			last = fake_counts(cpu)->last_sent;
	assert_true(last < tool.renewed + XF_LEASE_NS + 2 * FAKE_SECOND / frequency);
	tool_want_balanced_books(20);

	tool_start(4, 20 + frequency, frequency);
	tool_set_lives(busy ? FAKE_PV_GUEST : FAKE_IDLE);
	fake_load();
	tool_run_for(3 * FAKE_SECOND);
	tool.renewing = false;
	fake_run_until(tool.renewed + 2 * FAKE_SECOND);
	if (!tool_sees_xen_as_before())
		print_error("at %u Hz, %s: not as before 2 s after the last sign of life\n",
		            frequency, busy ? "busy" : "idle");
	assert_true(tool_sees_xen_as_before());
}

static void when_the_tool_dies_xen_is_as_before_within_two_seconds(void **state)
{
	(void)state;
	without_a_lease_it_is_quiet_within_two_seconds(10, true);
	without_a_lease_it_is_quiet_within_two_seconds(10, false);
	without_a_lease_it_is_quiet_within_two_seconds(99, true);
	without_a_lease_it_is_quiet_within_two_seconds(99, false);
	without_a_lease_it_is_quiet_within_two_seconds(5000, true);
}

static void at_one_sample_a_second_it_is_as_before_within_two_seconds_too(void **state)
{
	(void)state;
	without_a_lease_it_is_quiet_within_two_seconds(1, true);
	without_a_lease_it_is_quiet_within_two_seconds(1, false);
}

static void another_users_event_mask_ends_it_as_well(void **state)
{
	(void)state;
	tool_start(3, 21, 99);
	tool_set_lives(FAKE_PV_GUEST);
	fake_load();
	tool_run_for(FAKE_SECOND);
	tool.renewing = false;
	fake_set_event_mask(0x0001f000 | 5); /* xentrace -e gen */
	tool_run_for(FAKE_SECOND / 2);
	assert_true(tool_sees_xen_as_before());
	assert_int_equal(xf_agent.state, XF_QUIET);
}

static void the_schedulers_records_beside_its_own_are_nothing_to_it(void **state)
{
	unsigned int cpu;

	(void)state;
	tool_start(3, 23, 99);
	tool_set_lives(FAKE_PV_GUEST);
	fake_load();
	tool_run_for(FAKE_SECOND);
	tool.mask = XF_TRACE_MASK_SCHED;
	tool_run_for(3 * FAKE_SECOND);
	assert_int_equal(xf_agent.state, XF_RUNNING);
	tool_request_stop();
	tool_run_for(FAKE_SECOND / 2);
	for (cpu = 0; cpu < tool.nr; cpu++)
		assert_true(tool.heard[cpu].samples > 300);
	tool_want_balanced_books(23);
	/* Nor where they are there from the beginning. */
	tool_start(3, 24, 99);
	tool.mask = XF_TRACE_MASK_SCHED;
	fake_set_event_mask(XF_TRACE_MASK_SCHED | 1);
	fake_load();
	tool_run_for(FAKE_SECOND);
	assert_int_equal(tool.hellos, 1);
	assert_int_equal(tool.refusals, 0);
}

/* As xen/common/trace.c compares. */
static bool lets_through(uint32_t mask, uint32_t event)
{
	return (mask & event) && ((mask >> 16) & (event >> 16)) &&
	       ((mask >> 12) & (event >> 12) & 0xf);
}

static void of_the_schedulers_records_only_run_states_get_through(void **state)
{
	static const uint32_t events[] = {XF_TRACE_SAMPLE, XF_TRACE_CONTROL, XF_TRACE_GUEST,
	                                  0x00021001, 0x00021002};
	static const uint32_t others[] = {0x00022001, 0x00028001, 0x00081001, 0x00041001,
	                                  0x00101000};

	(void)state;
	for (size_t i = 0; i < 5; i++) {
		assert_true(lets_through(XF_TRACE_MASK_SCHED, events[i]));
		assert_false(lets_through(XF_TRACE_MASK_SCHED, others[i]));
		assert_int_equal(lets_through(XF_TRACE_MASK, events[i]), i < 3);
	}
}

/* The slot of others. */

static void a_slot_that_somebody_took_stays_theirs(void **state)
{
	(void)state;
	tool_start(3, 22, 99);
	tool_set_lives(FAKE_PV_GUEST);
	fake_load();
	tool_run_for(FAKE_SECOND);
	assert_ptr_equal(fake_take_nmi_slot(theirs), xf_capture_nmi);
	tool_run_for(FAKE_SECOND);
	tool_request_stop();
	tool_run_for(FAKE_SECOND);
	assert_int_equal(xf_agent.state, XF_QUIET);
	assert_ptr_equal(fake_nmi_slot(), theirs);
	assert_true(fake_softirq_is_xens());
	tool_want_balanced_books(22);
	fake_unload();
	assert_ptr_equal(fake_nmi_slot(), theirs);
}

static void a_slot_that_somebody_borrowed_is_used_again(void **state)
{
	uint64_t samples;

	(void)state;
	tool_start(3, 23, 99);
	tool_set_lives(FAKE_PV_GUEST);
	fake_load();
	tool_run_for(FAKE_SECOND);
	fake_take_nmi_slot(theirs);
	tool_run_for(100 * FAKE_MS);
	fake_take_nmi_slot(xf_capture_nmi);
	samples = tool.heard[1].samples;
	tool_run_for(3 * FAKE_SECOND);
	assert_true(tool.heard[1].samples > samples + 150);
	tool_request_stop();
	tool_run_for(FAKE_SECOND);
	tool_want_balanced_books(23);
	assert_true(tool_sees_xen_as_before());
}

static void a_softirq_handler_that_somebody_replaced_stays_theirs(void **state)
{
	(void)state;
	tool_start(3, 24, 99);
	fake_load();
	tool_run_for(FAKE_SECOND);
	xen_softirq_handlers[FAKE_TIMER_SOFTIRQ] = their_softirq;
	tool_request_stop();
	tool_run_for(FAKE_SECOND);
	assert_ptr_equal(xen_softirq_handlers[FAKE_TIMER_SOFTIRQ], their_softirq);
}

/* Xen's own lost records: what was taken has come out, or was in a record that Xen lost. */
static void what_xens_trace_loses_is_told_by_the_final_books(void **state)
{
	unsigned int cpu, i;

	(void)state;
	tool_start(3, 25, 1000);
	tool_set_lives(FAKE_SVM_GUEST);
	fake_set_trace_limit(4096);
	tool.lossy = true;
	fake_load();
	for (i = 0; i < 40; i++)
		tool_run_for(100 * FAKE_MS);
	for (cpu = 0; cpu < tool.nr; cpu++)
		assert_true(tool.heard[cpu].stream.lost_records > 0);
	fake_set_trace_limit(0);
	tool_request_stop();
	tool_run_for(FAKE_SECOND);
	for (cpu = 0; cpu < tool.nr; cpu++) {
		assert_int_equal(tool.heard[cpu].finals, 1);
		assert_true(tool.heard[cpu].samples < tool.heard[cpu].final[2]);
		assert_int_equal(tool.heard[cpu].final[1], tool.heard[cpu].final[2] +
		                                                   tool.heard[cpu].final[3] +
		                                                   tool.heard[cpu].final[4]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(a_busy_pcpu_gets_its_frequency),
	        cmocka_unit_test(periods_vary_from_three_to_five_quarters),
	        cmocka_unit_test(an_idle_pcpu_is_counted_and_left_alone),
	        cmocka_unit_test(on_an_idle_host_only_pcpu_0s_timer_ticks),
	        cmocka_unit_test(an_idle_vcpu_with_work_is_busy),
	        cmocka_unit_test(a_pcpu_that_gets_busy_is_noticed_at_once),
	        cmocka_unit_test(a_pcpu_that_gets_busy_after_an_idle_hour_is_sampled_at_full_rate),
	        cmocka_unit_test(idle_time_is_not_counted_as_skipped),
	        cmocka_unit_test(a_stuck_pcpu_is_sampled_by_its_neighbours),
	        cmocka_unit_test(whom_a_stuck_pcpu_should_have_ticked_others_tick),
	        cmocka_unit_test(one_pcpu_alone_is_refused),
	        cmocka_unit_test(each_refusal_leaves_xen_as_it_was),
	        cmocka_unit_test(a_pcpu_off_line_is_left_alone_and_sampled_when_it_is_back),
	        cmocka_unit_test(a_96_pcpu_host_is_served_as_well),
	        cmocka_unit_test(a_swallowed_nmi_is_counted_and_sampling_goes_on),
	        cmocka_unit_test(nmis_of_others_reach_xen),
	        cmocka_unit_test(when_the_tool_dies_xen_is_as_before_within_two_seconds),
	        cmocka_unit_test(at_one_sample_a_second_it_is_as_before_within_two_seconds_too),
	        cmocka_unit_test(another_users_event_mask_ends_it_as_well),
	        cmocka_unit_test(the_schedulers_records_beside_its_own_are_nothing_to_it),
	        cmocka_unit_test(of_the_schedulers_records_only_run_states_get_through),
	        cmocka_unit_test(a_slot_that_somebody_took_stays_theirs),
	        cmocka_unit_test(a_slot_that_somebody_borrowed_is_used_again),
	        cmocka_unit_test(a_softirq_handler_that_somebody_replaced_stays_theirs),
	        cmocka_unit_test(what_xens_trace_loses_is_told_by_the_final_books),
	        cmocka_unit_test(the_last_pcpu_on_line_does_not_tick_for_ever),
	};

	cmocka_set_test_filter(getenv("XF_TEST"));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
