// SPDX-License-Identifier: GPL-2.0-or-later
/* What Xen's scheduler did with the vCPUs, recorded beside the samples where that is asked for. */
#ifndef XF_CMD_RECORD_SCHEDULE_H
#define XF_CMD_RECORD_SCHEDULE_H

#include "profile/recording.h"
#include "xen/domains.h"
#include "xen/host.h"
#include "xen/runstates.h"

/* Starts zeroed. */
struct xf_record_schedule {
	struct xf_runstates *states; /* NULL: it is not recorded */
};

/* Return: 0 or -ENOMEM. To be ended in either case. */
int xf_record_schedule_start(struct xf_record_schedule *schedule, const struct xf_host *host);

/* A sample, or idle ticks, have found a vCPU running. */
void xf_record_schedule_saw(struct xf_record_schedule *schedule, const struct xf_sample *sample);
void xf_record_schedule_saw_idle(struct xf_record_schedule *schedule,
                                 const struct xf_idle_record *idle);

/* Asks Xen for the state of all vCPUs of @domains: of some no record may have come. */
void xf_record_schedule_ask(struct xf_record_schedule *schedule, struct xf_xen *xen,
                            const struct xf_domain *domains, size_t nr);

/* Nothing more comes: what is known gets written at the next call of the below. */
void xf_record_schedule_finish(struct xf_record_schedule *schedule);

/* Writes what has come. Return: 0 or a negative errno value. */
int xf_record_schedule_write(struct xf_record_schedule *schedule,
                             struct xf_recording_writer *writer);

void xf_record_schedule_end(struct xf_record_schedule *schedule);

#endif
