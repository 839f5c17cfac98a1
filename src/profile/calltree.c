// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/calltree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/index.h"

struct frame {
	size_t name; /* in the arena */
	uint64_t address;
	enum xf_frame_kind kind;
};

struct xf_calltree {
	struct frame *frames;
	size_t nr_frames;
	size_t allocated_frames;
	struct xf_index frame_index;
	char *arena;
	size_t arena_used;
	size_t arena_allocated;
	struct xf_node *nodes;
	size_t nr_nodes;
	size_t allocated_nodes;
	/* Of each node, of all frames from the root to it: what it is found by. That a child's
	   follows from its parent's alone lets a whole stack's be known before the first one is
	   looked up. */
	uint32_t *paths;
	size_t allocated_paths;
	struct xf_index node_index;
	/* Once finished: all nodes but the root, by parent and then in order. The children of node
	   n are ordered[first[n]] to ordered[first[n + 1]], exclusive. */
	struct xf_node_id *ordered;
	uint32_t *first;
	uint32_t *place; /* of each node in @ordered */
};

static int reserve(void **array, size_t *allocated, size_t nr, size_t size)
{
	size_t wanted = *allocated ? *allocated : 64;
	void *grown;

	if (nr <= *allocated)
		return 0;
	if (nr >= UINT32_MAX)
		return -ENOMEM; /* handles have 32 bits */
	while (wanted < nr)
		wanted *= 2;
	grown = reallocarray(*array, wanted, size);
	if (!grown)
		return -ENOMEM;
	*array = grown;
	*allocated = wanted;
	return 0;
}

struct xf_calltree *xf_calltree_new(void)
{
	struct xf_calltree *tree = calloc(1, sizeof(*tree));
	struct xf_frame_id frame;

	if (!tree)
		return NULL;
	if (xf_calltree_frame(tree, XF_FRAME_ROOT, "", &frame) ||
	    reserve((void **)&tree->nodes, &tree->allocated_nodes, 1, sizeof(*tree->nodes)) ||
	    reserve((void **)&tree->paths, &tree->allocated_paths, 1, sizeof(*tree->paths))) {
		xf_calltree_free(tree);
		return NULL;
	}
	tree->nodes[0] = (struct xf_node){0};
	tree->paths[0] = 0;
	tree->nr_nodes = 1;
	return tree;
}

static void forget_order(struct xf_calltree *tree)
{
	free(tree->ordered);
	free(tree->first);
	free(tree->place);
	tree->ordered = NULL;
	tree->first = NULL;
	tree->place = NULL;
}

void xf_calltree_free(struct xf_calltree *tree)
{
	if (!tree)
		return;
	forget_order(tree);
	free(tree->frames);
	free(tree->arena);
	free(tree->nodes);
	free(tree->paths);
	xf_index_free(&tree->frame_index);
	xf_index_free(&tree->node_index);
	free(tree);
}

/* ---- Filling --------------------------------------------------------------------------------- */

static uint64_t hash_name(enum xf_frame_kind kind, const char *name)
{
	uint64_t hash = kind;

	for (; *name; name++)
		hash = xf_hash_mix(hash, (uint8_t)*name);
	return hash;
}

int xf_calltree_frame(struct xf_calltree *tree, enum xf_frame_kind kind, const char *name,
                      struct xf_frame_id *frame)
{
	return xf_calltree_frame_at(tree, kind, name, 0, frame);
}

int xf_calltree_frame_at(struct xf_calltree *tree, enum xf_frame_kind kind, const char *name,
                         uint64_t address, struct xf_frame_id *frame)
{
	uint64_t hash = xf_hash_mix(hash_name(kind, name), address);
	struct xf_index_probe probe = xf_index_probe(&tree->frame_index, hash);
	size_t size = strlen(name) + 1;

	while (xf_index_next(&tree->frame_index, &probe)) {
		const struct frame *known = &tree->frames[probe.id];

		if (known->kind == kind && known->address == address &&
		    strcmp(tree->arena + known->name, name) == 0) {
			frame->index = probe.id;
			return 0;
		}
	}
	if (reserve((void **)&tree->frames, &tree->allocated_frames, tree->nr_frames + 1,
	            sizeof(*tree->frames)) ||
	    reserve((void **)&tree->arena, &tree->arena_allocated, tree->arena_used + size, 1) ||
	    xf_index_add(&tree->frame_index, hash, (uint32_t)tree->nr_frames))
		return -ENOMEM;
	memcpy(tree->arena + tree->arena_used, name, size);
	tree->frames[tree->nr_frames] =
	        (struct frame){.name = tree->arena_used, .address = address, .kind = kind};
	tree->arena_used += size;
	frame->index = (uint32_t)tree->nr_frames++;
	return 0;
}

