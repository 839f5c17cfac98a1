// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A profile's samples in the order of time: what the call tree adds up, kept apart. Filled with
 * _add in the order of a recording, in which the pCPUs' times are mixed; then _finish, then read.
 */
#ifndef XF_PROFILE_TIMELINE_H
#define XF_PROFILE_TIMELINE_H

#include <stddef.h>
#include <stdint.h>

#include "profile/calltree.h"

/* Samples of one stack at one time. */
struct xf_event {
	uint64_t time; /* ns since sampling began */
	struct xf_node_id node;
	uint32_t group; /* of the profile's, by its place among them */
	uint32_t count;
};

struct xf_timeline {
	struct xf_event *events;
	size_t nr;
	size_t allocated;
};

/* Return: 0 or -ENOMEM. */
int xf_timeline_add(struct xf_timeline *timeline, struct xf_event event);

/*
 * @event stands for ticks that were counted and are told in a sum at its end, @period ns apart.
 * They are spread over that time in a few parts. Return: 0 or -ENOMEM.
 */
int xf_timeline_add_ticks(struct xf_timeline *timeline, struct xf_event event, uint64_t period);

/* Sorts by time; what has the same time stays in the order of the recording. @places holds the new
 * place of each group. Return: 0 or -ENOMEM. */
int xf_timeline_finish(struct xf_timeline *timeline, const uint32_t *places);

void xf_timeline_free(struct xf_timeline *timeline);

#endif
