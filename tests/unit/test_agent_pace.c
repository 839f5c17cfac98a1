// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * agent/pace.c and start.c in virtual time, from load to unload, with the tool's end of the trace
 * buffers (src/xen/stream.c) to tell what came out. XF_SEED=n repeats one random schedule,
 * XF_SCHEDULES=n tries so many, XF_TEST=pattern runs the tests of these names.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fake.h"
#include "xen/stream.h"

#define SCHEDULES 3000u
#define RENEWAL   (400 * FAKE_MS)

/* What the tool has heard. */
static struct {
	struct xf_stream stream;
	uint64_t samples, idle;
	uint64_t finals;
	uint32_t final[7];
	uint64_t tsc, shortest, longest; /* between two samples */
} heard[FAKE_MAX_PCPUS];
static unsigned int nr, hellos, refusals;
static uint32_t refusal;

/* What the tool and the host do. */
static bool renewing;
static uint32_t lease;
static int64_t renewed;
static bool living;
static bool lossy; /* Xen's trace buffers are too small */
static int64_t longest_life;

static void hear_sample(void *context, const struct xf_sample *sample)
{
	uint64_t gap = sample->tsc - heard[sample->pcpu].tsc;

	(void)context;
	if (heard[sample->pcpu].samples++) {
		if (gap < heard[sample->pcpu].shortest)
			heard[sample->pcpu].shortest = gap;
		if (gap > heard[sample->pcpu].longest)
			heard[sample->pcpu].longest = gap;
	}
	heard[sample->pcpu].tsc = sample->tsc;
}

static void hear_control(void *context, enum xf_control kind, const uint32_t *words, size_t count)
{
	uint32_t pcpu = words[0] & ~XF_STATISTICS_FINAL;

	(void)context;
	assert_true(pcpu < nr);
	switch (kind) {
	case XF_CONTROL_HELLO:
		assert_int_equal(count, 6);
		assert_int_equal(words[1], XF_FORMAT_VERSION);
		hellos++;
		break;
	case XF_CONTROL_IDLE:
		heard[pcpu].idle += words[1];
		break;
	case XF_CONTROL_STATISTICS:
		assert_int_equal(count, 7);
		if (!(words[0] & XF_STATISTICS_FINAL))
			break;
		heard[pcpu].finals++;
		memcpy(heard[pcpu].final, words, sizeof(heard[pcpu].final));
		break;
	case XF_CONTROL_REFUSAL:
		refusals++;
		refusal = words[1];
		break;
	}
}

static void hear(void)
{
	struct xf_stream_sink sink = {.sample = hear_sample, .control = hear_control};
	unsigned int cpu;

	for (cpu = 0; cpu < nr; cpu++) {
		size_t size;
		const uint8_t *bytes = fake_take_trace(cpu, &size);

		xf_stream_feed(&heard[cpu].stream, bytes, size, &sink);
		assert_true(lossy || !heard[cpu].stream.broken);
		assert_int_equal(heard[cpu].stream.damaged_bytes, 0);
	}
}

static void renew(void *context)
{
	if (!renewing)
		return;
	hear();
	lease = lease % XF_LEASE_MASK + 1;
	renewed = fake_now();
	fake_set_event_mask(XF_TRACE_MASK | lease);
	fake_at(fake_now() + RENEWAL, renew, context);
}

static void start(unsigned int pcpus, uint64_t seed, unsigned int frequency)
{
	unsigned int cpu;

	nr = pcpus;
	memset(heard, 0, sizeof(heard));
	hellos = refusals = refusal = 0;
	fake_start(pcpus, seed);
	fake_configure(frequency);
	for (cpu = 0; cpu < nr; cpu++) {
		xf_stream_init(&heard[cpu].stream, cpu);
		heard[cpu].shortest = UINT64_MAX;
	}
	lease = 0;
	renewing = true;
	living = lossy = false;
	renew(NULL);
}

static void run_for(int64_t duration)
{
	fake_run_until(fake_now() + duration);
	hear();
}

static void all(enum fake_life life)
{
	unsigned int cpu;

	for (cpu = 0; cpu < nr; cpu++)
		fake_set_life(cpu, life);
}

