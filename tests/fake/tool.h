// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The tool's end in the fake Xen, and its user: renews the lease, reads the trace buffers with
 * src/xen/stream.c, keeps the books that tests look at. For cmocka tests.
 */
#ifndef XF_FAKE_TOOL_H
#define XF_FAKE_TOOL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fake.h"
#include "xen/stream.h"

struct tool_heard {
	struct xf_stream stream;
	uint64_t samples, idle;
	uint64_t finals; /* closing records, and the last one */
	uint32_t final[7];
	uint64_t tsc, shortest, longest; /* between two samples */
};

struct tool {
	unsigned int nr; /* pCPUs */
	struct tool_heard heard[FAKE_MAX_PCPUS];
	unsigned int hellos, refusals;
	uint32_t refusal;
	bool renewing; /* false: it has died */
	uint32_t mask; /* XF_TRACE_MASK, or with the scheduler's records */
	uint32_t lease;
	int64_t renewed; /* when */
	bool lossy;      /* Xen's trace buffers are too small */
};
extern struct tool tool;

/* A fake Xen of @pcpus idle pCPUs, and a tool that runs; the agent is not loaded yet. */
void tool_start(unsigned int pcpus, uint64_t seed, unsigned int frequency);
/* Lets time pass, then reads the trace buffers. */
void tool_run_for(int64_t duration);
void tool_hear(void);
void tool_set_lives(enum fake_life life);
void tool_request_stop(void);
/* Return: whether NMI slot and softirq are Xen's and no timer is set. */
bool tool_sees_xen_as_before(void);
void tool_print_books(uint64_t seed);
/* Fails unless every pCPU's books are closed once, balance, and what they say was taken has come
 * out, with nothing after the closing. */
void tool_want_balanced_books(uint64_t seed);

#define WANT(condition, seed)                                                                      \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			print_error("not so: %s\n", #condition);                                   \
			tool_print_books(seed);                                                    \
			fail();                                                                    \
		}                                                                                  \
	} while (0)

#endif
