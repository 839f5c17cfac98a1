// SPDX-License-Identifier: GPL-2.0-or-later
/* What a writer writes, kept. */
#ifndef XF_TEST_UNIT_TAKEN_BYTES_H
#define XF_TEST_UNIT_TAKEN_BYTES_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Starts zeroed; .at is to be freed. */
struct bytes {
	uint8_t *at;
	size_t size;
};

/* An xf_recording_sink's, of struct bytes. */
static inline int take(void *context, const void *bytes, size_t size)
{
	struct bytes *taken = context;

	taken->at = realloc(taken->at, taken->size + size + 1);
	memcpy(taken->at + taken->size, bytes, size);
	taken->size += size;
	return 0;
}

#endif
