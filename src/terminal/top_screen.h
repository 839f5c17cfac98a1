// SPDX-License-Identifier: GPL-2.0-or-later
/* The live view on a terminal: draws a model, hands it keys and what is new. */
#ifndef XF_TERMINAL_TOP_SCREEN_H
#define XF_TERMINAL_TOP_SCREEN_H

#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"
#include "terminal/top_model.h"

enum xf_top_turn {
	XF_TOP_TURN_IDLE, /* nothing is new */
	XF_TOP_TURN_DRAW,
	XF_TOP_TURN_LEAVE,
};

struct xf_top_terminal {
	FILE *out;
	FILE *keyboard;
	bool colours; /* false: none, whatever the terminal has */
	/* Called all the time: shows @model what is new. Return: what is to happen. */
	enum xf_top_turn (*turn)(void *context, struct xf_top_model *model);
	void *context;
};

/* Shows @model until its reader, or @turn, has enough. Return: 0 or a negative errno value and
 * @error; the terminal is as it was before. */
int xf_top_terminal_run(const struct xf_top_terminal *terminal, struct xf_top_model *model,
                        struct xf_error *error);

#endif