static void request_stop(void)
{
	renewing = false;
	fake_set_event_mask(XF_TRACE_MASK | XF_LEASE_STOP);
}

static bool is_as_before(void)
{
	return fake_nmi_slot() == NULL && fake_softirq_is_xens() && fake_timers_pending() == 0;
}

static void print_books(uint64_t seed)
{
	unsigned int cpu;

	for (cpu = 0; cpu < nr; cpu++)
		print_error("seed %llu pCPU %u: state %u closed %u kicked %u; kicks %u taken %u "
		            "lost slot %u lost NMI %u idle %u skipped %u; heard: samples %llu, "
		            "finals %llu (kicks %u taken %u lost %u %u)\n",
		            (unsigned long long)seed, cpu, xf_agent.state, xf_pcpus[cpu].closed,
		            xf_pcpus[cpu].kicked, xf_pcpus[cpu].kicks, xf_pcpus[cpu].taken,
		            xf_pcpus[cpu].lost_slot, xf_pcpus[cpu].lost_nmi, xf_pcpus[cpu].idle,
		            xf_pcpus[cpu].skipped, (unsigned long long)heard[cpu].samples,
		            (unsigned long long)heard[cpu].finals, heard[cpu].final[1],
		            heard[cpu].final[2], heard[cpu].final[3], heard[cpu].final[4]);
}

#define WANT(condition, seed)                                                                      \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			print_error("not so: %s\n", #condition);                                   \
			print_books(seed);                                                         \
			fail();                                                                    \
		}                                                                                  \
	} while (0)

