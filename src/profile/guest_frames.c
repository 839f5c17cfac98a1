// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/guest_frames.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "profile/grow.h"
#include "profile/index.h"
#include "profile/user_stacks.h"

/* The frame that an address of a known kernel is shown as. */
struct known_frame {
	const struct xf_guest_kernel *kernel;
	struct xf_frame key;
	struct xf_frame_id frame;
};

struct xf_guest_frames {
	struct xf_calltree *tree;
	bool addresses;
	const struct xf_recording *recording;
	struct xf_guest_stacks *stacks;
	struct xf_guest_trace trace; /* of the record that was walked last */
	struct xf_user_stacks user;
	struct known_frame *known;
	size_t nr_known;
	struct xf_index index;
};

struct xf_guest_frames *xf_guest_frames_new(const struct xf_recording *recording,
                                            struct xf_guest_stacks *stacks,
                                            const struct xf_processes *processes,
                                            struct xf_calltree *tree, bool addresses)
{
	struct xf_guest_frames *frames = calloc(1, sizeof(*frames));

	if (!frames)
		return NULL;
	frames->tree = tree;
	frames->addresses = addresses;
	frames->user = (struct xf_user_stacks){.processes = processes,
	                                       .places = xf_recording_user_code(recording)};
	frames->recording = recording;
	frames->stacks = stacks;
	return frames;
}

void xf_guest_frames_free(struct xf_guest_frames *frames)
{
	if (!frames)
		return;
	free(frames->known);
	xf_index_free(&frames->index);
	free(frames);
}

static int push(struct xf_guest_frames *frames, enum xf_frame_kind kind, const char *name,
                struct xf_node_id *node)
{
	struct xf_frame_id frame;
	int code = xf_calltree_frame(frames->tree, kind, name, &frame);

	return code ? code : xf_calltree_child(frames->tree, *node, frame, node);
}

static int remember(struct xf_guest_frames *frames, const struct known_frame *frame, uint64_t hash)
{
	struct known_frame *known;

	if (frames->nr_known >= UINT32_MAX - 1)
		return -ENOMEM;
	known = XF_GROW(frames->known, frames->nr_known);
	if (!known || xf_index_add(&frames->index, hash, (uint32_t)frames->nr_known))
		return -ENOMEM;
	*known = *frame;
	frames->nr_known++;
	return 0;
}

/* A frame without a kernel is named by its domain: those are not remembered. */
static int intern(struct xf_guest_frames *frames, const struct xf_guest_trace *trace,
                  struct xf_frame frame, const char *domain, struct xf_frame_id *interned)
{
	uint64_t hash = xf_hash_mix(xf_hash_mix((uintptr_t)trace->kernel, frame.address),
	                            frame.interrupted);
	struct xf_index_probe probe = xf_index_probe(&frames->index, hash);
	struct known_frame made = {.kernel = trace->kernel, .key = frame};
	struct xf_place place;
	int code;

	while (trace->kernel && xf_index_next(&frames->index, &probe)) {
		const struct known_frame *known = &frames->known[probe.id];

		if (known->kernel == trace->kernel && known->key.address == frame.address &&
		    known->key.interrupted == frame.interrupted) {
			*interned = known->frame;
			return 0;
		}
	}
	xf_guest_stacks_name(trace, frame, domain, &place);
	code = xf_calltree_frame_at(
	        frames->tree, place.kind, place.name,
	        frames->addresses ? xf_guest_stacks_code(frames->stacks, trace, frame) : 0,
	        interned);
	made.frame = *interned;
	if (!code && trace->kernel && place.name != place.text)
		code = remember(frames, &made, hash);
	return code;
}

static int push_user_frame(struct xf_guest_frames *frames, const struct xf_user_trace *trace,
                           struct xf_frame frame, struct xf_node_id *node)
{
	struct xf_frame_id named;
	struct xf_place place;
	int code;

	xf_user_stacks_name(&frames->user, trace, frame, &place);
	code = xf_calltree_frame_at(
	        frames->tree, place.kind, place.name,
	        frames->addresses ? xf_user_stacks_code(&frames->user, trace, frame) : 0, &named);
	return code ? code : xf_calltree_child(frames->tree, *node, named, node);
}

/* The frames of the process that called the kernel, or was running. */
static int push_user(struct xf_guest_frames *frames, const struct xf_record *record,
                     const struct xf_process *process, struct xf_node_id *node,
                     struct xf_guest_frames_pushed *pushed)
{
	struct xf_user_trace trace;
	char label[64];
	int code = 0;

	xf_user_stacks_walk(&frames->user, record, &frames->trace, process, &trace);
	pushed->user = true;
	pushed->user_unknown = !trace.nr;
	pushed->user_incomplete = trace.incomplete != NULL;
	if (!trace.nr)
		return push(frames, XF_FRAME_USER, XF_GUEST_USER_NAME, node);
	if (trace.incomplete) {
		snprintf(label, sizeof(label), XF_USER_INCOMPLETE, trace.incomplete);
		code = push(frames, XF_FRAME_INCOMPLETE, label, node);
	}
	for (size_t i = trace.nr; !code && i > 0; i--) {
		code = push_user_frame(frames, &trace, trace.frames[i - 1], node);
	}
	return code;
}

int xf_guest_frames_walk(struct xf_guest_frames *frames, const struct xf_record *record)
{
	return xf_guest_stacks_walk_of(frames->stacks, frames->recording, record, &frames->trace);
}

enum xf_switching xf_guest_frames_switching(const struct xf_guest_frames *frames)
{
	return frames->trace.switching;
}

int xf_guest_frames_push(struct xf_guest_frames *frames, const struct xf_record *record,
                         const char *domain, const struct xf_process *process,
                         struct xf_node_id *node, struct xf_guest_frames_pushed *pushed)
{
	const struct xf_guest_trace *trace = &frames->trace;
	char label[64];
	int code = 0;

	pushed->incomplete = trace->incomplete != NULL;
	if (trace->user)
		code = push_user(frames, record, process, node, pushed);
	if (!code && trace->incomplete) {
		snprintf(label, sizeof(label), XF_GUEST_INCOMPLETE, trace->incomplete);
		code = push(frames, XF_FRAME_INCOMPLETE, label, node);
	}
	for (size_t i = trace->nr; !code && i > 0; i--) {
		struct xf_frame_id frame;

		code = intern(frames, trace, trace->frames[i - 1], domain, &frame);
		if (!code)
			code = xf_calltree_child(frames->tree, *node, frame, node);
	}
	return code;
}
