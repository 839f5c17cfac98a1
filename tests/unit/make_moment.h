// SPDX-License-Identifier: GPL-2.0-or-later
/* A moment of the live view, made by hand: two pCPUs of three, dom0, a guest and idle time. */
#ifndef XF_TESTS_MAKE_MOMENT_H
#define XF_TESTS_MAKE_MOMENT_H

#include <stdlib.h>

#include "output/top.h"

struct made_moment {
	struct xf_profile profile;
	struct xf_profile_group groups[4];
	uint32_t pcpus[3];
	struct xf_live_interval interval;
	struct xf_top_moment moment;
};

static struct xf_node_id made_node(struct xf_calltree *tree, struct xf_node_id parent,
                                   enum xf_frame_kind kind, const char *name, uint64_t count)
{
	struct xf_frame_id frame;
	struct xf_node_id node;

	assert_int_equal(xf_calltree_frame(tree, kind, name, &frame), 0);
	assert_int_equal(xf_calltree_child(tree, parent, frame, &node), 0);
	xf_calltree_count(tree, node, count);
	return node;
}

static void made_group(struct made_moment *made, size_t index, enum xf_frame_kind kind,
                       const char *name, struct xf_profile_group group)
{
	assert_int_equal(xf_calltree_frame(made->profile.tree, kind, name, &group.domain), 0);
	made->groups[index] = group;
	made->profile.counts.guest += group.counts.guest;
	made->profile.counts.xen += group.counts.xen;
	made->profile.counts.idle += group.counts.idle;
	made->profile.counts.incomplete += group.counts.incomplete;
	made->profile.counts.processes += group.counts.processes;
	made->profile.counts.process_unknown += group.counts.process_unknown;
}

/* Domain-0 { bash (31) { vfs_read 20, [user] 10 }, xl (7) { pv_hypercall { do_xen_version 30 } 10 }
 * }, GUEST { [guest user] 19, exit { xf_emit 1 { trace 3 } } }, Idle { [idle] 107 } */
static void fill_profile(struct made_moment *made, const char *guest)
{
	struct xf_calltree *tree = made->profile.tree;
	struct xf_node_id domain, process;

	domain = made_node(tree, XF_CALLTREE_ROOT, XF_FRAME_DOMAIN, "Domain-0", 0);
	process = made_node(tree, domain, XF_FRAME_PROCESS, "bash (31)", 0);
	made_node(tree, process, XF_FRAME_KERNEL, "vfs_read", 20);
	made_node(tree, process, XF_FRAME_USER, "[user]", 10);
	process = made_node(tree, domain, XF_FRAME_PROCESS, "xl (7)", 0);
	process = made_node(tree, process, XF_FRAME_XEN, "pv_hypercall", 10);
	made_node(tree, process, XF_FRAME_XEN, "do_xen_version", 30);
	domain = made_node(tree, XF_CALLTREE_ROOT, XF_FRAME_DOMAIN, guest, 0);
	made_node(tree, domain, XF_FRAME_GUEST, "[guest user]", 19);
	domain = made_node(tree, domain, XF_FRAME_XEN, "exit", 0);
	domain = made_node(tree, domain, XF_FRAME_AGENT, "xf_emit", 1);
	made_node(tree, domain, XF_FRAME_XEN, "trace", 3);
	domain = made_node(tree, XF_CALLTREE_ROOT, XF_FRAME_IDLE, "Idle", 0);
	made_node(tree, domain, XF_FRAME_IDLE, "[idle]", 107);
	assert_int_equal(xf_calltree_finish(tree), 0);
}

/* The guest goes by @guest. */
static struct made_moment *make_moment(const char *guest)
{
	struct made_moment *made = calloc(1, sizeof(*made));
	struct xf_profile *profile = &made->profile;

	profile->tree = xf_calltree_new();
	profile->groups = made->groups;
	profile->nr_groups = 4;
	fill_profile(made, guest);
	made_group(made, 0, XF_FRAME_DOMAIN, "Domain-0",
	           (struct xf_profile_group){.counts = {.guest = 30,
	                                                .guest_kernel = 20,
	                                                .xen = 40,
	                                                .incomplete = 2,
	                                                .processes = 70}});
	made_group(made, 1, XF_FRAME_DOMAIN, guest,
	           (struct xf_profile_group){
	                   .domid = 7, .pcpu = 1, .counts = {.guest = 19, .xen = 4}});
	made_group(made, 2, XF_FRAME_IDLE, "Idle",
	           (struct xf_profile_group){.domid = 0x7fff, .pcpu = 0, .counts = {.idle = 31}});
	made_group(made, 3, XF_FRAME_IDLE, "Idle",
	           (struct xf_profile_group){.domid = 0x7fff, .pcpu = 1, .counts = {.idle = 76}});
	profile->samples = profile->counts.guest + profile->counts.xen + profile->counts.idle;
	made->pcpus[1] = 1;
	made->pcpus[2] = 2;
	made->interval = (struct xf_live_interval){.profile = profile,
	                                           .lost = 3,
	                                           .bytes = 51200,
	                                           .pcpus = made->pcpus,
	                                           .nr_pcpus = 3,
	                                           .frequency = 99,
	                                           .host = "labhost",
	                                           .xen_version = "4.17.7"};
	made->moment = (struct xf_top_moment){.interval = &made->interval,
	                                      .time = 1796011987000000000,
	                                      .nanoseconds = 1000000000,
	                                      .own_cpu = 12300000,
	                                      .records = true};
	return made;
}

static void free_moment(struct made_moment *made)
{
	xf_calltree_free(made->profile.tree);
	free(made);
}

#endif
