// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The different rows found so far, with a hash table of their numbers. */
struct dictionary {
	struct xf_unwind_row *rows;
	size_t count, room;
	uint32_t *buckets; /* 1 + number, 0 where empty */
	size_t nr_buckets; /* power of two, more than twice @count */
};

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

static int rehash(struct dictionary *dictionary)
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

static int add_row(struct dictionary *dictionary, const struct xf_unwind_row *row)
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

/* Return: the number of @row, 0 for all that are too many; or -ENOMEM. */
static int row_number(struct dictionary *dictionary, const struct xf_unwind_row *row)
{
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

static int undefined_number(struct dictionary *dictionary, enum xf_unwind_reason reason)
{
	struct xf_unwind_row row = {.kind = XF_ROW_UNDEFINED, .reason = reason};

	return row_number(dictionary, &row);
}

/* Does @insn change anything that a row is made of? Most do not. */
static bool matters(const struct xf_insn *insn, const struct xf_state *state)
{
	if (insn->nr_ops != 0)
		return true;
	for (unsigned int mask = insn->kills; mask != 0; mask &= mask - 1)
		if (state->reg[__builtin_ctz(mask)] != XF_VALUE_UNKNOWN)
			return true;
	return false;
}

/* Gives every instruction of the block @index the number of its row. */
static int number_block(struct xf_inference *inference, struct dictionary *dictionary, size_t index)
{
	const struct xf_block *block = &inference->graph.blocks[index];
	struct xf_state state = inference->states[index];
	uint32_t offset = block->first;
	bool fresh = true, filler = false;
	int number = 0;

	for (;;) {
		struct xf_insn *insn = xf_graph_insn(&inference->graph, offset);

		if (fresh || insn->padding != filler) {
			struct xf_unwind_row row = xf_state_row(&state);

			filler = insn->padding;
			row.filler = filler && row.kind == XF_ROW_INTERRUPT;
			number = row_number(dictionary, &row);
			if (number < 0)
				return number;
		}
		insn->row = number;
		if (offset == block->last)
			return 0;
		fresh = matters(insn, &state);
		if (fresh)
			xf_infer_step(&inference->graph, insn, &state);
		offset += insn->length;
	}
}

/* Numbers of the rows for what is no reached code. */
struct blanks {
	int unreached, padding, bad;
};

static int number_all(struct xf_inference *inference, struct dictionary *dictionary,
                      struct blanks *blanks)
{
	struct xf_graph *graph = &inference->graph;

	/* Number 0 is what all rows beyond the dictionary's limit fall back to. */
	if (undefined_number(dictionary, XF_UNWIND_TOO_MANY_ROWS) < 0)
		return -ENOMEM;
	blanks->unreached = undefined_number(dictionary, XF_UNWIND_UNREACHED);
	blanks->padding = undefined_number(dictionary, XF_UNWIND_PADDING);
	blanks->bad = undefined_number(dictionary, XF_UNWIND_NOT_CODE);
	if (blanks->unreached < 0 || blanks->padding < 0 || blanks->bad < 0)
		return -ENOMEM;
	for (size_t i = 0; i < graph->nr_insns; i++) {
		struct xf_insn *insn = &graph->insns[i];

		insn->row = insn->padding               ? blanks->padding
		            : insn->flow == XF_FLOW_BAD ? blanks->bad
		                                        : blanks->unreached;
	}
	for (size_t i = 0; i < graph->nr_blocks; i++) {
		if (inference->states[i].kind == XF_STATE_NONE)
			continue;
		if (number_block(inference, dictionary, i) != 0)
			return -ENOMEM;
	}
	return 0;
}

/* The row for the byte at @offset, and in *@length how far it holds at least. */
static int byte_number(const struct xf_graph *graph, const struct blanks *blanks, uint32_t offset,
                       uint32_t *length)
{
	const struct xf_insn *insn = xf_graph_insn(graph, offset);

	*length = 1;
	if (insn == NULL)
		return graph->marks[offset] & XF_MARK_PADDING ? blanks->padding : blanks->unreached;
	/* Another instruction may begin inside this one, where something jumps into it. */
	while (*length < insn->length && graph->at[offset + *length] == 0)
		++*length;
	return insn->row;
}

/* Walks over the code and either counts the rows or, where @table has room, writes them. */
static size_t lay_rows(const struct xf_graph *graph, const struct blanks *blanks,
                       struct xf_unwind_table *table)
{
	uint32_t size = graph->code->size, length;
	size_t nr_rows = 0;
	int last = -1;

	for (uint32_t offset = 0; offset < size; offset += length) {
		int number = byte_number(graph, blanks, offset, &length);

		if (number == last)
			continue;
		if (table != NULL) {
			table->starts[nr_rows] = offset;
			table->numbers[nr_rows] = number;
		}
		last = number;
		nr_rows++;
	}
	return nr_rows;
}

static void lay_pages(struct xf_unwind_table *table)
{
	size_t nr_pages = (table->size + XF_TABLE_PAGE - 1) / XF_TABLE_PAGE;
	uint32_t row = 0;

	for (size_t page = 0; page < nr_pages; page++) {
		while (row + 1 < table->nr_rows && table->starts[row + 1] <= page * XF_TABLE_PAGE)
			row++;
		table->pages[page] = row;
	}
	table->pages[nr_pages] = table->nr_rows - 1;
}

static int fill_table(struct xf_unwind_table *table, struct xf_inference *inference,
                      struct dictionary *dictionary)
{
	size_t nr_pages = (table->size + XF_TABLE_PAGE - 1) / XF_TABLE_PAGE;
	struct blanks blanks;
	struct xf_unwind_row *rows;

	if (number_all(inference, dictionary, &blanks) != 0)
		return -ENOMEM;
	table->nr_rows = lay_rows(&inference->graph, &blanks, NULL);
	table->starts = calloc(table->nr_rows + 1, sizeof(*table->starts));
	table->numbers = calloc(table->nr_rows + 1, sizeof(*table->numbers));
	table->pages = calloc(nr_pages + 1, sizeof(*table->pages));
	if (table->starts == NULL || table->numbers == NULL || table->pages == NULL)
		return -ENOMEM;
	lay_rows(&inference->graph, &blanks, table);
	lay_pages(table);
	rows = reallocarray(dictionary->rows, dictionary->count, sizeof(*rows));
	table->rows = rows != NULL ? rows : dictionary->rows;
	table->nr_different = dictionary->count;
	dictionary->rows = NULL;
	return 0;
}

int xf_table_make(struct xf_inference *inference, struct xf_unwind_table **table)
{
	struct dictionary dictionary = {0};
	int ret = -ENOMEM;

	*table = calloc(1, sizeof(**table));
	if (*table != NULL) {
		(*table)->address = inference->graph.code->address;
		(*table)->size = inference->graph.code->size;
		ret = fill_table(*table, inference, &dictionary);
	}
	free(dictionary.rows);
	free(dictionary.buckets);
	if (ret != 0) {
		xf_unwind_table_free(*table);
		*table = NULL;
	}
	return ret;
}

void xf_unwind_table_free(struct xf_unwind_table *table)
{
	if (table == NULL)
		return;
	free(table->starts);
	free(table->numbers);
	free(table->pages);
	free(table->rows);
	free(table);
}

int xf_unwind_table_build(const struct xf_code *code, const uint64_t *entries, size_t nr_entries,
                          struct xf_unwind_table **table, struct xf_error *error)
{
	struct xf_inference inference;
	int ret;

	*table = NULL;
	/* Offsets are 32 bits wide, with one value to spare and room to look ahead. */
	if (code->size == 0 || code->size > INT32_MAX || code->address + code->size < code->address)
		return xf_fail(error, -EINVAL,
		               "unwind table: %zu bytes of code at %#" PRIx64
		               ": expected between 1 byte and 2 GiB",
		               code->size, code->address);
	ret = xf_infer(&inference, code, entries, nr_entries);
	if (ret == 0)
		ret = xf_table_make(&inference, table);
	xf_infer_free(&inference);
	if (ret != 0)
		return xf_fail(error, ret, "unwind table of %zu bytes of code: out of memory",
		               code->size);
	return 0;
}

struct xf_unwind_row xf_unwind_row_find(const struct xf_unwind_table *table, uint64_t address)
{
	const struct xf_unwind_row none = {.kind = XF_ROW_UNDEFINED, .reason = XF_UNWIND_NO_ROW};

	if (address - table->address >= table->size)
		return none;
	return *xf_table_at(table, address - table->address);
}

int xf_unwind_rsp_offset(const struct xf_unwind_table *table, uint64_t address, int32_t *offset)
{
	struct xf_unwind_row row = xf_unwind_row_find(table, address);

	if (row.kind == XF_ROW_UNDEFINED || row.base_rule != XF_BASE_REGISTER ||
	    row.base_register != XF_REG_RSP)
		return -ENOENT;
	*offset = row.base_offset;
	return 0;
}

struct xf_unwind_table_size xf_unwind_table_measure(const struct xf_unwind_table *table)
{
	size_t nr_pages = (table->size + XF_TABLE_PAGE - 1) / XF_TABLE_PAGE;
	struct xf_unwind_table_size size = {
	        .address = table->address,
	        .code_bytes = table->size,
	        .nr_rows = table->nr_rows,
	        .nr_different = table->nr_different,
	};

	size.table_bytes = sizeof(*table) +
	                   table->nr_rows * (sizeof(*table->starts) + sizeof(*table->numbers)) +
	                   (nr_pages + 1) * sizeof(*table->pages) +
	                   table->nr_different * sizeof(*table->rows);
	return size;
}
