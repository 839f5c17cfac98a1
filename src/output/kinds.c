// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/kinds.h"

static const struct xf_kind kinds[XF_FRAME_KINDS] = {
        [XF_FRAME_DOMAIN] = {"lightblue", ""},
        [XF_FRAME_VCPU] = {"lightblue", ""},
        [XF_FRAME_PCPU] = {"lightblue", ""},
        [XF_FRAME_GUEST] = {"green", "guest"},
        [XF_FRAME_XEN] = {"orange", "xen"},
        [XF_FRAME_AGENT] = {"magenta", "xenflame-agent"},
        [XF_FRAME_UNKNOWN] = {"brown", "xen"},
        [XF_FRAME_IDLE] = {"transparent", ""},
        [XF_FRAME_KERNEL] = {"blue", "guest-kernel"},
        [XF_FRAME_USER] = {"green", "guest-user"},
        [XF_FRAME_INCOMPLETE] = {"red", ""},
        [XF_FRAME_PROCESS] = {"purple", ""},
        [XF_FRAME_FUNCTION] = {"orange", ""},
};

const struct xf_kind *xf_kind_of(enum xf_frame_kind kind)
{
	static const struct xf_kind other = {"grey", ""};

	return kind < XF_FRAME_KINDS && kinds[kind].colour ? &kinds[kind] : &other;
}
