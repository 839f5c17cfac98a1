// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/graph.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "unwind/explore.h"

/* How many instructions behind a call's target are looked at to tell what the call is for. */
#define OVER_LIMIT 16

uint32_t xf_graph_block(const struct xf_graph *graph, uint32_t offset)
{
	const struct xf_leaders *leaders;
	uint64_t bit = 1ull << offset % 64;

	if (offset >= graph->code->size)
		return XF_NOWHERE;
	leaders = &graph->leaders[offset / 64];
	if (!(leaders->bits & bit))
		return XF_NOWHERE;
	return leaders->before + __builtin_popcountll(leaders->bits & (bit - 1));
}

bool xf_graph_begins_behind(const struct xf_graph *graph, uint32_t offset)
{
	uint32_t start = offset;

	while (offset < graph->code->size && (graph->marks[offset] & XF_MARK_PADDING) &&
	       (offset == start || (graph->code->address + offset) % XF_FUNCTION_ALIGNMENT != 0))
		offset++;
	return offset != start && (graph->code->address + offset) % XF_FUNCTION_ALIGNMENT == 0;
}

/*
 * What one operation says about a called piece of code, @depth bytes of stack below the word
 * where the call left its return address. Return: true where it drops or replaces that address.
 */
static bool op_takes_address(const struct xf_op *op, int64_t *depth)
{
	switch ((enum xf_op_kind)op->kind) {
	case XF_OP_ADJUST:
		if (op->dst == XF_REG_RSP)
			*depth -= op->value;
		return *depth < 0;
	case XF_OP_COPY:
		if (op->dst != XF_REG_RSP)
			return false;
		if (op->src == XF_REG_RSP)
			*depth -= op->value;
		return op->src != XF_REG_RSP || *depth < 0;
	case XF_OP_STORE:
		return op->dst == XF_REG_RSP && op->value == *depth;
	case XF_OP_LOAD:
		return op->dst == XF_REG_RSP;
	default:
		return false;
	}
}

/*
 * Does the code at @offset, to which a call leads, drop or overwrite the return address (a call
 * over data, a retpoline), rather than return to it?
 */
static bool takes_address(const struct xf_graph *graph, uint32_t offset)
{
	uint32_t index = xf_graph_block(graph, offset);
	unsigned int count = 0;
	int64_t depth = 0;

	while (index != XF_NOWHERE) {
		const struct xf_block *block = &graph->blocks[index];
		struct xf_place at = xf_place_first(graph, block);

		for (; at.offset < block->end && count < OVER_LIMIT; count++) {
			for (unsigned int i = 0; i < at.insn->nr_ops; i++)
				if (op_takes_address(&at.ops[i], &depth))
					return true;
			xf_place_next(&at);
		}
		if (block->flow != XF_FLOW_NEXT || count == OVER_LIMIT)
			return false;
		index = xf_graph_block(graph, block->end);
	}
	return false;
}

/* Is there nothing but a few bytes of filler from @offset to @end, close behind it? A function of
 * its own does not begin there, in the middle of another. */
static bool only_filler(const struct xf_graph *graph, uint32_t offset, uint32_t end)
{
	if (end < offset || end - offset >= 16)
		return false;
	while (offset < end && (graph->marks[offset] & XF_MARK_PADDING))
		offset++;
	return offset == end;
}

/* Is the direct call at the end of @block, to @target, made for the push of its address alone? */
static bool is_call_over(const struct xf_graph *graph, const struct xf_block *block,
                         uint32_t target)
{
	if (target == XF_NOWHERE || (graph->marks[target] & XF_MARK_ENTRY))
		return false;
	return only_filler(graph, block->end, target) || takes_address(graph, target);
}

/* Does @block push the five words of an interrupt frame, for the iretq at its end? */
static bool pushes_frame(const struct xf_graph *graph, const struct xf_block *block)
{
	struct xf_place at = xf_place_first(graph, block);
	unsigned int pushes = 0;

	for (; at.offset < block->end; xf_place_next(&at))
		for (unsigned int i = 0; i < at.insn->nr_ops; i++)
			pushes += at.ops[i].kind == XF_OP_STORE && at.ops[i].dst == XF_REG_RSP &&
			          at.ops[i].value == -8;
	return pushes >= 5;
}

