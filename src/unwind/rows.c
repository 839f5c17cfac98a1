// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/rows.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "unwind/table.h"

static const struct xf_unwind_row not_described = {.kind = XF_ROW_UNDEFINED,
                                                   .reason = XF_UNWIND_NOT_DESCRIBED};

int xf_rows_start(struct xf_rows *rows, const struct xf_code *code, struct xf_error *error)
{
	*rows = (struct xf_rows){.address = code->address, .size = code->size};
	/* As xf_unwind_table_build has it: offsets are 32 bits wide. */
	if (code->size == 0 || code->size > INT32_MAX || code->address + code->size < code->address)
		return xf_fail(error, -EINVAL,
		               "unwind table: %zu bytes of code at %#" PRIx64
		               ": expected between 1 byte and 2 GiB",
		               code->size, code->address);
	return 0;
}

void xf_rows_free(struct xf_rows *rows)
{
	free(rows->starts);
	free(rows->rows);
	*rows = (struct xf_rows){0};
}

static int make_room(struct xf_rows *rows)
{
	size_t room = rows->room * 2 + 256;
	uint32_t *starts;
	struct xf_unwind_row *all;

	if (rows->count < rows->room)
		return 0;
	starts = reallocarray(rows->starts, room, sizeof(*starts));
	if (starts == NULL)
		return -ENOMEM;
	rows->starts = starts;
	all = reallocarray(rows->rows, room, sizeof(*all));
	if (all == NULL)
		return -ENOMEM;
	rows->rows = all;
	rows->room = room;
	return 0;
}

static void copy_row(struct xf_unwind_row *to, const struct xf_unwind_row *from)
{
	memset(to, 0, sizeof(*to));
	to->kind = from->kind;
	to->reason = from->reason;
	to->base_rule = from->base_rule;
	to->base_register = from->base_register;
	to->rbp_rule = from->rbp_rule;
	to->filler = from->filler;
	to->base_offset = from->base_offset;
	to->base_addend = from->base_addend;
	to->rbp_offset = from->rbp_offset;
}

static bool same_row(const struct xf_unwind_row *a, const struct xf_unwind_row *b)
{
	return a->kind == b->kind && a->reason == b->reason && a->base_rule == b->base_rule &&
	       a->base_register == b->base_register && a->rbp_rule == b->rbp_rule &&
	       a->filler == b->filler && a->base_offset == b->base_offset &&
	       a->base_addend == b->base_addend && a->rbp_offset == b->rbp_offset;
}

/* At @offset, which is not below the last one's. */
static int lay(struct xf_rows *rows, uint32_t offset, const struct xf_unwind_row *row)
{
	struct xf_unwind_row copy;

	copy_row(&copy, row);
	if (rows->count != 0 && rows->starts[rows->count - 1] == offset)
		rows->count--;
	if (rows->count != 0 && same_row(&rows->rows[rows->count - 1], &copy))
		return 0;
	if (make_room(rows) != 0)
		return -ENOMEM;
	rows->starts[rows->count] = offset;
	memcpy(&rows->rows[rows->count++], &copy, sizeof(copy));
	return 0;
}

int xf_rows_add(struct xf_rows *rows, uint64_t address, const struct xf_unwind_row *row)
{
	if (address >= rows->address && address - rows->address >= rows->size)
		return 0;
	/* What begins before the code may hold at its first byte. */
	if (address < rows->address)
		address = rows->address;
	if (rows->count == 0 && address != rows->address && lay(rows, 0, &not_described) != 0)
		return -ENOMEM;
	return lay(rows, address - rows->address, row);
}

int xf_rows_add_undefined(struct xf_rows *rows, uint64_t address, enum xf_unwind_reason reason)
{
	struct xf_unwind_row row = {.kind = XF_ROW_UNDEFINED, .reason = reason};

	return xf_rows_add(rows, address, &row);
}

static int order(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct xf_unwind_row));
}

