// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * When to take samples, in the timer softirq. Each busy pCPU has a timer that fires when its sample
 * is due, always on another pCPU: an NMI that a pCPU sent to itself would only ever find our own
 * tick. An idle pCPU has no timer: it is parked, and whenever pCPU 0's sample is taken the parked
 * are counted as idle without being woken, or found busy again, sent an NMI and given a timer. A
 * tick also looks at a few neighbours whose sample is overdue, because the pCPU that should have
 * sent their NMI is stuck in a long hypercall and runs no timers: it takes their timers over.
 *
 * Every period is drawn anew between 3/4 and 5/4 of the average, so that sampling does not lock
 * onto periodic work.
 *
 * What a tick changes of a pCPU it changes under that pCPU's lock, which is tried and never waited
 * for. Timers are Xen's and take Xen's timer locks, as any timer handler may. Every loop runs over
 * pCPUs.
 */
#include "peek.h"

#define SLOP             100000ll /* Xen fires timers up to 50 us early (timer_slop) */
#define SECOND           1000000000ll
#define NEIGHBOURS       8u        /* looked at by each tick */
#define CLOSING_PAUSE    5000000ll /* for the last NMI to land and the last softirq to run */
#define CLOSING_PATIENCE 4u
#define STUCK            10000000ll /* overdue by that much beyond a period: its ticker runs no timers */
#define STUCK_FOR        100000000ll
#define LEASE_LOOK       200000000ll /* however low the frequency, the lease is looked at so often */

static bool try_lock(struct xf_pcpu *pcpu)
{
	return !__atomic_exchange_n(&pcpu->lock, 1, __ATOMIC_ACQUIRE);
}

static void unlock(struct xf_pcpu *pcpu)
{
	__atomic_store_n(&pcpu->lock, 0, __ATOMIC_RELEASE);
}

/* xorshift64: never 0 from a seed that is not. Return: between 3/4 and 5/4 of the period. */
static int64_t next_period(struct xf_pcpu *pcpu)
{
	pcpu->random ^= pcpu->random << 13;
	pcpu->random ^= pcpu->random >> 7;
	pcpu->random ^= pcpu->random << 17;
	return xf_agent.period * 3 / 4 +
	       (int64_t)(pcpu->random % (uint64_t)(xf_agent.period / 2 + 1));
}

/* Does @cpu run an idle vCPU that has nothing to do? Looking does not wake it. */
static bool is_idle(uint32_t cpu, uint32_t self)
{
	uint64_t stack = xf_peek_stack_of(cpu);
	uint32_t slot = xf_config.frame_offset - xf_config.idle_slot;

	if (xf_peek_current(stack) != idle_vcpu[cpu])
		return false;
	/* We ourselves have left the halt to run this tick. */
	if (cpu == self || !xf_config.idle_return)
		return true;
	return xf_peek_stack(stack, slot) == xf_config.idle_return ||
	       xf_peek_stack(stack, slot - 8) == xf_config.idle_return;
}

static void report_idle(uint32_t cpu)
{
	struct xf_pcpu *pcpu = &xf_pcpus[cpu];
	uint32_t words[] = {cpu, pcpu->idle - pcpu->idle_reported};

	if (!words[1])
		return;
	pcpu->idle_reported = pcpu->idle;
	xf_emit_control(XF_CONTROL_IDLE, words, 2);
}

static void report_statistics(uint32_t cpu, uint32_t final)
{
	struct xf_pcpu *pcpu = &xf_pcpus[cpu];
	uint32_t words[] = {cpu | final,    pcpu->kicks, pcpu->taken,  pcpu->lost_slot,
	                    pcpu->lost_nmi, pcpu->idle,  pcpu->skipped};

	xf_emit_control(XF_CONTROL_STATISTICS, words, 7);
}

/*
 * Moves the due time past @now; whole periods that nobody served are skipped, and counted. A parked
 * pCPU has no due time of its own: it is looked at with pCPU 0.
 */
