// SPDX-License-Identifier: GPL-2.0-or-later
/* Xen's common/timer.c, as far as it can be told from outside. */
#include <string.h>

#include "internal.h"

#define MAX_TIMERS 4096u
#define SLOP       50000ll /* Xen's timer_slop */
#define STORM      20000u  /* timers run in one go before it is called an endless loop */

enum status {
	UNKNOWN = 0,
	INACTIVE = 0x1111,
	ACTIVE = 0x2222,
	KILLED = 0x3333,
};

/* What the fake keeps in the agent's struct xen_timer. */
struct timer {
	void (*function)(void *);
	void *data;
	unsigned int cpu;
	enum status status;
	int64_t expires;
	int64_t earliest;
	bool running;
};

_Static_assert(sizeof(struct timer) <= sizeof(struct xen_timer), "room for a timer");

static struct timer *timers[MAX_TIMERS];
static unsigned int nr_timers;

void fake_timers_start(void)
{
	nr_timers = 0;
}

static struct timer *timer_of(const struct xen_timer *timer)
{
	struct timer *mine = (struct timer *)(void *)timer;

	if (mine->status != INACTIVE && mine->status != ACTIVE && mine->status != KILLED)
		fake_fail("a timer is used that was never initialized");
	return mine;
}

void init_timer(struct xen_timer *timer, void (*function)(void *), void *data, unsigned int cpu)
{
	struct timer *mine = (struct timer *)(void *)timer;

	fake_caller("init_timer");
	if (nr_timers == MAX_TIMERS)
		fake_fail("too many timers");
	memset(timer, 0, sizeof(*timer));
	mine->function = function;
	mine->data = data;
	mine->cpu = cpu;
	mine->status = INACTIVE;
	mine->expires = FAKE_NEVER;
	timers[nr_timers++] = mine;
}

void set_timer(struct xen_timer *timer, int64_t expires)
{
	struct timer *mine = timer_of(timer);

	fake_caller("set_timer");
	fake_pause(0);
	if (mine->status == KILLED)
		return;
	mine->status = ACTIVE;
	mine->expires = expires;
	mine->earliest = expires < fake.now ? fake.now : fake.now + SLOP;
	fake_pause(0);
}

void migrate_timer(struct xen_timer *timer, unsigned int cpu)
{
	struct timer *mine = timer_of(timer);

	fake_caller("migrate_timer");
	fake_pause(0);
	if (mine->status == KILLED)
		return;
	if (cpu >= fake.nr || !fake_pcpus[cpu].online)
		fake_fail("a timer is moved to pCPU %u, which is not online", cpu);
	mine->cpu = cpu;
	fake_pause(0);
}

void kill_timer(struct xen_timer *timer)
{
	struct timer *mine = timer_of(timer);

	fake_caller("kill_timer");
	if (mine->running)
		fake_fail("a timer is killed while it runs");
	mine->status = KILLED;
	mine->expires = FAKE_NEVER;
}

int64_t fake_timer_next(unsigned int cpu)
{
	int64_t next = FAKE_NEVER;
	unsigned int i;

	for (i = 0; i < nr_timers; i++) {
		const struct timer *timer = timers[i];
		int64_t time;

		if (timer->status != ACTIVE || timer->cpu != cpu)
			continue;
		/* Xen runs what has expired before now, not at now. */
		time = timer->expires < timer->earliest ? timer->earliest : timer->expires + 1;
		if (time < next)
			next = time;
	}
	return next;
}

static struct timer *first_expired(unsigned int cpu, int64_t now)
{
	struct timer *first = NULL;
	unsigned int i;

	for (i = 0; i < nr_timers; i++)
		if (timers[i]->status == ACTIVE && timers[i]->cpu == cpu &&
		    timers[i]->expires < now && (!first || timers[i]->expires < first->expires))
			first = timers[i];
	return first;
}

/* As timer_softirq_action: what is expired at its start, and what the handlers make so meanwhile.
 */
void fake_timers_run(unsigned int cpu)
{
	int64_t now = fake.now;
	unsigned int turns = 0;
	struct timer *timer;

	while ((timer = first_expired(cpu, now)) != NULL) {
		if (fake.unloaded)
			fake_fail("a timer of the agent runs after it was unloaded");
		if (++turns > STORM)
			fake_fail("endless loop: pCPU %u's timer softirq does not end, because "
			          "the agent sets its timer for a time in the past, on the pCPU "
			          "that runs it, over and over",
			          cpu);
		timer->status = INACTIVE;
		timer->expires = FAKE_NEVER;
		timer->running = true;
		fake_pcpus[cpu].counts.timers_run++;
		fake_pcpus[cpu].counts.idle_wakeups += fake_pcpus[cpu].life == FAKE_IDLE;
		timer->function(timer->data);
		timer->running = false;
	}
}

/* Xen's migrate_timers_from_cpu: to any pCPU that is online. */
void fake_timers_leave(unsigned int cpu)
{
	unsigned int others[FAKE_MAX_PCPUS];
	unsigned int nr = 0, i, target;

	for (i = 0; i < fake.nr; i++)
		if (fake_pcpus[i].online)
			others[nr++] = i;
	target = others[fake_random() % nr];
	for (i = 0; i < nr_timers; i++)
		if (timers[i]->cpu == cpu && timers[i]->status != KILLED)
			timers[i]->cpu = target;
}

unsigned int fake_timers_pending(void)
{
	unsigned int nr = 0, i;

	for (i = 0; i < nr_timers; i++)
		nr += timers[i]->status == ACTIVE;
	return nr;
}

unsigned int fake_timers_alive(void)
{
	unsigned int nr = 0, i;

	for (i = 0; i < nr_timers; i++)
		nr += timers[i]->status != KILLED;
	return nr;
}

unsigned int fake_timer_cpu(const struct xen_timer *timer)
{
	return timer_of(timer)->cpu;
}

int64_t fake_timer_expires(const struct xen_timer *timer)
{
	return timer_of(timer)->status == ACTIVE ? timer_of(timer)->expires : FAKE_NEVER;
}
