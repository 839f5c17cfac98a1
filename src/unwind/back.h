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
#include "unwind/states.h"

enum xf_back_mark {
	XF_BACK_QUEUED = 1 << 0,
	XF_BACK_TOLD = 1 << 1, /* there is a number in @at */
};

struct xf_back {
	const struct xf_graph *graph;
	struct xf_states *states;
	uint8_t *marks; /* for each block: enum xf_back_mark */
	uint32_t *at;   /* for the few marked so: number of what must hold at its beginning */
	const uint32_t
	        *known; /* for each block: number of what is known from before; NULL: nothing */
};

/* Return: 0 or -ENOMEM; xf_back_free is due in both cases. */
int xf_back_start(struct xf_back *back, const struct xf_graph *graph, struct xf_states *states);
void xf_back_free(struct xf_back *back);

/* Return: what must hold at the beginning of @block, of kind XF_STATE_NONE: no idea. Good until the
 * next state gets a number. */
static inline const struct xf_state *xf_back_at(const struct xf_back *back, uint32_t block)
{
	return xf_states_at(back->states, back->marks[block] & XF_BACK_TOLD ? back->at[block] : 0);
}

/* Tells what must hold at every block that leads to an iretq. Return: 0 or -ENOMEM. */
int xf_back_interrupts(struct xf_back *back);

/* Tells what must hold at the blocks that have no state in @known and lead to ones that have, and
 * forgets what was told before. Return: 0 or -ENOMEM. */
int xf_back_known(struct xf_back *back, const uint32_t *known);

#endif
