// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/foreign.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "profile/format.h"
#include "profile/parts.h"

/* ---- Stacks ---------------------------------------------------------------------------------- */

int xf_foreign_push(struct xf_foreign_stack *stack, const char *name, enum xf_frame_kind kind)
{
	if (stack->nr == stack->allocated) {
		size_t wanted = stack->allocated ? stack->allocated * 2 : 128;
		struct xf_foreign_frame *grown =
		        reallocarray(stack->frames, wanted, sizeof(*stack->frames));

		if (!grown)
			return -ENOMEM;
		stack->frames = grown;
		stack->allocated = wanted;
	}
	stack->frames[stack->nr++] = (struct xf_foreign_frame){.name = name, .kind = kind};
	return 0;
}

void xf_foreign_reverse(struct xf_foreign_stack *stack)
{
	for (size_t i = 0; i < stack->nr / 2; i++) {
		struct xf_foreign_frame frame = stack->frames[i];

		stack->frames[i] = stack->frames[stack->nr - 1 - i];
		stack->frames[stack->nr - 1 - i] = frame;
	}
}

enum xf_frame_kind xf_foreign_kind(const char *name)
{
	static const struct {
		const char *begins;
		enum xf_frame_kind kind;
	} known[] = {
	        {"[idle]", XF_FRAME_IDLE},
	        {"[guest kernel]", XF_FRAME_GUEST},
	        {"[guest user]", XF_FRAME_GUEST},
	        {"[incomplete: ", XF_FRAME_INCOMPLETE},
	        {"[kernel incomplete: ", XF_FRAME_INCOMPLETE},
	        {"[user incomplete: ", XF_FRAME_INCOMPLETE},
	        {"[guest switched away]", XF_FRAME_INCOMPLETE},
	        {"[user]", XF_FRAME_USER},
	        {"[unknown process]", XF_FRAME_PROCESS},
	        {"[unknown", XF_FRAME_UNKNOWN},
	        {"[syscall entry]", XF_FRAME_XEN},
	        {"[run-time stub]", XF_FRAME_XEN},
	        {"[live patch ", XF_FRAME_XEN},
	};

	for (size_t i = 0; name[0] == '[' && i < sizeof(known) / sizeof(known[0]); i++) {
		if (strncmp(name, known[i].begins, strlen(known[i].begins)) == 0)
			return known[i].kind;
	}
	return XF_FRAME_FUNCTION;
}

enum xf_frame_kind xf_foreign_kind_in(const char *name, const char *image)
{
	enum xf_frame_kind kind = xf_foreign_kind(name);

	if (kind != XF_FRAME_FUNCTION)
		return kind;
	if (strcmp(image, "xen") == 0)
		return XF_FRAME_XEN;
	if (strcmp(image, "[guest.kernel.kallsyms]") == 0)
		return XF_FRAME_KERNEL;
	if (strcmp(image, "process") == 0)
		return XF_FRAME_PROCESS;
	return strcmp(image, XF_AGENT_NAME) == 0 ? XF_FRAME_AGENT : XF_FRAME_FUNCTION;
}

/* ---- From stacks to a profile ---------------------------------------------------------------- */

int xf_foreign_start(struct xf_foreign *foreign, const struct xf_profile_options *options)
{
	*foreign = (struct xf_foreign){.options = options,
	                               .profile = calloc(1, sizeof(struct xf_profile))};
	if (foreign->profile)
		foreign->profile->tree = xf_calltree_new();
	return foreign->profile && foreign->profile->tree ? 0 : -ENOMEM;
}

static int find_group(struct xf_foreign *foreign, const struct xf_foreign_stack *stack,
                      struct xf_frame_id domain, uint32_t *found)
{
	struct xf_profile *profile = foreign->profile;
	uint64_t hash = xf_hash_mix(xf_hash_mix(domain.index, stack->thread), stack->cpu);
	struct xf_index_probe probe = xf_index_probe(&foreign->group_index, hash);

