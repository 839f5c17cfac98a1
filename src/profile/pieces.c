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
	_Static_assert(offsetof(struct xf_guest_stack, pcpu) ==
	                       offsetof(struct xf_guest_task, pcpu),
	               "stacks and tasks have it at the same place");
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

bool xf_guest_task_is_sound(const uint8_t *bytes, size_t size)
{
	struct xf_cursor cursor = xf_cursor_over(bytes, size);

	xf_cursor_u32(&cursor);
	return size == XF_GUEST_TASK_BYTES && xf_cursor_u16(&cursor) == size &&
	       xf_cursor_u8(&cursor) == XF_GUEST_TASK;
}

static unsigned int count(const struct xf_guest_pieces *pieces)
{
	return pieces->nr + (pieces->task != NULL);
}

/* Return: whether anything waits, and that for the sample of @key. */
static bool wait_for(const struct xf_guest_pieces *waiting, struct key key)
{
	return count(waiting) &&
	       same(key_of_piece(waiting->task ? waiting->task : waiting->raw[0]), key);
}

/* Leaves out what waits for another sample than that of @raw. Return: how many. */
static unsigned int leave_out_others(struct xf_guest_pieces *waiting, const uint8_t *raw)
{
	unsigned int nr = count(waiting);

	if (wait_for(waiting, key_of_piece(raw)))
		return 0;
	waiting->nr = 0;
	waiting->task = NULL;
	return nr;
}

unsigned int xf_guest_pieces_add(struct xf_guest_pieces *waiting, const uint8_t *raw, uint16_t size)
{
	unsigned int left_out = leave_out_others(waiting, raw);

	if (waiting->nr == XF_MAX_GUEST_STACKS)
		return 1;
	waiting->raw[waiting->nr] = raw;
	waiting->size[waiting->nr++] = size;
	return left_out;
}

unsigned int xf_guest_pieces_add_task(struct xf_guest_pieces *waiting, const uint8_t *raw)
{
	unsigned int left_out = leave_out_others(waiting, raw);

	if (waiting->task)
		return 1;
	waiting->task = raw;
	return left_out;
}

unsigned int xf_guest_pieces_take(struct xf_guest_pieces *waiting, const uint8_t *sample,
                                  struct xf_guest_pieces *taken)
{
	unsigned int nr = count(waiting);
	bool theirs = wait_for(waiting, key_of_sample(sample));

	taken->nr = 0;
	taken->task = NULL;
	if (theirs)
		*taken = *waiting;
	waiting->nr = 0;
	waiting->task = NULL;
	return theirs ? 0 : nr;
}

void xf_guest_pieces_read(const struct xf_guest_pieces *pieces, unsigned int index,
                          struct xf_guest_piece *piece)
{
	memcpy(piece->storage, pieces->raw[index], pieces->size[index]);
	piece->nr_words = (pieces->size[index] - XF_GUEST_HEAD_BYTES) / 8;
}

bool xf_guest_pieces_task(const struct xf_guest_pieces *pieces, struct xf_guest_task *task)
{
	if (!pieces->task)
		return false;
	memcpy(task, pieces->task, sizeof(*task));
	return true;
}
