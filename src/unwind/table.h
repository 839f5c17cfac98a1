// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The table as it lies in memory: an index by 128 bytes of code, and for each of these pages a
 * record of the rows in it, each a byte for where it begins and the number of one of a few
 * different rows. Three bytes a row, and one or two cache lines a look.
 */
#ifndef XF_UNWIND_TABLE_H
#define XF_UNWIND_TABLE_H

#include <string.h>

#include "unwind/infer.h"
#include "unwind/unwind.h"

#define XF_TABLE_PAGE          128u
#define XF_TABLE_MAX_DIFFERENT 65535u

/* A record is read eight bytes at a time, so that so much must lie behind the last one. */
#define XF_TABLE_SPARE (8 / sizeof(uint16_t))

struct xf_unwind_table {
	uint64_t address;
	uint64_t size;   /* bytes of code */
	uint32_t *pages; /* for each page, where in @records its record is */
	/*
	 * A record: a byte that says how many rows there are; for each but the first, which begins
	 * the page, a byte that says where, counted from the page's start; filling to an even
	 * place; the rows' numbers.
	 */
	uint16_t *records;
	size_t records_length;
	struct xf_unwind_row *rows;
	size_t nr_rows; /* equal neighbours counted once */
	size_t nr_different;
};

/* Makes the table of what was inferred. Return: 0 and *@table, or -ENOMEM. */
int xf_table_make(const struct xf_inference *inference, struct xf_unwind_table **table);

#define XF_TABLE_ONES 0x0101010101010101ull

/* Return: how many of the @count bytes at @starts, all less than 128, are at most @offset, which is
 * less, too. Eight are compared at once, without a branch that could not be foretold. */
static inline unsigned int xf_table_count(const uint8_t *starts, unsigned int count,
                                          uint64_t offset)
{
	unsigned int found = 0;

	for (unsigned int i = 0; i < count; i += 8) {
		uint64_t eight, counted = ~0ull;

		memcpy(&eight, &starts[i], sizeof(eight));
		/* A difference's topmost bit stays where nothing had to be borrowed for it. Bytes
		 * that do not count are above those that do, and take nothing from them. */
		eight = ((offset | 0x80) * XF_TABLE_ONES - eight) & 0x80 * XF_TABLE_ONES;
		if (count - i < 8)
			counted >>= 64 - 8 * (count - i);
		found += ((eight & counted) >> 7) * XF_TABLE_ONES >> 56;
	}
	return found;
}

/* Return: the row for the byte at @offset, which must be less than @table->size. */
static inline const struct xf_unwind_row *xf_table_at(const struct xf_unwind_table *table,
                                                      uint64_t offset)
{
	const uint16_t *record = &table->records[table->pages[offset / XF_TABLE_PAGE]];
	const uint8_t *starts = (const uint8_t *)record;
	unsigned int count = starts[0];
	unsigned int index = xf_table_count(starts + 1, count - 1, offset % XF_TABLE_PAGE);

	return &table->rows[record[(count + 1) / 2 + index]];
}

#endif
