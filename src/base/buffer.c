// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/buffer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int xf_buffer_add(struct xf_buffer *buffer, const void *bytes, size_t size)
{
	if (size > buffer->allocated - buffer->used) {
		size_t wanted = buffer->allocated ? buffer->allocated : 4096;
		uint8_t *grown;

		while (wanted - buffer->used < size)
			wanted *= 2;
		grown = realloc(buffer->bytes, wanted);
		if (!grown)
			return -ENOMEM;
		buffer->bytes = grown;
		buffer->allocated = wanted;
	}
	if (size)
		memcpy(buffer->bytes + buffer->used, bytes, size);
	buffer->used += size;
	return 0;
}

void xf_buffer_free(struct xf_buffer *buffer)
{
	free(buffer->bytes);
	*buffer = (struct xf_buffer){0};
}

bool xf_make_room(void *array, size_t nr, size_t *allocated, size_t size)
{
	void **pointer = array;
	void *grown;

	if (nr < *allocated)
		return true;
	if (nr >= UINT32_MAX / 2)
		return false;
	grown = reallocarray(*pointer, nr ? nr * 2 : 64, size);
	if (!grown)
		return false;
	*pointer = grown;
	*allocated = nr ? nr * 2 : 64;
	return true;
}
