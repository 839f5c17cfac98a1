// SPDX-License-Identifier: GPL-2.0-or-later
/* A guest's stacks on their way from their records to the sample that they belong to. */
#ifndef XF_PROFILE_PIECES_H
#define XF_PROFILE_PIECES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xenflame/sample.h"

/* From the innermost outwards, as they lie in the recording: unaligned, but proven. */
struct xf_guest_pieces {
	const uint8_t *raw[XF_MAX_GUEST_STACKS];
	uint16_t size[XF_MAX_GUEST_STACKS];
	unsigned int nr;
};

/* One of them, aligned. */
struct xf_guest_piece {
	unsigned int nr_words;
	union {
		struct xf_guest_stack stack;
		uint64_t storage[(XF_GUEST_HEAD_BYTES / 8) + XF_MAX_GUEST_WORDS];
	};
};

/* Return: whether the @size bytes are a struct xf_guest_stack with all its words. */
bool xf_guest_piece_is_sound(const uint8_t *bytes, size_t size);

/* Adds a sound piece to those that wait for their sample. Return: how many have to be left out:
 * this one, where a sample cannot have as many; or others that belong to another sample. */
unsigned int xf_guest_pieces_add(struct xf_guest_pieces *waiting, const uint8_t *raw,
                                 uint16_t size);

/* Moves those of the sound sample at @sample from @waiting, which none are left in, to @taken.
 * Return: how many belong to another one, and are left out. */
unsigned int xf_guest_pieces_take(struct xf_guest_pieces *waiting, const uint8_t *sample,
                                  struct xf_guest_pieces *taken);

/* Copies piece @index to where it is aligned. */
void xf_guest_pieces_read(const struct xf_guest_pieces *pieces, unsigned int index,
                          struct xf_guest_piece *piece);

#endif
