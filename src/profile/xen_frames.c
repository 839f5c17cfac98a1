// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/xen_frames.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "profile/index.h"

/* The frame that an address is shown as. */
struct known_frame {
	struct xf_frame key;
	bool entering;
	struct xf_frame_id frame;
};

/* A stack that has been walked: all that a walk looks at, and what came out. Most samples have one
 * that an earlier one had. */
struct known_walk {
	size_t raw;   /* in the raw bytes: the record */
	size_t first; /* of the path's frames, from the outermost */
	uint32_t nr;
	uint16_t size; /* of the record, in bytes */
	struct xf_xen_frames_pushed pushed;
};

/* Where a stack ends that stands on a node. */
struct known_leaf {
	uint32_t walk;
	struct xf_node_id below, leaf;
};

struct xf_xen_frames {
	const struct xf_stacks *stacks;
	struct xf_calltree *tree;
	struct xf_inlines *inlines;
	bool addresses;
	struct known_frame *frames;
	size_t nr_frames, allocated_frames;
	struct xf_index frame_index;
	struct known_walk *walks;
	size_t nr_walks, allocated_walks;
	struct xf_index walk_index;
	struct known_leaf *leaves;
	size_t nr_leaves, allocated_leaves;
	struct xf_index leaf_index;
	struct xf_buffer raw;
	struct xf_frame_id *path;
	size_t nr_path, allocated_path;
};

struct xf_xen_frames *xf_xen_frames_new(const struct xf_stacks *stacks, struct xf_calltree *tree,
                                        struct xf_inlines *inlines, bool addresses)
{
	struct xf_xen_frames *frames = calloc(1, sizeof(*frames));

	if (!frames)
		return NULL;
	frames->stacks = stacks;
	frames->tree = tree;
	frames->inlines = inlines;
	frames->addresses = addresses;
	return frames;
}

void xf_xen_frames_free(struct xf_xen_frames *frames)
{
	if (!frames)
		return;
	free(frames->frames);
	free(frames->walks);
	free(frames->leaves);
	free(frames->path);
	xf_buffer_free(&frames->raw);
	xf_index_free(&frames->frame_index);
	xf_index_free(&frames->walk_index);
	xf_index_free(&frames->leaf_index);
	free(frames);
}

/* ---- Frames ---------------------------------------------------------------------------------- */

/* Within the instruction that was interrupted, or that called. */
static uint64_t calling(struct xf_frame frame)
{
	return frame.interrupted ? frame.address : frame.address - 1;
}

static int name_frame(struct xf_xen_frames *frames, struct xf_frame frame, bool entering,
                      struct xf_frame_id *named)
{
	struct xf_place place;

	xf_stacks_name(frames->stacks, frame, entering, &place);
	return xf_calltree_frame_at(frames->tree, place.kind, place.name,
	                            frames->addresses ? calling(frame) : 0, named);
}

/* The same, remembered by address. */
static int intern_frame(struct xf_xen_frames *frames, struct xf_frame frame, bool entering,
                        struct xf_frame_id *interned)
{
	uint64_t hash =
	        xf_hash_mix(xf_hash_mix(0, frame.address), frame.interrupted + 2u * entering);
	struct xf_index_probe probe = xf_index_probe(&frames->frame_index, hash);
	int code;

	while (xf_index_next(&frames->frame_index, &probe)) {
		const struct known_frame *known = &frames->frames[probe.id];

		if (known->key.address == frame.address &&
		    known->key.interrupted == frame.interrupted && known->entering == entering) {
			*interned = known->frame;
			return 0;
		}
	}
	if (!xf_make_room(&frames->frames, frames->nr_frames, &frames->allocated_frames,
	                  sizeof(*frames->frames)))
		return -ENOMEM;
	code = name_frame(frames, frame, entering, interned);
	if (!code)
		code = xf_index_add(&frames->frame_index, hash, (uint32_t)frames->nr_frames);
	if (!code)
		frames->frames[frames->nr_frames++] = (struct known_frame){
		        .key = frame, .entering = entering, .frame = *interned};
	return code;
}

/* ---- Walks ----------------------------------------------------------------------------------- */

static int append(struct xf_xen_frames *frames, struct xf_frame_id frame)
{
	if (!xf_make_room(&frames->path, frames->nr_path, &frames->allocated_path,
	                  sizeof(*frames->path)))
		return -ENOMEM;
	frames->path[frames->nr_path++] = frame;
	return 0;
}

static int append_incomplete(struct xf_xen_frames *frames, const char *why)
{
	struct xf_frame_id frame;
	char label[64];
	int code;

	snprintf(label, sizeof(label), "[incomplete: %s]", why);
	code = xf_calltree_frame(frames->tree, XF_FRAME_INCOMPLETE, label, &frame);
	return code ? code : append(frames, frame);
}

static int append_inlines(struct xf_xen_frames *frames, uint64_t address, struct xf_frame_id frame)
{
	const struct xf_frame_id *inlined;
	size_t nr = 0;
	int code = 0;

	if (frames->inlines->debug)
		code = xf_inlines_find(frames->inlines, address, frame, &inlined, &nr);
	for (size_t i = 0; !code && i < nr; i++)
		code = append(frames, inlined[i]);
	return code;
}

/* Appends what the walk of @record finds to the path. */
static int walk(struct xf_xen_frames *frames, const struct xf_record *record,
                struct xf_xen_frames_pushed *pushed)
{
	struct xf_stack stack;
	int code = 0;

