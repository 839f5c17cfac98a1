// SPDX-License-Identifier: GPL-2.0-or-later
/* What is recorded of a guest on its way from its records to the sample that it belongs to. */
#ifndef XF_PROFILE_PIECES_H
#define XF_PROFILE_PIECES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xenflame/sample.h"

/* As it lies in the recording: unaligned, but proven. */
struct xf_guest_pieces {
	/* Stacks, from the innermost outwards. */
	const uint8_t *raw[XF_MAX_GUEST_STACKS];
	uint16_t size[XF_MAX_GUEST_STACKS];
	unsigned int nr;
	const uint8_t *task; /* struct xf_guest_task; NULL: not known */
};

/* A stack, aligned. */
struct xf_guest_piece {
	unsigned int nr_words;
	union {
		struct xf_guest_stack stack;
		uint64_t storage[(XF_GUEST_HEAD_BYTES / 8) + XF_MAX_GUEST_WORDS];
	};
};

/* Return: whether the @size bytes are a struct xf_guest_stack with all its words. */
bool xf_guest_piece_is_sound(const uint8_t *bytes, size_t size);

/* Return: whether the @size bytes are a struct xf_guest_task. */
bool xf_guest_task_is_sound(const uint8_t *bytes, size_t size);

/* Adds a sound stack to what waits for its sample. Return: how many have to be left out:
 * this one, where a sample cannot have as many; or others that belong to another sample. */
unsigned int xf_guest_pieces_add(struct xf_guest_pieces *waiting, const uint8_t *raw,
                                 uint16_t size);

/* Likewise a sound task. */
unsigned int xf_guest_pieces_add_task(struct xf_guest_pieces *waiting, const uint8_t *raw);

/* Moves those of the sound sample at @sample from @waiting, which none are left in, to @taken.
 * Return: how many belong to another one, and are left out. */
unsigned int xf_guest_pieces_take(struct xf_guest_pieces *waiting, const uint8_t *sample,
                                  struct xf_guest_pieces *taken);

/* Copies stack @index to where it is aligned. */
void xf_guest_pieces_read(const struct xf_guest_pieces *pieces, unsigned int index,
                          struct xf_guest_piece *piece);

/* Likewise the task. Return: whether it is known. */
bool xf_guest_pieces_task(const struct xf_guest_pieces *pieces, struct xf_guest_task *task);

#endif