/* Every pCPU's books: closed once, balanced, and what they say was taken has come out. */
static void want_balanced_books(uint64_t seed)
{
	unsigned int cpu;

	for (cpu = 0; cpu < nr; cpu++) {
		const uint32_t *final = heard[cpu].final;

		WANT(heard[cpu].finals == 1, seed);
		WANT(final[1] == final[2] + final[3] + final[4], seed);
		WANT(heard[cpu].samples == final[2], seed);
		WANT(heard[cpu].idle == final[5], seed);
		/* Nothing after the closing. */
		WANT(xf_pcpus[cpu].kicks == final[1] && xf_pcpus[cpu].taken == final[2], seed);
	}
}

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

			start(pcpus[j], 1 + i, frequencies[i]);
			all(FAKE_PV_GUEST);
			fake_load();
			run_for(seconds * FAKE_SECOND);
			assert_int_equal(hellos, 1);
			for (cpu = 0; cpu < nr; cpu++) {
				assert_near(heard[cpu].samples,
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
	start(4, 77, 100);
	all(FAKE_PV_GUEST);
	fake_load();
	run_for(200 * FAKE_SECOND);
	for (cpu = 0; cpu < nr; cpu++) {
		/* 10 ms, less or more what Xen's timers and the NMI's way may add or take. */
		assert_in_range(heard[cpu].shortest, 7500000 - 250000, 7600000);
		assert_in_range(heard[cpu].longest, 12400000, 12500000 + 250000);
		assert_int_equal(xf_pcpus[cpu].skipped, 0);
	}
}

/* Idle pCPUs. */

static void an_idle_pcpu_is_counted_and_left_alone(void **state)
{
	unsigned int cpu;

	(void)state;
	start(4, 5, 99);
	fake_set_life(0, FAKE_PV_GUEST);
	fake_set_life(1, FAKE_PV_GUEST);
	fake_load();
	run_for(FAKE_SECOND / 2);
	for (cpu = 2; cpu < 4; cpu++)
		assert_int_equal(fake_timer_expires(&xf_pcpus[cpu].timer), FAKE_NEVER);
	run_for(60 * FAKE_SECOND);
	for (cpu = 2; cpu < 4; cpu++) {
		assert_int_equal(fake_counts(cpu)->nmis_sent, 0);
		assert_int_equal(fake_counts(cpu)->timers_run, 0);
		assert_near(heard[cpu].idle, 99 * 60.5, 0.03);
	}
	assert_near(heard[0].samples, 99 * 60.5, 0.03);
	assert_near(heard[1].samples, 99 * 60.5, 0.03);
}

static void on_an_idle_host_only_pcpu_0s_timer_ticks(void **state)
{
	unsigned int cpu;

	(void)state;
	start(8, 6, 99);
	fake_load();
	run_for(30 * FAKE_SECOND);
	assert_int_equal(fake_timers_pending(), 1);
	assert_true(fake_timer_expires(&xf_pcpus[0].timer) != FAKE_NEVER);
	for (cpu = 0; cpu < nr; cpu++) {
		assert_int_equal(fake_counts(cpu)->nmis_sent, 0);
		assert_near(heard[cpu].idle, 99 * 30, 0.03);
		assert_true(xf_pcpus[cpu].skipped <= 1);
	}
}

static void an_idle_vcpu_with_work_is_busy(void **state)
{
	(void)state;
	start(4, 7, 99);
	fake_set_life(2, FAKE_IDLE_WORK);
	fake_load();
	run_for(10 * FAKE_SECOND);
	assert_near(heard[2].samples, 99 * 10, 0.03);
	/* Where the idle call is not known, an idle vCPU is idle. */
	start(4, 8, 99);
	xf_config.idle_return = 0;
	fake_set_life(2, FAKE_IDLE_WORK);
	fake_load();
	run_for(10 * FAKE_SECOND);
	assert_int_equal(heard[2].samples, 0);
	assert_near(heard[2].idle, 99 * 10, 0.03);
}

static void busy_after_idle_for(int64_t idle)
{
	uint64_t before;

	start(4, 9, 99);
	fake_set_life(0, FAKE_PV_GUEST);
	fake_load();
	run_for(idle);
	assert_int_equal(heard[2].samples, 0);
	fake_set_life(2, FAKE_PV_GUEST);
	run_for(2 * FAKE_SECOND / 99);
	assert_true(heard[2].samples >= 1);
	run_for(2 * FAKE_SECOND);
	assert_near(heard[2].samples, 2 * 99 + 1, 0.05);
	fake_set_life(2, FAKE_IDLE);
	before = heard[2].samples;
	run_for(2 * FAKE_SECOND);
	assert_true(heard[2].samples <= before + 1);
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
	start(4, 10, 99);
	fake_set_life(0, FAKE_PV_GUEST);
	fake_load();
	run_for(600 * FAKE_SECOND);
	/* pCPU 0 may look a little early or late; whole periods are never missed here. */
	assert_true(xf_pcpus[2].skipped <= 2);
}

/* Stuck pCPUs: busy in Xen, no timer and no softirq runs there. */

static void a_stuck_pcpu_is_sampled_by_its_neighbours(void **state)
{
	uint32_t kicks;

	(void)state;
	start(4, 11, 99);
	all(FAKE_PV_GUEST);
	fake_load();
	run_for(FAKE_SECOND);
	kicks = xf_pcpus[2].kicks;
	fake_set_life(2, FAKE_HYPERCALL);
	run_for(FAKE_SECOND);
	assert_near(xf_pcpus[2].kicks - kicks, 99, 0.06);
	/* The ring holds eight samples; they come out when it is over. */
	assert_true(xf_pcpus[2].lost_slot > 80);
	fake_set_life(2, FAKE_PV_GUEST);
	hear();
	assert_int_equal(heard[2].samples, xf_pcpus[2].taken);
}

static void whom_a_stuck_pcpu_should_have_ticked_others_tick(void **state)
{
	uint32_t kicks[4];
	unsigned int stuck, cpu;

	(void)state;
	for (stuck = 0; stuck < 4; stuck++) {
		start(4, 12 + stuck, 99);
		all(FAKE_PV_GUEST);
		fake_load();
		run_for(FAKE_SECOND);
		for (cpu = 0; cpu < 4; cpu++)
			kicks[cpu] = xf_pcpus[cpu].kicks;
		fake_set_life(stuck, FAKE_HYPERCALL);
		run_for(4 * FAKE_SECOND);
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
		run_for(4 * FAKE_SECOND);
		for (cpu = 0; cpu < 4; cpu++)
			assert_near(xf_pcpus[cpu].kicks - kicks[cpu], 4 * 99, 0.05);
	}
}

/* Few pCPUs, and changing ones. */

static void one_pcpu_alone_is_refused(void **state)
{
	(void)state;
	start(1, 13, 99);
	fake_set_life(0, FAKE_PV_GUEST);
	fake_load();
	run_for(FAKE_SECOND);
	assert_int_equal(refusals, 1);
	assert_int_equal(refusal, XF_REFUSAL_ONE_PCPU);
	assert_true(is_as_before());
	assert_int_equal(xf_agent.state, XF_QUIET);
	fake_unload();
	assert_int_equal(fake_timers_alive(), 0);
}

static void break_nothing(void)
{
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
	xen_softirq_handlers[FAKE_KICK_SOFTIRQ] = break_nothing;
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
	renewing = false;
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

		start(3, 14, 99);
		all(FAKE_PV_GUEST);
		cases[i].damage();
		slot = fake_nmi_slot();
		handler = xen_softirq_handlers[FAKE_KICK_SOFTIRQ];
		fake_load();
		run_for(3 * FAKE_SECOND);
		assert_int_equal(refusals, cases[i].told);
		if (cases[i].told)
			assert_int_equal(refusal, cases[i].refusal);
		assert_int_equal(hellos, 0);
		assert_ptr_equal(fake_nmi_slot(), slot);
		assert_ptr_equal(xen_softirq_handlers[FAKE_KICK_SOFTIRQ], handler);
		assert_int_equal(fake_timers_pending(), 0);
		assert_int_equal(fake_counts(1)->nmis_sent, 0);
		fake_unload();
		assert_ptr_equal(fake_nmi_slot(), slot);
		assert_ptr_equal(xen_softirq_handlers[FAKE_KICK_SOFTIRQ], handler);
	}
}

