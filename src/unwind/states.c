// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/states.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_BUCKETS 4096u

_Static_assert(sizeof(struct xf_state) == 84, "a state is compared byte by byte: no gaps in it");

static uint32_t hash_state(const struct xf_state *state)
{
	uint64_t hash = 0, pair;
	uint32_t rest;

	for (size_t i = 0; i + sizeof(pair) <= sizeof(*state); i += sizeof(pair)) {
		memcpy(&pair, (const uint8_t *)state + i, sizeof(pair));
		hash = (hash ^ pair) * 0x9e3779b97f4a7c15ull;
		hash ^= hash >> 32;
	}
	memcpy(&rest, (const uint8_t *)state + sizeof(*state) - sizeof(rest), sizeof(rest));
	return ((hash ^ rest) * 0x9e3779b97f4a7c15ull) >> 32;
}

/* Return: where the number of @state is, or belongs. */
static uint32_t *find_bucket(const struct xf_states *states, const struct xf_state *state)
{
	size_t at = hash_state(state) & (states->nr_buckets - 1);

	while (states->buckets[at] != 0 &&
	       memcmp(&states->states[states->buckets[at]], state, sizeof(*state)) != 0)
		at = (at + 1) & (states->nr_buckets - 1);
	return &states->buckets[at];
}

/* Doubles the room for states and for their numbers. */
static int grow(struct xf_states *states)
{
	size_t nr_buckets = states->nr_buckets != 0 ? states->nr_buckets * 2 : FIRST_BUCKETS;
	uint32_t *buckets = calloc(nr_buckets, sizeof(*buckets));
	struct xf_state *bigger =
	        reallocarray(states->states, nr_buckets / 2, sizeof(*states->states));

	if (bigger != NULL)
		states->states = bigger;
	if (buckets == NULL || bigger == NULL) {
		free(buckets);
		return -ENOMEM;
	}
	free(states->buckets);
	states->buckets = buckets;
	states->nr_buckets = nr_buckets;
	states->room = nr_buckets / 2;
	for (size_t i = 1; i < states->count; i++)
		*find_bucket(states, &states->states[i]) = i;
	return 0;
}

int xf_states_start(struct xf_states *states)
{
	memset(states, 0, sizeof(*states));
	if (grow(states) != 0)
		return -ENOMEM;
	memset(&states->states[0], 0, sizeof(states->states[0]));
	states->count = 1;
	return 0;
}

void xf_states_free(struct xf_states *states)
{
	free(states->states);
	free(states->buckets);
	memset(states, 0, sizeof(*states));
}

int xf_states_number(struct xf_states *states, const struct xf_state *state, uint32_t *number)
{
	const struct xf_state copy = *state;
	uint32_t *bucket;

	*number = 0;
	if (state->kind == XF_STATE_NONE)
		return 0;
	bucket = find_bucket(states, &copy);
	if (*bucket == 0) {
		if (states->count == states->room) {
			if (grow(states) != 0)
				return -ENOMEM;
			bucket = find_bucket(states, &copy);
		}
		states->states[states->count] = copy;
		*bucket = states->count++;
	}
	*number = *bucket;
	return 0;
}
