// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the agent (inside Xen) and the tool (in dom0, or wherever a recording is read) share: the
 * Xen trace records that carry a sample, and the layout of a sample. docs/record-format.md
 * explains it; XF_FORMAT_VERSION counts its changes.
 *
 * All values are little-endian. No pointers, fixed widths.
 */
#ifndef XENFLAME_SAMPLE_H
#define XENFLAME_SAMPLE_H

#include <stdint.h>

#define XF_FORMAT_VERSION 1

/*
 * Trace events. Xen's trace.h (public ABI) gives bits 16 to 27 to a class and 12 to 15 to a
 * subclass; the class below is used by nothing in Xen 4.14 to 4.22. The event mask that lets our
 * records through and nothing else is XF_TRACE_MASK; its low 12 bits take no part in Xen's
 * filtering and carry the tool's sign of life (see XF_LEASE_*).
 */
#define XF_TRACE_CLASS     0x04000000u
#define XF_TRACE_MASK      0x0400f000u
#define XF_TRACE_KIND_MASK 0x0ffff000u
#define XF_TRACE_SAMPLE    0x04001000u /* one part of a sample, see XF_PART_* */
#define XF_TRACE_CONTROL   0x04006000u /* | enum xf_control */
#define XF_TRACE_GUEST                                                                             \
	0x04003000u /* one part of a struct xf_guest_stack or xf_guest_task, see XF_PART_* */

/*
 * The mask that lets Xen's own records of vCPUs' run states through as well (TRC_SCHED_MIN).
 * Classes and subclasses are matched apart: of the subclasses only those of ours are there that
 * Xen's scheduler has no other records in, which is why each of ours has one of 1 and 4.
 */
#define XF_TRACE_MASK_SCHED 0x04025000u
#define XF_TRACE_IS_OURS(mask)                                                                     \
	(((mask) & ~XF_LEASE_MASK) == XF_TRACE_MASK ||                                             \
	 ((mask) & ~XF_LEASE_MASK) == XF_TRACE_MASK_SCHED)

/*
 * A sample is longer than the seven words that a trace record can hold: it is cut into parts of 28
 * bytes, the last one shorter. The event's low 12 bits say which part of which sample.
 */
#define XF_PART_BYTES                       28u
#define XF_PART_NUMBER(event)               ((event)&0x3fu)          /* 0, 1, 2 ... */
#define XF_PART_SEQUENCE(event)             (((event) >> 6) & 0x3fu) /* low 6 bits of sequence */
#define XF_PART_EVENT(kind, sequence, part) ((kind) | (((sequence)&0x3fu) << 6) | (part))

/*
 * The tool keeps the agent alive by changing the low 12 bits of Xen's trace event mask at least
 * twice a second. The agent goes quiet when they have stood still for XF_LEASE_NS, or when they
 * hold XF_LEASE_STOP: the request to stop, finish the books and report.
 */
#define XF_LEASE_MASK 0x00000fffu
#define XF_LEASE_STOP 0u
#define XF_LEASE_NS   1700000000ll

/* Control records: up to seven 32-bit words, the first one always the pCPU they speak of. */
enum xf_control {
	/* pCPU, format version, agent text address (low, high), agent text bytes, timer frequency
	 */
	XF_CONTROL_HELLO = 1,
	/* pCPU, number of ticks that found it idle since the last such record */
	XF_CONTROL_IDLE = 2,
	/* pCPU | XF_STATISTICS_FINAL, kicks, taken, lost for want of a slot, lost NMIs, idle ticks,
	   skipped ticks (due, but no other pCPU was free to send the NMI);
	   kicks = taken + lost for want of a slot + lost NMIs once final */
	XF_CONTROL_STATISTICS = 3,
	/* pCPU, enum xf_refusal: the agent found Xen to be other than told, and does nothing */
	XF_CONTROL_REFUSAL = 4,
};
#define XF_STATISTICS_FINAL 0x80000000u

