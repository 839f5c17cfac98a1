// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * agent/ in random schedules and at every moment of one: what it leaves behind however it ends, and
 * whether its books balance. XF_SEED=n repeats one random schedule, XF_SCHEDULES=n tries so many,
 * XF_TEST=pattern runs the tests of these names.
 */
#include "tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SCHEDULES 3000u

static int theirs(const struct xen_cpu_user_regs *regs, int cpu)
{
	(void)regs;
	(void)cpu;
	return 1;
}

static bool living;
static int64_t longest_life;

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
	fake_inject_nmi((unsigned int)fake_random() % tool.nr);
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

	tool_start(schedule->pcpus, schedule->seed, schedule->frequency);
	fake_set_nmi_policy(&schedule->nmis);
	fake_set_pauses(&schedule->pauses);
	living = true;
	longest_life = 20 * FAKE_MS;
	for (cpu = 0; cpu < tool.nr; cpu++)
		live((void *)(uintptr_t)cpu);
	if (schedule->foreign)
		fake_at(fake_now(), inject, NULL);
	fake_load();
}

static void want_only_foreign_nmis_unknown(uint64_t seed)
{
	unsigned int cpu;

	for (cpu = 0; cpu < tool.nr; cpu++)
		WANT(fake_counts(cpu)->nmis_unknown <= fake_counts(cpu)->nmis_foreign, seed);
}

static int64_t last_sent(void)
{
	int64_t last = 0;
	unsigned int cpu;

	for (cpu = 0; cpu < tool.nr; cpu++)
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
		WANT(tool_sees_xen_as_before(), schedule->seed);
		tool_run_for(FAKE_SECOND / 4);
		WANT(last_sent() <= since, schedule->seed);
		want_only_foreign_nmis_unknown(schedule->seed);
		return;
	case EXPIRE:
		tool.renewing = false;
		/* It counts from the tick that saw the sign of life, when that got its turn. */
		since = tool.renewed + XF_LEASE_NS + longest_life +
		        2 * FAKE_SECOND / schedule->frequency;
		fake_run_until(tool.renewed + 2 * FAKE_SECOND + late);
		break;
	case TAKEN:
		fake_take_nmi_slot(theirs);
		tool_request_stop();
		fake_run_until(fake_now() + FAKE_SECOND / 2 + late);
		break;
	default:
		tool_request_stop();
		fake_run_until(fake_now() + FAKE_SECOND / 2 + late);
	}
	tool_hear();
	WANT(last_sent() <= since + late, schedule->seed);
	WANT(xf_agent.state == XF_QUIET, schedule->seed);
	WANT(fake_nmi_slot() == (how == TAKEN ? theirs : NULL), schedule->seed);
	WANT(fake_softirq_is_xens(), schedule->seed);
	WANT(fake_timers_pending() == 0, schedule->seed);
	want_only_foreign_nmis_unknown(schedule->seed);
	if (was_running)
		tool_want_balanced_books(schedule->seed);
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
		tool_start(2, seed, 1000);
		tool_set_lives(FAKE_PV_GUEST);
		fake_set_nmi_policy(&slow);
		fake_set_pauses(&pauses);
		fake_load();
		fake_run_until(fake_now() + fake_between(30 * FAKE_MS, 60 * FAKE_MS));
		tool_request_stop();
		tool_run_for(FAKE_SECOND / 4);
		tool_want_balanced_books(seed);
		WANT(tool_sees_xen_as_before(), seed);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
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
	};

	cmocka_set_test_filter(getenv("XF_TEST"));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
