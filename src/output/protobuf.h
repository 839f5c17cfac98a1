// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Protocol Buffers' wire format, as far as pprof's profiles need it: whole numbers, bytes, messages
 * in messages. A message is bytes that are appended to; a field that is 0 is left out, as proto3
 * has it.
 */
#ifndef XF_OUTPUT_PROTOBUF_H
#define XF_OUTPUT_PROTOBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Starts zeroed; freed with xf_message_free. */
struct xf_message {
	uint8_t *bytes;
	size_t size;
	size_t allocated;
	bool failed; /* there was no memory: what is in it is not all */
};

void xf_message_free(struct xf_message *message);

/* Empties it, to be filled anew. */
void xf_message_clear(struct xf_message *message);

/* A number without its field: an element of a packed one. */
void xf_message_number(struct xf_message *message, uint64_t value);

void xf_message_put(struct xf_message *message, uint32_t field, uint64_t value);
void xf_message_put_bytes(struct xf_message *message, uint32_t field, const void *bytes,
                          size_t size);
void xf_message_put_message(struct xf_message *message, uint32_t field,
                            const struct xf_message *inner);

#endif
