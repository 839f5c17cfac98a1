// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A perf.data that perf's report and script read as it is: domains are processes, vCPUs threads.
 * Names are in it, as records of symbols in the kernel, so that perf looks for no file; or it tells
 * which files are mapped where, and perf finds names and code in those.
 */
#ifndef XF_OUTPUT_PERF_H
#define XF_OUTPUT_PERF_H

#include <stdio.h>

#include "output/perf_images.h"
#include "profile/profile.h"

/* @profile has a timeline, and addresses. Return: 0 or -ENOMEM; the caller looks at ferror(@out).
 */
int xf_perf_write(FILE *out, const struct xf_profile *profile);

/* The same with mappings of @images and their build-ids; perf finds names in their objects. */
int xf_perf_write_images(FILE *out, const struct xf_profile *profile,
                         const struct xf_perf_images *images);

#endif
