// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The one way to read bytes that somebody else wrote. A cursor never makes a pointer without a
 * proof that it lies inside its bytes, and once a read has failed every later one fails too, so
 * that a parser may read a whole structure and ask once. Values are little-endian.
 */
#ifndef XF_BASE_CURSOR_H
#define XF_BASE_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct xf_cursor {
	const uint8_t *bytes; /* borrowed; must outlive the cursor and all that it returned */
	size_t size;
	size_t position; /* never beyond @size */
	bool failed;
};

/* A cursor over @size bytes at @bytes (which may be NULL where @size is 0). */
struct xf_cursor xf_cursor_over(const void *bytes, size_t size);

/* Bytes not yet read; 0 once failed. */
size_t xf_cursor_left(const struct xf_cursor *cursor);

/* Return: the next @size bytes, borrowed, and moves past them; NULL and failed where too few. */
const uint8_t *xf_cursor_take(struct xf_cursor *cursor, size_t size);

/* The next value, moving past it; 0 and failed where too few bytes are left. */
uint8_t xf_cursor_u8(struct xf_cursor *cursor);
uint16_t xf_cursor_u16(struct xf_cursor *cursor);
uint32_t xf_cursor_u32(struct xf_cursor *cursor);
uint64_t xf_cursor_u64(struct xf_cursor *cursor);

/* The next number of DWARF's variable length (DWARF 5, 7.6), unsigned and signed; 0 and failed
 * where bytes are missing or it has more than 64 bits. */
uint64_t xf_cursor_uleb(struct xf_cursor *cursor);
int64_t xf_cursor_sleb(struct xf_cursor *cursor);

/* Return: the NUL-terminated string here, borrowed, and moves past its NUL; NULL and failed where
 * no NUL is left. */
const char *xf_cursor_string(struct xf_cursor *cursor);

/* A cursor over the next @size bytes, which this one moves past; failed where too few. */
struct xf_cursor xf_cursor_sub(struct xf_cursor *cursor, size_t size);

/* Moves to @position from the start; failed where that is beyond the end. */
void xf_cursor_seek(struct xf_cursor *cursor, size_t position);

#endif
