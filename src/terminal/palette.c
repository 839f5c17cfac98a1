// SPDX-License-Identifier: GPL-2.0-or-later
#include "terminal/palette.h"

enum basic {
	RED = 1,
	GREEN = 2,
	BLUE = 4,
	MAGENTA = 5,
	CYAN = 6,
};

struct xf_colour xf_palette(enum xf_frame_kind kind)
{
	/* The basic ones leave out yellow and white, which vanish on paper. Most lines are Xen's:
	   they stay as the terminal writes. */
	static const struct xf_colour colours[XF_FRAME_KINDS] = {
	        [XF_FRAME_DOMAIN] = {BLUE, 27},     [XF_FRAME_VCPU] = {CYAN, 31},
	        [XF_FRAME_PCPU] = {CYAN, 31},       [XF_FRAME_GUEST] = {GREEN, 28},
	        [XF_FRAME_XEN] = {0, 130},          [XF_FRAME_AGENT] = {MAGENTA, 98},
	        [XF_FRAME_UNKNOWN] = {RED, 132},    [XF_FRAME_IDLE] = {0, 243},
	        [XF_FRAME_INCOMPLETE] = {RED, 161},
	};
	struct xf_colour colour = kind < XF_FRAME_KINDS ? colours[kind] : colours[XF_FRAME_ROOT];

	if (!colour.of_8)
		colour.of_8 = XF_COLOUR_DEFAULT;
	if (!colour.of_256)
		colour.of_256 = XF_COLOUR_DEFAULT;
	return colour;
}
