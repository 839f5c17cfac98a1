// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * agent/kick.c in every order of what can happen: NMIs sent by another pCPU, overflows of the
 * counter of Xen's watchdog, NMIs from elsewhere, NMIs swallowed while Xen patches itself; before
 * and after each of the agent's accesses to shared memory. A pCPU remembers one pending NMI, and
 * takes none while it handles one.
 *
 * Sender and handler are coroutines that come back to a scheduler before each access. It tries one
 * choice after the other by running everything from the start again, and leaves off where it has
 * been before.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include <cmocka.h>

#include "agent/agent.h"

#define MAX_STEPS   256u
#define STATES      (1u << 22)
#define STACK_BYTES (64u << 10)
#define KICK_EVERY  600000000ll /* the third comes more than a second after the first */

/* What may happen in a run, how often. */
struct script {
	unsigned int kicks;
	unsigned int overflows;
	unsigned int foreign; /* NMIs that leave no trace */
	unsigned int masked;  /* NMIs swallowed by the live patch loader */
	bool counts;          /* false: the counter always reads 0 */
};

struct coroutine {
	bool running;
	bool odd; /* the pause after an access comes next */
	uint64_t history;
};

/* All that determines what can follow; compared as a whole, so there is no padding in it. */
struct world {
	struct script left;
	struct coroutine sender, handler;
	bool armed, pending, overflow_lost, unused;
	unsigned int raised_foreign, merged, sent;
	unsigned int taken, spares, xens, fed;
	int64_t now;
};

struct exploration {
	const struct script *script;
	uint64_t *seen;
	uint8_t choices[MAX_STEPS], widths[MAX_STEPS];
	const char *trail[MAX_STEPS];
	unsigned int replayed, runs, states;
};

static struct world world;
static struct exploration exploration;
static ucontext_t scheduler, sender, handler;
static char sender_stack[STACK_BYTES], handler_stack[STACK_BYTES];
static struct coroutine *current;

struct xf_pcpu xf_pcpus[1];
struct xf_agent_config xf_config;
unsigned long xf_masks[65][XF_MASK_WORDS];
const uint32_t nmi_watchdog = 2;
const uint32_t xen_nmi_perfctr_msr = XEN_MSR_K7_PERFCTR0;
const unsigned long cpu_online_map[1];
const void *const idle_vcpu[1];
void *const stack_base[1];

/* ---- What the agent's code calls ------------------------------------------------------------- */

static void back_to_scheduler(void)
{
	swapcontext(current == &world.sender ? &sender : &handler, &scheduler);
}

static void remember(uint64_t value)
{
	current->history = (current->history ^ value) * 0x100000001b3ull + 1;
}

uint64_t fake_pause(uint64_t value)
{
	if (!current->odd)
		back_to_scheduler();
	remember(value);
	current->odd = !current->odd;
	return value;
}

static void raise_nmi(void)
{
	world.merged += world.pending;
	world.pending = true;
}

void send_IPI_mask(const unsigned long *mask, int vector)
{
	assert_ptr_equal(mask, xf_masks[1]);
	assert_int_equal(vector, XEN_APIC_DM_NMI);
	back_to_scheduler();
	remember(1);
	world.sent++;
	raise_nmi();
}

uint64_t xf_machine_msr(uint32_t number)
{
	assert_int_equal(number, XEN_MSR_K7_PERFCTR0);
	back_to_scheduler();
	remember(world.armed);
	return world.armed && exploration.script->counts ? (uint64_t)-1000 : 0;
}

uint64_t xf_machine_tsc(void)
{
	return 1000;
}

/* Xen's watchdog: it counts what reaches it, and arms the counter. */
static void xen_takes_nmi(void)
{
	back_to_scheduler();
	world.xens++;
	world.fed += world.armed;
	world.armed = true;
	world.overflow_lost = false;
}

/* ---- The two coroutines ---------------------------------------------------------------------- */

static void send(void)
{
	xf_kick(0, world.now);
	world.sender.running = false;
}

static void handle(void)
{
	switch (xf_recognise_nmi(&xf_pcpus[0])) {
	case XF_NMI_OURS:
		world.taken++;
		break;
	case XF_NMI_SPARE:
		world.spares++;
		break;
	default:
		xen_takes_nmi();
		break;
	}
	world.handler.running = false;
}

static void start(struct coroutine *coroutine, ucontext_t *context, char *stack,
                  void (*function)(void))
{
	*coroutine = (struct coroutine){.running = true};
	getcontext(context);
	context->uc_stack.ss_sp = stack;
	context->uc_stack.ss_size = STACK_BYTES;
	context->uc_link = &scheduler;
	makecontext(context, function, 0);
}

