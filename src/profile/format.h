// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The recording's bytes; docs/file-format.md says the same in prose. A file is a magic line and a
 * row of chunks, each with its own size, only ever appended to: one that was cut off at any byte is
 * readable up to there. Little-endian throughout.
 */
#ifndef XF_PROFILE_FORMAT_H
#define XF_PROFILE_FORMAT_H

#include <stdint.h>

#define XF_FILE_MAGIC   "XENFLAME" /* eight bytes, then u32 XF_FILE_VERSION, u32 0 */
#define XF_FILE_VERSION 1u

/* Before every chunk. Readers skip types that they do not know. */
struct xf_chunk_head {
	uint32_t type;  /* enum xf_chunk_type */
	uint32_t flags; /* enum xf_chunk_flags */
	uint64_t size;  /* of what follows, in bytes */
};

enum xf_chunk_flags {
	XF_CHUNK_ZSTD = 1 << 0, /* the content is one zstd frame */
};

enum xf_chunk_type {
	/* "key=value\n" lines, UTF-8: host, xen.version, xen.build-id, xen.commandline, pcpus,
	   frequency, tsc.hz, start.tsc, start.time (ns since 1970), sampling.start.tsc,
	   sampling.end.tsc, end.tsc, text.start, text.end, livepatch.start, livepatch.end,
	   xenflame.version, recorded.by ...; guests: "all", or the domids between commas of those
	   whose stacks were to be read; tasks: likewise, of those of which the agent was to tell
	   which task ran.
	   Later chunks of this type add or replace keys. */
	XF_CHUNK_INFO = 1,
	/* symbols of the hypervisor: { u64 address, u32 size, u8 type, NUL-terminated name }* */
	XF_CHUNK_SYMBOLS = 2,
	/* { u64 address } and the machine code from there on; "Xen" */
	XF_CHUNK_CODE = 3,
	/* { u16 domid, u8 enum xf_domain_type, u8 0, u32 0, u64 tsc from which on it holds,
	   NUL-terminated name, NUL-terminated UUID } */
	XF_CHUNK_DOMAIN = 4,
	/* records, see xf_record_head */
	XF_CHUNK_SAMPLES = 5,
	/* per pCPU: struct xf_pcpu_statistics; the last chunk of this type counts */
	XF_CHUNK_STATISTICS = 6,
	/* no content: the recording was closed in good order */
	XF_CHUNK_END = 7,
	/* { u64 address, u64 size, NUL-terminated name } of a live patch whose symbols and code, if
	   any, are in chunks 2 and 3 by address */
	XF_CHUNK_LIVEPATCH = 8,
	/* per pCPU: struct xf_pcpu_skipped; the last chunk of this type counts */
	XF_CHUNK_SKIPPED = 9,
	/* a guest's kernel: { u32 number, u32 0, NUL-terminated name as "Linux 6.1.0-44-amd64" };
	   in place of 0 the number, and 1, of a kernel of which it has all, besides what is said of
	   it itself: an image's, beside the modules that one domain has loaded */
	XF_CHUNK_KERNEL = 10,
	/* { u32 kernel's number, u32 0 }, then symbols as in XF_CHUNK_SYMBOLS; those of a module
	   are named "function [module]" */
	XF_CHUNK_KERNEL_SYMBOLS = 11,
	/* { u32 kernel's number, u32 0, u64 address } and the machine code from there on */
	XF_CHUNK_KERNEL_CODE = 12,
	/* Linux's own unwind table of { u32 kernel's number, u32 bytes of .orc_header (0: there is
	   none), u64 address and u64 bytes of the code, u64 address and u64 bytes of
	   .orc_unwind_ip }: .orc_header, .orc_unwind_ip, .orc_unwind */
	XF_CHUNK_KERNEL_ORC = 13,
	/* which kernel a domain ran: { u16 domid, u16 0, u32 kernel's number or XF_NO_KERNEL, u64
	   tsc from which on it holds, u64 what to add to the kernel's addresses } */
	XF_CHUNK_KERNEL_OF = 14,
	/* struct xf_clock_pair, any number of them: what the times of 16 and 17 are in TSC values
	 */
	XF_CHUNK_CLOCK = 15,
	/* the control domain's processes: records of struct xf_process_head and what follows it */
	XF_CHUNK_PROCESSES = 16,
	/* { u32 CPU of the control domain's, which is its vCPU's number; u32 0 }, then any number
	   of struct xf_switch */
	XF_CHUNK_SWITCHES = 17,
	/* what is known of code of processes: { u32 number of the file, or XF_NO_FILE; u32 pid
	   whose memory it is where there is no file, else 0 }, then any number of struct
	   xf_user_code */
	XF_CHUNK_USER_CODE = 18,
	/* struct xf_runstate_span, any number of them */
	XF_CHUNK_RUNSTATES = 19,
	/* what a process of another domain than the control domain had mapped as code: struct
	   xf_guest_maps_head, then any number of struct xf_guest_map, by address */
	XF_CHUNK_GUEST_MAPS = 20,
};