static void a_pcpu_off_line_is_left_alone_and_sampled_when_it_is_back(void **state)
{
	uint64_t samples;
	unsigned int round;

	(void)state;
	start(4, 15, 99);
	all(FAKE_PV_GUEST);
	fake_load();
	for (round = 0; round < 20; round++) {
		run_for(FAKE_SECOND / 3 + (int64_t)round * 1234567);
		fake_set_online(3, false); /* any NMI or read from now on ends the program */
		run_for(FAKE_SECOND);
		fake_set_online(3, true);
		fake_set_life(3, FAKE_PV_GUEST);
		samples = heard[3].samples;
		run_for(FAKE_SECOND);
		/* The NMI that went down with it may cost a second. */
		assert_true(heard[3].samples > samples);
		run_for(FAKE_SECOND);
		assert_true(heard[3].samples >= samples + 90);
	}
	fake_set_online(3, false);
	run_for(FAKE_SECOND);
	request_stop();
	run_for(FAKE_SECOND);
	want_balanced_books(15);
	assert_true(is_as_before());
}

/* The host must survive it; samples may stop. */
static void the_last_pcpu_on_line_does_not_tick_for_ever(void **state)
{
	(void)state;
	start(2, 16, 99);
	all(FAKE_PV_GUEST);
	fake_load();
	run_for(FAKE_SECOND);
	fake_set_online(1, false);
	run_for(FAKE_SECOND);
	fake_set_online(1, true);
	fake_set_life(1, FAKE_PV_GUEST);
	run_for(3 * FAKE_SECOND);
	assert_true(heard[0].samples > 99 * 2);
	assert_true(heard[1].samples > 99 * 2);
	request_stop();
	run_for(FAKE_SECOND);
	want_balanced_books(16);
}

static void a_96_pcpu_host_is_served_as_well(void **state)
{
	unsigned int cpu;

	(void)state;
	start(96, 17, 50);
	for (cpu = 0; cpu < nr; cpu += 2)
		fake_set_life(cpu, FAKE_PV_GUEST);
	fake_load();
	run_for(4 * FAKE_SECOND);
	for (cpu = 0; cpu < nr; cpu += 2)
		assert_near(heard[cpu].samples, 4 * 50, 0.06);
	for (cpu = 1; cpu < nr; cpu += 2)
		assert_int_equal(fake_counts(cpu)->nmis_sent, 0);
	for (cpu = 0; cpu < nr && getenv("XF_VERBOSE"); cpu++)
		if (fake_counts(cpu)->timers_run)
			print_message("pCPU %u has run %llu ticks\n", cpu,
			              (unsigned long long)fake_counts(cpu)->timers_run);
	request_stop();
	run_for(FAKE_SECOND);
	want_balanced_books(17);
	assert_true(is_as_before());
}