/* Code behind iretq or ud2 that nothing else leads to is where those go on. */
static uint32_t hidden_fall(const struct xf_graph *graph, uint32_t next)
{
	uint8_t marks = next < graph->code->size ? graph->marks[next] : 0;

	if (!(marks & XF_MARK_ORPHAN) || (marks & (XF_MARK_ALIGNED | XF_MARK_ENTRY | XF_MARK_BAD)))
		return XF_NOWHERE;
	return xf_graph_block(graph, next);
}

/* Turns the offset that the end of @block leads to into a block, and finds what follows. */
static void link_block(const struct xf_graph *graph, struct xf_block *block)
{
	uint32_t target = block->jump;

	block->jump = xf_graph_block(graph, target);
	block->fall = XF_NOWHERE;
	switch ((enum xf_flow)block->flow) {
	case XF_FLOW_CALL:
		if (is_call_over(graph, block, target))
			block->flags |= XF_BLOCK_OVER;
		block->fall = xf_graph_block(graph, block->end);
		break;
	case XF_FLOW_NEXT:
	case XF_FLOW_BRANCH:
	case XF_FLOW_CALL_INDIRECT:
		block->fall = xf_graph_block(graph, block->end);
		break;
	case XF_FLOW_TRAP:
		block->fall = hidden_fall(graph, block->end);
		break;
	case XF_FLOW_INTERRUPT_RETURN:
		if (pushes_frame(graph, block))
			block->fall = hidden_fall(graph, block->end);
		break;
	default:
		break;
	}
}

/* Return: a bit for each of the @count marks at @marks, at most 64, where a block begins. */
static uint64_t leader_bits(const uint8_t *marks, size_t count)
{
	uint64_t bits = 0, eight = 0;

	for (size_t i = 0; i < count; i += 8) {
		memcpy(&eight, &marks[i], count - i < 8 ? count - i : 8);
		if (count - i < 8)
			eight &= (1ull << 8 * (count - i)) - 1;
		/* The product gathers the lowest bits of eight bytes in its topmost byte. */
		bits |= ((eight / XF_MARK_LEADER & 0x0101010101010101ull) * 0x0102040810204080ull >>
		         56)
		        << i;
	}
	return bits;
}

static int number_leaders(struct xf_graph *graph)
{
	size_t size = graph->code->size, before = 0;

	graph->leaders = calloc(size / 64 + 1, sizeof(*graph->leaders));
	if (graph->leaders == NULL)
		return -ENOMEM;
	for (size_t i = 0; i * 64 < size; i++) {
		size_t count = size - i * 64 < 64 ? size - i * 64 : 64;
		uint64_t bits = leader_bits(&graph->marks[i * 64], count);

		graph->leaders[i] = (struct xf_leaders){bits, before};
		before += __builtin_popcountll(bits);
	}
	graph->nr_blocks = before;
	return 0;
}

/* Makes the blocks of one run, which ends before the instruction @end. @op and @target count
 * operations and targets from run to run. */
static void cut_run(struct xf_graph *graph, const struct xf_run *run, uint32_t end, uint32_t *op,
                    uint32_t *target)
{
	uint32_t offset = run->offset;
	struct xf_block *block = NULL;

	for (uint32_t i = run->insn; i < end; i++) {
		const struct xf_insn *insn = &graph->insns[i];

		if (block == NULL || (graph->marks[offset] & XF_MARK_LEADER)) {
			block = &graph->blocks[xf_graph_block(graph, offset)];
			*block = (struct xf_block){.first = offset, .insn = i, .op = *op};
		}
		offset += insn->length;
		*op += insn->nr_ops;
		block->end = offset;
		block->flow = insn->flow;
		block->jump =
		        xf_flow_is_direct(insn->flow) ? graph->targets[(*target)++] : XF_NOWHERE;
	}
}

static int make_blocks(struct xf_graph *graph)
{
	uint32_t op = 0, target = 0;

	if (number_leaders(graph) != 0)
		return -ENOMEM;
	graph->blocks = calloc(graph->nr_blocks + 1, sizeof(*graph->blocks));
	graph->queue = malloc((graph->nr_blocks + 1) * sizeof(*graph->queue));
	if (graph->blocks == NULL || graph->queue == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < graph->nr_runs; i++) {
		uint32_t end = i + 1 < graph->nr_runs ? graph->runs[i + 1].insn : graph->nr_insns;

		cut_run(graph, &graph->runs[i], end, &op, &target);
	}
	for (size_t i = 0; i < graph->nr_blocks; i++)
		link_block(graph, &graph->blocks[i]);
	return 0;
}

