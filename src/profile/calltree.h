// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A prefix tree of stacks. A frame is a name, a kind and, where asked for, an address, interned; a
 * node is a frame under a parent, so that a stack is one node. Filled with _frame, _child and
 * _count, then _finish, then read. Children always come after their parents.
 *
 * Handles are structs of different types: a frame cannot be passed for a node.
 */
#ifndef XF_PROFILE_CALLTREE_H
#define XF_PROFILE_CALLTREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct xf_calltree;

struct xf_frame_id {
	uint32_t index;
};

struct xf_node_id {
	uint32_t index;
};

enum xf_frame_kind {
	XF_FRAME_ROOT, /* the root's own, nameless frame */
	XF_FRAME_DOMAIN,
	XF_FRAME_VCPU,
	XF_FRAME_PCPU,
	XF_FRAME_PROCESS,    /* a process of the control domain's */
	XF_FRAME_GUEST,      /* a guest was running */
	XF_FRAME_XEN,        /* a function of the hypervisor or of a live patch */
	XF_FRAME_AGENT,      /* a function of the sampling agent: what the recording itself cost */
	XF_FRAME_UNKNOWN,    /* code without a name */
	XF_FRAME_IDLE,       /* nothing was running; the Idle domain too */
	XF_FRAME_KERNEL,     /* code of a guest's kernel */
	XF_FRAME_USER,       /* code of a guest's process */
	XF_FRAME_INCOMPLETE, /* here frames are missing; the name says why */
	XF_FRAME_FUNCTION,   /* a function of a text that does not say whose it is */
	XF_FRAME_KINDS,
};

/* What people and other programs read for a kind: a lower-case word. */
const char *xf_frame_kind_name(enum xf_frame_kind kind);

/* Whether frames of @kind tell what was running; the others tell for whom, and where. */
bool xf_frame_is_function(enum xf_frame_kind kind);

/* The node above which all stacks stand. */
#define XF_CALLTREE_ROOT ((struct xf_node_id){0})

/* Return: a tree with nothing but its root, NULL without memory. Free with xf_calltree_free. */
struct xf_calltree *xf_calltree_new(void);
void xf_calltree_free(struct xf_calltree *tree);

/* Return: 0 and the frame of @kind and @name (copied), made if need be; -ENOMEM. */
int xf_calltree_frame(struct xf_calltree *tree, enum xf_frame_kind kind, const char *name,
                      struct xf_frame_id *frame);

/* The same of the instruction at @address: a function's instructions are frames of their own. */
int xf_calltree_frame_at(struct xf_calltree *tree, enum xf_frame_kind kind, const char *name,
                         uint64_t address, struct xf_frame_id *frame);

/* Return: 0 and the node of @frame under @parent, made if need be; -ENOMEM. */
int xf_calltree_child(struct xf_calltree *tree, struct xf_node_id parent, struct xf_frame_id frame,
                      struct xf_node_id *child);

/* The same of all of @nr @frames, each under the one before it, the first one under *@node: faster
 * than one by one. Return: 0, and *@node is the last one's; -ENOMEM. */
int xf_calltree_descend(struct xf_calltree *tree, const struct xf_frame_id *frames, size_t nr,
                        struct xf_node_id *node);

/* @count more samples ended in @node. */
void xf_calltree_count(struct xf_calltree *tree, struct xf_node_id node, uint64_t count);

/* Sums up totals and puts children in order: by name, idle ones last. Return: 0 or -ENOMEM. */
int xf_calltree_finish(struct xf_calltree *tree);

/*
 * The same samples with their stacks upside down: innermost frames at the root. Frames keep their
 * handles. Return: 0 and the tree, finished; -ENOMEM.
 */
int xf_calltree_invert(const struct xf_calltree *tree, struct xf_calltree **inverted);

/* Handles run from 0 to these, exclusive. Node 0 is the root, frame 0 the root's. */
size_t xf_calltree_nr_frames(const struct xf_calltree *tree);
size_t xf_calltree_nr_nodes(const struct xf_calltree *tree);

/* Owned by the tree, valid until the next frame is made. */
const char *xf_calltree_name(const struct xf_calltree *tree, struct xf_frame_id frame);
enum xf_frame_kind xf_calltree_kind(const struct xf_calltree *tree, struct xf_frame_id frame);
/* Return: 0 where the frame has none. */
uint64_t xf_calltree_address(const struct xf_calltree *tree, struct xf_frame_id frame);

struct xf_node {
	struct xf_node_id parent; /* the root's is itself */
	struct xf_frame_id frame;
	uint32_t depth; /* 0 for the root */
	uint64_t self;  /* samples that ended here */
	uint64_t total; /* those and all above; valid once finished */
};
const struct xf_node *xf_calltree_node(const struct xf_calltree *tree, struct xf_node_id node);

/* Return: the number of children, in order, in *@children. Finished trees only. */
size_t xf_calltree_children(const struct xf_calltree *tree, struct xf_node_id node,
                            const struct xf_node_id **children);

/* Return: the depth of the deepest node. */
size_t xf_calltree_height(const struct xf_calltree *tree);

/* Puts the nodes from the root's child down to @node into @path, which has room for as many as the
 * tree's height. Return: how many they are. */
size_t xf_calltree_path(const struct xf_calltree *tree, struct xf_node_id node,
                        struct xf_node_id *path);

/* A walk through a finished tree, each node entered before and left after its children. */
struct xf_calltree_walk {
	struct xf_node_id node;
	bool leaving;
	bool started;
};

/* Return: true and the next step in @walk, which starts zeroed; false when all is walked. Setting
 * @walk->leaving after having entered a node skips its children. */
bool xf_calltree_next(const struct xf_calltree *tree, struct xf_calltree_walk *walk);

#endif
