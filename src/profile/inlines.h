// SPDX-License-Identifier: GPL-2.0-or-later
/* What debug info knows of Xen's frames: functions that were inlined there, and where functions are
 * in the source. For src/profile/ alone. */
#ifndef XF_PROFILE_INLINES_H
#define XF_PROFILE_INLINES_H

#include "profile/index.h"
#include "profile/profile.h"
#include "symbol/debug.h"

/* The frames above that of an address, from the outermost. */
struct xf_inlined {
	uint64_t address;
	size_t first; /* of the frames' */
	size_t nr;
};

/* Starts zeroed, with @debug and @tree; freed with xf_inlines_free. */
struct xf_inlines {
	struct xf_debug *debug;
	struct xf_calltree *tree;
	bool frames; /* inlined functions become frames */
	struct xf_inlined *known;
	size_t nr_known;
	size_t allocated_known;
	struct xf_index index;
	struct xf_frame_id *inlined;
	size_t nr_inlined;
	size_t allocated_inlined;
	char **places; /* of frames, by their index; NULL: not known */
	size_t nr_places;
};

/*
 * @frame is that of the code at @address. Learns where its function is, and what is inlined there.
 * Return: 0, and *@frames, *@nr of them from the outermost, valid until the next call; -ENOMEM.
 */
int xf_inlines_find(struct xf_inlines *inlines, uint64_t address, struct xf_frame_id frame,
                    const struct xf_frame_id **frames, size_t *nr);
void xf_inlines_free(struct xf_inlines *inlines);

#endif