/* NMIs that get lost. */

static void a_swallowed_nmi_is_counted_and_sampling_goes_on(void **state)
{
	const struct fake_nmi_policy swallowing = {.swallow_of_1000 = 20, .delay_max = 3000};
	uint64_t samples, swallowed = 0, lost = 0;
	unsigned int cpu;

	(void)state;
	start(4, 18, 99);
	all(FAKE_PV_GUEST);
	fake_set_nmi_policy(&swallowing);
	fake_load();
	run_for(30 * FAKE_SECOND);
	for (cpu = 0; cpu < nr; cpu++) {
		swallowed += fake_counts(cpu)->nmis_swallowed;
		lost += xf_pcpus[cpu].lost_nmi;
		samples = heard[cpu].samples;
		assert_true(samples > 500);
	}
	assert_true(swallowed > 20);
	assert_true(lost >= swallowed - 4);
	request_stop();
	run_for(FAKE_SECOND);
	want_balanced_books(18);
	for (cpu = 0; cpu < nr; cpu++)
		assert_int_equal(fake_counts(cpu)->nmis_unknown, 0);
}

static void nmis_of_others_reach_xen(void **state)
{
	unsigned int i;

	(void)state;
	start(3, 19, 99);
	all(FAKE_PV_GUEST);
	fake_load();
	for (i = 0; i < 200; i++) {
		run_for(7 * FAKE_MS);
		if (xf_pcpus[1].kicked)
			continue;
		fake_inject_nmi(1);
		run_for(0);
	}
	run_for(FAKE_SECOND);
	assert_int_equal(fake_counts(1)->nmis_unknown, fake_counts(1)->nmis_foreign);
	assert_true(fake_counts(1)->nmis_foreign > 150);
}

/* The lease. */

static void without_a_lease_it_is_quiet_within_two_seconds(unsigned int frequency, bool busy)
{
	int64_t last = 0;
	unsigned int cpu;

	start(4, 20 + frequency, frequency);
	all(busy ? FAKE_PV_GUEST : FAKE_IDLE);
	fake_load();
	run_for(3 * FAKE_SECOND);
	assert_true(xf_agent.state == XF_RUNNING);
	renewing = false; /* the tool has died */
	fake_run_until(renewed + 5 * FAKE_SECOND);
	hear();
	for (cpu = 0; cpu < nr; cpu++)
		if (fake_counts(cpu)->last_sent > last)
			last = fake_counts(cpu)->last_sent;
	assert_true(last < renewed + XF_LEASE_NS + 2 * FAKE_SECOND / frequency);
	want_balanced_books(20);

	start(4, 20 + frequency, frequency);
	all(busy ? FAKE_PV_GUEST : FAKE_IDLE);
	fake_load();
	run_for(3 * FAKE_SECOND);
	renewing = false;
	fake_run_until(renewed + 2 * FAKE_SECOND);
	if (!is_as_before())
		print_error("at %u Hz, %s: not as before 2 s after the last sign of life\n",
		            frequency, busy ? "busy" : "idle");
	assert_true(is_as_before());
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
	start(3, 21, 99);
	all(FAKE_PV_GUEST);
	fake_load();
	run_for(FAKE_SECOND);
	renewing = false;
	fake_set_event_mask(0x0001f000 | 5); /* xentrace -e gen */
	run_for(FAKE_SECOND / 2);
	assert_true(is_as_before());
	assert_int_equal(xf_agent.state, XF_QUIET);
}

/* The slot of others. */

static void a_slot_that_somebody_took_stays_theirs(void **state)
{
	(void)state;
	start(3, 22, 99);
	all(FAKE_PV_GUEST);
	fake_load();
	run_for(FAKE_SECOND);
	assert_ptr_equal(fake_take_nmi_slot(theirs), xf_capture_nmi);
	run_for(FAKE_SECOND);
	request_stop();
	run_for(FAKE_SECOND);
	assert_int_equal(xf_agent.state, XF_QUIET);
	assert_ptr_equal(fake_nmi_slot(), theirs);
	assert_true(fake_softirq_is_xens());
	want_balanced_books(22);
	fake_unload();
	assert_ptr_equal(fake_nmi_slot(), theirs);
}

