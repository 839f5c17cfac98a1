// SPDX-License-Identifier: GPL-2.0-or-later
/* What the files of the fake Xen share. */
#ifndef XF_FAKE_INTERNAL_H
#define XF_FAKE_INTERNAL_H

#include "fake.h"

#define FAKE_TRACE_BYTES (64u << 10) /* at first; grows */

struct fake_pcpu {
	uint8_t *stack;
	bool online;
	enum fake_life life;
	const void *current;
	uint64_t cr3;
	uint32_t softirqs;  /* pending */
	unsigned int depth; /* softirq handlers of this pCPU that are running or paused */
	bool in_nmi;
	int64_t nmi_arrives; /* FAKE_NEVER: none on its way */
	bool nmi_ours, nmi_foreign;
	struct fake_counts counts;
	uint8_t *trace;
	size_t trace_bytes, trace_space;
	uint32_t trace_lost;
};

/* In guest.c: what fake_guest_set_gs has set; ends the program in an NMI, and for an HVM guest,
 * whose registers need not be the processor's. */
uint64_t fake_guest_gs(bool shadow);

struct fake_xen {
	uint64_t seed, random;
	unsigned int nr;
	int64_t now;
	uint64_t tsc;
	uint32_t watchdog_msr;
	uint64_t watchdog_counter;
	struct fake_pcpu *self; /* that runs just now; NULL: none */
	unsigned int nesting;   /* event loops within pauses */
	struct fake_nmi_policy policy;
	struct fake_pauses pauses;
	size_t trace_limit;
	uint32_t event_mask;
	bool unloaded;
	uint32_t deeper; /* see fake_call_softirqs_deeper */
};

extern struct fake_xen fake;
extern struct fake_pcpu fake_pcpus[FAKE_MAX_PCPUS];

/* memory.c */
void fake_memory_start(unsigned int nr);
void fake_memory_set_online(unsigned int cpu, bool online);
void fake_memory_write(unsigned int cpu, uint32_t offset, uint64_t value);
/* guest.c */
void fake_guest_forget(void);
/* timer.c */
void fake_timers_start(void);
/* Return: when the next timer of @pcpu may run, FAKE_NEVER if none. */
int64_t fake_timer_next(unsigned int cpu);
void fake_timers_run(unsigned int cpu); /* Xen's timer_softirq_action */
void fake_timers_leave(unsigned int cpu);
/* nmi.c */
void fake_nmi_arrive(unsigned int cpu);
void fake_nmi_make_registers(unsigned int cpu, struct xen_cpu_user_regs *regs);
/* fake.c */
void fake_life_show(unsigned int cpu);

static inline unsigned int fake_number(const struct fake_pcpu *pcpu)
{
	return (unsigned int)(pcpu - fake_pcpus);
}

/* Nothing may be called from an NMI but raise_softirq; and only code that runs calls anything. */
static inline struct fake_pcpu *fake_caller(const char *function)
{
	if (!fake.self)
		fake_fail("%s called outside of any pCPU", function);
	if (fake.self->in_nmi)
		fake_fail("%s called in an NMI", function);
	return fake.self;
}

#endif
