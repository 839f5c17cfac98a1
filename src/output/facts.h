// SPDX-License-Identifier: GPL-2.0-or-later
/* What a profile says of itself, in lines that report and flame graph share. */
#ifndef XF_OUTPUT_FACTS_H
#define XF_OUTPUT_FACTS_H

#include "profile/profile.h"

struct xf_facts {
	char host[512];     /* "labhost, Xen 4.17.7, 2 pCPUs" */
	char recorded[128]; /* "2026-11-30 04:13:07 UTC, 30.0 s at 99 Hz" */
	char samples[160];  /* "5,912 (idle 3,010, guests 1,400, Xen 1,502)" */
	char quality[640];  /* "lost 3, skipped 7, incomplete 12 (0.8% of Xen's)" */
	char notes[256];    /* what is wrong with the file; "" where nothing is */
};

void xf_facts_of(const struct xf_profile *profile, struct xf_facts *facts);

#endif
