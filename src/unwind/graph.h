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

struct xf_insn {
	uint32_t offset;
	uint32_t target; /* offset of a direct target; XF_NOWHERE: none, or outside the code */
	uint32_t first_op;
	uint16_t kills;
	uint16_t row; /* used by the table's maker */
	uint8_t length;
	uint8_t flow; /* enum xf_flow */
	uint8_t nr_ops;
	bool padding;
};

/* What is known about the byte at an offset. */
enum xf_mark {
	XF_MARK_LEADER = 1 << 0,  /* a block begins here */
	XF_MARK_ENTRY = 1 << 1,   /* the caller named it as an entry */
	XF_MARK_ORPHAN = 1 << 2,  /* nothing leads here: found by looking behind other code */
	XF_MARK_ALIGNED = 1 << 3, /* an orphan behind padding, at a multiple of 16 */
	XF_MARK_PADDING = 1 << 4, /* filler */
	XF_MARK_BAD = 1 << 5,     /* no instruction */
};

enum xf_block_flags {
	XF_BLOCK_RETURNS = 1 << 0, /* some way from here comes to a return */
	XF_BLOCK_LIVE = 1 << 1,    /* can be reached from an entry */
	XF_BLOCK_CALLED = 1 << 2,  /* a live call names it */
	XF_BLOCK_JOINED = 1 << 3,  /* live code of another function jumps or falls into it */
	XF_BLOCK_OVER = 1 << 4,    /* ends in a call that only pushes an address (over data) */
};

struct xf_block {
	uint32_t first; /* offset of its first instruction */
	uint32_t last;  /* and of its last */
	uint32_t jump;  /* block that a direct jump, branch or call at the end leads to */
	uint32_t fall;  /* block that follows where control goes on, after a call too */
	uint8_t flow;   /* enum xf_flow, of the last instruction */
	uint8_t flags;  /* enum xf_block_flags */
};

struct xf_graph {
	const struct xf_code *code;
	uint32_t *at;   /* for each byte: 1 + index of the instruction that begins there, or 0 */
	uint8_t *marks; /* for each byte: enum xf_mark */
	struct xf_insn *insns;
	size_t nr_insns, room_insns;
	struct xf_op *ops;
	size_t nr_ops, room_ops;
	struct xf_block *blocks; /* by rising offset */
	size_t nr_blocks;
	uint32_t *block_at; /* for each instruction: its block if it begins one */
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

/* Return: the instruction that begins at @offset, NULL if none does. */
static inline struct xf_insn *xf_graph_insn(const struct xf_graph *graph, uint32_t offset)
{
	uint32_t index = offset < graph->code->size ? graph->at[offset] : 0;

	return index != 0 ? &graph->insns[index - 1] : NULL;
}

/* Return: whether control goes from @block to the block that follows it. */
bool xf_block_falls(const struct xf_graph *graph, const struct xf_block *block);

#endif