static uint32_t child_path(uint32_t path, struct xf_frame_id frame)
{
	uint64_t hash = xf_hash_mix(path, frame.index);

	return (uint32_t)(hash ^ (hash >> 32));
}

/* Makes a node that there is not. */
static int add_child(struct xf_calltree *tree, struct xf_node_id parent, struct xf_frame_id frame,
                     uint32_t path, struct xf_node_id *child)
{
	if (reserve((void **)&tree->nodes, &tree->allocated_nodes, tree->nr_nodes + 1,
	            sizeof(*tree->nodes)) ||
	    reserve((void **)&tree->paths, &tree->allocated_paths, tree->nr_nodes + 1,
	            sizeof(*tree->paths)) ||
	    xf_index_add(&tree->node_index, path, (uint32_t)tree->nr_nodes))
		return -ENOMEM;
	forget_order(tree);
	tree->nodes[tree->nr_nodes] = (struct xf_node){
	        .parent = parent, .frame = frame, .depth = tree->nodes[parent.index].depth + 1};
	tree->paths[tree->nr_nodes] = path;
	child->index = (uint32_t)tree->nr_nodes++;
	return 0;
}

/* The child whose path is @path. */
static int find_child(struct xf_calltree *tree, struct xf_node_id parent, struct xf_frame_id frame,
                      uint32_t path, struct xf_node_id *child)
{
	struct xf_index_probe probe = xf_index_probe(&tree->node_index, path);

	while (xf_index_next(&tree->node_index, &probe)) {
		const struct xf_node *known = &tree->nodes[probe.id];

		if (known->parent.index == parent.index && known->frame.index == frame.index) {
			child->index = probe.id;
			return 0;
		}
	}
	return add_child(tree, parent, frame, path, child);
}

int xf_calltree_child(struct xf_calltree *tree, struct xf_node_id parent, struct xf_frame_id frame,
                      struct xf_node_id *child)
{
	return find_child(tree, parent, frame, child_path(tree->paths[parent.index], frame), child);
}

/* Nodes whose places memory is asked for at once. */
#define AHEAD 32u

int xf_calltree_descend(struct xf_calltree *tree, const struct xf_frame_id *frames, size_t nr,
                        struct xf_node_id *node)
{
	uint32_t paths[AHEAD], path = tree->paths[node->index];
	int code = 0;

	for (size_t i = 0; !code && i < nr; i++) {
		if (i % AHEAD == 0)
			for (size_t next = i; next < nr && next < i + AHEAD; next++) {
				path = child_path(path, frames[next]);
				paths[next % AHEAD] = path;
				xf_index_prefetch(&tree->node_index, path);
			}
		code = find_child(tree, *node, frames[i], paths[i % AHEAD], node);
	}
	return code;
}

void xf_calltree_count(struct xf_calltree *tree, struct xf_node_id node, uint64_t count)
{
	tree->nodes[node.index].self += count;
}

/* ---- Finishing ------------------------------------------------------------------------------- */

static int compare_frames(const void *left, const void *right, void *context)
{
	const struct xf_calltree *tree = context;
	const struct frame *a = &tree->frames[*(const uint32_t *)left];
	const struct frame *b = &tree->frames[*(const uint32_t *)right];
	int order;

	if ((a->kind == XF_FRAME_IDLE) != (b->kind == XF_FRAME_IDLE))
		return a->kind == XF_FRAME_IDLE ? 1 : -1;
	/* "vCPU 10" after "vCPU 9" */
	order = strverscmp(tree->arena + a->name, tree->arena + b->name);
	if (!order)
		order = strcmp(tree->arena + a->name, tree->arena + b->name);
	if (order)
		return order;
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	return a->address < b->address ? -1 : a->address > b->address;
}