static void advance(struct xf_pcpu *pcpu, int64_t now)
{
	pcpu->due += next_period(pcpu);
	if (pcpu->parked) {
		pcpu->due = now + next_period(pcpu);
	} else if (pcpu->due <= now) {
		int64_t missed = (now - pcpu->due) / xf_agent.period + 1;

		pcpu->skipped += missed;
		pcpu->due += missed * xf_agent.period;
	}
}

/*
 * The pCPU that runs the timer of @target: the next one that is busy itself, where one is near, so
 * that ticks are spread evenly and wake nobody; or the next one online.
 * Return: @target where no other pCPU is online.
 */
static uint32_t choose_ticker(uint32_t target, uint32_t self, int64_t now)
{
	uint32_t nr = xf_config.nr_pcpus;
	uint32_t other = target;
	uint32_t i;

	for (i = 1; i < nr && i <= 2 * NEIGHBOURS; i++) {
		uint32_t cpu = (target + i) % nr;

		if (!xf_peek_online(cpu))
			continue;
		if (!is_idle(cpu, self) && xf_pcpus[cpu].stuck_until <= now)
			return cpu;
		if (other == target || xf_pcpus[other].stuck_until > now)
			other = cpu;
	}
	for (i = 0; i < nr && other == target; i++)
		if (xf_peek_online(i))
			other = i;
	return other;
}

/* Sets the timer of @target, which is no longer parked, to fire on @ticker when it is due. */
static void arm_on(uint32_t target, uint32_t ticker, int64_t now)
{
	struct xf_pcpu *pcpu = &xf_pcpus[target];
	int64_t when = pcpu->due;

	pcpu->parked = 0;
	/* Alone it cannot be sampled: it only waits for company. */
	if (ticker == target && when <= now) {
		pcpu->skipped++;
		pcpu->due = when = now + next_period(pcpu);
	}
	/* pCPU 0's timer also looks at the lease. */
	if (target == 0 && when > now + LEASE_LOOK)
		when = now + LEASE_LOOK;
	pcpu->ticker = ticker;
	migrate_timer(&pcpu->timer, ticker);
	set_timer(&pcpu->timer, when);
}

static void arm(uint32_t target, uint32_t self, int64_t now)
{
	arm_on(target, choose_ticker(target, self, now), now);
}

/*
 * Takes the sample of @cpu that is due: counts it idle, or sends the NMI. To be called under its
 * lock. Return: whether it is to have a timer of its own.
 */
static bool serve(uint32_t cpu, uint32_t self, int64_t now)
{
	struct xf_pcpu *pcpu = &xf_pcpus[cpu];

	if (pcpu->closed)
		return false;
	if (!xf_peek_online(cpu)) {
		pcpu->due = now + xf_agent.period;
		return false;
	}
	if (is_idle(cpu, self)) {
		pcpu->idle++;
		if ((pcpu->idle - pcpu->idle_reported) * 10 >= xf_config.frequency)
			report_idle(cpu);
		advance(pcpu, now);
		return false;
	}
	report_idle(cpu);
	if (cpu != self) {
		xf_kick(cpu, now);
		advance(pcpu, now);
	}
	if (now - pcpu->reported_at >= SECOND) {
		pcpu->reported_at = now;
		report_statistics(cpu, 0);
	}
	return true;
}

/* pCPU 0's tick looks after all that are parked. */
static void sweep(uint32_t self, int64_t now)
{
	uint32_t cpu;

	for (cpu = 1; cpu < xf_config.nr_pcpus; cpu++) {
		struct xf_pcpu *pcpu = &xf_pcpus[cpu];

		if (!pcpu->parked || !try_lock(pcpu))
			continue;
		if (pcpu->parked && serve(cpu, self, now))
			arm(cpu, self, now);
		unlock(pcpu);
	}
}

/*
 * A pCPU whose timer should have fired long ago: the pCPU that it is on runs no timers. Others get
 * their NMI from us, and we take the timer over. Our own sample is beyond us, and our timer goes to
 * a third pCPU; not at once, so that pCPUs that are merely slow do not keep each other busy with
 * it.
 */
