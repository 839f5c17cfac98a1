// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the tool writes into the agent before it uploads it: how this Xen is laid out, discovered in
 * dom0 from Xen's symbols and machine code. The agent checks what it can before its first NMI and
 * refuses (enum xf_refusal) where Xen turns out to be other than told.
 */
#ifndef XENFLAME_AGENT_H
#define XENFLAME_AGENT_H

#include <stdint.h>

/* Names in the agent's object that the tool looks for. */
#define XF_SYMBOL_CONFIG     "xf_config"     /* struct xf_agent_config, in .data */
#define XF_SYMBOL_PCPUS      "xf_pcpus"      /* undefined: the tool provides the zeroed array */
#define XF_SYMBOL_PCPU_BYTES "xf_pcpu_bytes" /* uint32_t, in .rodata: one element's size */

/* Xen's stack of a pCPU is 32 KiB, aligned to its size, since Xen 3 (asm/config.h STACK_ORDER). */
#define XF_STACK_BYTES 0x8000u

#define XF_GUESTS_ALL          UINT32_MAX
#define XF_MAX_GUESTS          16u
#define XF_MAX_SOFTIRQ_RETURNS 16u

/* Of which guests this Xen lets the agent read the memory, and where their CPUs' GS is. */
enum xf_guest_readers {
	XF_READS_PV = 1 << 0,
	XF_READS_HVM = 1 << 1,    /* PVH, too */
	XF_READS_HVM_GS = 1 << 2, /* likewise */
	/* A PV guest's kernel while it runs a process, when its page tables are not in use. */
	XF_READS_PV_KERNEL = 1 << 3,
};

/* Where the Linux that a domain runs has the task that a CPU is running. */
struct xf_agent_task {
	uint64_t current; /* a pointer to it is so far from what the kernel's GS base says */
	uint16_t domid;
	/* Within the task: a pointer to where its kernel's stack begins; two 32-bit numbers, the
	   thread's and the process's; the 16 bytes of the thread's name. */
	uint16_t stack;
	uint16_t pid;
	uint16_t comm;
};

struct xf_agent_config {
	uint32_t version;            /* XF_FORMAT_VERSION */
	uint32_t nr_pcpus;           /* elements of xf_pcpus: highest possible pCPU number + 1 */
	uint32_t frequency;          /* samples a second and pCPU */
	uint32_t trace_takes_cycles; /* Xen's trace function has the separate "cycles" argument */
	uint64_t seed;               /* of the jitter; not 0 */

	/* Offsets within a pCPU's stack. */
	uint32_t frame_offset;        /* the guest's register frame: struct cpu_info's start */
	uint32_t processor_id_offset; /* 32 bits */
	uint32_t current_vcpu_offset; /* 64 bits */
	uint32_t vcpu_domain_offset;  /* within struct vcpu: pointer to its domain */

	/* Where return addresses may point: Xen's text, and the area of live patches. */
	uint64_t text_start;
	uint64_t text_end;
	uint64_t livepatch_start;
	uint64_t livepatch_end;

	/* AMD: the address after STGI in the VM exit path; 0 where this Xen has none. */
	uint64_t after_stgi;

	/*
	 * A pCPU whose idle loop has called Xen's pm_idle hook has idle_return at idle_slot bytes
	 * below the frame, or eight bytes lower, as the loop was jumped to or called. 0: unknown;
	 * then every pCPU that runs an idle vCPU counts as idle.
	 */
	uint64_t idle_return;
	uint32_t idle_slot;

	/* Within struct vcpu: an HVM or PVH guest's CR3; 0: unknown. Within struct domain: the
	   32-bit options, whose bit 0 says HVM or PVH. */
	uint32_t vcpu_hvm_cr3_offset;
	uint32_t domain_options_offset;
	/* Within struct vcpu: its flags, whose bit 0 says of a PV guest's that its kernel runs, and
	   is set in those of idle vCPUs. 0: unknown. */
	uint32_t vcpu_flags_offset;
	uint32_t reserved;

	/* Whose stacks are read: XF_GUESTS_ALL, or the first so many of guest_domids. */
	uint32_t nr_guests;
	uint16_t guest_domids[XF_MAX_GUESTS];
	uint32_t guest_user_bytes; /* so much of a process's stack is looked at; 0: nothing */
	uint32_t guest_readers;    /* enum xf_guest_readers */

	/*
	 * How a softirq's handler knows that Xen calls it on its way to the guest, with nothing
	 * under way: RSP is softirq_depth bytes below the guest's frame when the handler begins,
	 * and directly below the frame is where one of Xen's calls of do_softirq returns to. 0:
	 * unknown, or no more of them.
	 */
	uint32_t softirq_depth;
	uint32_t nr_tasks; /* elements of tasks */
	uint64_t softirq_returns[XF_MAX_SOFTIRQ_RETURNS];

	/* Of domains whose stacks are read. */
	struct xf_agent_task tasks[XF_MAX_GUESTS];
};

_Static_assert(sizeof(struct xf_agent_config) == 544, "layout of struct xf_agent_config");

#endif
