// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Callgrind's format, for KCachegrind, QCachegrind and callgrind_annotate: per function its own
 * samples, and per call the samples in the called one. A function that calls itself, directly or
 * not, is "NAME'2" the second time, as callgrind itself writes it: so inclusive sums are true.
 */
#ifndef XF_OUTPUT_CALLGRIND_H
#define XF_OUTPUT_CALLGRIND_H

#include <stdio.h>

#include "profile/profile.h"

/* Return: 0 or -ENOMEM; the caller looks at ferror(@out). */
int xf_callgrind_write(FILE *out, const struct xf_profile *profile);

#endif
