// SPDX-License-Identifier: GPL-2.0-or-later
/* A profile's samples by domain, vCPU, pCPU, process, or by the kind of what was running. */
#ifndef XF_PROFILE_BREAKDOWN_H
#define XF_PROFILE_BREAKDOWN_H

#include "profile/profile.h"
#include "profile/shares.h"
#include "profile/sort.h"

enum xf_breakdown_by {
	XF_BY_DOMAIN,
	XF_BY_VCPU,
	XF_BY_PCPU,
	XF_BY_KIND, /* of the innermost frame */
	XF_BY_PROCESS,
	XF_BREAKDOWNS,
};

struct xf_breakdown_row {
	struct xf_frame_id domain; /* by domain, vCPU and process; the root's otherwise */
	/* By process, where they are recorded; the root's otherwise. */
	struct xf_frame_id process;
	uint32_t number;         /* of the vCPU or pCPU */
	enum xf_frame_kind kind; /* by kind; the domain's otherwise */
	uint64_t samples;
	/* Zero by kind; by process of what was running alone. */
	struct xf_profile_counts counts;
};

/*
 * Adds up @profile. Without keys in @sort domains, vCPUs and processes stand by samples with idle
 * ones last, pCPUs by number, kinds by samples.
 * Return: 0 and an array that the caller frees, -ENOMEM.
 */
int xf_breakdown(const struct xf_profile *profile, enum xf_breakdown_by by,
                 const struct xf_sort *sort, struct xf_breakdown_row **rows, size_t *nr);

/* For that: a row for each stack that samples ended in, by its process, in no order. Return: as
 * above.
 */
int xf_breakdown_processes(const struct xf_profile *profile, struct xf_breakdown_row **rows,
                           size_t *nr);

/*
 * What was running: the shares of all frames but those that tell for whom and where. In the order
 * of @sort; without keys by self, then total.
 * Return: as above.
 */
int xf_breakdown_functions(const struct xf_profile *profile, const struct xf_sort *sort,
                           struct xf_share **shares, size_t *nr);

#endif
