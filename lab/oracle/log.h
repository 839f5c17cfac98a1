/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the oracle writes at each NMI: which calls of Xen's had not returned then. A log is a row of
 * these heads, each followed by its calls, innermost first. In the byte order of the machine.
 */
#ifndef LAB_ORACLE_LOG_H
#define LAB_ORACLE_LOG_H

#include <stdint.h>

#define ORACLE_MAGIC 0x4c43524fu /* "ORCL" */
#define ORACLE_CALLS 512u        /* in one entry, at most */

struct oracle_call {
	uint64_t slot;       /* where on the stack the return address was pushed */
	uint64_t returns_to; /* it */
};

struct oracle_head {
	uint32_t magic;
	uint16_t cpu;
	uint16_t nr_calls;
	uint32_t nmi; /* counts this CPU's NMIs from 0 */
	uint32_t reserved;
};

#endif