static void serve_overdue(uint32_t cpu, uint32_t self, int64_t now)
{
	struct xf_pcpu *pcpu = &xf_pcpus[cpu];

	if (pcpu->ticker < xf_config.nr_pcpus && now - pcpu->due >= xf_agent.period + STUCK)
		xf_pcpus[pcpu->ticker].stuck_until = now + STUCK_FOR;
	if (cpu != self) {
		serve(cpu, self, now);
		arm_on(cpu, self, now);
	} else if (xf_config.nr_pcpus > 2 && now - pcpu->due >= xf_agent.period + STUCK) {
		pcpu->due = now + xf_agent.period / 4;
		arm(cpu, self, now);
	}
}

/* Looks at @target and a few neighbours for samples that are overdue by a period. */
static void look_around(uint32_t target, uint32_t self, int64_t now)
{
	uint32_t nr = xf_config.nr_pcpus;
	uint32_t i;

	for (i = 0; i < nr && i <= NEIGHBOURS; i++) {
		uint32_t cpu = (target + i) % nr;
		struct xf_pcpu *pcpu = &xf_pcpus[cpu];

		if (pcpu->parked || now - pcpu->due < xf_agent.period || !try_lock(pcpu))
			continue;
		if (!pcpu->parked && !pcpu->closed && now - pcpu->due >= xf_agent.period)
			serve_overdue(cpu, self, now);
		unlock(pcpu);
	}
}

/*
 * The exchange orders @parked before the look at the state, as whoever stops the agent changes the
 * state before looking at @parked: one of the two sees the other, and the timer gets set.
 */
static void park(struct xf_pcpu *pcpu, int64_t now)
{
	__atomic_exchange_n(&pcpu->parked, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&xf_agent.state, __ATOMIC_SEQ_CST) != XF_RUNNING)
		set_timer(&pcpu->timer, now + CLOSING_PAUSE);
}

static void pace(uint32_t target, uint32_t self, int64_t now)
{
	struct xf_pcpu *pcpu = &xf_pcpus[target];
	bool due = pcpu->due - now <= SLOP;
	bool busy = true;

	if (!try_lock(pcpu)) {
		set_timer(&pcpu->timer, now + xf_agent.period / 4);
		return;
	}
	if (due)
		busy = serve(target, self, now);
	if (busy || target == 0)
		arm(target, self, now);
	else
		park(pcpu, now);
	unlock(pcpu);
	if (target == 0 && due)
		sweep(self, now);
	look_around(target, self, now);
}

/* Has the tool given a sign of life, and not asked us to stop? */
static bool lease_held(int64_t now)
{
	uint32_t mask = *(const volatile uint32_t *)&xen_tb_event_mask;
	uint32_t value = mask & XF_LEASE_MASK;

	if (!XF_TRACE_IS_OURS(mask) || value == XF_LEASE_STOP)
		return false;
	if (value != __atomic_load_n(&xf_agent.lease_value, __ATOMIC_ACQUIRE)) {
		/* The time first: whoever sees the new value must not find an old time with it. */
		__atomic_store_n(&xf_agent.lease_time, now, __ATOMIC_RELAXED);
		__atomic_store_n(&xf_agent.lease_value, value, __ATOMIC_RELEASE);
		return true;
	}
	return now - __atomic_load_n(&xf_agent.lease_time, __ATOMIC_RELAXED) < XF_LEASE_NS;
}

static bool change_state(uint32_t from, uint32_t to)
{
	return __atomic_compare_exchange_n(&xf_agent.state, &from, to, false, __ATOMIC_ACQ_REL,
	                                   __ATOMIC_ACQUIRE);
}

