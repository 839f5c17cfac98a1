// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * speedscope's own format: one "sampled" profile per pCPU, its stacks in the order of time, each
 * with the time that its samples stand for (or their number, where the frequency is not known).
 * A profile without times is one list of stacks.
 */
#ifndef XF_OUTPUT_SPEEDSCOPE_H
#define XF_OUTPUT_SPEEDSCOPE_H

#include <stdio.h>

#include "profile/profile.h"

/* Return: 0 or -ENOMEM; the caller looks at ferror(@out). */
int xf_speedscope_write(FILE *out, const struct xf_profile *profile);

#endif
