// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Calls that go where no code is known, to an imported function or through a pointer, may never
 * come back: abort does not. Then what follows is the next function, with nothing between but the
 * filler that aligns it, and to go on there would take one function's frame for another's.
 */
#ifndef XF_UNWIND_DOUBT_H
#define XF_UNWIND_DOUBT_H

#include "unwind/graph.h"

/*
 * Decides about each such call. Where what follows leads to a return with a frame still on the
 * stack the call comes back; all others keep XF_BLOCK_DOUBTED, and do not. Return: 0 or -ENOMEM.
 */
int xf_doubt_settle(struct xf_graph *graph);

#endif