/* In XF_CHUNK_KERNEL_OF: the domain runs a kernel that is not known. */
#define XF_NO_KERNEL UINT32_MAX

/* The name under which the agent is uploaded, of whatever version. */
#define XF_AGENT_NAME "xenflame-agent"

enum xf_domain_type {
	XF_DOMAIN_UNKNOWN = 0,
	XF_DOMAIN_PV = 1,
	XF_DOMAIN_PVH = 2,
	XF_DOMAIN_HVM = 3,
};

/* In XF_CHUNK_SAMPLES. Records follow each other without padding. */
struct xf_record_head {
	uint16_t type; /* enum xf_record_type */
	uint16_t size; /* of what follows */
};

enum xf_record_type {
	XF_RECORD_SAMPLE = 1, /* struct xf_sample with its words */
	XF_RECORD_IDLE = 2,   /* struct xf_idle_record */
	/* struct xf_guest_stack with its words; before the sample that it belongs to, with no other
	   sample in between */
	XF_RECORD_GUEST_STACK = 3,
	/* struct xf_guest_task; likewise */
	XF_RECORD_GUEST_TASK = 4,
};

/* Ticks that found a pCPU idle since the last such record of that pCPU. */
struct xf_idle_record {
	uint64_t tsc; /* when it was written */
	uint32_t pcpu;
	uint32_t count;
};

/* The books of one pCPU. produced = taken + lost_slot + lost_nmi; taken = delivered + lost_trace.
 */
struct xf_pcpu_statistics {
	uint32_t pcpu;
	uint32_t flags;      /* 1: the agent closed its books (otherwise as last heard) */
	uint64_t produced;   /* samples asked for: NMIs sent */
	uint64_t taken;      /* samples captured */
	uint64_t lost_slot;  /* lost: all slots of that pCPU were waiting to be written */
	uint64_t lost_nmi;   /* lost: the NMI did not arrive before the next one was due */
	uint64_t lost_trace; /* lost: Xen's trace buffer was full, or a part was missing */
	uint64_t delivered;  /* samples in this file */
	uint64_t idle;       /* ticks that found the pCPU idle */
};

#define XF_STATISTICS_CLOSED 1u

/* The same moment by two clocks. */
struct xf_clock_pair {
	uint64_t tsc;
	uint64_t time;  /* CLOCK_MONOTONIC_RAW of the control domain, ns */
	uint64_t width; /* ticks between the readings of the TSC before and after the time's */
};

/* In XF_CHUNK_PROCESSES. Records follow each other without padding. */
struct xf_process_head {
	uint16_t type;  /* enum xf_process_type */
	uint16_t size;  /* of what follows this head */
	uint32_t pid;   /* of the process: its first thread's number */
	uint64_t time;  /* CLOCK_MONOTONIC_RAW, ns */
	uint32_t tid;   /* of the thread */
	uint32_t other; /* see the types; otherwise 0 */
};