static void resume(struct coroutine *coroutine, ucontext_t *context)
{
	current = coroutine;
	swapcontext(&scheduler, context);
	if (!coroutine->running)
		*coroutine = (struct coroutine){.running = false};
}

/* ---- What may happen next -------------------------------------------------------------------- */

static bool sender_runs(bool happens)
{
	if (!world.sender.running && !world.left.kicks)
		return false;
	if (!happens)
		return true;
	if (!world.sender.running) {
		world.left.kicks--;
		world.now += KICK_EVERY;
		start(&world.sender, &sender, sender_stack, send);
	}
	resume(&world.sender, &sender);
	return true;
}

static bool handler_runs(bool happens)
{
	if (!world.handler.running && !world.pending)
		return false;
	if (!happens)
		return true;
	if (!world.handler.running) {
		world.pending = false;
		start(&world.handler, &handler, handler_stack, handle);
	}
	resume(&world.handler, &handler);
	return true;
}

/* Two overflows are half a second apart at least: all is calm before the second. */
static bool counter_overflows(bool happens)
{
	bool calm = !world.sender.running && !world.handler.running && !world.pending;
	bool first = world.left.overflows == exploration.script->overflows;

	if (!world.left.overflows || !world.armed || (!first && !calm))
		return false;
	if (happens) {
		world.left.overflows--;
		world.armed = false;
		world.raised_foreign++;
		raise_nmi();
	}
	return true;
}

static bool foreign_comes(bool happens)
{
	if (!world.left.foreign)
		return false;
	if (happens) {
		world.left.foreign--;
		world.raised_foreign++;
		raise_nmi();
	}
	return true;
}

/* Nothing of ours can do anything about an overflow whose NMI is lost so, but later ones of ours.
 */
static bool patching_swallows(bool happens)
{
	if (!world.left.masked || !world.pending || world.handler.running)
		return false;
	if (happens) {
		world.left.masked--;
		world.pending = false;
		world.overflow_lost |= !world.armed;
	}
	return true;
}

static const struct {
	bool (*event)(bool happens);
	const char *name;
} events[] = {
        {sender_runs, "sender"},          {handler_runs, "handler"},
        {counter_overflows, "overflow"},  {foreign_comes, "foreign"},
        {patching_swallows, "swallowed"},
};
#define NR_EVENTS (sizeof(events) / sizeof(events[0]))

static unsigned int count_possible(void)
{
	unsigned int count = 0;
	size_t i;

	for (i = 0; i < NR_EVENTS; i++)
		count += events[i].event(false);
	return count;
}

static void happen(unsigned int step, unsigned int choice)
{
	size_t i;

	for (i = 0; i < NR_EVENTS; i++)
		if (events[i].event(false) && !choice--) {
			exploration.trail[step] = events[i].name;
			events[i].event(true);
			return;
		}
}

/* ---- All runs -------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15ull;
	return hash ^ (hash >> 29);
}

static uint64_t hash_of_state(void)
{
	const struct xf_pcpu *pcpu = &xf_pcpus[0];
	const struct script *left = &world.left;
	const uint64_t words[] = {left->kicks,
	                          left->overflows,
	                          left->foreign,
	                          left->masked,
	                          world.sender.running,
	                          world.sender.history,
	                          world.sender.odd,
	                          world.handler.running,
	                          world.handler.history,
	                          world.handler.odd,
	                          world.armed,
	                          world.pending,
	                          world.overflow_lost,
	                          world.raised_foreign,
	                          world.merged,
	                          world.sent,
	                          world.taken,
	                          world.spares,
	                          world.xens,
	                          world.fed,
	                          pcpu->kicked,
	                          pcpu->passed,
	                          pcpu->overflows,
	                          pcpu->spare_until,
	                          pcpu->kicks,
	                          pcpu->lost_nmi,
	                          (uint64_t)pcpu->kicked_at};
	uint64_t hash = 1;
	size_t i;

	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		hash = mix(hash, words[i]);
	return hash | 1;
}

/* Return: whether this state is new. */
static bool note_state(void)
{
	uint64_t hash = hash_of_state();
	uint32_t slot = hash >> 32 & (STATES - 1);

	while (exploration.seen[slot] && exploration.seen[slot] != hash)
		slot = (slot + 1) & (STATES - 1);
	if (exploration.seen[slot])
		return false;
	assert_true(exploration.states < STATES / 2);
	exploration.seen[slot] = hash;
	exploration.states++;
	return true;
}

