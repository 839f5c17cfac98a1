// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/text_input.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/index.h"
#include "profile/parts.h"
#include "profile/text_stack.h"

/* ---- Lines and stacks ------------------------------------------------------------------------ */

int xf_text_next_line(struct xf_text_lines *lines, struct xf_error *error)
{
	size_t left = (size_t)(lines->end - lines->at);
	const char *newline;
	size_t size;

	if (!left)
		return 0;
	newline = memchr(lines->at, '\n', left);
	size = newline ? (size_t)(newline - lines->at) : left;
	lines->number++;
	if (memchr(lines->at, 0, size))
		return xf_fail(error, -EBADMSG, "line %" PRIu64 " is no text", lines->number);
	if (!lines->line || size >= lines->allocated) {
		char *grown = realloc(lines->line, size * 2 + 256);

		if (!grown)
			return -ENOMEM;
		lines->line = grown;
		lines->allocated = size * 2 + 256;
	}
	memcpy(lines->line, lines->at, size);
	size -= size && lines->line[size - 1] == '\r';
	lines->line[size] = 0;
	lines->at = newline ? newline + 1 : lines->end;
	return 1;
}

int xf_text_push(struct xf_text_stack *stack, const char *name, enum xf_frame_kind kind)
{
	if (stack->nr == stack->allocated) {
		size_t wanted = stack->allocated ? stack->allocated * 2 : 128;
		struct xf_text_frame *grown =
		        reallocarray(stack->frames, wanted, sizeof(*stack->frames));

		if (!grown)
			return -ENOMEM;
		stack->frames = grown;
		stack->allocated = wanted;
	}
	stack->frames[stack->nr++] = (struct xf_text_frame){.name = name, .kind = kind};
	return 0;
}

enum xf_frame_kind xf_text_kind(const char *name)
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
	        {"[user]", XF_FRAME_USER},
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

/* ---- From stacks to a profile ---------------------------------------------------------------- */

struct builder {
	const struct xf_profile_options *options;
	struct xf_profile *profile;
	struct xf_index group_index;
	size_t allocated_groups;
	bool timed;
	uint64_t first; /* time of all, and the last */
	uint64_t last;
	uint64_t total;
};

static int find_group(struct builder *builder, const struct xf_text_stack *stack,
                      struct xf_frame_id domain, uint32_t *found)
{
	struct xf_profile *profile = builder->profile;
	uint64_t hash = xf_hash_mix(xf_hash_mix(domain.index, stack->thread), stack->cpu);
	struct xf_index_probe probe = xf_index_probe(&builder->group_index, hash);

	while (xf_index_next(&builder->group_index, &probe)) {
		const struct xf_profile_group *group = &profile->groups[probe.id];

		*found = probe.id;
		if (group->domain.index == domain.index && group->vcpu == stack->thread &&
		    group->pcpu == stack->cpu)
			return 0;
	}
	if (profile->nr_groups == builder->allocated_groups) {
		size_t wanted = builder->allocated_groups ? builder->allocated_groups * 2 : 64;
		struct xf_profile_group *grown =
		        reallocarray(profile->groups, wanted, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		profile->groups = grown;
		builder->allocated_groups = wanted;
	}
	if (xf_index_add(&builder->group_index, hash, (uint32_t)profile->nr_groups))
		return -ENOMEM;
	*found = (uint32_t)profile->nr_groups++;
	profile->groups[*found] = (struct xf_profile_group){.domain = domain,
	                                                    .domid = (uint16_t)domain.index,
	                                                    .vcpu = stack->thread,
	                                                    .pcpu = stack->cpu};
	return 0;
}

static int push(struct builder *builder, struct xf_node_id *node, enum xf_frame_kind kind,
                const char *name)
{
	struct xf_frame_id frame;
	int code = xf_calltree_frame(builder->profile->tree, kind, name, &frame);

	return code ? code : xf_calltree_child(builder->profile->tree, *node, frame, node);
}

static int push_number(struct builder *builder, struct xf_node_id *node, enum xf_frame_kind kind,
                       const char *what, uint32_t number)
{
	char name[32];

	snprintf(name, sizeof(name), "%s %" PRIu32, what, number);
	return push(builder, node, kind, name);
}

/* A folded stack of one frame has no other. */
static bool is_alone(const struct xf_text_stack *stack)
{
	return stack->nr == 1 && stack->frames[0].name == stack->domain;
}

static int push_all(struct builder *builder, const struct xf_text_stack *stack,
                    struct xf_node_id *node)
{
	const struct xf_profile_options *options = builder->options;
	enum xf_frame_kind kind =
	        strcmp(stack->domain, "Idle") == 0 ? XF_FRAME_IDLE : XF_FRAME_DOMAIN;
	int code = 0;

