// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Code as a graph of blocks: which instructions follow which, and which calls come back. Says
 * nothing about the stack. Built once, in time and memory that grow linearly with the code.
 *
 * Offsets count bytes from the start of the code; XF_NOWHERE is none.
 */
#ifndef XF_UNWIND_GRAPH_H
#define XF_UNWIND_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/decode.h"
#include "unwind/unwind.h"

#define XF_NOWHERE UINT32_MAX

/* There is one for each instruction, so that it is small; its offset follows from its neighbours'.
 */
struct xf_insn {
	uint16_t kills;
	uint8_t length : 4;
	uint8_t nr_ops : 3;
	bool padding : 1;
	uint8_t flow; /* enum xf_flow */
};

/* What is known about the byte at an offset. */
enum xf_mark {
	XF_MARK_LEADER = 1 << 0,  /* a block begins here */
	XF_MARK_ENTRY = 1 << 1,   /* the caller named it as an entry */
	XF_MARK_ORPHAN = 1 << 2,  /* nothing leads here: found by looking behind other code */
	XF_MARK_ALIGNED = 1 << 3, /* an orphan behind padding, at a multiple of 16 */
	XF_MARK_PADDING = 1 << 4, /* filler, decoded or not */
	XF_MARK_BAD = 1 << 5,     /* no instruction */
	XF_MARK_FIRST = 1 << 6,   /* an instruction that was decoded begins here */
	XF_MARK_INSIDE = 1 << 7,  /* one that was decoded goes on here */
};

enum xf_block_flags {
	XF_BLOCK_RETURNS = 1 << 0, /* some way from here comes to a return */
	XF_BLOCK_LIVE = 1 << 1,    /* can be reached from an entry */
	XF_BLOCK_CALLED = 1 << 2,  /* a live call names it */
	XF_BLOCK_JOINED = 1 << 3,  /* live code of another function jumps or falls into it */
	XF_BLOCK_OVER = 1 << 4,    /* ends in a call that only pushes an address (over data) */
	XF_BLOCK_DOUBTED = 1 << 5, /* ends in a call of which nothing says that it comes back */
};

struct xf_block {
	uint32_t first; /* offset of its first instruction */
	uint32_t end;   /* offset behind its last */
	uint32_t jump;  /* block that a direct jump, branch or call at the end leads to */
	uint32_t fall;  /* block that follows where control goes on, after a call too */
	uint32_t insn;  /* number of its first instruction; the others follow */
	uint32_t op;    /* number of that one's first operation; all others' follow */
	uint8_t flow;   /* enum xf_flow, of the last instruction */
	uint8_t flags;  /* enum xf_block_flags */
};

/* Instructions that follow each other in the code and in xf_graph.insns. */
struct xf_run {
	uint32_t offset;
	uint32_t insn;
};

/* Which of 64 bytes begin a block, and how many blocks begin before them. */
struct xf_leaders {
	uint64_t bits;
	uint32_t before;
};

struct xf_graph {
	const struct xf_code *code;
	uint8_t *marks; /* for each byte: enum xf_mark */
	struct xf_insn *insns;
	size_t nr_insns, room_insns;
	struct xf_op *ops;
	size_t nr_ops, room_ops;
	uint32_t *targets; /* of instructions with a direct target, in the order of @insns */
	size_t nr_targets, room_targets;
	struct xf_run *runs; /* how the instructions were found */
	size_t nr_runs, room_runs;
	struct xf_block *blocks; /* by rising offset */
	size_t nr_blocks;
	struct xf_leaders *leaders; /* for each 64 bytes */
	/* Blocks that lead to a block: edges[edge_from[b]] to edges[edge_from[b + 1] - 1]. */
	uint32_t *edge_from;
	uint32_t *edges;
	uint32_t *queue; /* room for every block once, for whoever works on the graph */
};

/*
 * Builds the graph of @code. @graph->code borrows @code.
 * Return: 0, or -ENOMEM; xf_graph_free is due in both cases.
 */
int xf_graph_build(struct xf_graph *graph, const struct xf_code *code, const uint64_t *entries,
                   size_t nr_entries);
void xf_graph_free(struct xf_graph *graph);

/* Finds anew which blocks return, are live, called and joined: after XF_BLOCK_DOUBTED was set or
 * cleared on some. */
void xf_graph_settle(struct xf_graph *graph);

/* Where compilers let functions begin. */
#define XF_FUNCTION_ALIGNMENT 16

/* Is there filler, and nothing else, between @offset and the next multiple of
 * XF_FUNCTION_ALIGNMENT? */
bool xf_graph_begins_behind(const struct xf_graph *graph, uint32_t offset);

/* Return: the block that begins at @offset, XF_NOWHERE if none does. */
uint32_t xf_graph_block(const struct xf_graph *graph, uint32_t offset);

/* An instruction in a block, with what belongs to it. */
struct xf_place {
	const struct xf_insn *insn;
	const struct xf_op *ops;
	uint32_t offset;
};

/* To go through a block: for (at = xf_place_first(...); at.offset < block->end; xf_place_next(&at))
 */
static inline struct xf_place xf_place_first(const struct xf_graph *graph,
                                             const struct xf_block *block)
{
	return (struct xf_place){&graph->insns[block->insn], &graph->ops[block->op], block->first};
}

static inline void xf_place_next(struct xf_place *at)
{
	at->offset += at->insn->length;
	at->ops += at->insn->nr_ops;
	at->insn++;
}

/* Return: whether control goes from @block to the block that follows it. */
bool xf_block_falls(const struct xf_graph *graph, const struct xf_block *block);

#endif