/* The different rows among @rows, sorted; the table has one more before them. */
static int find_different(const struct xf_rows *rows, struct xf_unwind_table *table)
{
	struct xf_unwind_row *all = calloc(rows->count + 1, sizeof(*all));
	size_t nr = 1;

	table->rows = all;
	if (all == NULL)
		return -ENOMEM;
	/* Number 0 is what all rows beyond the limit fall back to. */
	all[0] =
	        (struct xf_unwind_row){.kind = XF_ROW_UNDEFINED, .reason = XF_UNWIND_TOO_MANY_ROWS};
	memcpy(all + 1, rows->rows, rows->count * sizeof(*all));
	qsort(all + 1, rows->count, sizeof(*all), order);
	for (size_t i = 1; i <= rows->count && nr < XF_TABLE_MAX_DIFFERENT; i++)
		if (nr == 1 || order(&all[nr - 1], &all[i]) != 0)
			memmove(&all[nr++], &all[i], sizeof(*all));
	table->nr_different = nr;
	return 0;
}

static uint16_t number_of(const struct xf_unwind_table *table, const struct xf_unwind_row *row)
{
	const struct xf_unwind_row *found =
	        bsearch(row, table->rows + 1, table->nr_different - 1, sizeof(*found), order);

	return found != NULL ? found - table->rows : 0;
}

/* Writes the record of @page, whose first byte the row at *@at covers, and moves *@at to the row
 * that covers its last one. */
static void write_page(const struct xf_rows *rows, struct xf_unwind_table *table, size_t page,
                       size_t *at)
{
	uint64_t start = page * XF_TABLE_PAGE;
	size_t first = *at, count = 1;
	uint16_t *record = &table->records[table->records_length];
	uint8_t *starts = (uint8_t *)record;

	for (; first + count < rows->count && rows->starts[first + count] < start + XF_TABLE_PAGE;
	     count++)
		starts[count] = rows->starts[first + count] - start;
	starts[0] = count;
	record += (count + 1) / 2;
	for (size_t i = 0; i < count; i++)
		record[i] = number_of(table, &rows->rows[first + i]);
	table->pages[page] = table->records_length;
	table->records_length += (count + 1) / 2 + count;
	*at = first + count - 1;
}

static void write_pages(const struct xf_rows *rows, struct xf_unwind_table *table, size_t nr_pages)
{
	size_t at = 0;

	for (size_t page = 0; page < nr_pages; page++) {
		if (at + 1 < rows->count && rows->starts[at + 1] == page * XF_TABLE_PAGE)
			at++;
		write_page(rows, table, page, &at);
	}
}

/* @rows has at least one row, at offset 0. */
static int fill(const struct xf_rows *rows, struct xf_unwind_table *table)
{
	size_t nr_pages = (rows->size + XF_TABLE_PAGE - 1) / XF_TABLE_PAGE;
	/* Each page has one row that began before it, and a record is padded to an even size. */
	size_t room = 2 * (rows->count + nr_pages) + XF_TABLE_SPARE;

	table->address = rows->address;
	table->size = rows->size;
	table->nr_rows = rows->count;
	table->pages = calloc(nr_pages, sizeof(*table->pages));
	table->records = calloc(room, sizeof(*table->records));
	if (table->pages == NULL || table->records == NULL || find_different(rows, table) != 0)
		return -ENOMEM;
	write_pages(rows, table, nr_pages);
	return 0;
}

int xf_rows_finish(const struct xf_rows *rows, struct xf_unwind_table **table)
{
	uint32_t start = 0;
	struct xf_unwind_row nothing;
	struct xf_rows empty = *rows;

	copy_row(&nothing, &not_described);
	if (rows->count == 0) {
		empty.starts = &start;
		empty.rows = &nothing;
		empty.count = 1;
		rows = &empty;
	}
	*table = calloc(1, sizeof(**table));
	if (*table != NULL && fill(rows, *table) == 0)
		return 0;
	xf_unwind_table_free(*table);
	*table = NULL;
	return -ENOMEM;
}
