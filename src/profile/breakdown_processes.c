// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/breakdown.h"
#include "profile/stacks.h"

/* Where a node's samples belong: the process, or else the domain, that its stack stands on. */
struct place {
	struct xf_frame_id domain;
	struct xf_frame_id process;
};

static struct place place_of(const struct xf_calltree *tree, const struct xf_node *node,
                             struct place parent)
{
	struct place place = parent;

	switch (xf_calltree_kind(tree, node->frame)) {
	case XF_FRAME_DOMAIN:
		place.domain = node->frame;
		break;
	case XF_FRAME_IDLE: /* the Idle domain, where it stands on nothing */
		if (node->depth == 1)
			place.domain = node->frame;
		break;
	case XF_FRAME_PROCESS:
		place.process = node->frame;
		break;
	default:
		break;
	}
	return place;
}

/* Where a stack ends with frames that are missing, they are a guest's kernel's: Xen's last one is
 * known. */
static bool is_guest_kernel(const struct xf_calltree *tree, struct xf_frame_id innermost)
{
	enum xf_frame_kind kind = xf_calltree_kind(tree, innermost);

	return kind == XF_FRAME_KERNEL || kind == XF_FRAME_INCOMPLETE ||
	       (kind == XF_FRAME_GUEST &&
	        strcmp(xf_calltree_name(tree, innermost), XF_GUEST_KERNEL_NAME) == 0);
}

static void count(struct xf_breakdown_row *row, enum xf_frame_kind innermost, uint64_t samples)
{
	row->samples = samples;
	switch (innermost) {
	case XF_FRAME_GUEST:
	case XF_FRAME_KERNEL:
	case XF_FRAME_USER:
	case XF_FRAME_INCOMPLETE:
		row->counts.guest = samples;
		break;
	case XF_FRAME_XEN:
	case XF_FRAME_AGENT:
	case XF_FRAME_UNKNOWN:
		row->counts.xen = samples;
		break;
	case XF_FRAME_IDLE:
		row->counts.idle = samples;
		break;
	default:
		row->counts.other = samples;
	}
}

int xf_breakdown_processes(const struct xf_profile *profile, struct xf_breakdown_row **rows,
                           size_t *nr)
{
	const struct xf_calltree *tree = profile->tree;
	size_t nodes = xf_calltree_nr_nodes(tree);
	struct xf_breakdown_row *made = calloc(nodes, sizeof(*made));
	struct place *places = calloc(nodes, sizeof(*places));

	*nr = 0;
	if (!made || !places) {
		free(made);
		free(places);
		return -ENOMEM;
	}
	for (size_t i = 0; i < nodes; i++) {
		const struct xf_node *node =
		        xf_calltree_node(tree, (struct xf_node_id){.index = (uint32_t)i});
		struct xf_breakdown_row *row = &made[*nr];

		places[i] = place_of(tree, node, places[node->parent.index]);
		if (!node->self)
			continue;
		row->domain = places[i].domain;
		row->process = places[i].process;
		row->kind = xf_calltree_kind(tree, row->domain);
		count(row, xf_calltree_kind(tree, node->frame), node->self);
		if (is_guest_kernel(tree, node->frame))
			row->counts.guest_kernel = node->self;
		(*nr)++;
	}
	free(places);
	*rows = made;
	return 0;
}