enum xf_process_type {
	/* It was there when somebody looked, with this name: NUL-terminated. What is mapped in the
	   process follows where @tid is @pid. */
	XF_PROCESS_EXISTS = 1,
	/* Begins, as a copy of its parent; @other: the parent's pid, then u32 its tid. */
	XF_PROCESS_FORK = 2,
	/* Is named anew: NUL-terminated; @other is 1 where it runs another program from here on. */
	XF_PROCESS_COMM = 3,
	XF_PROCESS_EXIT = 4,
	/* Code is mapped: { u64 address, u64 bytes, u64 offset in the file }, @other: number of the
	   file, or XF_NO_FILE. */
	XF_PROCESS_MAP = 5,
	/* A file, by a number: NUL-terminated path as its process sees it, and its build-id;
	   @other: the number. */
	XF_PROCESS_FILE = 6,
	/* Of what happened to processes some is not known: { u64 time up to which } */
	XF_PROCESS_LOST = 7,
};

#define XF_NO_FILE UINT32_MAX

/* Files of other domains' processes have numbers from here on, those of the control domain's below.
 */
#define XF_GUEST_FILES 0x8000u

struct xf_guest_maps_head {
	uint16_t domid;
	uint16_t zero;
	uint32_t pid;
	/* The page tables of its samples: xf_sample.hvm_cr3, or cr3 where that is 0, without the
	   low 12 bits and those above 51. */
	uint64_t root;
	uint64_t tsc; /* when its memory was read */
};

struct xf_guest_map {
	uint64_t address;
	uint64_t size;
	uint64_t offset; /* in the file */
	uint32_t file; /* its number as in XF_PROCESS_FILE; XF_NO_FILE: it is not known, or none */
	uint32_t zero;
};

_Static_assert(sizeof(struct xf_guest_maps_head) == 24, "layout of struct xf_guest_maps_head");
_Static_assert(sizeof(struct xf_guest_map) == 32, "layout of struct xf_guest_map");

/* From then on a CPU of the control domain's ran a thread. */
struct xf_switch {
	uint64_t time; /* CLOCK_MONOTONIC_RAW, ns */
	uint32_t pid;  /* 0: it was idle; XF_PID_UNKNOWN: not known from here on */
	uint32_t tid;
};

#define XF_PID_UNKNOWN UINT32_MAX

/* One instruction of a process's code, and the frame that is there before it. */
struct xf_user_code {
	uint64_t offset; /* in the file; without one the address */
	uint64_t start;  /* the same, of where the function begins */
	uint8_t kind;    /* the rest as in struct xf_unwind_row; XF_ROW_INTERRUPT does not occur */
	uint8_t reason;
	uint8_t base_rule;
	uint8_t base_register;
	uint8_t rbp_rule;
	uint8_t zero[3];
	int32_t base_offset;
	int32_t base_addend;
	int32_t rbp_offset;
	/* and the function's name, NUL-terminated; empty: it has none */
};

#define XF_USER_CODE_BYTES 36u /* without the name */

/* What Xen's scheduler makes of a vCPU: RUNSTATE_ of xen/include/public/vcpu.h. */
enum xf_runstate {
	XF_RUNSTATE_RUNNING = 0,
	XF_RUNSTATE_WAITING = 1, /* runnable: to its guest that time is stolen */
	XF_RUNSTATE_BLOCKED = 2, /* its guest has nothing to do */
	XF_RUNSTATE_OFFLINE = 3, /* not brought up, paused, or gone */
	XF_RUNSTATES,
};

/*
 * How long a vCPU was in which state between two moments, in ticks of the TSC; what is missing to
 * the whole is not known. Spans of one vCPU do not overlap; between them nothing is known. One of
 * more than two tenths of a second is of one state alone.
 */
struct xf_runstate_span {
	uint16_t domid;
	uint16_t vcpu;
	uint32_t zero;
	uint64_t from;
	uint64_t to;
	uint64_t ticks[XF_RUNSTATES];
};

#define XF_RUNSTATE_SPAN_BYTES 56u

_Static_assert(sizeof(struct xf_runstate_span) == XF_RUNSTATE_SPAN_BYTES,
               "layout of struct xf_runstate_span");

/* Ticks of one pCPU that were due while no other pCPU was free to send the NMI. */
struct xf_pcpu_skipped {
	uint32_t pcpu;
	uint32_t zero;
	uint64_t ticks;
};

#endif
