// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An index from hashes to 32-bit ids, for arrays that are looked up by content: the caller keeps
 * the things, compares them, and the index only finds candidates.
 *
 *	struct xf_index_probe probe = xf_index_probe(&index, hash);
 *
 *	while (xf_index_next(&index, &probe)) {
 *		if (same(things[probe.id], wanted))
 *			return probe.id;
 *	}
 */
#ifndef XF_PROFILE_INDEX_H
#define XF_PROFILE_INDEX_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

struct xf_index_slot {
	uint32_t hash;
	uint32_t id_plus_1; /* 0: free */
};

/* Starts zeroed; freed with xf_index_free. */
struct xf_index {
	struct xf_index_slot *slots;
	size_t nr_slots; /* a power of two, or 0 */
	size_t used;
};

struct xf_index_probe {
	size_t slot;
	uint32_t hash;
	uint32_t id;
};

static inline uint64_t xf_hash_mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15ull;
	return hash ^ (hash >> 29);
}

static inline void xf_index_free(struct xf_index *index)
{
	free(index->slots);
	*index = (struct xf_index){0};
}

static inline struct xf_index_probe xf_index_probe(const struct xf_index *index, uint64_t hash)
{
	uint32_t folded = (uint32_t)(hash ^ (hash >> 32));

	return (struct xf_index_probe){
	        .hash = folded, .slot = index->nr_slots ? folded & (index->nr_slots - 1) : 0};
}

/* Has memory fetch what a probe of @hash will look at, for a while from now. */
static inline void xf_index_prefetch(const struct xf_index *index, uint64_t hash)
{
	__builtin_prefetch(&index->slots[xf_index_probe(index, hash).slot]);
}

/* Return: true and the next candidate in @probe->id; false when there is none left. */
static inline bool xf_index_next(const struct xf_index *index, struct xf_index_probe *probe)
{
	if (!index->nr_slots)
		return false;
	for (;;) {
		const struct xf_index_slot *slot = &index->slots[probe->slot];

		if (!slot->id_plus_1)
			return false;
		probe->slot = (probe->slot + 1) & (index->nr_slots - 1);
		if (slot->hash == probe->hash) {
			probe->id = slot->id_plus_1 - 1;
			return true;
		}
	}
}

static inline void xf_index_put(struct xf_index *index, struct xf_index_slot slot)
{
	size_t place = slot.hash & (index->nr_slots - 1);

	while (index->slots[place].id_plus_1)
		place = (place + 1) & (index->nr_slots - 1);
	index->slots[place] = slot;
}

/* Adds @id (below 2^32 - 1) under @hash. Return: 0 or -ENOMEM. */
static inline int xf_index_add(struct xf_index *index, uint64_t hash, uint32_t id)
{
	struct xf_index_slot slot = {.hash = (uint32_t)(hash ^ (hash >> 32)), .id_plus_1 = id + 1};

	if (index->used >= index->nr_slots / 2) { /* half full at most: short probes */
		struct xf_index grown = {.nr_slots = index->nr_slots ? index->nr_slots * 2 : 256,
		                         .used = index->used};

		grown.slots = calloc(grown.nr_slots, sizeof(*grown.slots));
		if (!grown.slots)
			return -ENOMEM;
		for (size_t i = 0; i < index->nr_slots; i++) {
			if (index->slots[i].id_plus_1)
				xf_index_put(&grown, index->slots[i]);
		}
		free(index->slots);
		*index = grown;
	}
	xf_index_put(index, slot);
	index->used++;
	return 0;
}

#endif