	if (options->by_domain && !is_alone(stack))
		code = push(builder, node, kind, stack->domain);
	if (!code && options->by_vcpu)
		code = push_number(builder, node, XF_FRAME_VCPU, "vCPU", stack->thread);
	if (!code && options->by_pcpu)
		code = push_number(builder, node, XF_FRAME_PCPU, "pCPU", stack->cpu);
	for (size_t i = 0; !code && i < stack->nr; i++)
		code = push(builder, node, stack->frames[i].kind, stack->frames[i].name);
	return code;
}

static void count(struct xf_profile_counts *counts, const struct xf_text_stack *stack)
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

static bool is_wanted(const struct builder *builder, const struct xf_text_stack *stack)
{
	const struct xf_profile_options *options = builder->options;

	return (options->pcpu == XF_ANY_PCPU || options->pcpu == stack->cpu) &&
	       (!options->domain || strcmp(options->domain, stack->domain) == 0);
}

static int add_time(struct builder *builder, const struct xf_text_stack *stack, uint32_t group,
                    struct xf_node_id node)
{
	struct xf_event event = {
	        .time = stack->time, .node = node, .group = group, .count = (uint32_t)stack->count};

	if (!builder->timed || stack->time < builder->first)
		builder->first = stack->time;
	if (!builder->timed || stack->time > builder->last)
		builder->last = stack->time;
	builder->timed = true;
	return builder->options->timeline ? xf_timeline_add(&builder->profile->timeline, event) : 0;
}

static int add_stack(struct builder *builder, const struct xf_text_stack *stack, bool timed)
{
	struct xf_calltree *tree = builder->profile->tree;
	struct xf_node_id node = XF_CALLTREE_ROOT;
	struct xf_frame_id domain;
	uint32_t group;
	int code;

	if (!is_wanted(builder, stack))
		return 0;
	if (__builtin_add_overflow(builder->total, stack->count, &builder->total))
		return -EOVERFLOW;
	code = xf_calltree_frame(
	        tree, strcmp(stack->domain, "Idle") == 0 ? XF_FRAME_IDLE : XF_FRAME_DOMAIN,
	        stack->domain, &domain);
	if (!code)
		code = find_group(builder, stack, domain, &group);
	if (!code)
		code = push_all(builder, stack, &node);
	if (code)
		return code;
	xf_calltree_count(tree, node, stack->count);
	count(&builder->profile->groups[group].counts, stack);
	return timed ? add_time(builder, stack, group, node) : 0;
}

/* ---- The whole ------------------------------------------------------------------------------- */

/* How many of @size bytes are of no character in UTF-8. */
static size_t strange_bytes(const uint8_t *bytes, size_t size)
{
	size_t strange = 0;

	for (size_t i = 0; i < size; i++) {
		size_t more = bytes[i] < 0xc2 ? 0 : bytes[i] < 0xe0 ? 1 : bytes[i] < 0xf0 ? 2 : 3;
		size_t has = 0;

		if (bytes[i] < 0x80)
			continue;
		while (has < more && i + 1 < size && bytes[i + 1] >> 6 == 2) {
			has++;
			i++;
		}
		strange += !more || (has < more && i + 1 < size);
	}
	return strange;
}

int xf_text_recognize(const void *bytes, size_t size, struct xf_error *error)
{
	const uint8_t *byte = bytes;

	for (size_t i = 0; i < size; i++) {
		if (byte[i] < 0x20 && byte[i] != '\n' && byte[i] != '\t' && byte[i] != '\r')
			return xf_fail(error, -EBADMSG, "it is no text");
	}
	/* A name may be wrong, but not all of the text. */
	if (strange_bytes(byte, size) > size / 8)
		return xf_fail(error, -EBADMSG, "it is no text");
	return 0;
}

/* Return: whether the first line that says something is an event of perf script's. */
static bool is_script(struct xf_text_lines lines)
{
	struct xf_text_stack stack = {0};
	bool found = false;
	int got;

	lines.line = NULL;
	lines.allocated = 0;
	do
		got = xf_text_next_line(&lines, NULL);
	while (got > 0 && lines.line && (!lines.line[0] || lines.line[0] == '#'));
	if (got > 0 && lines.line)
		found = xf_text_is_event(lines.line, &stack);
	free(lines.line);
	return found;
}

static int read_stacks(struct builder *builder, struct xf_text_lines *lines, bool script,
                       struct xf_error *error)
{
	struct xf_text_stack stack = {0};
	struct xf_text_script event = {0};
	int got;
	int code = 0;

