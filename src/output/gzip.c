// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/gzip.h"

#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <zlib.h>

/* The largest window, and 16 for gzip's head and sum; without a time, so that the same input gives
   the same bytes. */
#define WINDOW_BITS (15 + 16)
#define MEMORY      8

struct xf_gzip {
	FILE *out;
	z_stream stream;
};

struct xf_gzip *xf_gzip_new(FILE *out)
{
	struct xf_gzip *gzip = calloc(1, sizeof(*gzip));

	if (!gzip)
		return NULL;
	gzip->out = out;
	if (deflateInit2(&gzip->stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, WINDOW_BITS, MEMORY,
	                 Z_DEFAULT_STRATEGY) != Z_OK) {
		free(gzip);
		return NULL;
	}
	return gzip;
}

static void deflate_all(struct xf_gzip *gzip, int flush)
{
	uint8_t packed[16384];

	do {
		gzip->stream.next_out = packed;
		gzip->stream.avail_out = sizeof(packed);
		deflate(&gzip->stream, flush);
		fwrite(packed, 1, sizeof(packed) - gzip->stream.avail_out, gzip->out);
	} while (!gzip->stream.avail_out);
}

void xf_gzip_write(struct xf_gzip *gzip, const void *bytes, size_t size)
{
	const uint8_t *next = bytes;

	while (size) {
		unsigned int part = size < INT_MAX ? (unsigned int)size : INT_MAX;

		gzip->stream.next_in = (uint8_t *)next;
		gzip->stream.avail_in = part;
		deflate_all(gzip, Z_NO_FLUSH);
		next += part;
		size -= part;
	}
}

void xf_gzip_end(struct xf_gzip *gzip)
{
	deflate_all(gzip, Z_FINISH);
	deflateEnd(&gzip->stream);
	free(gzip);
}
