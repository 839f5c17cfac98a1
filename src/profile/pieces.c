// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/pieces.h"

#include <string.h>

#include "base/cursor.h"

/* Whose a piece, or a sample, is. */
struct key {
	uint32_t sequence;
	uint16_t pcpu;
};

static struct key key_at(const uint8_t *bytes, size_t sequence, size_t pcpu)
{
	struct key key;

	memcpy(&key.sequence, bytes + sequence, sizeof(key.sequence));
	memcpy(&key.pcpu, bytes + pcpu, sizeof(key.pcpu));
	return key;
}

static struct key key_of_piece(const uint8_t *bytes)
{
	return key_at(bytes, offsetof(struct xf_guest_stack, sequence),
	              offsetof(struct xf_guest_stack, pcpu));
}

static struct key key_of_sample(const uint8_t *bytes)
{
	return key_at(bytes, offsetof(struct xf_sample, sequence),
	              offsetof(struct xf_sample, pcpu));
}

static bool same(struct key a, struct key b)
{
	return a.sequence == b.sequence && a.pcpu == b.pcpu;
}

bool xf_guest_piece_is_sound(const uint8_t *bytes, size_t size)
{
	struct xf_cursor cursor = xf_cursor_over(bytes, size);
	uint8_t mode;

	xf_cursor_u32(&cursor);
	if (xf_cursor_u16(&cursor) != size || size < XF_GUEST_HEAD_BYTES ||
	    size > XF_GUEST_HEAD_BYTES + 8 * XF_MAX_GUEST_WORDS ||
	    (size - XF_GUEST_HEAD_BYTES) % 8 != 0)
		return false;
	mode = xf_cursor_u8(&cursor);
	return mode == XF_GUEST_KERNEL || mode == XF_GUEST_USER;
}

unsigned int xf_guest_pieces_add(struct xf_guest_pieces *waiting, const uint8_t *raw, uint16_t size)
{
	unsigned int left_out = 0;

	if (waiting->nr && !same(key_of_piece(waiting->raw[0]), key_of_piece(raw))) {
		left_out = waiting->nr;
		waiting->nr = 0;
	}
	if (waiting->nr == XF_MAX_GUEST_STACKS)
		return 1;
	waiting->raw[waiting->nr] = raw;
	waiting->size[waiting->nr++] = size;
	return left_out;
}

unsigned int xf_guest_pieces_take(struct xf_guest_pieces *waiting, const uint8_t *sample,
                                  struct xf_guest_pieces *taken)
{
	unsigned int nr = waiting->nr;

	taken->nr = 0;
	waiting->nr = 0;
	if (!nr || !same(key_of_piece(waiting->raw[0]), key_of_sample(sample)))
		return nr;
	*taken = *waiting;
	taken->nr = nr;
	return 0;
}

void xf_guest_pieces_read(const struct xf_guest_pieces *pieces, unsigned int index,
                          struct xf_guest_piece *piece)
{
	memcpy(piece->storage, pieces->raw[index], pieces->size[index]);
	piece->nr_words = (pieces->size[index] - XF_GUEST_HEAD_BYTES) / 8;
}
