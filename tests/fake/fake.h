// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A Xen of a few pCPUs that exists only in this program, for the agent to run in: virtual time,
 * one thread, and a random scheduler that a seed determines. It keeps Xen's rules and checks that
 * the agent does: what may be called from an NMI, which pCPU a timer runs on, that softirqs run
 * only before a return to the guest. A broken rule ends the program with a message and the seed.
 *
 * Memory that the agent must not read is not mapped: stacks' guard pages, everything outside the
 * stacks, Xen's text. A read there ends the program too.
 */
#ifndef XF_FAKE_FAKE_H
#define XF_FAKE_FAKE_H

#include "agent/agent.h"

#define FAKE_MAX_PCPUS 96u
#define FAKE_NEVER     INT64_MAX
#define FAKE_MS        1000000ll
#define FAKE_SECOND    1000000000ll

/* How this Xen is laid out; the same as 4.20's where it matters to nobody. */
#define FAKE_FRAME          0x7ef8u
#define FAKE_PROCESSOR_ID   0x7fc0u
#define FAKE_CURRENT_VCPU   0x7fc8u
#define FAKE_VCPU_DOMAIN    0x18u
#define FAKE_OPTIONS        0x12cu
#define FAKE_HVM_CR3        0x418u
#define FAKE_VCPU_FLAGS     0x378u /* bit 0: a PV guest's kernel runs */
#define FAKE_TEXT           0xffff82d040200000ull
#define FAKE_TEXT_END       0xffff82d0403a1234ull
#define FAKE_LIVEPATCH      0xffff82d040800000ull
#define FAKE_LIVEPATCH_END  0xffff82d080000000ull
#define FAKE_STGI           (FAKE_TEXT + 0x7777)
#define FAKE_IDLE_RETURN    (FAKE_TEXT + 0x4321)
#define FAKE_IDLE_SLOT      0x48u
#define FAKE_TIMER_SOFTIRQ  0u
/* Where Xen's call of do_softirq on the way to a guest returns to. */
#define FAKE_SOFTIRQ_RETURN (FAKE_TEXT + 0x6666)
#define FAKE_SOFTIRQ_DEPTH  56u
#define FAKE_IDLE_DOMID     0x7fffu

/* What a pCPU does while nothing of Xen's interrupts it. */
enum fake_life {
	FAKE_IDLE,      /* in the idle loop, halted */
	FAKE_IDLE_WORK, /* runs the idle vCPU, with something to do (tasklets, scrubbing) */
	FAKE_PV_GUEST,  /* in a PV guest: NMIs find its registers */
	FAKE_VMX_GUEST, /* in an HVM guest: NMIs are exits and find the guest's frame */
	FAKE_SVM_GUEST, /* in an HVM guest: NMIs are taken at STGI, registers come late */
	FAKE_HYPERCALL, /* in Xen, for a guest: no softirq, no timer until it is over */
	FAKE_SYSCALL, /* at the first instruction after a PV guest's SYSCALL: RSP is the guest's */
};

/* @nr pCPUs, all online and idle; time starts at 100 s. Prints nothing. Every earlier Xen and
 * everything of the agent's is forgotten. @seed 0: no randomness at all, no pauses, NMIs at once.
 */
void fake_start(unsigned int nr, uint64_t seed);
uint64_t fake_random(void);
/* Return: from @low to @high, both included. */
int64_t fake_between(int64_t low, int64_t high);

/* pCPUs. */
uint8_t *fake_stack(unsigned int cpu);
void fake_set_life(unsigned int cpu, enum fake_life life);
enum fake_life fake_life_of(unsigned int cpu);
void fake_set_online(unsigned int cpu, bool online);
/* The vCPU @vcpu_id of the domain @domid; made at first use. */
const void *fake_vcpu(uint16_t domid, uint32_t vcpu_id);
/* Its memory is gone: a read of it ends the program. */
void fake_destroy_vcpu(const void *vcpu);
void fake_set_hvm(uint16_t domid, bool hvm, uint64_t cr3);
bool fake_is_hvm(const void *vcpu);
/* Does a process run on the vCPU of a PV guest? */
bool fake_runs_process(const void *vcpu);
void fake_set_current(unsigned int cpu, const void *vcpu);
struct xen_cpu_user_regs *fake_frame(unsigned int cpu);
void fake_set_cr3(unsigned int cpu, uint64_t cr3);
void fake_set_tsc(uint64_t tsc); /* 0: follow the virtual time */
/* Guests' memory: @bytes, borrowed, are at @address; a process may read them where @user. Nothing
 * else is there. */
