// SPDX-License-Identifier: GPL-2.0-or-later
/* How long vCPUs ran, waited for a pCPU, were blocked or offline, where that was recorded. */
#ifndef XF_PROFILE_VCPU_TIMES_H
#define XF_PROFILE_VCPU_TIMES_H

#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "profile/format.h"

struct xf_recording;
struct xf_profile_options;

/* What a recording has of them. Starts zeroed; freed with xf_runstate_spans_free. */
struct xf_runstate_spans {
	struct xf_runstate_span *spans; /* by domid, vCPU and time, once finished */
	size_t nr;
};

/* Takes in the content of a chunk. Return: 0; -EBADMSG where some of it makes no sense, the rest
 * has been taken; -ENOMEM. */
int xf_runstate_spans_read(struct xf_runstate_spans *spans, struct xf_cursor content);

/* Return: how many of them lie over others, and have been left out. */
size_t xf_runstate_spans_finish(struct xf_runstate_spans *spans);
void xf_runstate_spans_free(struct xf_runstate_spans *spans);

/* One vCPU, of a domain under one name. In ns; all together are the time that was asked for. */
struct xf_vcpu_time {
	char *domain; /* as xf_domain_name has it */
	uint16_t domid;
	uint16_t vcpu;
	uint64_t time[XF_RUNSTATES];
	uint64_t unknown;
};

struct xf_vcpu_times {
	struct xf_vcpu_time *rows; /* by domid, idle ones last; then by vCPU */
	size_t nr;
};

/*
 * Adds up what @recording knows of the vCPUs between two TSC values, of the domains that @options
 * let through; nothing where they want a single pCPU, since a waiting vCPU is on none.
 * Return: 0 or -ENOMEM; @times is to be freed with xf_vcpu_times_free in either case.
 */
int xf_vcpu_times_add_up(const struct xf_recording *recording,
                         const struct xf_profile_options *options, uint64_t from, uint64_t to,
                         struct xf_vcpu_times *times);
void xf_vcpu_times_free(struct xf_vcpu_times *times);

/* The rows from @first on that are of its domain. Return: how many; *@sum is what they have
 * together. */
size_t xf_vcpu_times_domain(const struct xf_vcpu_times *times, size_t first,
                            struct xf_vcpu_time *sum);

/* All that @time has: of one vCPU the time that was asked for. */
uint64_t xf_vcpu_time_whole(const struct xf_vcpu_time *time);

#endif