	*pushed = (struct xf_xen_frames_pushed){0};
	xf_stacks_walk(frames->stacks, record, &stack);
	if (stack.incomplete) {
		pushed->incomplete = true;
		code = append_incomplete(frames, stack.incomplete);
	}
	for (size_t i = stack.nr; !code && i > 0; i--) {
		struct xf_frame_id frame = {0};

		code = intern_frame(frames, stack.frames[i - 1], stack.entering, &frame);
		if (!code)
			code = append(frames, frame);
		if (!code)
			code = append_inlines(frames, calling(stack.frames[i - 1]), frame);
		if (xf_calltree_kind(frames->tree, frame) == XF_FRAME_UNKNOWN)
			pushed->unnamed = true;
	}
	return code;
}

/* What a walk looks at: flags, RIP, RSP, RBP, the stack's end, the words. */
#define RAW_REGISTERS      offsetof(struct xf_sample, rip)
#define RAW_REGISTER_BYTES 24u
#define RAW_END            offsetof(struct xf_sample, stack_end)
#define RAW_FLAGS          offsetof(struct xf_sample, flags)

static bool same_walk(const uint8_t *a, const uint8_t *b, size_t size)
{
	return memcmp(a + RAW_REGISTERS, b + RAW_REGISTERS, RAW_REGISTER_BYTES) == 0 &&
	       memcmp(a + RAW_END, b + RAW_END, 8) == 0 &&
	       memcmp(a + RAW_FLAGS, b + RAW_FLAGS, 2) == 0 &&
	       memcmp(a + XF_SAMPLE_HEAD_BYTES, b + XF_SAMPLE_HEAD_BYTES,
	              size - XF_SAMPLE_HEAD_BYTES) == 0;
}

static uint64_t hash_walk(const struct xf_record *record)
{
	uint64_t hash = record->sample.flags;

	hash = xf_hash_mix(hash, record->sample.rip);
	hash = xf_hash_mix(hash, record->sample.rsp);
	hash = xf_hash_mix(hash, record->sample.rbp);
	hash = xf_hash_mix(hash, record->sample.stack_end);
	for (unsigned int i = 0; i < record->nr_words; i++)
		hash = xf_hash_mix(hash, record->storage[XF_SAMPLE_HEAD_BYTES / 8 + i]);
	return hash;
}

static int add_walk(struct xf_xen_frames *frames, const struct xf_record *record, uint64_t hash)
{
	struct known_walk made = {
	        .raw = frames->raw.used, .size = record->sample.bytes, .first = frames->nr_path};
	int code;

	if (!xf_make_room(&frames->walks, frames->nr_walks, &frames->allocated_walks,
	                  sizeof(*frames->walks)))
		return -ENOMEM;
	code = walk(frames, record, &made.pushed);
	if (!code)
		code = xf_buffer_add(&frames->raw, record->raw, made.size);
	if (!code)
		code = xf_index_add(&frames->walk_index, hash, (uint32_t)frames->nr_walks);
	made.nr = (uint32_t)(frames->nr_path - made.first);
	if (!code)
		frames->walks[frames->nr_walks++] = made;
	return code;
}

static int find_walk(struct xf_xen_frames *frames, const struct xf_record *record, uint32_t *found)
{
	uint64_t hash = hash_walk(record);
	struct xf_index_probe probe = xf_index_probe(&frames->walk_index, hash);

	while (xf_index_next(&frames->walk_index, &probe)) {
		const struct known_walk *known = &frames->walks[probe.id];

		*found = probe.id;
		if (known->size == record->sample.bytes &&
		    same_walk(frames->raw.bytes + known->raw, record->raw, known->size))
			return 0;
	}
	*found = (uint32_t)frames->nr_walks;
	return add_walk(frames, record, hash);
}

/* ---- Leaves ---------------------------------------------------------------------------------- */

static int add_leaf(struct xf_xen_frames *frames, const struct known_leaf *wanted, uint64_t hash,
                    struct xf_node_id *leaf)
{
	const struct known_walk *walk = &frames->walks[wanted->walk];
	struct known_leaf made = *wanted;
	int code;

	if (!xf_make_room(&frames->leaves, frames->nr_leaves, &frames->allocated_leaves,
	                  sizeof(*frames->leaves)))
		return -ENOMEM;
	made.leaf = made.below;
	code = xf_calltree_descend(frames->tree, frames->path + walk->first, walk->nr, &made.leaf);
	if (!code)
		code = xf_index_add(&frames->leaf_index, hash, (uint32_t)frames->nr_leaves);
	if (!code)
		frames->leaves[frames->nr_leaves++] = made;
	*leaf = made.leaf;
	return code;
}

int xf_xen_frames_push(struct xf_xen_frames *frames, const struct xf_record *record,
                       struct xf_node_id *node, struct xf_xen_frames_pushed *pushed)
{
	struct known_leaf wanted = {.below = *node};
	struct xf_index_probe probe;
	uint64_t hash;
	int code = find_walk(frames, record, &wanted.walk);

	if (code)
		return code;
	*pushed = frames->walks[wanted.walk].pushed;
	hash = xf_hash_mix(wanted.walk, wanted.below.index);
	probe = xf_index_probe(&frames->leaf_index, hash);
	while (xf_index_next(&frames->leaf_index, &probe)) {
		const struct known_leaf *known = &frames->leaves[probe.id];

		if (known->walk == wanted.walk && known->below.index == wanted.below.index) {
			*node = known->leaf;
			return 0;
		}
	}
	return add_leaf(frames, &wanted, hash, node);
}
