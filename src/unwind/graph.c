// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/graph.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "unwind/explore.h"

/* How many instructions behind a call's target are looked at to tell what the call is for. */
#define OVER_LIMIT 16

static uint32_t block_of(const struct xf_graph *graph, uint32_t offset)
{
	uint32_t index = offset < graph->code->size ? graph->at[offset] : 0;

	return index != 0 ? graph->block_at[index - 1] : XF_NOWHERE;
}

/* Extends @block from its first instruction to its last. */
static void bound_block(const struct xf_graph *graph, struct xf_block *block)
{
	const struct xf_insn *insn = xf_graph_insn(graph, block->first);

	for (;;) {
		uint32_t next = insn->offset + insn->length;
		const struct xf_insn *following = xf_graph_insn(graph, next);

		if (insn->flow != XF_FLOW_NEXT || following == NULL ||
		    (graph->marks[next] & XF_MARK_LEADER))
			break;
		insn = following;
	}
	block->last = insn->offset;
	block->flow = insn->flow;
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
	int64_t depth = 0;

	for (unsigned int i = 0; i < OVER_LIMIT; i++) {
		const struct xf_insn *insn = xf_graph_insn(graph, offset);

		if (insn == NULL)
			return false;
		for (unsigned int j = 0; j < insn->nr_ops; j++)
			if (op_takes_address(&graph->ops[insn->first_op + j], &depth))
				return true;
		if (insn->flow != XF_FLOW_NEXT)
			return false;
		offset += insn->length;
	}
	return false;
}

/* Is there nothing but a few bytes of filler from @offset to @end, close behind it? A function of
 * its own does not begin there, in the middle of another. */
static bool only_filler(const struct xf_graph *graph, uint32_t offset, uint32_t end)
{
	if (end < offset || end - offset >= 16)
		return false;
	while (offset < end) {
		const struct xf_insn *insn = xf_graph_insn(graph, offset);

		if (insn != NULL && !insn->padding)
			return false;
		if (insn == NULL && !(graph->marks[offset] & XF_MARK_PADDING))
			return false;
		offset += insn != NULL ? insn->length : 1;
	}
	return offset == end;
}

/* Is the direct call @insn made for the push of its address alone? */
static bool is_call_over(const struct xf_graph *graph, const struct xf_insn *insn)
{
	uint32_t next = insn->offset + insn->length;

	if (insn->target == XF_NOWHERE || (graph->marks[insn->target] & XF_MARK_ENTRY))
		return false;
	if (only_filler(graph, next, insn->target))
		return true;
	return takes_address(graph, insn->target);
}

/* Does @block push the five words of an interrupt frame, for the iretq at its end? */
static bool pushes_frame(const struct xf_graph *graph, const struct xf_block *block)
{
	unsigned int pushes = 0;

	for (uint32_t offset = block->first; offset != block->last;) {
		const struct xf_insn *insn = xf_graph_insn(graph, offset);

		for (unsigned int i = 0; i < insn->nr_ops; i++) {
			const struct xf_op *op = &graph->ops[insn->first_op + i];

			pushes +=
			        op->kind == XF_OP_STORE && op->dst == XF_REG_RSP && op->value == -8;
		}
		offset += insn->length;
	}
	return pushes >= 5;
}

/* Code behind iretq or ud2 that nothing else leads to is where those go on. */
static uint32_t hidden_fall(const struct xf_graph *graph, uint32_t next)
{
	uint8_t marks = next < graph->code->size ? graph->marks[next] : 0;

	if (!(marks & XF_MARK_ORPHAN) || (marks & (XF_MARK_ALIGNED | XF_MARK_ENTRY | XF_MARK_BAD)))
		return XF_NOWHERE;
	return block_of(graph, next);
}

static void link_block(const struct xf_graph *graph, struct xf_block *block)
{
	const struct xf_insn *insn = xf_graph_insn(graph, block->last);
	uint32_t next = insn->offset + insn->length;

	block->jump = insn->target == XF_NOWHERE ? XF_NOWHERE : block_of(graph, insn->target);
	block->fall = XF_NOWHERE;
	switch ((enum xf_flow)insn->flow) {
	case XF_FLOW_CALL:
		if (is_call_over(graph, insn))
			block->flags |= XF_BLOCK_OVER;
		block->fall = block_of(graph, next);
		break;
	case XF_FLOW_NEXT:
	case XF_FLOW_BRANCH:
	case XF_FLOW_CALL_INDIRECT:
		block->fall = block_of(graph, next);
		break;
	case XF_FLOW_TRAP:
		block->fall = hidden_fall(graph, next);
		break;
	case XF_FLOW_INTERRUPT_RETURN:
		if (pushes_frame(graph, block))
			block->fall = hidden_fall(graph, next);
		break;
	default:
		break;
	}
}

