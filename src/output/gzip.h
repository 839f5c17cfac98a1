// SPDX-License-Identifier: GPL-2.0-or-later
/* Bytes, packed as gzip does, on their way to a stream. */
#ifndef XF_OUTPUT_GZIP_H
#define XF_OUTPUT_GZIP_H

#include <stddef.h>
#include <stdio.h>

struct xf_gzip;

/* Return: a writer to @out, NULL without memory. End with xf_gzip_end. */
struct xf_gzip *xf_gzip_new(FILE *out);

/* Errors of the stream are the caller's to look for. */
void xf_gzip_write(struct xf_gzip *gzip, const void *bytes, size_t size);

/* Writes what is left, and frees the writer. */
void xf_gzip_end(struct xf_gzip *gzip);

#endif