/* The blocks that lead to each block, calls included, in one array. */
static int make_edges(struct xf_graph *graph)
{
	size_t nr_edges = 0;
	uint32_t *from;

	graph->edge_from = from = calloc(graph->nr_blocks + 2, sizeof(*from));
	if (from == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < graph->nr_blocks; i++) {
		const struct xf_block *block = &graph->blocks[i];

		if (block->jump != XF_NOWHERE)
			from[block->jump + 2]++, nr_edges++;
		if (block->fall != XF_NOWHERE)
			from[block->fall + 2]++, nr_edges++;
	}
	graph->edges = malloc((nr_edges + 1) * sizeof(*graph->edges));
	if (graph->edges == NULL)
		return -ENOMEM;
	for (size_t i = 2; i < graph->nr_blocks + 2; i++)
		from[i] += from[i - 1];
	for (size_t i = 0; i < graph->nr_blocks; i++) {
		const struct xf_block *block = &graph->blocks[i];

		if (block->jump != XF_NOWHERE)
			graph->edges[from[block->jump + 1]++] = i;
		if (block->fall != XF_NOWHERE)
			graph->edges[from[block->fall + 1]++] = i;
	}
	return 0;
}

bool xf_block_falls(const struct xf_graph *graph, const struct xf_block *block)
{
	if (block->fall == XF_NOWHERE || (block->flags & XF_BLOCK_DOUBTED))
		return false;
	if (block->flow != XF_FLOW_CALL)
		return true;
	if (block->flags & XF_BLOCK_OVER)
		return false;
	return block->jump == XF_NOWHERE || (graph->blocks[block->jump].flags & XF_BLOCK_RETURNS);
}

/* Does control leave @block for where a return may come from, without going on in the code? */
static bool leaves(const struct xf_block *block)
{
	switch ((enum xf_flow)block->flow) {
	case XF_FLOW_RETURN:
	case XF_FLOW_JUMP_INDIRECT:
		return true;
	case XF_FLOW_JUMP:
	case XF_FLOW_BRANCH:
		return block->jump == XF_NOWHERE;
	default:
		return false;
	}
}

/* Does some way on from @block come to a return, as far as is known now? */
static bool returns_now(const struct xf_graph *graph, const struct xf_block *block)
{
	if (block->jump != XF_NOWHERE &&
	    (block->flow != XF_FLOW_CALL || (block->flags & XF_BLOCK_OVER)) &&
	    (graph->blocks[block->jump].flags & XF_BLOCK_RETURNS))
		return true;
	return xf_block_falls(graph, block) &&
	       (graph->blocks[block->fall].flags & XF_BLOCK_RETURNS);
}

/*
 * Which blocks come to a return: the least fixed point, found backwards from the returns. A call
 * goes on only once what it calls is known to return, so functions that never do are those left.
 */
static void find_returns(struct xf_graph *graph)
{
	size_t tail = 0;

	for (size_t i = 0; i < graph->nr_blocks; i++) {
		if (!leaves(&graph->blocks[i]))
			continue;
		graph->blocks[i].flags |= XF_BLOCK_RETURNS;
		graph->queue[tail++] = i;
	}
	while (tail != 0) {
		uint32_t done = graph->queue[--tail];

		for (uint32_t e = graph->edge_from[done]; e < graph->edge_from[done + 1]; e++) {
			struct xf_block *block = &graph->blocks[graph->edges[e]];

			if ((block->flags & XF_BLOCK_RETURNS) || !returns_now(graph, block))
				continue;
			block->flags |= XF_BLOCK_RETURNS;
			graph->queue[tail++] = graph->edges[e];
		}
	}
}

static void make_live(struct xf_graph *graph, uint32_t block, size_t *tail)
{
	if (block == XF_NOWHERE || (graph->blocks[block].flags & XF_BLOCK_LIVE))
		return;
	graph->blocks[block].flags |= XF_BLOCK_LIVE;
	graph->queue[(*tail)++] = block;
}

