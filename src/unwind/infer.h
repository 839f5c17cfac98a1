// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What is known before each block of code: the fixed point of xf_state_step over the graph.
 * Paths that meet are merged (xf_state_merge); nothing is guessed, nothing recursive.
 */
#ifndef XF_UNWIND_INFER_H
#define XF_UNWIND_INFER_H

#include "unwind/graph.h"
#include "unwind/states.h"

/* How a block came by its state, from the strongest ground to the weakest. */
enum xf_ground {
	XF_GROUND_NONE,
	XF_GROUND_FLOW,   /* control flow from entries, calls and interrupt entries */
	XF_GROUND_TRAP,   /* it follows a ud2 or iretq, and nothing else leads to it */
	XF_GROUND_BEHIND, /* it can only go on into code whose frame is known */
	XF_GROUND_SWITCH, /* an indirect jump in the same function may lead to it */
	XF_GROUND_APART,  /* it stands apart, aligned: taken for a function */
};

struct xf_inference {
	struct xf_graph graph;
	struct xf_states states;
	uint32_t *before; /* for each block: number of the state at its beginning */
	uint8_t *ground;  /* for each block: enum xf_ground */
};

/* Return: 0, or -ENOMEM; xf_infer_free is due in both cases. @inference borrows @code. */
int xf_infer(struct xf_inference *inference, const struct xf_code *code, const uint64_t *entries,
             size_t nr_entries);
void xf_infer_free(struct xf_inference *inference);

/* Return: the state at the beginning of @block, of kind XF_STATE_NONE where nothing is known. */
static inline const struct xf_state *xf_infer_before(const struct xf_inference *inference,
                                                     uint32_t block)
{
	return xf_states_at(&inference->states, inference->before[block]);
}

/* Applies the instruction at @at to @state (not what a call or return at a block's end does). */
static inline void xf_infer_step(const struct xf_place *at, struct xf_state *state)
{
	xf_state_step(state, at->insn->kills, at->ops, at->insn->nr_ops, at->offset + 1);
}

#endif
