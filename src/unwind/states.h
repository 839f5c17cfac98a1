// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * States by number. Hundreds of thousands of blocks have a few hundred different states between
 * them: each is kept once, equal ones have equal numbers, and a block has only a number. Number 0
 * is the state of kind XF_STATE_NONE.
 */
#ifndef XF_UNWIND_STATES_H
#define XF_UNWIND_STATES_H

#include <stddef.h>

#include "unwind/transfer.h"

struct xf_states {
	struct xf_state *states;
	size_t count, room;
	uint32_t *buckets; /* numbers by hash; 0 where empty */
	size_t nr_buckets; /* power of two, at least twice @count */
};

/* Return: 0 or -ENOMEM; xf_states_free is due in both cases. */
int xf_states_start(struct xf_states *states);
void xf_states_free(struct xf_states *states);

/* Finds the number of @state, which may lie in @states itself, in *@number. Return: 0 or -ENOMEM.
 */
int xf_states_number(struct xf_states *states, const struct xf_state *state, uint32_t *number);

/* Return: the state with @number, good until the next call of xf_states_number. */
static inline const struct xf_state *xf_states_at(const struct xf_states *states, uint32_t number)
{
	return &states->states[number];
}

#endif
