// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The agent's own state. There is one element of xf_pcpus for each possible pCPU and, for every
 * field, exactly one writer at a time: the comments say who.
 */
#ifndef XF_AGENT_AGENT_H
#define XF_AGENT_AGENT_H

#include <machine.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xen.h"
#include "xenflame/agent.h"
#include "xenflame/sample.h"

/* Samples that may wait on one pCPU until it comes by the softirq: a hypercall of 80 ms at 99 Hz.
 */
#define XF_SLOTS 8u

/* A captured sample that waits to be emitted. */
struct xf_slot {
	const void *vcpu; /* the current vCPU at the time, to be compared, never followed */
	struct xf_sample head;
	uint64_t words[XF_MAX_WORDS];
};

struct xf_pcpu {
	struct xen_timer timer; /* paces this pCPU, from another one; Xen's timer code locks it */

	/* Of kick.c. @kicked and @spare_until are set by whoever sends this pCPU an NMI, under
	   @lock, and cleared by its NMI handler; @passed is set and cleared by that, and cleared
	   by who sends; @overflows is written by the handler alone. */
	uint32_t kicked;
	uint32_t passed;    /* an NMI that found @kicked went to Xen's watchdog; ours may follow */
	uint32_t overflows; /* how often the watchdog's counter had overflowed, since seen armed */
	uint64_t spare_until; /* TSC; 0: no second NMI of ours is expected */

	/* The ring: the NMI handler of this pCPU writes @head, its softirq @tail; both count up. */
	uint32_t head;
	uint32_t tail;
	uint32_t taken;     /* written by the NMI handler of this pCPU */
	uint32_t lost_slot; /* written by the NMI handler of this pCPU */
	uint32_t late;      /* written by the NMI handler: an NMI of ours came after the closing */
	uint32_t emitting;  /* written by the softirq of this pCPU, read by its NMI handler */

	/* Written under @lock, which is only ever tried, never waited for. */
	uint32_t lock;
	uint32_t closed;   /* the books are closed: no NMI any more */
	uint32_t parked;   /* idle or offline: no timer of its own, pCPU 0's tick looks after it */
	uint32_t patience; /* how often closing has waited for the last NMI */
	uint32_t kicks;
	uint32_t lost_nmi;
	uint32_t idle;
	uint32_t idle_reported; /* of @idle, already in a record */
	uint32_t skipped;
	int64_t kicked_at; /* when @kicked was set */
	int64_t due;       /* the next sample */
	/* It ran no timers of late: others' are not given to it before. Any tick may write it,
	   without the lock: whichever value stays is as good. */
	int64_t stuck_until;
	uint32_t ticker;     /* the pCPU that @timer is on */
	int64_t reported_at; /* the last statistics record */
	uint64_t random;

	struct xf_slot slots[XF_SLOTS];
};

enum xf_state {
	XF_LOADED = 0,   /* uploaded and applied; nothing of Xen's is changed */
	XF_RUNNING = 1,  /* NMI slot and softirq are ours */
	XF_STOPPING = 2, /* no new NMIs; every pCPU closes its books */
	XF_QUIET = 3,    /* Xen is as before; only our memory remains until it is unloaded */
};

/* What is not per pCPU. @state is changed by compare-and-exchange alone. */
struct xf_agent {
	uint32_t state;
	uint32_t softirq;     /* the number of the softirq that we share */
	uint32_t lease_value; /* the low bits of Xen's event mask, as last seen */
	uint32_t open_pcpus;  /* whose books are open; counted down atomically */
	int64_t lease_time;   /* when they last changed; written before lease_value */
	int64_t period;       /* ns between two samples of a pCPU, on average */
};

#pragma GCC visibility push(hidden)
extern struct xf_agent_config xf_config;
extern struct xf_agent xf_agent;
/*
 * Row 1 + n is the mask of pCPU n, for n below 64. Seen from k words earlier it is that of pCPU
 * 64 * k + n, since the words before are zero: so this serves all CPUs that Xen allows (4095).
 * Written in the load hook, then constant.
 */
#define XF_MASK_WORDS 64u
extern unsigned long xf_masks[65][XF_MASK_WORDS];
extern struct xf_pcpu xf_pcpus[]; /* xf_config.nr_pcpus elements, zeroed, provided by the tool */

/* kick.c. Context: timer softirq, on another pCPU than @cpu, under its lock. Sends it an NMI. */
void xf_kick(uint32_t cpu, int64_t now);

enum xf_nmi {
	XF_NMI_FOREIGN, /* Xen is to have it */
	XF_NMI_OURS,
	XF_NMI_SPARE, /* ours, sent a second time */
};
/* Context: NMI, on @self. */
enum xf_nmi xf_recognise_nmi(struct xf_pcpu *self);

/* capture.c. Context: NMI. Takes a sample where the NMI is ours. Return: 1 if it was, else 0. */
xen_nmi_callback_t xf_capture_nmi;

/* emit.c. Context: softirq. What Xen calls in place of its own handler for timers, which it calls.
 */
xen_softirq_handler_t xf_timer_softirq;
/* Context: softirq, on the pCPU whose samples they are. Emits what waits; @entry is what RSP was
 * when the softirq's handler began, 0: it did not begin on Xen's way to a guest. */
__attribute__((noinline)) void xf_emit_softirq(uint64_t entry);
/* Context: softirq. Writes @bytes bytes at @content as trace records of @kind, a part each. */
void xf_emit_parts(uint32_t kind, uint32_t sequence, const void *content, uint32_t bytes);
/* Context: not NMI; any pCPU. Writes a control record of @nr words into this pCPU's trace buffer.
 */
void xf_emit_control(enum xf_control kind, const uint32_t *words, unsigned int nr);

/* guest.c. Context: softirq, on the pCPU of @sample, whose vCPU is current. Emits the stacks of the
 * guest that is about to go on, where they are wanted and may be read now. @entry is what RSP was
 * when the softirq's handler began. */
void xf_emit_guest_stacks(const struct xf_sample *sample, uint64_t entry);

/* pace.c. Context: timer softirq; @data is the number of the pCPU that the timer paces. */
void xf_pace_tick(void *data);

/* start.c. Context: timer softirq. Checks Xen against xf_config, then takes NMI slot and softirq.
 * Return: why not, or XF_REFUSAL_NONE. */
enum xf_refusal xf_start(void);
/* Context: timer softirq or unload hook. Gives both back, where they are still ours. */
void xf_finish(void);
#pragma GCC visibility pop

#endif
