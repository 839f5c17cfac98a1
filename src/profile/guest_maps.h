// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What processes of other domains than the control domain had mapped as code, at the moments at
 * which somebody has looked: what a sample shows between two looks is believed where these agree.
 */
#ifndef XF_PROFILE_GUEST_MAPS_H
#define XF_PROFILE_GUEST_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "profile/format.h"
#include "xenflame/sample.h"

/* A look at a process. */
struct xf_guest_look {
	struct xf_guest_maps_head head;
	const struct xf_guest_map *maps; /* by address; once finished */
	size_t first, nr;                /* of them among all */
};

/* Starts zeroed; freed with xf_guest_maps_free. */
struct xf_guest_maps {
	struct xf_guest_look *looks; /* once finished: by domid, pid and root, then by time */
	size_t nr_looks;
	struct xf_guest_map *maps;
	size_t nr_maps;
};

/* Takes in the content of a chunk of that type. Return: 0; -EBADMSG where it makes no sense: then
 * none of it is kept; -ENOMEM. */
int xf_guest_maps_read(struct xf_guest_maps *maps, struct xf_cursor content);

/* After the last chunk. */
void xf_guest_maps_finish(struct xf_guest_maps *maps);
void xf_guest_maps_free(struct xf_guest_maps *maps);

/* Return: struct xf_guest_maps_head's root, for the process that @sample shows. */
static inline uint64_t xf_guest_maps_root(const struct xf_sample *sample)
{
	return (sample->hvm_cr3 ? sample->hvm_cr3 : sample->cr3) & 0x000ffffffffff000ull;
}

/* The looks before and after a sample, at the process that it shows; NULL: there is none. */
struct xf_guest_looks {
	const struct xf_guest_look *before, *after;
};

struct xf_guest_looks xf_guest_maps_find(const struct xf_guest_maps *maps,
                                         const struct xf_sample *sample, uint32_t pid);

/* Return: true and what was mapped at @address; false where that is not known: there was nothing at
 * either look, or not the same at both. */
bool xf_guest_looks_mapping(const struct xf_guest_looks *looks, uint64_t address,
                            struct xf_guest_map *map);

#endif
