/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the crash kernel of the lab and its loader share. */
#ifndef LAB_CRASH_H
#define LAB_CRASH_H

#include <stdint.h>

/* Xen's command line reserves it: crashkernel=16M@64M. The table is at its start, the crash kernel,
 * linked to be there, behind it. */
#define CRASH_REGION 0x4000000u
#define CRASH_TABLE  CRASH_REGION
#define CRASH_KERNEL 0x4010000u
#define CRASH_PAGE   4096u

#define CRASH_MAX_PCPUS 16u

/* Where Xen writes what its pCPUs were doing, as ELF notes: machine addresses. */
struct crash_table {
	uint64_t nr;
	struct {
		uint64_t start;
		uint64_t size;
	} notes[CRASH_MAX_PCPUS];
};

#endif
