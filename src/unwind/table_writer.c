// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/table_writer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

int xf_table_check(const struct xf_code *code, struct xf_error *error)
{
	/* Offsets are 32 bits wide, with one value to spare and room to look ahead. */
	if (code->size == 0 || code->size > INT32_MAX || code->address + code->size < code->address)
		return xf_fail(error, -EINVAL,
		               "unwind table: %zu bytes of code at %#" PRIx64
		               ": expected between 1 byte and 2 GiB",
		               code->size, code->address);
	return 0;
}

/* ---- The different rows ---------------------------------------------------------------------- */

static bool same_row(const struct xf_unwind_row *a, const struct xf_unwind_row *b)
{
	return a->kind == b->kind && a->reason == b->reason && a->base_rule == b->base_rule &&
	       a->base_register == b->base_register && a->rbp_rule == b->rbp_rule &&
	       a->filler == b->filler && a->base_offset == b->base_offset &&
	       a->base_addend == b->base_addend && a->rbp_offset == b->rbp_offset;
}

static uint32_t hash_row(const struct xf_unwind_row *row)
{
	uint64_t hash = row->kind | (uint64_t)row->reason << 8 | (uint64_t)row->base_rule << 16 |
	                (uint64_t)row->base_register << 24 | (uint64_t)row->rbp_rule << 32 |
	                (uint64_t)row->filler << 40;

	hash = (hash ^ (uint32_t)row->base_offset) * 0x9e3779b97f4a7c15ull;
	hash = (hash ^ (uint32_t)row->base_addend) * 0x9e3779b97f4a7c15ull;
	hash = (hash ^ (uint32_t)row->rbp_offset) * 0x9e3779b97f4a7c15ull;
	return hash >> 32;
}

static int rehash(struct xf_row_dictionary *dictionary)
{
	size_t nr_buckets = dictionary->nr_buckets != 0 ? dictionary->nr_buckets * 2 : 1024;
	uint32_t *buckets = calloc(nr_buckets, sizeof(*buckets));

	if (buckets == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < dictionary->count; i++) {
		size_t at = hash_row(&dictionary->rows[i]) & (nr_buckets - 1);

		while (buckets[at] != 0)
			at = (at + 1) & (nr_buckets - 1);
		buckets[at] = i + 1;
	}
	free(dictionary->buckets);
	dictionary->buckets = buckets;
	dictionary->nr_buckets = nr_buckets;
	return 0;
}

static int add_row(struct xf_row_dictionary *dictionary, const struct xf_unwind_row *row)
{
	if (dictionary->count == dictionary->room) {
		size_t room = dictionary->room * 2 + 64;
		struct xf_unwind_row *rows = reallocarray(dictionary->rows, room, sizeof(*rows));

		if (rows == NULL)
			return -ENOMEM;
		dictionary->rows = rows;
		dictionary->room = room;
	}
	dictionary->rows[dictionary->count++] = *row;
	return 0;
}

int xf_table_number(struct xf_table_writer *writer, const struct xf_unwind_row *row)
{
	struct xf_row_dictionary *dictionary = &writer->dictionary;
	size_t at;

	if (dictionary->count * 2 >= dictionary->nr_buckets && rehash(dictionary) != 0)
		return -ENOMEM;
	at = hash_row(row) & (dictionary->nr_buckets - 1);
	for (; dictionary->buckets[at] != 0; at = (at + 1) & (dictionary->nr_buckets - 1))
		if (same_row(&dictionary->rows[dictionary->buckets[at] - 1], row))
			return dictionary->buckets[at] - 1;
	if (dictionary->count == XF_TABLE_MAX_DIFFERENT)
		return 0;
	if (add_row(dictionary, row) != 0)
		return -ENOMEM;
	dictionary->buckets[at] = dictionary->count;
	return dictionary->count - 1;
}