static void begin_run(void)
{
	world = (struct world){.left = *exploration.script, .armed = true};
	memset(xf_pcpus, 0, sizeof(xf_pcpus));
	exploration.runs++;
}

/* Fails with what led there. */
static void want(bool holds, const char *promise, unsigned int last_step)
{
	unsigned int step;

	if (holds)
		return;
	for (step = 0; step <= last_step; step++)
		print_error("%s ", exploration.trail[step]);
	print_error("\nsent %u, foreign %u, merged %u; taken %u, spare %u, Xen's %u (fed %u)\n",
	            world.sent, world.raised_foreign, world.merged, world.taken, world.spares,
	            world.xens, world.fed);
	fail_msg("not kept: %s", promise);
}

/* What holds at every moment. */
static void check_promises(unsigned int step)
{
	const struct script *script = exploration.script;
	unsigned int may_be_believed = script->counts ? 0 : 2;

	want(world.xens <= world.raised_foreign + may_be_believed,
	     "Xen gets no more NMIs than were meant for it", step);
	if (script->counts)
		want(world.fed <= script->foreign - world.left.foreign,
		     "the watchdog is not fed by ours", step);
}

static void check_end(unsigned int step)
{
	const struct xf_pcpu *pcpu = &xf_pcpus[0];
	const struct script *script = exploration.script;
	unsigned int delivered = world.sent + world.raised_foreign - world.merged -
	                         (script->masked - world.left.masked);

	want(world.taken + world.spares + world.xens == delivered, "the model adds up", step);
	want(world.taken + world.spares <= world.sent,
	     "none meant for Xen is kept from it but by merging", step);
	if (script->counts)
		want(world.armed || world.overflow_lost, "the watchdog is armed again", step);
	want(pcpu->kicks == script->kicks &&
	             pcpu->kicks == world.taken + pcpu->lost_nmi + pcpu->kicked,
	     "what was sent was taken, is lost or is waited for", step);
}

static void run_once(void)
{
	unsigned int step, possible;

	begin_run();
	for (step = 0; (possible = count_possible()) != 0; step++) {
		assert_true(step < MAX_STEPS - 1);
		if (step >= exploration.replayed) {
			if (!note_state())
				break;
			exploration.choices[step] = 0;
		}
		exploration.widths[step] = (uint8_t)possible;
		happen(step, exploration.choices[step]);
		check_promises(step);
	}
	if (!possible)
		check_end(step - 1);
	exploration.replayed = step;
}

/* Return: whether there is another run. */
static bool next_run(void)
{
	while (exploration.replayed) {
		unsigned int last = exploration.replayed - 1;

		if (++exploration.choices[last] < exploration.widths[last])
			return true;
		exploration.replayed--;
	}
	return false;
}

static void explore(const struct script *script)
{
	exploration = (struct exploration){.script = script};
	exploration.seen = calloc(STATES, sizeof(*exploration.seen));
	assert_non_null(exploration.seen);
	do
		run_once();
	while (next_run());
	print_message("%u states in %u runs\n", exploration.states, exploration.runs);
	assert_true(exploration.states > 100);
	free(exploration.seen);
}

static void the_watchdog_gets_its_own_and_never_ours(void **state)
{
	(void)state;
	explore(&(struct script){.kicks = 3, .overflows = 2, .counts = true});
}

static void nmis_without_a_trace_reach_xen_as_often_as_they_came(void **state)
{
	(void)state;
	explore(&(struct script){.kicks = 3, .foreign = 3, .counts = true});
}

static void all_at_once_keeps_the_promises(void **state)
{
	(void)state;
	explore(&(struct script){
	        .kicks = 3, .overflows = 1, .foreign = 1, .masked = 1, .counts = true});
}

static void nmis_lost_while_xen_patches_itself_are_booked_and_sent_again(void **state)
{
	(void)state;
	explore(&(struct script){.kicks = 3, .overflows = 1, .masked = 2, .counts = true});
}

static void a_counter_that_never_counts_is_not_believed_for_long(void **state)
{
	(void)state;
	explore(&(struct script){.kicks = 4, .foreign = 1});
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(the_watchdog_gets_its_own_and_never_ours),
	        cmocka_unit_test(nmis_without_a_trace_reach_xen_as_often_as_they_came),
	        cmocka_unit_test(all_at_once_keeps_the_promises),
	        cmocka_unit_test(nmis_lost_while_xen_patches_itself_are_booked_and_sent_again),
	        cmocka_unit_test(a_counter_that_never_counts_is_not_believed_for_long),
	};

	return cmocka_run_group_tests_name("nmi_interleavings", tests, NULL, NULL);
}