static void a_slot_that_somebody_borrowed_is_used_again(void **state)
{
	uint64_t samples;

	(void)state;
	start(3, 23, 99);
	all(FAKE_PV_GUEST);
	fake_load();
	run_for(FAKE_SECOND);
	fake_take_nmi_slot(theirs);
	run_for(100 * FAKE_MS);
	fake_take_nmi_slot(xf_capture_nmi);
	samples = heard[1].samples;
	run_for(3 * FAKE_SECOND);
	assert_true(heard[1].samples > samples + 150);
	request_stop();
	run_for(FAKE_SECOND);
	want_balanced_books(23);
	assert_true(is_as_before());
}

static void a_softirq_handler_that_somebody_replaced_stays_theirs(void **state)
{
	(void)state;
	start(3, 24, 99);
	fake_load();
	run_for(FAKE_SECOND);
	xen_softirq_handlers[FAKE_KICK_SOFTIRQ] = break_nothing;
	request_stop();
	run_for(FAKE_SECOND);
	assert_ptr_equal(xen_softirq_handlers[FAKE_KICK_SOFTIRQ], break_nothing);
}

/* Random lives, NMIs and pauses. */

static const enum fake_life lives[] = {FAKE_IDLE,      FAKE_IDLE,      FAKE_IDLE_WORK,
                                       FAKE_PV_GUEST,  FAKE_PV_GUEST,  FAKE_VMX_GUEST,
                                       FAKE_SVM_GUEST, FAKE_HYPERCALL, FAKE_SYSCALL};

static void live(void *context)
{
	unsigned int cpu = (unsigned int)(uintptr_t)context;
	enum fake_life life = lives[fake_random() % (sizeof(lives) / sizeof(lives[0]))];
	int64_t duration = fake_between(1000, fake_random() % 4 ? 300000 : longest_life);

	if (!living)
		life = FAKE_IDLE;
	if (life == FAKE_SYSCALL)
		duration %= 2000;
	fake_set_life(cpu, life);
	if (living)
		fake_at(fake_now() + duration, live, context);
}

static void inject(void *context)
{
	if (!living)
		return;
	fake_inject_nmi((unsigned int)fake_random() % nr);
	fake_at(fake_now() + fake_between(FAKE_MS, 200 * FAKE_MS), inject, context);
}

enum end {
	STOP,
	EXPIRE,
	UNLOAD,
	TAKEN,
	NR_ENDS,
};

static const char *const end_names[] = {"stop", "expire", "unload", "taken"};

struct schedule {
	uint64_t seed;
	unsigned int pcpus, frequency;
	struct fake_pauses pauses;
	struct fake_nmi_policy nmis;
	bool foreign;
};

static void begin(const struct schedule *schedule)
{
	unsigned int cpu;

	start(schedule->pcpus, schedule->seed, schedule->frequency);
	fake_set_nmi_policy(&schedule->nmis);
	fake_set_pauses(&schedule->pauses);
	living = true;
	longest_life = 20 * FAKE_MS;
	for (cpu = 0; cpu < nr; cpu++)
		live((void *)(uintptr_t)cpu);
	if (schedule->foreign)
		fake_at(fake_now(), inject, NULL);
	fake_load();
}

static void want_only_foreign_nmis_unknown(uint64_t seed)
{
	unsigned int cpu;

	for (cpu = 0; cpu < nr; cpu++)
		WANT(fake_counts(cpu)->nmis_unknown <= fake_counts(cpu)->nmis_foreign, seed);
}

static int64_t last_sent(void)
{
	int64_t last = 0;
	unsigned int cpu;

	for (cpu = 0; cpu < nr; cpu++)
		if (fake_counts(cpu)->last_sent > last)
			last = fake_counts(cpu)->last_sent;
	return last;
}

