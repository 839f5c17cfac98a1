// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/cursor.h"

#include <endian.h>
#include <string.h>

struct xf_cursor xf_cursor_over(const void *bytes, size_t size)
{
	return (struct xf_cursor){.bytes = bytes, .size = bytes ? size : 0};
}

size_t xf_cursor_left(const struct xf_cursor *cursor)
{
	return cursor->failed ? 0 : cursor->size - cursor->position;
}

const uint8_t *xf_cursor_take(struct xf_cursor *cursor, size_t size)
{
	const uint8_t *start;

	if (cursor->failed || size > cursor->size - cursor->position) {
		cursor->failed = true;
		return NULL;
	}
	start = cursor->bytes + cursor->position;
	cursor->position += size;
	return start;
}

uint8_t xf_cursor_u8(struct xf_cursor *cursor)
{
	const uint8_t *bytes = xf_cursor_take(cursor, 1);

	return bytes ? *bytes : 0;
}

uint16_t xf_cursor_u16(struct xf_cursor *cursor)
{
	const uint8_t *bytes = xf_cursor_take(cursor, 2);
	uint16_t value = 0;

	if (bytes)
		memcpy(&value, bytes, sizeof(value));
	return le16toh(value);
}

uint32_t xf_cursor_u32(struct xf_cursor *cursor)
{
	const uint8_t *bytes = xf_cursor_take(cursor, 4);
	uint32_t value = 0;

	if (bytes)
		memcpy(&value, bytes, sizeof(value));
	return le32toh(value);
}

uint64_t xf_cursor_u64(struct xf_cursor *cursor)
{
	const uint8_t *bytes = xf_cursor_take(cursor, 8);
	uint64_t value = 0;

	if (bytes)
		memcpy(&value, bytes, sizeof(value));
	return le64toh(value);
}

/* The bits of a number of variable length, in *@nr how many were given, in *@last the last byte. */
static uint64_t take_leb(struct xf_cursor *cursor, unsigned int *nr, uint8_t *last)
{
	uint64_t value = 0;

	*nr = 0;
	do {
		*last = xf_cursor_u8(cursor);
		if (*nr < 64)
			value |= (uint64_t)(*last & 0x7f) << *nr;
		*nr += 7;
	} while (*last & 0x80 && *nr < 70);
	if (*last & 0x80)
		cursor->failed = true;
	return cursor->failed ? 0 : value;
}

uint64_t xf_cursor_uleb(struct xf_cursor *cursor)
{
	unsigned int nr;
	uint8_t last;
	uint64_t value = take_leb(cursor, &nr, &last);

	if (nr > 64 && last > 1)
		cursor->failed = true;
	return cursor->failed ? 0 : value;
}

int64_t xf_cursor_sleb(struct xf_cursor *cursor)
{
	unsigned int nr;
	uint8_t last;
	uint64_t value = take_leb(cursor, &nr, &last);

	if (nr > 64 && last != 0 && last != 0x7f)
		cursor->failed = true;
	if (nr < 64 && last & 0x40)
		value |= UINT64_MAX << nr;
	return cursor->failed ? 0 : (int64_t)value;
}

const char *xf_cursor_string(struct xf_cursor *cursor)
{
	const uint8_t *start = cursor->bytes + cursor->position;
	const uint8_t *end;

	if (!xf_cursor_left(cursor)) {
		cursor->failed = true;
		return NULL;
	}
	end = memchr(start, 0, xf_cursor_left(cursor));
	if (!end) {
		cursor->failed = true;
		return NULL;
	}
	cursor->position += (size_t)(end - start) + 1;
	return (const char *)start;
}

struct xf_cursor xf_cursor_sub(struct xf_cursor *cursor, size_t size)
{
	const uint8_t *start = xf_cursor_take(cursor, size);
	struct xf_cursor sub = xf_cursor_over(start, size);

	sub.failed = cursor->failed;
	return sub;
}

void xf_cursor_seek(struct xf_cursor *cursor, size_t position)
{
	if (position > cursor->size)
		cursor->failed = true;
	else
		cursor->position = position;
}
