// SPDX-License-Identifier: GPL-2.0-or-later
/* Folded stacks: a line "root;...;leaf COUNT" per distinct stack, in the order of the tree. */
#ifndef XF_OUTPUT_FOLDED_H
#define XF_OUTPUT_FOLDED_H

#include <stdio.h>

#include "profile/profile.h"

/* ';' in names is written as \x3b. Return: 0, -ENOMEM; the caller looks at ferror(@out). */
int xf_folded_write(FILE *out, const struct xf_profile *profile);

#endif