/* Return: each frame's place among all frames in order, to be freed; NULL without memory. */
static uint32_t *rank_frames(struct xf_calltree *tree)
{
	uint32_t *sorted = calloc(tree->nr_frames, sizeof(*sorted));
	uint32_t *ranks = calloc(tree->nr_frames, sizeof(*ranks));

	if (sorted && ranks) {
		for (size_t i = 0; i < tree->nr_frames; i++)
			sorted[i] = (uint32_t)i;
		qsort_r(sorted, tree->nr_frames, sizeof(*sorted), compare_frames, tree);
		for (size_t i = 0; i < tree->nr_frames; i++)
			ranks[sorted[i]] = (uint32_t)i;
	} else {
		free(ranks);
		ranks = NULL;
	}
	free(sorted);
	return ranks;
}

/* What children are put in order by. */
struct order {
	const struct xf_node *nodes;
	const uint32_t *ranks; /* of frames; no two children of a node have the same frame */
};

static int compare_children(const void *left, const void *right, void *context)
{
	const struct order *order = context;
	const struct xf_node_id *a = left, *b = right;
	uint32_t one = order->ranks[order->nodes[a->index].frame.index];
	uint32_t other = order->ranks[order->nodes[b->index].frame.index];

	return one < other ? -1 : one > other;
}

/* Puts nodes next to their siblings: of node n's children, first[n] becomes the place of the first
 * one. */
static void gather_children(struct xf_calltree *tree)
{
	/* While they are placed, first[n + 1] is where n's next child goes. */
	uint32_t *next = tree->first + 1, place = 0;

	for (size_t i = 1; i < tree->nr_nodes; i++)
		next[tree->nodes[i].parent.index]++;
	for (size_t i = 0; i < tree->nr_nodes; i++) {
		uint32_t nr = next[i];

		next[i] = place;
		place += nr;
	}
	for (size_t i = 1; i < tree->nr_nodes; i++)
		tree->ordered[next[tree->nodes[i].parent.index]++].index = (uint32_t)i;
}

static void order_children(struct xf_calltree *tree, const uint32_t *ranks)
{
	struct order order = {tree->nodes, ranks};

	gather_children(tree);
	for (size_t i = 0; i < tree->nr_nodes; i++) {
		size_t nr = tree->first[i + 1] - tree->first[i];

		if (nr > 1)
			qsort_r(tree->ordered + tree->first[i], nr, sizeof(*tree->ordered),
			        compare_children, &order);
	}
	for (size_t i = 0; i + 1 < tree->nr_nodes; i++)
		tree->place[tree->ordered[i].index] = (uint32_t)i;
}

static void sum_up(struct xf_calltree *tree)
{
	for (size_t i = 0; i < tree->nr_nodes; i++)
		tree->nodes[i].total = tree->nodes[i].self;
	for (size_t i = tree->nr_nodes - 1; i > 0; i--)
		tree->nodes[tree->nodes[i].parent.index].total += tree->nodes[i].total;
}

int xf_calltree_finish(struct xf_calltree *tree)
{
	uint32_t *ranks = rank_frames(tree);
	int code = -ENOMEM;

	forget_order(tree);
	tree->ordered = calloc(tree->nr_nodes, sizeof(*tree->ordered));
	tree->first = calloc(tree->nr_nodes + 1, sizeof(*tree->first));
	tree->place = calloc(tree->nr_nodes, sizeof(*tree->place));
	if (ranks && tree->ordered && tree->first && tree->place) {
		order_children(tree, ranks);
		sum_up(tree);
		code = 0;
	}
	free(ranks);
	return code;
}

/* Copies all frames, so that handles mean the same in both trees. */
static int copy_frames(const struct xf_calltree *from, struct xf_calltree *to)
{
	for (size_t i = 0; i < from->nr_frames; i++) {
		const struct frame *known = &from->frames[i];
		struct xf_frame_id frame;

		if (xf_calltree_frame_at(to, known->kind, from->arena + known->name, known->address,
		                         &frame))
			return -ENOMEM;
	}
	return 0;
}

int xf_calltree_invert(const struct xf_calltree *tree, struct xf_calltree **inverted)
{
	struct xf_calltree *made = xf_calltree_new();
	int code = made ? copy_frames(tree, made) : -ENOMEM;

	for (size_t i = 0; !code && i < tree->nr_nodes; i++) {
		struct xf_node_id node = XF_CALLTREE_ROOT;

		if (!tree->nodes[i].self)
			continue;
		for (size_t n = i; !code && n; n = tree->nodes[n].parent.index)
			code = xf_calltree_child(made, node, tree->nodes[n].frame, &node);
		xf_calltree_count(made, node, tree->nodes[i].self);
	}
	if (!code)
		code = xf_calltree_finish(made);
	if (code) {
		xf_calltree_free(made);
		return code;
	}
	*inverted = made;
	return 0;
}