static void end(const struct schedule *schedule, enum end how)
{
	/* A pause that has begun may keep one handler from noticing for so long. */
	int64_t late = schedule->pauses.long_ago ? 200 * FAKE_MS : FAKE_MS;
	int64_t since = fake_now();
	bool was_running = xf_agent.state == XF_RUNNING;

	switch (how) {
	case UNLOAD:
		fake_unload();
		WANT(fake_timers_alive() == 0, schedule->seed);
		WANT(is_as_before(), schedule->seed);
		run_for(FAKE_SECOND / 4);
		WANT(last_sent() <= since, schedule->seed);
		want_only_foreign_nmis_unknown(schedule->seed);
		return;
	case EXPIRE:
		renewing = false;
		/* It counts from the tick that saw the sign of life, when that got its turn. */
		since = renewed + XF_LEASE_NS + longest_life +
		        2 * FAKE_SECOND / schedule->frequency;
		fake_run_until(renewed + 2 * FAKE_SECOND + late);
		break;
	case TAKEN:
		fake_take_nmi_slot(theirs);
		request_stop();
		fake_run_until(fake_now() + FAKE_SECOND / 2 + late);
		break;
	default:
		request_stop();
		fake_run_until(fake_now() + FAKE_SECOND / 2 + late);
	}
	hear();
	WANT(last_sent() <= since + late, schedule->seed);
	WANT(xf_agent.state == XF_QUIET, schedule->seed);
	WANT(fake_nmi_slot() == (how == TAKEN ? theirs : NULL), schedule->seed);
	WANT(fake_softirq_is_xens(), schedule->seed);
	WANT(fake_timers_pending() == 0, schedule->seed);
	want_only_foreign_nmis_unknown(schedule->seed);
	if (was_running)
		want_balanced_books(schedule->seed);
	fake_unload();
	WANT(fake_timers_alive() == 0, schedule->seed);
	WANT(fake_nmi_slot() == (how == TAKEN ? theirs : NULL), schedule->seed);
	living = false;
}

static struct schedule random_schedule(uint64_t seed)
{
	static const unsigned int frequencies[] = {50, 99, 250, 1000};
	/* Below the agent's patience at the end, 20 ms. */
	static const int64_t delays[] = {3000, 3000, 2 * FAKE_MS, 12 * FAKE_MS};
	struct schedule schedule = {.seed = seed};
	uint64_t dice = seed * 0x9e3779b97f4a7c15ull >> 20;

	schedule.nmis.delay_max = delays[dice / 16 % 4];
	schedule.pcpus = 2 + dice % 4;
	schedule.frequency = frequencies[dice / 4 % 4];
	schedule.nmis.swallow_of_1000 = dice / 64 % 4 == 0 ? 30 : 0;
	if (dice / 256 % 4) {
		schedule.pauses.nmi = 20000;
		schedule.pauses.others = 3000;
	}
	if (dice / 1024 % 2)
		schedule.pauses.long_ago = 200;
	schedule.foreign = dice / 2048 % 4 == 0;
	return schedule;
}

static void run_schedule(uint64_t seed, enum end how)
{
	struct schedule schedule = random_schedule(seed);

	begin(&schedule);
	/* Early endings are the more interesting ones. */
	fake_run_until(fake_now() + fake_between(0, seed % 3 ? 100 * FAKE_MS : FAKE_SECOND));
	end(&schedule, how);
}

static void random_schedules(enum end how)
{
	const char *seed = getenv("XF_SEED");
	const char *number = getenv("XF_SCHEDULES");
	uint64_t nr_schedules = number ? strtoull(number, NULL, 0) : SCHEDULES / NR_ENDS;
	uint64_t i;

	if (seed) {
		run_schedule(strtoull(seed, NULL, 0), how);
		return;
	}
	print_message("%s: seeds 1 to %llu\n", end_names[how], (unsigned long long)nr_schedules);
	for (i = 1; i <= nr_schedules; i++)
		run_schedule(i, how);
}

static void books_balance_after_a_stop_in_any_schedule(void **state)
{
	(void)state;
	random_schedules(STOP);
}

static void books_balance_after_the_tools_death_in_any_schedule(void **state)
{
	(void)state;
	random_schedules(EXPIRE);
}

static void nothing_is_left_after_an_unload_in_any_schedule(void **state)
{
	(void)state;
	random_schedules(UNLOAD);
}

static void a_taken_slot_stays_taken_in_any_schedule(void **state)
{
	(void)state;
	random_schedules(TAKEN);
}