/* Why an agent refuses to start. Ids keep their meaning for ever. */
enum xf_refusal {
	XF_REFUSAL_NONE = 0,
	XF_REFUSAL_IDLE_VCPU = 1, /* idle_vcpu[] does not look like vCPUs with these offsets */
	XF_REFUSAL_STACK = 2,     /* no cpu_info where it was said to be */
	XF_REFUSAL_SOFTIRQ = 3,   /* the timers' softirq is not in Xen's table */
	XF_REFUSAL_NMI_TAKEN = 4, /* somebody else holds the NMI callback */
	XF_REFUSAL_ONE_PCPU = 5,  /* nobody is there to send the NMI */
	XF_REFUSAL_NO_LEASE = 6,  /* tracing is off or the event mask is not ours */
	XF_REFUSAL_WATCHDOG = 7,  /* Xen's NMI watchdog counts with what we cannot read */
};

enum xf_sample_flags {
	XF_SAMPLE_GUEST = 1 << 0, /* a guest was running, not Xen */
	XF_SAMPLE_IDLE = 1 << 1,  /* the current vCPU was an idle vCPU */
	XF_SAMPLE_FOREIGN_RSP =
	        1 << 2,                /* RSP was not in use on this pCPU's stack: no words taken */
	XF_SAMPLE_TRUNCATED = 1 << 3,  /* more words than fit: those nearest to RSP are here */
	XF_SAMPLE_AFTER_STGI = 1 << 4, /* AMD: the NMI that ended a guest's run (FACTS: STGI) */
	XF_SAMPLE_IST_STACK = 1 << 5,  /* RSP was on an exception stack of this pCPU */
	XF_SAMPLE_NO_GUEST_REGS = 1 << 6, /* the guest_ registers and CR3s are not known */
	/* The vCPU was switched away before the sample was written: its CR3s are not known, and its
	   stacks could not be read. */
	XF_SAMPLE_SWITCHED_AWAY = 1 << 7,
};

/* At most so many stack words in a sample. */
#define XF_MAX_WORDS 96u

/*
 * A stack word: its place, counted in 8-byte words up from RSP, in bits 48 to 63; the low 48 bits
 * of its value below, to be sign-extended from bit 47. Only words that point into hypervisor text
 * (Xen's, or a live patch's) or into this pCPU's own stack are taken.
 */
#define XF_WORD(slot, value) (((uint64_t)(slot) << 48) | ((value)&0xffffffffffffull))
#define XF_WORD_SLOT(word)   ((unsigned int)((word) >> 48))
#define XF_WORD_VALUE(word)  ((uint64_t)((int64_t)((word) << 16) >> 16))

struct xf_sample {
	uint32_t sequence; /* counts this pCPU's samples from 0 */
	uint16_t bytes;    /* of the whole sample, words included */
	uint16_t flags;    /* enum xf_sample_flags */
	uint64_t tsc;      /* when the NMI was taken */
	uint16_t pcpu;
	uint16_t domid; /* of the current vCPU; 0x7fff is Xen's idle domain */
	uint32_t vcpu;
	/* The interrupted registers; a guest's where XF_SAMPLE_GUEST is set and AFTER_STGI is not.
	 */
	uint64_t rip;
	uint64_t rsp;
	uint64_t rbp;
	uint32_t rflags;
	uint16_t cs;
	uint16_t guest_cs;
	uint64_t stack_end; /* address of the guest's register frame, where Xen's stack begins */
	/* The guest's registers, from the frame at the stack's end. */
	uint64_t guest_rip;
	uint64_t guest_rsp;
	uint64_t guest_rbp;
	uint64_t cr3;     /* the pCPU's own: a PV guest's page tables */
	uint64_t hvm_cr3; /* an HVM or PVH guest's CR3; 0 where it is not known */
	uint64_t words[]; /* XF_WORD, by rising slot */
};

#define XF_SAMPLE_HEAD_BYTES 104u