/* A process runs on the vCPU of a PV guest, or its kernel again. */
void fake_guest_run_process(const void *vcpu, bool process);
/* Its processor's GS bases: the one in use, and the other one. */
void fake_guest_set_gs(uint64_t base, uint64_t shadow);
void fake_guest_map(uint64_t address, const void *bytes, size_t size, bool user);
/* Return: how many bytes of it have been read. */
uint64_t fake_guest_copied(void);
/* How often a PV guest's page tables have been toggled. */
uint64_t fake_guest_toggles(void);
/* Softirqs' handlers are called from so much deeper in Xen's stack than on its way to a guest. */
void fake_call_softirqs_deeper(uint32_t bytes);
/* For tests that call the agent's functions themselves: they run on @cpu from now on. */
void fake_enter(unsigned int cpu);
void fake_leave(void);

/* Time. Runs everything that is due until @time. */
int64_t fake_now(void);
void fake_run_until(int64_t time);
/* Runs one event. Return: false where nothing would happen before @limit. */
bool fake_step(int64_t limit);
/* Calls @function once at @time, on no pCPU. */
void fake_at(int64_t time, void (*function)(void *context), void *context);

/* NMIs. */
/* Xen's watchdog runs, with this counter; @msr 0: it does not. */
void fake_set_watchdog(uint32_t msr, uint64_t counter);
struct fake_nmi_policy {
	unsigned int swallow_of_1000; /* never arrive */
	int64_t delay_min, delay_max; /* on their way; a second one meanwhile is merged */
};
void fake_set_nmi_policy(const struct fake_nmi_policy *policy);
/* From somewhere else than us: a watchdog, a button. */
void fake_inject_nmi(unsigned int cpu);
/* Delivers one now, with @regs, by Xen's do_nmi. Return: whether the callback took it. */
bool fake_nmi(unsigned int cpu, const struct xen_cpu_user_regs *regs);
xen_nmi_callback_t *fake_nmi_slot(void);
/* Takes the slot as a crash, or a microcode update, does. Return: what was in it. */
xen_nmi_callback_t *fake_take_nmi_slot(xen_nmi_callback_t *callback);

/* How often a pause (see machine.h) is used for what, of 65536. */
struct fake_pauses {
	unsigned int nmi;      /* an NMI on its way to this pCPU arrives there */
	unsigned int others;   /* other pCPUs run for up to 20 us */
	unsigned int long_ago; /* other pCPUs run for up to 30 ms: somebody stopped this pCPU */
};
void fake_set_pauses(const struct fake_pauses *pauses);

struct fake_counts {
	uint64_t nmis_sent;   /* by send_IPI_mask */
	uint64_t nmis_merged; /* of those: with one that had not arrived */
	uint64_t nmis_swallowed;
	uint64_t nmis_handled; /* the callback returned non-zero */
	uint64_t nmis_unknown; /* nobody took it: Xen calls it unknown */
	uint64_t nmis_masked;  /* swallowed by the live patch loader's mask */
	uint64_t nmis_foreign; /* injected */
	uint64_t timers_run;   /* that ran on this pCPU */
	uint64_t idle_wakeups; /* timers that ran on this pCPU while it was idle */
	int64_t last_sent;     /* when the last NMI was sent to this pCPU */
};
const struct fake_counts *fake_counts(unsigned int cpu);

/* Timers. */
unsigned int fake_timers_pending(void);
unsigned int fake_timers_alive(void); /* initialized and not killed */
/* Where @timer is to run, and when (FAKE_NEVER: not set). */
unsigned int fake_timer_cpu(const struct xen_timer *timer);
int64_t fake_timer_expires(const struct xen_timer *timer);

/* Tracing: what is in a pCPU's buffer, and the event mask. */
void fake_set_event_mask(uint32_t mask);
/* Bytes that a buffer may hold before Xen loses records; 0: no limit. */
void fake_set_trace_limit(size_t bytes);
/* Return: *@size bytes, valid until the pCPU writes again; the buffer is empty afterwards. */
const uint8_t *fake_take_trace(unsigned int cpu, size_t *size);

/* Softirqs. */
bool fake_softirq_is_xens(void); /* the timers' softirq has Xen's own handler */
void fake_run_softirqs(unsigned int cpu);

/* Live patching. xf_config is filled in as the tool does, for @frequency. */
void fake_configure(unsigned int frequency);
void fake_load(void);   /* apply: rendezvous, masked slot, load hook */
void fake_unload(void); /* revert, or a vendor's replace */

/* Ends the program with the seed and the text. */
void fake_fail(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

#endif
