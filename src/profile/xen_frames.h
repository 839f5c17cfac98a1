// SPDX-License-Identifier: GPL-2.0-or-later
/* Xen's own frames on their way into the call tree. For src/profile/ alone. */
#ifndef XF_PROFILE_XEN_FRAMES_H
#define XF_PROFILE_XEN_FRAMES_H

#include <stdbool.h>

#include "profile/calltree.h"
#include "profile/inlines.h"
#include "profile/recording.h"
#include "profile/stacks.h"

struct xf_xen_frames;

/* Return: what puts the frames of samples into @tree; all of these outlive it. With @addresses the
 * instructions of a function are frames of their own. @inlines: its .debug is NULL, or what it
 * knows of frames is learned. NULL without memory. */
struct xf_xen_frames *xf_xen_frames_new(const struct xf_stacks *stacks, struct xf_calltree *tree,
                                        struct xf_inlines *inlines, bool addresses);
void xf_xen_frames_free(struct xf_xen_frames *frames);

/* What is missing of a stack. */
struct xf_xen_frames_pushed {
	bool incomplete; /* outer frames; an incomplete frame says so */
	bool unnamed;    /* a frame's name */
};

/* Puts the stack of @record, a sample in Xen, above *@node, which becomes the innermost frame's.
 * Return: 0 or -ENOMEM. */
int xf_xen_frames_push(struct xf_xen_frames *frames, const struct xf_record *record,
                       struct xf_node_id *node, struct xf_xen_frames_pushed *pushed);

#endif
