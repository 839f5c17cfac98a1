// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/table_writer.h"

#include <errno.h>
#include <stdlib.h>

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
	struct xf_table_writer writer;
	uint32_t laid;               /* up to here something has been said about every byte */
	int unreached, padding, bad; /* numbers of the rows for what is no reached code */
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

/* Says of everything before @offset that has no row yet that it is filler, or not reached. */
static int lay_gap(struct maker *maker, uint32_t offset)
{
	const uint8_t *marks = maker->inference->graph.marks;
	int ret = 0;

	for (; ret == 0 && maker->laid < offset; maker->laid++)
		ret = xf_table_lay(&maker->writer, maker->laid,
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
	thread->number = xf_table_number(&maker->writer, &row);
	return thread->number;
}

/* Lays the row for the instruction that @thread is at, and goes on to the next. */
static int advance(struct maker *maker, struct thread *thread)
{
	int ret = lay_gap(maker, thread->at.offset);

	if (ret == 0)
		ret = xf_table_lay(&maker->writer, thread->at.offset, thread_number(maker, thread));
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
	struct xf_table_writer *writer = &maker->writer;

	maker->unreached = xf_table_number_undefined(writer, XF_UNWIND_UNREACHED);
	maker->padding = xf_table_number_undefined(writer, XF_UNWIND_PADDING);
	maker->bad = xf_table_number_undefined(writer, XF_UNWIND_NOT_CODE);
	return maker->unreached < 0 || maker->padding < 0 || maker->bad < 0 ? -ENOMEM : 0;
}

int xf_table_make(const struct xf_inference *inference, struct xf_unwind_table **table)
{
	const struct xf_code *code = inference->graph.code;
	struct maker maker = {.inference = inference};
	int ret = xf_table_begin(&maker.writer, code->address, code->size);

	if (ret == 0)
		ret = number_blanks(&maker);
	if (ret == 0)
		ret = lay_blocks(&maker);
	return xf_table_end(&maker.writer, ret, table);
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
	ret = xf_table_check(code, error);
	if (ret != 0)
		return ret;
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
