// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/unpack.h"

#include <errno.h>
#include <stdlib.h>

#include <zstd.h>

#define STEP (1u << 20)

/* Return: whether there is room for more of @output. */
static bool grow(ZSTD_outBuffer *output, size_t room, uint8_t **bytes)
{
	size_t wanted = output->size ? output->size * 2 : STEP;
	uint8_t *grown;

	if (output->pos < output->size)
		return true;
	wanted = wanted < room ? wanted : room;
	grown = wanted > output->size ? realloc(*bytes, wanted) : NULL;
	if (!grown)
		return false;
	*bytes = grown;
	output->dst = grown;
	output->size = wanted;
	return true;
}

int xf_unpack(const struct xf_cursor *packed, size_t room, uint8_t **bytes, size_t *size,
              size_t *allocated, bool *whole)
{
	ZSTD_inBuffer input = {.src = packed->bytes, .size = packed->size};
	ZSTD_outBuffer output = {0};
	ZSTD_DStream *stream = ZSTD_createDStream();
	size_t result = 1;

	if (!stream)
		return -ENOMEM;
	while (result && grow(&output, room, bytes)) {
		size_t before = output.pos;
		size_t position = input.pos;

		result = ZSTD_decompressStream(stream, &output, &input);
		if (ZSTD_isError(result) || (output.pos == before && input.pos == position))
			break;
	}
	ZSTD_freeDStream(stream);
	*size = output.pos;
	*allocated = output.size;
	*whole = !result;
	return 0;
}
