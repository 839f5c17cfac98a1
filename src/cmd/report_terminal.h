// SPDX-License-Identifier: GPL-2.0-or-later
/* `report` where its reader sits at a terminal. */
#ifndef XF_CMD_REPORT_TERMINAL_H
#define XF_CMD_REPORT_TERMINAL_H

#include "cmd/view.h"

/* Whether standard output is a terminal that can be drawn on. */
bool xf_report_can_draw(void);

/* Shows @profile, and what else is asked for of @input, until the reader leaves. Return: the exit
 * status. */
int xf_report_on_terminal(const struct xf_view *view, const struct xf_input *input,
                          const struct xf_profile *profile);

#endif
