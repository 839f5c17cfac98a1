// SPDX-License-Identifier: GPL-2.0-or-later
/* Which frames of two call trees are the same, though they be of different builds of Xen. */
#ifndef XF_PROFILE_MATCH_H
#define XF_PROFILE_MATCH_H

#include "profile/calltree.h"

/*
 * Gives every frame of both trees a name by which it is known in the other: without what a compiler
 * adds (".isra.0", ".part.1", ".cold" ...) and without the address of what has no name. A static
 * function ("common/timer.c#execute_timer") that the other tree lacks goes by the other's name
 * where there is exactly one such function on each side under another file.
 * Return: 0, and names to be freed with xf_match_free; -ENOMEM.
 */
int xf_match_names(const struct xf_calltree *a, const struct xf_calltree *b, char **names[2]);
void xf_match_free(const struct xf_calltree *tree, char **names);

#endif