static int make_blocks(struct xf_graph *graph)
{
	size_t count = 0;

	for (size_t i = 0; i < graph->code->size; i++)
		count += (graph->marks[i] & XF_MARK_LEADER) && graph->at[i] != 0;
	graph->blocks = calloc(count + 1, sizeof(*graph->blocks));
	graph->block_at = malloc((graph->nr_insns + 1) * sizeof(*graph->block_at));
	graph->queue = malloc((count + 1) * sizeof(*graph->queue));
	if (graph->blocks == NULL || graph->block_at == NULL || graph->queue == NULL)
		return -ENOMEM;
	memset(graph->block_at, 0xff, graph->nr_insns * sizeof(*graph->block_at));
	for (size_t i = 0; i < graph->code->size; i++) {
		if (!(graph->marks[i] & XF_MARK_LEADER) || graph->at[i] == 0)
			continue;
		graph->block_at[graph->at[i] - 1] = graph->nr_blocks;
		graph->blocks[graph->nr_blocks++].first = i;
	}
	for (size_t i = 0; i < graph->nr_blocks; i++) {
		bound_block(graph, &graph->blocks[i]);
		link_block(graph, &graph->blocks[i]);
	}
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
	if (block->fall == XF_NOWHERE)
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
	size_t head = 0, tail = 0;

	for (size_t i = 0; i < graph->nr_blocks; i++) {
		if (!leaves(&graph->blocks[i]))
			continue;
		graph->blocks[i].flags |= XF_BLOCK_RETURNS;
		graph->queue[tail++] = i;
	}
	while (head < tail) {
		uint32_t done = graph->queue[head++];

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
	size_t head = 0, tail = 0;

	for (size_t i = 0; i < graph->nr_blocks; i++)
		if (graph->marks[graph->blocks[i].first] & XF_MARK_ENTRY)
			make_live(graph, i, &tail);
	while (head < tail) {
		const struct xf_block *block = &graph->blocks[graph->queue[head++]];

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

		if (block->flow == XF_FLOW_RETURN && block->first == block->last &&
		    (graph->marks[block->first] & XF_MARK_ENTRY))
			block->flags |= XF_BLOCK_CALLED;
	}
}

/* Which entries other functions jump or fall into. A function is what lies up to the next entry. */
static void find_joined(struct xf_graph *graph)
{
	uint32_t *owner = graph->queue;
	uint32_t entry = XF_NOWHERE;

	for (size_t i = 0; i < graph->nr_blocks; i++) {
		if (graph->marks[graph->blocks[i].first] & XF_MARK_ENTRY)
			entry = i;
		owner[i] = entry;
	}
	for (size_t i = 0; i < graph->nr_blocks; i++) {
		struct xf_block *block = &graph->blocks[i];

		if (!(block->flags & XF_BLOCK_LIVE))
			continue;
		if (block->jump != XF_NOWHERE && block->flow != XF_FLOW_CALL &&
		    owner[i] != block->jump)
			graph->blocks[block->jump].flags |= XF_BLOCK_JOINED;
		if (block->fall != XF_NOWHERE && owner[i] != block->fall &&
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
	graph->at = calloc(code->size + 1, sizeof(*graph->at));
	graph->marks = calloc(code->size + 1, sizeof(*graph->marks));
	if (graph->at == NULL || graph->marks == NULL)
		return -ENOMEM;
	ret = xf_graph_explore(graph, entries, nr_entries);
	if (ret == 0)
		ret = make_blocks(graph);
	if (ret == 0)
		ret = make_edges(graph);
	if (ret != 0)
		return ret;
	find_returns(graph);
	assume_entries(graph);
	find_live(graph);
	find_thunks(graph);
	find_joined(graph);
	return 0;
}

void xf_graph_free(struct xf_graph *graph)
{
	free(graph->at);
	free(graph->marks);
	free(graph->insns);
	free(graph->ops);
	free(graph->blocks);
	free(graph->block_at);
	free(graph->edge_from);
	free(graph->edges);
	free(graph->queue);
	memset(graph, 0, sizeof(*graph));
}
