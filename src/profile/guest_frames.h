// SPDX-License-Identifier: GPL-2.0-or-later
/* Guests' own frames on their way into the call tree. */
#ifndef XF_PROFILE_GUEST_FRAMES_H
#define XF_PROFILE_GUEST_FRAMES_H

#include <stdbool.h>

#include "profile/calltree.h"
#include "profile/guest_stacks.h"
#include "profile/processes.h"
#include "profile/recording.h"

struct xf_guest_frames;

/* Return: what puts frames of samples of @recording into @tree; all of these outlive it. With
 * @addresses frames bear those of profile/guest_code.h. NULL without memory. */
struct xf_guest_frames *xf_guest_frames_new(const struct xf_recording *recording,
                                            struct xf_guest_stacks *stacks,
                                            const struct xf_processes *processes,
                                            struct xf_calltree *tree, bool addresses);
void xf_guest_frames_free(struct xf_guest_frames *frames);

/* How much of a guest's stack is known. */
struct xf_guest_frames_pushed {
	bool incomplete;   /* outer frames of its kernel are missing; an incomplete frame says so */
	bool user;         /* user code called the kernel, or was running; of it ... */
	bool user_unknown; /* all is known that it is there, or ... */
	bool user_incomplete; /* outer frames are missing; an incomplete frame says so */
};

/* Walks the stacks of @record, of a sample that has its guest's. Return: 0 or -ENOMEM. */
int xf_guest_frames_walk(struct xf_guest_frames *frames, const struct xf_record *record);

/* Return: what the record that was walked last says of a switch of threads. */
enum xf_switching xf_guest_frames_switching(const struct xf_guest_frames *frames);

/*
 * Puts the frames of the record that was walked last above *@node, which becomes the innermost
 * one's: user, kernel. The domain goes by @domain; it ran @process, NULL: not known which. Return:
 * 0 or -ENOMEM.
 */
int xf_guest_frames_push(struct xf_guest_frames *frames, const struct xf_record *record,
                         const char *domain, const struct xf_process *process,
                         struct xf_node_id *node, struct xf_guest_frames_pushed *pushed);

#endif
