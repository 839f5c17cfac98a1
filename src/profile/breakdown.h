// SPDX-License-Identifier: GPL-2.0-or-later
/* A profile's samples by domain, vCPU, pCPU, or by the kind of what was running. */
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
	XF_BREAKDOWNS,
};

struct xf_breakdown_row {
	struct xf_frame_id domain; /* by domain and by vCPU; the root's otherwise */
	uint32_t number;           /* of the vCPU or pCPU */
	enum xf_frame_kind kind;   /* by kind; the domain's otherwise */
	uint64_t samples;
	struct xf_profile_counts counts; /* zero by kind */
};

/*
 * Adds up @profile. Without keys in @sort domains and vCPUs stand by samples with idle ones last,
 * pCPUs by number, kinds by samples.
 * Return: 0 and an array that the caller frees, -ENOMEM.
 */
int xf_breakdown(const struct xf_profile *profile, enum xf_breakdown_by by,
                 const struct xf_sort *sort, struct xf_breakdown_row **rows, size_t *nr);

/*
 * What was running: the shares of all frames but those that tell for whom and where. In the order
 * of @sort; without keys by self, then total.
 * Return: as above.
 */
int xf_breakdown_functions(const struct xf_profile *profile, const struct xf_sort *sort,
                           struct xf_share **shares, size_t *nr);

#endif
