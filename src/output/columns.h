// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Numbers as they stand in a page: each in as many groups of seven bits as it needs, the lowest
 * first, the top bit of a byte set where another follows (LEB128, unsigned); the bytes in base64
 * (RFC 4648), which may stand in any markup.
 */
#ifndef XF_OUTPUT_COLUMNS_H
#define XF_OUTPUT_COLUMNS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Starts with nothing but @out; ends with _end. */
struct xf_columns {
	FILE *out;
	uint8_t bytes[3]; /* not yet written */
	size_t nr;
};

void xf_columns_put(struct xf_columns *columns, uint64_t number);

/* Writes what is left. */
void xf_columns_end(struct xf_columns *columns);

#endif