static void hello(void)
{
	extern const char xf_text_start[] __attribute__((visibility("hidden")));
	extern const char xf_text_end[] __attribute__((visibility("hidden")));
	uint64_t start = (uint64_t)xf_text_start;
	uint32_t words[] = {0,
	                    XF_FORMAT_VERSION,
	                    (uint32_t)start,
	                    (uint32_t)(start >> 32),
	                    (uint32_t)(xf_text_end - xf_text_start),
	                    xf_config.frequency};

	xf_emit_control(XF_CONTROL_HELLO, words, 6);
}

/* The first tick, on pCPU 0's timer, after Xen has finished applying us. */
static void begin(uint32_t self, int64_t now)
{
	enum xf_refusal refusal = xf_start();
	uint32_t cpu;

	if (refusal) {
		uint32_t words[] = {self, refusal};

		xf_agent.state = XF_QUIET;
		xf_emit_control(XF_CONTROL_REFUSAL, words, 2);
		return;
	}
	hello();
	xf_agent.open_pcpus = xf_config.nr_pcpus;
	for (cpu = 0; cpu < xf_config.nr_pcpus; cpu++) {
		xf_pcpus[cpu].due = now + next_period(&xf_pcpus[cpu]);
		xf_pcpus[cpu].parked = cpu != 0;
	}
	xf_agent.state = XF_RUNNING;
	arm(0, self, now);
}

/*
 * Ends the books of @target, on @target itself or while that is offline. No NMI is sent any more;
 * one that is on its way has a few turns to arrive, then it is lost, and the handler swallows it
 * without a sample should it come after all. Return: false where it is too early.
 */
static bool close_books(uint32_t target)
{
	struct xf_pcpu *pcpu = &xf_pcpus[target];

	if (__atomic_load_n(&pcpu->kicked, __ATOMIC_ACQUIRE) && pcpu->patience++ < CLOSING_PATIENCE)
		return false;
	__atomic_store_n(&pcpu->closed, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&pcpu->kicked, __ATOMIC_SEQ_CST) || pcpu->late)
		pcpu->lost_nmi++;
	if (xf_peek_online(target))
		xf_emit_softirq(0);
	report_idle(target);
	report_statistics(target, XF_STATISTICS_FINAL);
	return true;
}

/* No NMI is sent in this state. Every pCPU's timer goes to its own pCPU and closes the books. */
static void stop(uint32_t target, uint32_t self, int64_t now)
{
	struct xf_pcpu *pcpu = &xf_pcpus[target];
	bool here = self == target || !xf_peek_online(target);
	bool closes;

	if (!try_lock(pcpu)) {
		set_timer(&pcpu->timer, now + CLOSING_PAUSE);
		return;
	}
	if (pcpu->closed) {
		unlock(pcpu);
		return;
	}
	if (!here)
		migrate_timer(&pcpu->timer, target);
	closes = here && close_books(target);
	if (!closes)
		set_timer(&pcpu->timer, now + CLOSING_PAUSE);
	unlock(pcpu);
	if (closes && !__atomic_sub_fetch(&xf_agent.open_pcpus, 1, __ATOMIC_ACQ_REL) &&
	    change_state(XF_STOPPING, XF_QUIET))
		xf_finish();
}

/* Whether parked or due in a second: all close their books now. */
static void hurry(int64_t now)
{
	uint32_t cpu;

	for (cpu = 0; cpu < xf_config.nr_pcpus; cpu++)
		set_timer(&xf_pcpus[cpu].timer, now + CLOSING_PAUSE);
}

void xf_pace_tick(void *data)
{
	uint32_t target = (uint64_t)data;
	uint32_t self = xf_peek_processor_id(xf_peek_own_stack());
	int64_t now = get_s_time();

	switch (__atomic_load_n(&xf_agent.state, __ATOMIC_ACQUIRE)) {
	case XF_LOADED:
		begin(self, now);
		return;
	case XF_RUNNING:
		if (lease_held(now)) {
			pace(target, self, now);
			return;
		}
		if (change_state(XF_RUNNING, XF_STOPPING))
			hurry(now);
		stop(target, self, now);
		return;
	case XF_STOPPING:
		stop(target, self, now);
		return;
	default:
		return;
	}
}