	do {
		got = script ? xf_text_read_script(lines, &event, &stack, error)
		             : xf_text_read_folded(lines, &stack, error);
		code = got > 0 ? add_stack(builder, &stack, script) : got;
	} while (got > 0 && !code);
	free(stack.frames);
	free(event.text);
	if (code == -EOVERFLOW)
		return xf_fail(error, code,
		               "line %" PRIu64 ": that is more samples than 64 bits hold",
		               lines->number);
	return code;
}

static int refuse(const struct builder *builder, struct xf_error *error)
{
	if (builder->options->domain)
		return xf_fail(error, -ENODATA, "no stack's lowest frame is '%.200s'%s",
		               builder->options->domain,
		               builder->options->pcpu == XF_ANY_PCPU ? "" : " on that pCPU");
	return xf_fail(error, -ENODATA,
	               builder->options->pcpu == XF_ANY_PCPU ? "it holds no samples"
	                                                     : "no sample is of that pCPU");
}

static int settle(struct builder *builder, bool script, struct xf_error *error)
{
	struct xf_profile *profile = builder->profile;

	for (size_t i = 0; i < profile->timeline.nr; i++)
		profile->timeline.events[i].time -= builder->first;
	profile->host = script ? "text of perf script" : "folded stacks";
	profile->xen_version = profile->build_id = "";
	profile->state.closed = true;
	profile->duration = builder->last - builder->first;
	xf_profile_count(profile);
	if (!profile->samples)
		return refuse(builder, error);
	if (xf_calltree_finish(profile->tree))
		return -ENOMEM;
	return xf_profile_order_groups(profile);
}

static int check_options(const struct xf_profile_options *options, bool script,
                         struct xf_error *error)
{
	if (script)
		return 0;
	if (options->timeline == XF_TIMELINE_NEEDED)
		return xf_fail(error, -ENODATA,
		               "folded stacks have no times, and this output needs them; give it a"
		               " recording, or perf script's text");
	if (options->by_vcpu || options->by_pcpu || options->pcpu != XF_ANY_PCPU)
		return xf_fail(error, -ENODATA, "folded stacks do not tell vCPUs and pCPUs");
	return 0;
}

int xf_text_profile(const void *bytes, size_t size, const struct xf_profile_options *options,
                    struct xf_profile **profile, struct xf_error *error)
{
	struct xf_text_lines lines = {.at = bytes, .end = (const char *)bytes + size};
	struct builder builder = {.options = options, .profile = calloc(1, sizeof(**profile))};
	struct xf_error why = {0};
	bool script = is_script(lines);
	int code = check_options(options, script, &why);

	if (builder.profile)
		builder.profile->tree = xf_calltree_new();
	if (!code && (!builder.profile || !builder.profile->tree))
		code = -ENOMEM;
	if (!code)
		code = read_stacks(&builder, &lines, script, &why);
	if (!code)
		code = settle(&builder, script, &why);
	free(lines.line);
	xf_index_free(&builder.group_index);
	if (!code) {
		*profile = builder.profile;
		return 0;
	}
	xf_profile_free(builder.profile);
	return xf_fail(error, code, "%s", why.text[0] ? why.text : "no memory for the profile");
}