	while (xf_index_next(&foreign->group_index, &probe)) {
		const struct xf_profile_group *group = &profile->groups[probe.id];

		*found = probe.id;
		if (group->domain.index == domain.index && group->vcpu == stack->thread &&
		    group->pcpu == stack->cpu)
			return 0;
	}
	if (profile->nr_groups == foreign->allocated_groups) {
		size_t wanted = foreign->allocated_groups ? foreign->allocated_groups * 2 : 64;
		struct xf_profile_group *grown =
		        reallocarray(profile->groups, wanted, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		profile->groups = grown;
		foreign->allocated_groups = wanted;
	}
	if (xf_index_add(&foreign->group_index, hash, (uint32_t)profile->nr_groups))
		return -ENOMEM;
	*found = (uint32_t)profile->nr_groups++;
	profile->groups[*found] = (struct xf_profile_group){.domain = domain,
	                                                    .domid = (uint16_t)domain.index,
	                                                    .vcpu = stack->thread,
	                                                    .pcpu = stack->cpu};
	return 0;
}

static int append(struct xf_foreign *foreign, size_t *nr, enum xf_frame_kind kind, const char *name)
{
	if (!xf_make_room(&foreign->path, *nr, &foreign->allocated_path, sizeof(*foreign->path)))
		return -ENOMEM;
	return xf_calltree_frame(foreign->profile->tree, kind, name, &foreign->path[(*nr)++]);
}

static int append_number(struct xf_foreign *foreign, size_t *nr, enum xf_frame_kind kind,
                         const char *what, uint32_t number)
{
	char *name;
	int code;

	if (asprintf(&name, "%s %" PRIu32, what, number) < 0)
		return -ENOMEM;
	code = append(foreign, nr, kind, name);
	free(name);
	return code;
}

/* Where the domain's frame is not below, its name tells the vCPU from another's of that number. */
static int append_vcpu(struct xf_foreign *foreign, size_t *nr, const struct xf_foreign_stack *stack)
{
	char *what;
	int code;

	if (foreign->options->by_domain)
		return append_number(foreign, nr, XF_FRAME_VCPU, "vCPU", stack->thread);
	if (asprintf(&what, "%s vCPU", stack->domain) < 0)
		return -ENOMEM;
	code = append_number(foreign, nr, XF_FRAME_VCPU, what, stack->thread);
	free(what);
	return code;
}

/* A folded stack of one frame has no other. */
static bool is_alone(const struct xf_foreign_stack *stack)
{
	return stack->nr == 1 && stack->frames[0].name == stack->domain;
}

static int push_all(struct xf_foreign *foreign, const struct xf_foreign_stack *stack,
                    struct xf_node_id *node)
{
	const struct xf_profile_options *options = foreign->options;
	enum xf_frame_kind kind =
	        strcmp(stack->domain, "Idle") == 0 ? XF_FRAME_IDLE : XF_FRAME_DOMAIN;
	size_t nr = 0;
	int code = 0;