/* ---- Kinds ----------------------------------------------------------------------------------- */

const char *xf_frame_kind_name(enum xf_frame_kind kind)
{
	static const char *const names[XF_FRAME_KINDS] = {
	        [XF_FRAME_ROOT] = "root",         [XF_FRAME_DOMAIN] = "domain",
	        [XF_FRAME_VCPU] = "vcpu",         [XF_FRAME_PCPU] = "pcpu",
	        [XF_FRAME_GUEST] = "guest",       [XF_FRAME_XEN] = "xen",
	        [XF_FRAME_AGENT] = "agent",       [XF_FRAME_UNKNOWN] = "unknown",
	        [XF_FRAME_IDLE] = "idle",         [XF_FRAME_INCOMPLETE] = "incomplete",
	        [XF_FRAME_KERNEL] = "kernel",     [XF_FRAME_USER] = "user",
	        [XF_FRAME_FUNCTION] = "function", [XF_FRAME_PROCESS] = "process",
	};

	return kind < XF_FRAME_KINDS && names[kind] ? names[kind] : "other";
}

bool xf_frame_is_function(enum xf_frame_kind kind)
{
	return kind != XF_FRAME_ROOT && kind != XF_FRAME_DOMAIN && kind != XF_FRAME_VCPU &&
	       kind != XF_FRAME_PCPU && kind != XF_FRAME_PROCESS;
}

/* ---- Reading --------------------------------------------------------------------------------- */

size_t xf_calltree_nr_frames(const struct xf_calltree *tree)
{
	return tree->nr_frames;
}

size_t xf_calltree_nr_nodes(const struct xf_calltree *tree)
{
	return tree->nr_nodes;
}

const char *xf_calltree_name(const struct xf_calltree *tree, struct xf_frame_id frame)
{
	return tree->arena + tree->frames[frame.index].name;
}

enum xf_frame_kind xf_calltree_kind(const struct xf_calltree *tree, struct xf_frame_id frame)
{
	return tree->frames[frame.index].kind;
}

uint64_t xf_calltree_address(const struct xf_calltree *tree, struct xf_frame_id frame)
{
	return tree->frames[frame.index].address;
}

const struct xf_node *xf_calltree_node(const struct xf_calltree *tree, struct xf_node_id node)
{
	return &tree->nodes[node.index];
}

size_t xf_calltree_children(const struct xf_calltree *tree, struct xf_node_id node,
                            const struct xf_node_id **children)
{
	*children = &tree->ordered[tree->first[node.index]];
	return tree->first[node.index + 1] - tree->first[node.index];
}

size_t xf_calltree_height(const struct xf_calltree *tree)
{
	size_t height = 0;

	for (size_t i = 0; i < tree->nr_nodes; i++)
		height = tree->nodes[i].depth > height ? tree->nodes[i].depth : height;
	return height;
}

size_t xf_calltree_path(const struct xf_calltree *tree, struct xf_node_id node,
                        struct xf_node_id *path)
{
	size_t depth = tree->nodes[node.index].depth;

	for (size_t i = depth; i > 0; i--) {
		path[i - 1] = node;
		node = tree->nodes[node.index].parent;
	}
	return depth;
}

bool xf_calltree_next(const struct xf_calltree *tree, struct xf_calltree_walk *walk)
{
	uint32_t index = walk->node.index;
	uint32_t next;

	if (!walk->started) {
		*walk = (struct xf_calltree_walk){.started = true};
		return true;
	}
	if (!walk->leaving) {
		if (tree->first[index] == tree->first[index + 1])
			walk->leaving = true;
		else
			walk->node = tree->ordered[tree->first[index]];
		return true;
	}
	if (!index)
		return false;
	next = tree->place[index] + 1;
	if (next < tree->first[tree->nodes[index].parent.index + 1]) {
		walk->node = tree->ordered[next];
		walk->leaving = false;
	} else {
		walk->node = tree->nodes[index].parent;
	}
	return true;
}
