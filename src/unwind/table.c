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

/* Does the instruction at @at change anything that a row is made of? Most do not. */
static bool matters(const struct xf_place *at, const struct xf_state *state)
{
	if (at->insn->nr_ops != 0)
		return true;
	for (unsigned int mask = at->insn->kills; mask != 0; mask &= mask - 1)
		if (state->reg[__builtin_ctz(mask)] != XF_VALUE_UNKNOWN)
			return true;
	return false;
}

/* A table in the making: rows are laid by rising offset. */
struct maker {
	const struct xf_inference *inference;
	struct dictionary dictionary;
	struct xf_unwind_table *table;
	size_t room;                 /* for the table's records */
	uint32_t laid;               /* up to here something has been said about every byte */
	int unreached, padding, bad; /* numbers of the rows for what is no reached code */
	/* The page in the making. */
	size_t page;
	unsigned int count;
	uint8_t starts[XF_TABLE_PAGE + 1]; /* one to fill up with */
	uint16_t numbers[XF_TABLE_PAGE];
};

/* Where the maker is in one block. */
struct thread {
	struct xf_place at;
	uint32_t end;
	struct xf_state state;
	int number; /* of the row before the instruction at @at; -1: not known yet */
	bool filler;
};

/*
 * Blocks overlap where something jumps into the middle of an instruction. At no byte can there be
 * more of them than an instruction has bytes, since in each another instruction lies over it.
 */
#define MAX_THREADS 16

/* So many numbers there is room for at first. */
#define FIRST_ROOM 4096u

/* Writes the record of the page in the making, and begins the next with the row that goes on. */
static int end_page(struct maker *maker)
{
	struct xf_unwind_table *table = maker->table;
	size_t before = (maker->count + 1) / 2, length = before + maker->count;
	uint16_t *record;

	if (table->records_length + length + XF_TABLE_SPARE > maker->room) {
		size_t room = maker->room * 2 + FIRST_ROOM;
		uint16_t *records = reallocarray(table->records, room, sizeof(*records));

		if (records == NULL)
			return -ENOMEM;
		table->records = records;
		maker->room = room;
	}
	record = &table->records[table->records_length];
	maker->starts[0] = maker->count;
	memcpy(record, maker->starts, before * sizeof(*record));
	memcpy(record + before, maker->numbers, maker->count * sizeof(*record));
	table->pages[maker->page++] = table->records_length;
	table->records_length += length;
	maker->numbers[0] = maker->numbers[maker->count - 1];
	maker->count = 1;
	return 0;
}

static int lay_row(struct maker *maker, uint32_t offset, int number)
{
	if (number < 0)
		return number;
	if (maker->count != 0 && maker->numbers[maker->count - 1] == number)
		return 0;
	maker->table->nr_rows++;
	while (maker->page < offset / XF_TABLE_PAGE)
		if (end_page(maker) != 0)
			return -ENOMEM;
	/* What goes on from the page before has no byte here. */
	if (offset % XF_TABLE_PAGE == 0)
		maker->count = 0;
	maker->starts[maker->count] = offset % XF_TABLE_PAGE;
	maker->numbers[maker->count++] = number;
	return 0;
}

/* Says of everything before @offset that has no row yet that it is filler, or not reached. */
static int lay_gap(struct maker *maker, uint32_t offset)
{
	const uint8_t *marks = maker->inference->graph.marks;
	int ret = 0;

	for (; ret == 0 && maker->laid < offset; maker->laid++)
		ret = lay_row(maker, maker->laid,
		              marks[maker->laid] & XF_MARK_PADDING ? maker->padding
		                                                   : maker->unreached);
	return ret;
}

/* The row for an instruction in a block that nothing is known about. */
static int blank_number(const struct maker *maker, const struct xf_insn *insn)
{
	if (insn->padding)
		return maker->padding;
	return insn->flow == XF_FLOW_BAD ? maker->bad : maker->unreached;
}

static int thread_number(struct maker *maker, struct thread *thread)
{
	const struct xf_insn *insn = thread->at.insn;
	struct xf_unwind_row row;

	if (thread->state.kind == XF_STATE_NONE)
		return blank_number(maker, insn);
	if (thread->number >= 0 && insn->padding == thread->filler)
		return thread->number;
	row = xf_state_row(&thread->state);
	row.filler = insn->padding && row.kind == XF_ROW_INTERRUPT;
	thread->filler = insn->padding;
	thread->number = row_number(&maker->dictionary, &row);
	return thread->number;
}

