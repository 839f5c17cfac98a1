// SPDX-License-Identifier: GPL-2.0-or-later
/* `top` on a terminal: what makes the interactive view out of a source of intervals. */
#ifndef XF_CMD_TOP_TERMINAL_H
#define XF_CMD_TOP_TERMINAL_H

#include <stdint.h>

#include "cmd/top_source.h"

/* Shows @source, of which *@moment is the first one, until its reader has enough, or @count
 * intervals (0: no limit) have been shown. Return: the exit status, and it has been told. */
int xf_top_on_terminal(struct xf_top_source *source, const struct xf_top_moment *moment,
                       uint64_t delay, uint64_t count);

#endif
