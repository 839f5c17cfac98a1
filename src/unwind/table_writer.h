// SPDX-License-Identifier: GPL-2.0-or-later
/* Writes a table (unwind/table.h) row by row, by rising offset. */
#ifndef XF_UNWIND_TABLE_WRITER_H
#define XF_UNWIND_TABLE_WRITER_H

#include "unwind/table.h"

/* The different rows found so far, with a hash table of their numbers. */
struct xf_row_dictionary {
	struct xf_unwind_row *rows;
	size_t count, room;
	uint32_t *buckets; /* 1 + number, 0 where empty */
	size_t nr_buckets; /* power of two, more than twice @count */
};

struct xf_table_writer {
	struct xf_unwind_table *table;
	struct xf_row_dictionary dictionary;
	size_t room; /* for the table's records */
	/* The page in the making. */
	size_t page;
	unsigned int count;
	uint8_t starts[XF_TABLE_PAGE + 1]; /* one to fill up with */
	uint16_t numbers[XF_TABLE_PAGE];
};

/* Return: 0, or -EINVAL and @error where there can be no table for so much code. */
int xf_table_check(const struct xf_code *code, struct xf_error *error);

/* Begins the table of @size bytes of code at @address. Return: 0 or -ENOMEM; xf_table_end is due in
 * both cases. */
int xf_table_begin(struct xf_table_writer *writer, uint64_t address, uint64_t size);

/* Return: the number of @row, 0 for all that are too many; or -ENOMEM. */
int xf_table_number(struct xf_table_writer *writer, const struct xf_unwind_row *row);

/* The same for a row that is undefined because of @reason. */
int xf_table_number_undefined(struct xf_table_writer *writer, enum xf_unwind_reason reason);

/* Ends pages up to @offset and lays row @number there. For xf_table_lay only. */
int xf_table_lay_new(struct xf_table_writer *writer, uint32_t offset, int number);

/*
 * From @offset on the row with this number holds. Offsets rise, and the first one is 0. @number may
 * be the failure of xf_table_number. Return: 0 or -ENOMEM.
 */
static inline int xf_table_lay(struct xf_table_writer *writer, uint32_t offset, int number)
{
	if (number < 0)
		return number;
	if (writer->count != 0 && writer->numbers[writer->count - 1] == number)
		return 0;
	return xf_table_lay_new(writer, offset, number);
}

/*
 * Ends the writer, after @result as of the calls before. Return: 0 and *@table, to be freed with
 * xf_unwind_table_free; otherwise @result or -ENOMEM, and NULL.
 */
int xf_table_end(struct xf_table_writer *writer, int result, struct xf_unwind_table **table);

#endif
