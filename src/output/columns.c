// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/columns.h"

#include <string.h>

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static void write_bytes(struct xf_columns *columns)
{
	const uint8_t *bytes = columns->bytes;
	char text[4] = {alphabet[bytes[0] >> 2], alphabet[(bytes[0] & 3) << 4 | bytes[1] >> 4], '=',
	                '='};

	if (columns->nr > 1)
		text[2] = alphabet[(bytes[1] & 15) << 2 | bytes[2] >> 6];
	if (columns->nr > 2)
		text[3] = alphabet[bytes[2] & 63];
	fwrite(text, 1, sizeof(text), columns->out);
	memset(columns->bytes, 0, sizeof(columns->bytes));
	columns->nr = 0;
}

void xf_columns_put(struct xf_columns *columns, uint64_t number)
{
	do {
		columns->bytes[columns->nr++] = (uint8_t)((number & 0x7f) | (number > 0x7f) << 7);
		number >>= 7;
		if (columns->nr == sizeof(columns->bytes))
			write_bytes(columns);
	} while (number);
}

void xf_columns_end(struct xf_columns *columns)
{
	if (columns->nr)
		write_bytes(columns);
}
