// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The table as it lies in memory: sorted offsets where a row begins, for each the number of one of
 * a few different rows, and an index by 256 bytes of code. About six bytes a row.
 */
#ifndef XF_UNWIND_TABLE_H
#define XF_UNWIND_TABLE_H

#include "unwind/infer.h"
#include "unwind/unwind.h"

#define XF_TABLE_PAGE          256u
#define XF_TABLE_MAX_DIFFERENT 65535u

struct xf_unwind_table {
	uint64_t address;
	uint64_t size; /* bytes of code */
	uint32_t *starts;
	uint16_t *numbers;
	size_t nr_rows;
	uint32_t *pages; /* the row that covers each page's first byte; one more for the end */
	struct xf_unwind_row *rows;
	size_t nr_different;
};

/* Makes the table of what was inferred. Return: 0 and *@table, or -ENOMEM. */
int xf_table_make(const struct xf_inference *inference, struct xf_unwind_table **table);

/* Return: the row for the byte at @offset, which must be less than @table->size. */
static inline const struct xf_unwind_row *xf_table_at(const struct xf_unwind_table *table,
                                                      uint64_t offset)
{
	size_t page = offset / XF_TABLE_PAGE;
	uint32_t low = table->pages[page], high = table->pages[page + 1];

	/* The last row that begins at or before @offset. */
	while (low < high) {
		uint32_t middle = low + (high - low + 1) / 2;

		if (table->starts[middle] <= offset)
			low = middle;
		else
			high = middle - 1;
	}
	return &table->rows[table->numbers[low]];
}

#endif