/* Lays the row for the instruction that @thread is at, and goes on to the next. */
static int advance(struct maker *maker, struct thread *thread)
{
	int ret = lay_gap(maker, thread->at.offset);

	if (ret == 0)
		ret = lay_row(maker, thread->at.offset, thread_number(maker, thread));
	if (ret != 0)
		return ret;
	if (thread->state.kind != XF_STATE_NONE && matters(&thread->at, &thread->state)) {
		xf_infer_step(&thread->at, &thread->state);
		thread->number = -1;
	}
	xf_place_next(&thread->at);
	if (thread->at.offset > maker->laid)
		maker->laid = thread->at.offset;
	return 0;
}

static void begin(const struct maker *maker, struct thread *thread, size_t index)
{
	const struct xf_block *block = &maker->inference->graph.blocks[index];

	thread->at = xf_place_first(&maker->inference->graph, block);
	thread->end = block->end;
	thread->state = *xf_infer_before(maker->inference, index);
	thread->number = -1;
	thread->filler = false;
}

/* Lays the rows of all instructions, by rising offset. */
static int lay_blocks(struct maker *maker)
{
	const struct xf_graph *graph = &maker->inference->graph;
	struct thread threads[MAX_THREADS];
	size_t next = 0;
	unsigned int count = 0;

	while (count != 0 || next < graph->nr_blocks) {
		unsigned int least = 0;

		for (unsigned int i = 1; i < count; i++)
			if (threads[i].at.offset < threads[least].at.offset)
				least = i;
		if (count == 0 || (next < graph->nr_blocks &&
		                   graph->blocks[next].first < threads[least].at.offset)) {
			begin(maker, &threads[count++], next++);
			continue;
		}
		if (advance(maker, &threads[least]) != 0)
			return -ENOMEM;
		if (threads[least].at.offset == threads[least].end)
			threads[least] = threads[--count];
	}
	return lay_gap(maker, graph->code->size);
}

/* Numbers the rows that say why there is none. */
static int number_blanks(struct maker *maker)
{
	struct dictionary *dictionary = &maker->dictionary;

	/* Number 0 is what all rows beyond the dictionary's limit fall back to. */
	if (undefined_number(dictionary, XF_UNWIND_TOO_MANY_ROWS) < 0)
		return -ENOMEM;
	maker->unreached = undefined_number(dictionary, XF_UNWIND_UNREACHED);
	maker->padding = undefined_number(dictionary, XF_UNWIND_PADDING);
	maker->bad = undefined_number(dictionary, XF_UNWIND_NOT_CODE);
	return maker->unreached < 0 || maker->padding < 0 || maker->bad < 0 ? -ENOMEM : 0;
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

static int fill_table(struct maker *maker)
{
	struct xf_unwind_table *table = maker->table;
	struct dictionary *dictionary = &maker->dictionary;
	size_t nr_pages = (table->size + XF_TABLE_PAGE - 1) / XF_TABLE_PAGE;

	table->pages = malloc(nr_pages * sizeof(*table->pages));
	if (table->pages == NULL || number_blanks(maker) != 0 || lay_blocks(maker) != 0)
		return -ENOMEM;
	while (maker->page < nr_pages)
		if (end_page(maker) != 0)
			return -ENOMEM;
	trim(table);
	table->rows = dictionary->rows;
	table->nr_different = dictionary->count;
	dictionary->rows = NULL;
	return 0;
}

int xf_table_make(const struct xf_inference *inference, struct xf_unwind_table **table)
{
	struct maker maker = {.inference = inference};
	int ret = -ENOMEM;

	*table = maker.table = calloc(1, sizeof(**table));
	if (*table != NULL) {
		(*table)->address = inference->graph.code->address;
		(*table)->size = inference->graph.code->size;
		ret = fill_table(&maker);
	}
	free(maker.dictionary.rows);
	free(maker.dictionary.buckets);
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
	free(table->pages);
	free(table->records);
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

	size.table_bytes = sizeof(*table) + nr_pages * sizeof(*table->pages) +
	                   (table->records_length + XF_TABLE_SPARE) * sizeof(*table->records) +
	                   table->nr_different * sizeof(*table->rows);
	return size;
}
