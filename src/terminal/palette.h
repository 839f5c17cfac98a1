// SPDX-License-Identifier: GPL-2.0-or-later
/* The colours of frame kinds in a terminal. */
#ifndef XF_TERMINAL_PALETTE_H
#define XF_TERMINAL_PALETTE_H

#include "profile/calltree.h"

#define XF_COLOUR_DEFAULT (-1) /* whatever the terminal writes in */

struct xf_colour {
	short of_8;   /* where a terminal has the eight basic colours */
	short of_256; /* in xterm's palette: readable on black and on white */
};

struct xf_colour xf_palette(enum xf_frame_kind kind);

#endif
