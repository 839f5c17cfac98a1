// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The Firefox Profiler's processed profile format: a process per domain, a thread per vCPU, its
 * samples with their times, frames coloured by their kind.
 */
#ifndef XF_OUTPUT_FIREFOX_H
#define XF_OUTPUT_FIREFOX_H

#include <stdio.h>

#include "profile/profile.h"

/* @profile has kept its samples. Return: 0 or -ENOMEM; the caller looks at ferror(@out). */
int xf_firefox_write(FILE *out, const struct xf_profile *profile);

#endif