	if (options->by_domain && !is_alone(stack))
		code = append(foreign, &nr, kind, stack->domain);
	if (!code && options->by_vcpu)
		code = append_vcpu(foreign, &nr, stack);
	if (!code && options->by_pcpu)
		code = append_number(foreign, &nr, XF_FRAME_PCPU, "pCPU", stack->cpu);
	for (size_t i = 0; !code && i < stack->nr; i++)
		code = append(foreign, &nr, stack->frames[i].kind, stack->frames[i].name);
	return code ? code : xf_calltree_descend(foreign->profile->tree, foreign->path, nr, node);
}

static void count(struct xf_profile_counts *counts, const struct xf_foreign_stack *stack)
{
	enum xf_frame_kind innermost = stack->frames[stack->nr - 1].kind;
	bool seen[XF_FRAME_KINDS] = {false};

	for (size_t i = 0; i < stack->nr; i++)
		seen[stack->frames[i].kind] = true;
	if (innermost == XF_FRAME_GUEST || innermost == XF_FRAME_KERNEL ||
	    innermost == XF_FRAME_USER)
		counts->guest += stack->count;
	else if (innermost == XF_FRAME_IDLE)
		counts->idle += stack->count;
	else if (seen[XF_FRAME_XEN] || seen[XF_FRAME_AGENT])
		counts->xen += stack->count;
	else
		counts->other += stack->count;
	counts->incomplete += seen[XF_FRAME_INCOMPLETE] ? stack->count : 0;
	counts->unnamed += seen[XF_FRAME_UNKNOWN] ? stack->count : 0;
}

static bool is_wanted(const struct xf_foreign *foreign, const struct xf_foreign_stack *stack)
{
	const struct xf_profile_options *options = foreign->options;

	return (options->pcpu == XF_ANY_PCPU || options->pcpu == stack->cpu) &&
	       (!options->domain || strcmp(options->domain, stack->domain) == 0);
}

static int add_time(struct xf_foreign *foreign, const struct xf_foreign_stack *stack,
                    uint32_t group, struct xf_node_id node)
{
	struct xf_event event = {
	        .time = stack->time, .node = node, .group = group, .count = (uint32_t)stack->count};

	if (!foreign->timed || stack->time < foreign->first)
		foreign->first = stack->time;
	if (!foreign->timed || stack->time > foreign->last)
		foreign->last = stack->time;
	foreign->timed = true;
	return foreign->options->timeline ? xf_timeline_add(&foreign->profile->timeline, event) : 0;
}

int xf_foreign_add(struct xf_foreign *foreign, const struct xf_foreign_stack *stack, bool timed)
{
	struct xf_calltree *tree = foreign->profile->tree;
	struct xf_node_id node = XF_CALLTREE_ROOT;
	struct xf_frame_id domain;
	uint32_t group;
	int code;

	if (!is_wanted(foreign, stack))
		return 0;
	if (__builtin_add_overflow(foreign->total, stack->count, &foreign->total))
		return -EOVERFLOW;
	code = xf_calltree_frame(
	        tree, strcmp(stack->domain, "Idle") == 0 ? XF_FRAME_IDLE : XF_FRAME_DOMAIN,
	        stack->domain, &domain);
	if (!code)
		code = find_group(foreign, stack, domain, &group);
	if (!code)
		code = push_all(foreign, stack, &node);
	if (code)
		return code;
	xf_calltree_count(tree, node, stack->count);
	count(&foreign->profile->groups[group].counts, stack);
	return timed ? add_time(foreign, stack, group, node) : 0;
}

static int refuse(const struct xf_foreign *foreign, struct xf_error *error)
{
	if (foreign->options->domain)
		return xf_fail(error, -ENODATA, "no stack's lowest frame is '%.200s'%s",
		               foreign->options->domain,
		               foreign->options->pcpu == XF_ANY_PCPU ? "" : " on that pCPU");
	return xf_fail(error, -ENODATA,
	               foreign->options->pcpu == XF_ANY_PCPU ? "it holds no samples"
	                                                     : "no sample is of that pCPU");
}

int xf_foreign_finish(struct xf_foreign *foreign, const char *host, struct xf_profile **made,
                      struct xf_error *error)
{
	struct xf_profile *profile = foreign->profile;

	for (size_t i = 0; i < profile->timeline.nr; i++)
		profile->timeline.events[i].time -= foreign->first;
	profile->host = host;
	profile->xen_version = profile->build_id = "";
	profile->state.closed = true;
	profile->duration = foreign->last - foreign->first;
	xf_profile_count(profile);
	if (!profile->samples)
		return refuse(foreign, error);
	if (xf_calltree_finish(profile->tree) || xf_profile_order_groups(profile))
		return -ENOMEM;
	*made = profile;
	foreign->profile = NULL;
	return 0;
}

void xf_foreign_end(struct xf_foreign *foreign)
{
	xf_index_free(&foreign->group_index);
	free(foreign->path);
	xf_profile_free(foreign->profile);
}
