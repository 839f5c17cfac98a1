// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * pprof's profile, packed: for `go tool pprof`, Grafana Pyroscope, Parca and others. A sample is a
 * distinct stack of one vCPU on one pCPU, with domain, vCPU and pCPU as labels. Frames of Xen's
 * bear addresses where the profile has them, and lie in a mapping with Xen's build-id.
 */
#ifndef XF_OUTPUT_PPROF_H
#define XF_OUTPUT_PPROF_H

#include <stdio.h>

#include "profile/profile.h"

/* Return: 0 or -ENOMEM; the caller looks at ferror(@out). */
int xf_pprof_write(FILE *out, const struct xf_profile *profile);

#endif
