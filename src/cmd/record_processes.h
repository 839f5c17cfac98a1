// SPDX-License-Identifier: GPL-2.0-or-later
/* The control domain's processes, recorded beside the samples. Without them recording goes on. */
#ifndef XF_CMD_RECORD_PROCESSES_H
#define XF_CMD_RECORD_PROCESSES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "profile/recording.h"
#include "xen/sideband.h"

/* Starts zeroed. */
/* Readings of the clocks between two writes: more than there are polls in the second between. */
#define XF_RECORD_CLOCKS 64u

struct xf_record_processes {
	enum xf_sideband_wish wish;
	struct xf_sideband *sideband; /* NULL: they are not recorded ... */
	struct xf_error why_not;      /* ... and why, if anybody has tried */
	uint64_t lost;                /* events */
	uint64_t polled;              /* all that is older has been taken in, and ... */
	uint64_t written;             /* ... has been written */
	bool left_out;                /* what is newer has been */
	/* What the clocks showed at each poll since the last write: under Xen they do not go evenly
	   against each other. */
	struct xf_clock_pair clocks[XF_RECORD_CLOCKS];
	size_t nr_clocks;
};

/* Begins to watch; where that cannot be @processes->why_not tells. */
void xf_record_processes_start(struct xf_record_processes *processes);

/* Takes in what has come: to be called twenty times a second. */
void xf_record_processes_poll(struct xf_record_processes *processes);

/* Writes what has come, and what the clocks show. Return: 0 or a negative errno value. */
int xf_record_processes_write(struct xf_record_processes *processes,
                              struct xf_recording_writer *writer);

/* What has come is not to be written, nor kept. */
void xf_record_processes_leave_out(struct xf_record_processes *processes);

/* Watches no longer; what has not been written is gone. */
void xf_record_processes_end(struct xf_record_processes *processes);

#endif
