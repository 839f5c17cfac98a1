// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Trace events as Chrome's about:tracing and Perfetto read them: one track per pCPU, on it the
 * frames as slices. A slice lasts as long as neighbouring samples have its frame in the same place,
 * and bears their number.
 */
#ifndef XF_OUTPUT_CHROME_H
#define XF_OUTPUT_CHROME_H

#include <stdio.h>

#include "profile/profile.h"

/* @profile has kept its samples. Return: 0 or -ENOMEM; the caller looks at ferror(@out). */
int xf_chrome_write(FILE *out, const struct xf_profile *profile);

#endif