/* The last NMI of a pCPU arrives while its books are being closed, at any point of that. */
static void an_nmi_that_arrives_during_the_closing_is_in_the_books_and_comes_out(void **state)
{
	/* Longer than the pause before the closing, shorter than its patience. */
	const struct fake_nmi_policy slow = {.delay_min = 4 * FAKE_MS, .delay_max = 18 * FAKE_MS};
	const struct fake_pauses pauses = {.nmi = 4000};
	uint64_t seed;

	(void)state;
	for (seed = 1; seed <= 600; seed++) {
		start(2, seed, 1000);
		all(FAKE_PV_GUEST);
		fake_set_nmi_policy(&slow);
		fake_set_pauses(&pauses);
		fake_load();
		fake_run_until(fake_now() + fake_between(30 * FAKE_MS, 60 * FAKE_MS));
		request_stop();
		run_for(FAKE_SECOND / 4);
		want_balanced_books(seed);
		WANT(is_as_before(), seed);
	}
}

/* One schedule, ended after its first event, after its second, and so on. */
static void at_every_moment(enum end how)
{
	struct schedule schedule = {.seed = 4242,
	                            .pcpus = 3,
	                            .frequency = 250,
	                            .nmis = {.delay_min = 500, .delay_max = 5000}};
	unsigned int moment, i;

	for (moment = 0; moment < 500; moment++) {
		begin(&schedule);
		for (i = 0; i < moment; i++)
			assert_true(fake_step(FAKE_NEVER));
		end(&schedule, how);
	}
}

static void a_stop_is_good_at_every_moment(void **state)
{
	(void)state;
	at_every_moment(STOP);
}

static void the_tool_may_die_at_every_moment(void **state)
{
	(void)state;
	at_every_moment(EXPIRE);
}

static void an_unload_is_good_at_every_moment(void **state)
{
	(void)state;
	at_every_moment(UNLOAD);
}

static void the_slot_may_be_taken_at_every_moment(void **state)
{
	(void)state;
	at_every_moment(TAKEN);
}

/* Xen's own lost records: what was taken has come out, or was in a record that Xen lost. */
static void what_xens_trace_loses_is_told_by_the_final_books(void **state)
{
	unsigned int cpu, i;

	(void)state;
	start(3, 25, 1000);
	all(FAKE_SVM_GUEST);
	fake_set_trace_limit(4096);
	lossy = true;
	fake_load();
	for (i = 0; i < 40; i++)
		run_for(100 * FAKE_MS);
	for (cpu = 0; cpu < nr; cpu++)
		assert_true(heard[cpu].stream.lost_records > 0);
	fake_set_trace_limit(0);
	request_stop();
	run_for(FAKE_SECOND);
	for (cpu = 0; cpu < nr; cpu++) {
		assert_int_equal(heard[cpu].finals, 1);
		assert_true(heard[cpu].samples < heard[cpu].final[2]);
		assert_int_equal(heard[cpu].final[1],
		                 heard[cpu].final[2] + heard[cpu].final[3] + heard[cpu].final[4]);
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
	        cmocka_unit_test(a_slot_that_somebody_took_stays_theirs),
	        cmocka_unit_test(a_slot_that_somebody_borrowed_is_used_again),
	        cmocka_unit_test(a_softirq_handler_that_somebody_replaced_stays_theirs),
	        cmocka_unit_test(what_xens_trace_loses_is_told_by_the_final_books),
	        cmocka_unit_test(a_stop_is_good_at_every_moment),
	        cmocka_unit_test(the_tool_may_die_at_every_moment),
	        cmocka_unit_test(an_unload_is_good_at_every_moment),
	        cmocka_unit_test(the_slot_may_be_taken_at_every_moment),
	        cmocka_unit_test(
	                an_nmi_that_arrives_during_the_closing_is_in_the_books_and_comes_out),
	        cmocka_unit_test(books_balance_after_a_stop_in_any_schedule),
	        cmocka_unit_test(books_balance_after_the_tools_death_in_any_schedule),
	        cmocka_unit_test(nothing_is_left_after_an_unload_in_any_schedule),
	        cmocka_unit_test(a_taken_slot_stays_taken_in_any_schedule),
	        cmocka_unit_test(the_last_pcpu_on_line_does_not_tick_for_ever),
	};

	cmocka_set_test_filter(getenv("XF_TEST"));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
