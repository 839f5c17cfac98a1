// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The control domain's processes in a recording that is still being written: as much of their
 * history as the samples of an interval can need, in memory that does not grow with time. Events
 * of two intervals are kept as they came, since a sample may come a little later than its time;
 * those before are folded into what they have led to: a name for each thread that there is, and the
 * thread that each CPU ran last. Of a sample that is older than what is kept no process is known,
 * rather than a wrong one. What is mapped in processes is left out.
 */
#ifndef XF_PROFILE_LIVE_PROCESSES_H
#define XF_PROFILE_LIVE_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/cursor.h"
#include "profile/format.h"

#define XF_LIVE_CLOCKS 8u

struct xf_live_thread;

/* Starts zeroed; freed with xf_live_processes_free. */
struct xf_live_processes {
	struct xf_buffer before; /* chunks of the interval before this one, and ... */
	struct xf_buffer now;    /* ... of this one */
	/* What is older has led to this. */
	struct xf_live_thread *threads; /* by process, then thread */
	size_t nr_threads;
	struct xf_switch *cpus; /* that each ran last; of time 0: not known */
	size_t nr_cpus;
	struct xf_clock_pair clocks[XF_LIVE_CLOCKS]; /* the last ones */
	size_t nr_clocks;
	/* Since when events have been lost, 0: none have. All processes are looked at anew then:
	 * who is not seen has ended. */
	uint64_t lost_from;
};

/* The content of a chunk of @type, one of those for processes. Return: 0 or -ENOMEM. */
int xf_live_processes_take(struct xf_live_processes *processes, enum xf_chunk_type type,
                           struct xf_cursor content);

/* Another interval begins here. Without memory all is forgotten. */
void xf_live_processes_turn(struct xf_live_processes *processes);

/* Appends chunks that tell what is known. Return: 0 or -ENOMEM. */
int xf_live_processes_write(const struct xf_live_processes *processes, struct xf_buffer *out);

void xf_live_processes_free(struct xf_live_processes *processes);

#endif
