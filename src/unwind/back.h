// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reasoning backwards. An iretq proves where the interrupt frame lies that it takes, hence, going
 * against control flow, where it lay at every instruction that leads there: this is how entry code
 * is recognized without a list. The same, from where known code is jumped to, gives the frame of
 * pieces that nothing visible leads to (an exception's fix-up).
 */
#ifndef XF_UNWIND_BACK_H
#define XF_UNWIND_BACK_H

#include "unwind/graph.h"
#include "unwind/transfer.h"

struct xf_back {
	const struct xf_graph *graph;
	struct xf_state
	        *at; /* for each block: what must hold at its beginning; kind NONE: no idea */
	const struct xf_state *known; /* for each block: what is known from before; NULL: nothing */
	uint32_t *insns;              /* room to turn a block round */
	size_t room;
	uint8_t *queued;
};

/* Return: 0 or -ENOMEM; xf_back_free is due in both cases. */
int xf_back_start(struct xf_back *back, const struct xf_graph *graph);
void xf_back_free(struct xf_back *back);

/* Fills in @back->at for every block that leads to an iretq. Return: 0 or -ENOMEM. */
int xf_back_interrupts(struct xf_back *back);

/* Fills in @back->at for blocks that have no state in @known and lead to ones that have. Return:
 * 0 or -ENOMEM. */
int xf_back_known(struct xf_back *back, const struct xf_state *known);

#endif
