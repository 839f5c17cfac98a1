// SPDX-License-Identifier: GPL-2.0-or-later
/* Memory that grows: bytes one after another, and arrays whose length is not known beforehand. */
#ifndef XF_BASE_BUFFER_H
#define XF_BASE_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Starts zeroed; freed with xf_buffer_free. */
struct xf_buffer {
	uint8_t *bytes;
	size_t used;
	size_t allocated;
};

/* Appends @size of @bytes, which are not the buffer's own. Return: 0; -ENOMEM, and all is as it
 * was.
 */
int xf_buffer_add(struct xf_buffer *buffer, const void *bytes, size_t size);

/* Leaves an empty one. */
void xf_buffer_free(struct xf_buffer *buffer);

/*
 * Makes room for one more element of @size bytes in the array that @array points to, which has @nr
 * and room for *@allocated. Return: false without memory, or where a handle of 32 bits would not do
 * for as many; all is as it was then.
 */
bool xf_make_room(void *array, size_t nr, size_t *allocated, size_t size);

#endif