/* What a record of a guest is. */
enum xf_guest_mode {
	XF_GUEST_KERNEL = 1, /* struct xf_guest_stack */
	XF_GUEST_USER = 2,   /* struct xf_guest_stack */
	XF_GUEST_TASK = 3,   /* struct xf_guest_task */
};

enum xf_guest_flags {
	XF_GUEST_TRUNCATED = 1 << 0,  /* more words than fit: those nearest to RSP are here */
	XF_GUEST_UNREADABLE = 1 << 1, /* from some word on the memory could not be read */
};

/* At most so many words of one stack, and so many stacks of one sample: a kernel's stack for
 * interrupts, its task's stack, the process's own, and one to spare. */
#define XF_MAX_GUEST_WORDS  192u
#define XF_MAX_GUEST_STACKS 4u

/*
 * One of the guest's stacks at a sample. They come before the sample whose pCPU and sequence they
 * bear, from the innermost to the outermost. All of it is what the guest has made of its memory.
 */
struct xf_guest_stack {
	uint32_t sequence;
	uint16_t bytes; /* of the whole, words included */
	uint8_t mode;   /* XF_GUEST_KERNEL, XF_GUEST_USER */
	uint8_t flags;  /* enum xf_guest_flags */
	uint16_t pcpu;
	uint16_t zero[3];
	/* The registers with which the innermost frame on this stack goes on. RIP and RBP are 0
	   where the guest's kernel has merely switched to this stack from the one before. */
	uint64_t rip;
	uint64_t rsp;
	uint64_t rbp;
	uint64_t end; /* where the stack ends, or what was looked at of it */
	/* XF_WORD, by rising slot, which counts from RSP. Of a kernel's stack those that point
	   into the upper 2 GiB, where Linux has its text and modules, or into this stack; of a
	   process's all that could be addresses. */
	uint64_t words[];
};

#define XF_GUEST_HEAD_BYTES 48u

/* As in Linux (TASK_COMM_LEN): ends with a NUL where it is what it should be. */
#define XF_GUEST_COMM_BYTES 16u

/*
 * Which task of its own the guest's kernel was running, where it runs a Linux whose layout the tool
 * has given; before the stacks. All but the first six fields is what the guest has in its memory.
 */
struct xf_guest_task {
	uint32_t sequence;
	uint16_t bytes; /* XF_GUEST_TASK_BYTES */
	uint8_t mode;   /* XF_GUEST_TASK */
	uint8_t flags;  /* 0 */
	uint16_t pcpu;
	uint16_t zero[3];
	uint64_t task;  /* its address */
	uint64_t stack; /* where its kernel's stack begins */
	uint32_t pid;   /* of the thread; 0: the CPU's idle task */
	uint32_t tgid;  /* of the process: its first thread's number */
	char comm[XF_GUEST_COMM_BYTES];
};

#define XF_GUEST_TASK_BYTES 56u

_Static_assert(sizeof(struct xf_guest_task) == XF_GUEST_TASK_BYTES,
               "layout of struct xf_guest_task");
_Static_assert(sizeof(struct xf_guest_stack) == XF_GUEST_HEAD_BYTES,
               "layout of struct xf_guest_stack");
_Static_assert((XF_GUEST_HEAD_BYTES + 8 * XF_MAX_GUEST_WORDS + XF_PART_BYTES - 1) / XF_PART_BYTES <
                       64,
               "a stack's parts must be countable in six bits");
_Static_assert(sizeof(struct xf_sample) == XF_SAMPLE_HEAD_BYTES, "layout of struct xf_sample");
_Static_assert(__builtin_offsetof(struct xf_sample, rip) == 24, "layout of struct xf_sample");
_Static_assert(__builtin_offsetof(struct xf_sample, stack_end) == 56, "layout of struct xf_sample");
_Static_assert((XF_SAMPLE_HEAD_BYTES + 8 * XF_MAX_WORDS + XF_PART_BYTES - 1) / XF_PART_BYTES < 64,
               "a sample's parts must be countable in six bits");

#endif
