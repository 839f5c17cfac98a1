// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What each pCPU did over time: a profile's timeline as spans without overlap.
 *
 * A sample stands for the time since the one before it on its pCPU. Where that is more than two
 * periods a tick, samples are missing in between: then it stands for one period a tick, and the
 * time before is a gap. Neighbours on the same node are one span.
 */
#ifndef XF_PROFILE_TRACKS_H
#define XF_PROFILE_TRACKS_H

#include <stddef.h>
#include <stdint.h>

#include "profile/profile.h"

struct xf_span {
	uint64_t start; /* ns since sampling began */
	uint64_t end;
	uint64_t count; /* samples */
	struct xf_node_id node;
};

struct xf_track {
	uint32_t pcpu;
	struct xf_span *spans; /* by time */
	size_t nr_spans;
};

struct xf_tracks {
	struct xf_track *tracks; /* by pCPU */
	size_t nr;
	struct xf_span *spans; /* room for those of all tracks */
};

/* @profile has a timeline. Return: 0 and the tracks, to be freed with xf_tracks_free; -ENOMEM. */
int xf_tracks_build(const struct xf_profile *profile, struct xf_tracks **tracks);
void xf_tracks_free(struct xf_tracks *tracks);

#endif
