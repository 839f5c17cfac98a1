// SPDX-License-Identifier: GPL-2.0-or-later
/* Kinds of frames, as formats that know colours or object files show them. */
#ifndef XF_OUTPUT_KINDS_H
#define XF_OUTPUT_KINDS_H

#include "profile/calltree.h"

struct xf_kind {
	const char *colour; /* of those that the Firefox Profiler knows by name */
	const char *object; /* where the code is: "xen", "guest"; "" where it is no code */
};

/* Return: what @kind is shown as; never NULL. */
const struct xf_kind *xf_kind_of(enum xf_frame_kind kind);

#endif
