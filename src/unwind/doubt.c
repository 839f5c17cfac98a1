// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/doubt.h"

#include <errno.h>
#include <stdlib.h>

#include "unwind/transfer.h"

/* How much code is looked at, in the order that leads farthest, for a return. */
#define BLOCKS_MAX 256u
#define INSNS_MAX  2000u

/* Each turn may believe calls because of those that the turn before has believed. */
#define TURNS 8u

/* A walk along the code behind a call. */
struct search {
	const struct xf_graph *graph;
	uint32_t *seen; /* for each block: the last search that came by */
	uint32_t number;
	struct {
		uint32_t block;
		struct xf_state before;
	} pending[BLOCKS_MAX];
	unsigned int nr_pending, nr_seen, nr_insns;
};

/* Is the function in @block, which is called, nothing but a jump through a pointer? */
static bool is_stub(const struct xf_graph *graph, const struct xf_block *block)
{
	struct xf_place at = xf_place_first(graph, block);
	unsigned int nr_ops = 0;

	for (; at.offset < block->end; xf_place_next(&at))
		nr_ops += at.insn->nr_ops;
	return block->flow == XF_FLOW_JUMP_INDIRECT && nr_ops == 0;
}

/* Without filler only a name makes it likely that a function begins behind a call. */
static bool may_be_followed(const struct xf_graph *graph, uint32_t offset)
{
	return xf_graph_begins_behind(graph, offset) ||
	       ((graph->code->address + offset) % XF_FUNCTION_ALIGNMENT == 0 &&
	        offset < graph->code->size && (graph->marks[offset] & XF_MARK_ENTRY));
}

/* Does the call at the end of @block lead to what may never return, for all that can be seen? */
static bool leads_to_unknown(const struct xf_graph *graph, const struct xf_block *block)
{
	return block->jump == XF_NOWHERE || is_stub(graph, &graph->blocks[block->jump]);
}

static bool is_doubtful(const struct xf_graph *graph, const struct xf_block *block)
{
	if (block->fall == XF_NOWHERE || !may_be_followed(graph, block->end))
		return false;
	if (block->flow == XF_FLOW_CALL && !(block->flags & XF_BLOCK_OVER))
		return leads_to_unknown(graph, block);
	return block->flow == XF_FLOW_CALL_INDIRECT;
}

/* Return: whether there are any. */
static bool doubt_calls(struct xf_graph *graph)
{
	bool found = false;

	for (size_t i = 0; i < graph->nr_blocks; i++) {
		if (!is_doubtful(graph, &graph->blocks[i]))
			continue;
		graph->blocks[i].flags |= XF_BLOCK_DOUBTED;
		found = true;
	}
	return found;
}

static void pend(struct search *search, uint32_t block, const struct xf_state *before)
{
	if (block == XF_NOWHERE || search->seen[block] == search->number ||
	    search->nr_seen == BLOCKS_MAX)
		return;
	search->seen[block] = search->number;
	search->nr_seen++;
	search->pending[search->nr_pending].block = block;
	search->pending[search->nr_pending++].before = *before;
}

/* Sends the state behind @block on to where it leads: what follows is looked at before what is
 * jumped to. */
static void pend_next(struct search *search, const struct xf_block *block, struct xf_state *state)
{
	bool called = block->flow == XF_FLOW_CALL || block->flow == XF_FLOW_CALL_INDIRECT;

	if (block->flow == XF_FLOW_JUMP || block->flow == XF_FLOW_BRANCH)
		pend(search, block->jump, state);
	if (block->flow == XF_FLOW_TRAP || !xf_block_falls(search->graph, block))
		return;
	if (called)
		xf_state_after_call(state);
	pend(search, block->fall, state);
}

/* Turns @state from what is known before @block to what is known behind it. */
static void step_block(struct search *search, const struct xf_block *block, struct xf_state *state)
{
	struct xf_place at = xf_place_first(search->graph, block);

	for (; at.offset < block->end && search->nr_insns < INSNS_MAX; search->nr_insns++) {
		xf_state_step(state, at.insn->kills, at.ops, at.insn->nr_ops, at.offset + 1);
		xf_place_next(&at);
	}
}

/*
 * Follows the code from @block on to a return, where RSP must be at the return address.
 * Return: whether one was found, and in *@above how far above RSP at the beginning that is.
 */
static bool find_return(struct search *search, uint32_t block, int32_t *above)
{
	struct xf_state state = xf_state_called();

	search->number++;
	search->nr_pending = search->nr_seen = search->nr_insns = 0;
	state.reg[XF_REG_RBP] = XF_VALUE_UNKNOWN;
	pend(search, block, &state);
	while (search->nr_pending != 0) {
		const struct xf_block *next;
		xf_value rsp;

		search->nr_pending--;
		next = &search->graph->blocks[search->pending[search->nr_pending].block];
		state = search->pending[search->nr_pending].before;
		step_block(search, next, &state);
		rsp = state.reg[XF_REG_RSP];
		if (search->nr_insns == INSNS_MAX)
			return false;
		if (xf_value_origin(rsp) != XF_ORIGIN_FRAME)
			continue;
		if (next->flow == XF_FLOW_RETURN) {
			*above = xf_value_offset(rsp) + 8;
			return true;
		}
		pend_next(search, next, &state);
	}
	return false;
}

/* Return: whether a call was found to come back. */
static bool believe_calls(struct xf_graph *graph, struct search *search)
{
	bool found = false;

	for (size_t i = 0; i < graph->nr_blocks; i++) {
		struct xf_block *block = &graph->blocks[i];
		int32_t above;

		if (!(block->flags & XF_BLOCK_DOUBTED) ||
		    !find_return(search, block->fall, &above) || above <= 0)
			continue;
		block->flags &= ~XF_BLOCK_DOUBTED;
		found = true;
	}
	return found;
}

/* Believes what can be believed, in a few turns. */
static void settle(struct xf_graph *graph, struct search *search)
{
	unsigned int turn = 0;

	do
		xf_graph_settle(graph);
	while (turn++ < TURNS && believe_calls(graph, search));
}

int xf_doubt_settle(struct xf_graph *graph)
{
	struct search *search;
	int result = -ENOMEM;

	if (!doubt_calls(graph))
		return 0;
	search = calloc(1, sizeof(*search));
	if (search != NULL) {
		search->graph = graph;
		search->seen = calloc(graph->nr_blocks, sizeof(*search->seen));
	}
	if (search != NULL && search->seen != NULL) {
		settle(graph, search);
		result = 0;
	}
	if (search != NULL)
		free(search->seen);
	free(search);
	return result;
}
