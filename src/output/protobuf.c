// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/protobuf.h"

#include <stdlib.h>
#include <string.h>

enum wire_type {
	WIRE_NUMBER = 0,
	WIRE_BYTES = 2,
};

void xf_message_free(struct xf_message *message)
{
	free(message->bytes);
	*message = (struct xf_message){0};
}

void xf_message_clear(struct xf_message *message)
{
	message->size = 0;
}

static void append(struct xf_message *message, const void *bytes, size_t size)
{
	size_t wanted = message->allocated ? message->allocated : 256;

	while (wanted < message->size + size)
		wanted *= 2;
	if (wanted != message->allocated) {
		uint8_t *grown = realloc(message->bytes, wanted);

		if (!grown) {
			message->failed = true;
			return;
		}
		message->bytes = grown;
		message->allocated = wanted;
	}
	if (size)
		memcpy(message->bytes + message->size, bytes, size);
	message->size += size;
}

void xf_message_number(struct xf_message *message, uint64_t value)
{
	uint8_t bytes[10];
	size_t size = 0;

	/* Seven bits a byte, the lowest first; the highest bit says that more follow. */
	for (; value >= 0x80; value >>= 7)
		bytes[size++] = (uint8_t)(value | 0x80);
	bytes[size++] = (uint8_t)value;
	append(message, bytes, size);
}

void xf_message_put(struct xf_message *message, uint32_t field, uint64_t value)
{
	if (!value)
		return;
	xf_message_number(message, field << 3 | WIRE_NUMBER);
	xf_message_number(message, value);
}

void xf_message_put_bytes(struct xf_message *message, uint32_t field, const void *bytes,
                          size_t size)
{
	xf_message_number(message, field << 3 | WIRE_BYTES);
	xf_message_number(message, size);
	append(message, bytes, size);
}

void xf_message_put_message(struct xf_message *message, uint32_t field,
                            const struct xf_message *inner)
{
	message->failed = message->failed || inner->failed;
	xf_message_put_bytes(message, field, inner->bytes, inner->size);
}