int xf_table_number_undefined(struct xf_table_writer *writer, enum xf_unwind_reason reason)
{
	struct xf_unwind_row row = {.kind = XF_ROW_UNDEFINED, .reason = reason};

	return xf_table_number(writer, &row);
}

/* ---- The pages ------------------------------------------------------------------------------- */

static size_t nr_pages(const struct xf_unwind_table *table)
{
	return (table->size + XF_TABLE_PAGE - 1) / XF_TABLE_PAGE;
}

int xf_table_begin(struct xf_table_writer *writer, uint64_t address, uint64_t size)
{
	struct xf_unwind_table *table = calloc(1, sizeof(*table));

	*writer = (struct xf_table_writer){.table = table};
	if (table == NULL)
		return -ENOMEM;
	table->address = address;
	table->size = size;
	table->pages = malloc(nr_pages(table) * sizeof(*table->pages));
	if (table->pages == NULL)
		return -ENOMEM;
	/* Number 0 is what all rows beyond the dictionary's limit fall back to. */
	return xf_table_number_undefined(writer, XF_UNWIND_TOO_MANY_ROWS);
}

/* So many numbers there is room for at first. */
#define FIRST_ROOM 4096u

/* Writes the record of the page in the making, and begins the next with the row that goes on. */
static int end_page(struct xf_table_writer *writer)
{
	struct xf_unwind_table *table = writer->table;
	size_t before = (writer->count + 1) / 2, length = before + writer->count;
	uint16_t *record;

	if (table->records_length + length + XF_TABLE_SPARE > writer->room) {
		size_t room = writer->room * 2 + FIRST_ROOM;
		uint16_t *records = reallocarray(table->records, room, sizeof(*records));

		if (records == NULL)
			return -ENOMEM;
		table->records = records;
		writer->room = room;
	}
	record = &table->records[table->records_length];
	writer->starts[0] = writer->count;
	memcpy(record, writer->starts, before * sizeof(*record));
	memcpy(record + before, writer->numbers, writer->count * sizeof(*record));
	table->pages[writer->page++] = table->records_length;
	table->records_length += length;
	writer->numbers[0] = writer->numbers[writer->count - 1];
	writer->count = 1;
	return 0;
}

int xf_table_lay_new(struct xf_table_writer *writer, uint32_t offset, int number)
{
	writer->table->nr_rows++;
	while (writer->page < offset / XF_TABLE_PAGE)
		if (end_page(writer) != 0)
			return -ENOMEM;
	/* What goes on from the page before has no byte here. */
	if (offset % XF_TABLE_PAGE == 0)
		writer->count = 0;
	writer->starts[writer->count] = offset % XF_TABLE_PAGE;
	writer->numbers[writer->count++] = number;
	return 0;
}

/* Frees what the table has too much, and clears what is read, but not used, behind it. */
static void trim(struct xf_unwind_table *table)
{
	size_t length = table->records_length + XF_TABLE_SPARE;
	uint16_t *records = reallocarray(table->records, length, sizeof(*records));

	if (records != NULL)
		table->records = records;
	memset(&table->records[table->records_length], 0, XF_TABLE_SPARE * sizeof(*records));
}

static int finish(struct xf_table_writer *writer)
{
	struct xf_unwind_table *table = writer->table;

	while (writer->page < nr_pages(table))
		if (end_page(writer) != 0)
			return -ENOMEM;
	trim(table);
	table->rows = writer->dictionary.rows;
	table->nr_different = writer->dictionary.count;
	writer->dictionary.rows = NULL;
	return 0;
}

int xf_table_end(struct xf_table_writer *writer, int result, struct xf_unwind_table **table)
{
	if (result == 0)
		result = finish(writer);
	free(writer->dictionary.rows);
	free(writer->dictionary.buckets);
	if (result != 0) {
		xf_unwind_table_free(writer->table);
		writer->table = NULL;
	}
	*table = writer->table;
	return result;
}