/* What can be reached from the entries, and what is called from there. */
static void find_live(struct xf_graph *graph)
{
	size_t tail = 0;

	for (size_t i = 0; i < graph->nr_blocks; i++)
		if (graph->marks[graph->blocks[i].first] & XF_MARK_ENTRY)
			make_live(graph, i, &tail);
	while (tail != 0) {
		const struct xf_block *block = &graph->blocks[graph->queue[--tail]];

		make_live(graph, block->jump, &tail);
		if (xf_block_falls(graph, block))
			make_live(graph, block->fall, &tail);
		if (block->flow == XF_FLOW_CALL && !(block->flags & XF_BLOCK_OVER) &&
		    block->jump != XF_NOWHERE)
			graph->blocks[block->jump].flags |= XF_BLOCK_CALLED;
	}
}

/*
 * An entry that is nothing but a return (a return thunk) is jumped to in place of returning, from
 * frames that hold nothing any more: it is a function, whatever state some of them leave.
 */
static void find_thunks(struct xf_graph *graph)
{
	for (size_t i = 0; i < graph->nr_blocks; i++) {
		struct xf_block *block = &graph->blocks[i];

		if (block->flow == XF_FLOW_RETURN &&
		    block->first + graph->insns[block->insn].length == block->end &&
		    (graph->marks[block->first] & XF_MARK_ENTRY))
			block->flags |= XF_BLOCK_CALLED;
	}
}

/* Which entries other functions jump or fall into. A function is what lies up to the next entry. */
static void find_joined(struct xf_graph *graph)
{
	uint32_t entry = XF_NOWHERE;

	for (size_t i = 0; i < graph->nr_blocks; i++) {
		struct xf_block *block = &graph->blocks[i];

		if (graph->marks[block->first] & XF_MARK_ENTRY)
			entry = i;
		if (!(block->flags & XF_BLOCK_LIVE))
			continue;
		if (block->jump != XF_NOWHERE && block->flow != XF_FLOW_CALL &&
		    block->jump != entry)
			graph->blocks[block->jump].flags |= XF_BLOCK_JOINED;
		if (block->fall != XF_NOWHERE && block->fall != entry &&
		    (block->flow == XF_FLOW_NEXT || block->flow == XF_FLOW_BRANCH))
			graph->blocks[block->fall].flags |= XF_BLOCK_JOINED;
	}
}

/* Without a single entry, code that stands apart is taken to begin functions. */
static void assume_entries(struct xf_graph *graph)
{
	for (size_t i = 0; i < graph->nr_blocks; i++)
		if (graph->marks[graph->blocks[i].first] & XF_MARK_ENTRY)
			return;
	for (size_t i = 0; i < graph->nr_blocks; i++)
		if (i == 0 || (graph->marks[graph->blocks[i].first] & XF_MARK_ALIGNED))
			graph->marks[graph->blocks[i].first] |= XF_MARK_ENTRY;
}

int xf_graph_build(struct xf_graph *graph, const struct xf_code *code, const uint64_t *entries,
                   size_t nr_entries)
{
	int ret;

	memset(graph, 0, sizeof(*graph));
	graph->code = code;
	graph->marks = calloc(code->size + 1, sizeof(*graph->marks));
	if (graph->marks == NULL)
		return -ENOMEM;
	ret = xf_graph_explore(graph, entries, nr_entries);
	if (ret == 0)
		ret = make_blocks(graph);
	if (ret == 0)
		ret = make_edges(graph);
	if (ret != 0)
		return ret;
	assume_entries(graph);
	xf_graph_settle(graph);
	return 0;
}

void xf_graph_settle(struct xf_graph *graph)
{
	for (size_t i = 0; i < graph->nr_blocks; i++)
		graph->blocks[i].flags &= XF_BLOCK_OVER | XF_BLOCK_DOUBTED;
	find_returns(graph);
	find_live(graph);
	find_thunks(graph);
	find_joined(graph);
}

void xf_graph_free(struct xf_graph *graph)
{
	free(graph->marks);
	free(graph->insns);
	free(graph->ops);
	free(graph->targets);
	free(graph->runs);
	free(graph->blocks);
	free(graph->leaders);
	free(graph->edge_from);
	free(graph->edges);
	free(graph->queue);
	memset(graph, 0, sizeof(*graph));
}
