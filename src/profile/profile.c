// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/profile.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "profile/guest_frames.h"
#include "profile/index.h"
#include "profile/inlines.h"
#include "profile/parts.h"
#include "profile/processes.h"
#include "profile/tasks.h"
#include "profile/xen_frames.h"

/* Where the samples of an owner go, remembered for the owners seen last. */
struct known_owner {
	bool used;
	uint16_t domid;
	uint32_t vcpu;
	uint32_t pcpu;
	const struct xf_recording_domain *domain; /* its entry then; NULL: none */
	struct xf_node_id node;
	uint32_t group; /* NO_GROUP: the filters leave it out */
};
#define KNOWN_OWNERS 64u /* a power of two */
#define NO_GROUP     UINT32_MAX

struct builder {
	struct known_owner owners[KNOWN_OWNERS];
	const struct xf_recording *recording;
	const struct xf_profile_options *options;
	struct xf_profile *profile;
	struct xf_calltree *tree;
	const struct xf_profile_tools *tools;
	struct xf_guest_frames *guest_frames;
	struct xf_inlines inlines;
	struct xf_processes *processes;
	struct xf_tasks tasks;
	struct xf_xen_frames *xen_frames;
	size_t allocated_groups;
	struct xf_index group_index;
	uint64_t last_tsc;
	uint64_t period; /* ns between ticks; 0: not known */
};

/* Whose a sample is. */
struct owner {
	uint16_t domid;
	uint32_t vcpu;
	uint32_t pcpu;
	uint64_t tsc;
};

const char *xf_domain_name(const struct xf_recording *recording, uint16_t domid, uint64_t tsc,
                           char text[16])
{
	const struct xf_recording_domain *domain;

	if (domid == XF_DOMID_IDLE)
		return "Idle";
	domain = xf_recording_domain(recording, domid, tsc);
	if (domain && domain->name[0])
		return domain->name;
	if (!domid)
		return "Domain-0";
	snprintf(text, 16, "d%u", domid);
	return text;
}

/* ---- Below Xen's frames ---------------------------------------------------------------------- */

bool xf_profile_wants(const struct xf_profile_options *options, uint16_t domid, const char *name,
                      uint32_t pcpu)
{
	char number[8];

	if (options->pcpu != XF_ANY_PCPU && options->pcpu != pcpu)
		return false;
	if (!options->domain || strcmp(options->domain, name) == 0)
		return true;
	if (domid == XF_DOMID_CONTROL && strcmp(options->domain, "dom0") == 0)
		return true; /* as everybody calls it */
	snprintf(number, sizeof(number), "%u", domid);
	return strcmp(options->domain, number) == 0;
}

static int find_group(struct builder *builder, const struct owner *owner, struct xf_frame_id domain,
                      struct xf_profile_group **group)
{
	struct xf_profile *profile = builder->profile;
	uint64_t hash =
	        xf_hash_mix(xf_hash_mix(domain.index, owner->vcpu), 1ull << 32 | owner->pcpu);
	struct xf_index_probe probe = xf_index_probe(&builder->group_index, hash);

	while (xf_index_next(&builder->group_index, &probe)) {
		*group = &profile->groups[probe.id];
		if ((*group)->domain.index == domain.index && (*group)->vcpu == owner->vcpu &&
		    (*group)->pcpu == owner->pcpu)
			return 0;
	}
	if (!xf_make_room(&profile->groups, profile->nr_groups, &builder->allocated_groups,
	                  sizeof(*profile->groups)) ||
	    xf_index_add(&builder->group_index, hash, (uint32_t)profile->nr_groups))
		return -ENOMEM;
	*group = &profile->groups[profile->nr_groups++];
	**group = (struct xf_profile_group){
	        .domain = domain, .domid = owner->domid, .vcpu = owner->vcpu, .pcpu = owner->pcpu};
	return 0;
}

static int push(struct builder *builder, struct xf_node_id *node, enum xf_frame_kind kind,
                const char *name)
{
	struct xf_frame_id frame;
	int code = xf_calltree_frame(builder->tree, kind, name, &frame);

	return code ? code : xf_calltree_child(builder->tree, *node, frame, node);
}

static int push_number(struct builder *builder, struct xf_node_id *node, enum xf_frame_kind kind,
                       const char *what, uint32_t number)
{
	char *name;
	int code;

	if (asprintf(&name, "%s %" PRIu32, what, number) < 0)
		return -ENOMEM;
	code = push(builder, node, kind, name);
	free(name);
	return code;
}

/* Where the domain's frame is not below, its name tells the vCPU from another's of that number. */
static int push_vcpu(struct builder *builder, struct xf_node_id *node, const char *domain,
                     uint32_t vcpu)
{
	char *what;
	int code;

	if (builder->options->by_domain)
		return push_number(builder, node, XF_FRAME_VCPU, "vCPU", vcpu);
	if (asprintf(&what, "%s vCPU", domain) < 0)
		return -ENOMEM;
	code = push_number(builder, node, XF_FRAME_VCPU, what, vcpu);
	free(what);
	return code;
}

/* The lowest frames, as asked for, of a sample of @owner; *@group is where it counts, NULL where
   the filters leave it out. */
static int make_owner(struct builder *builder, const struct owner *owner, struct xf_node_id *node,
                      struct xf_profile_group **group)
{
	const struct xf_profile_options *options = builder->options;
	char text[16];
	const char *name = xf_domain_name(builder->recording, owner->domid, owner->tsc, text);
	enum xf_frame_kind kind = owner->domid == XF_DOMID_IDLE ? XF_FRAME_IDLE : XF_FRAME_DOMAIN;
	struct xf_frame_id domain;
	int code;

	*group = NULL;
	*node = XF_CALLTREE_ROOT;
	if (!xf_profile_wants(options, owner->domid, name, owner->pcpu))
		return 0;
	code = xf_calltree_frame(builder->tree, kind, name, &domain);
	if (!code)
		code = find_group(builder, owner, domain, group);
	if (!code && options->by_domain)
		code = xf_calltree_child(builder->tree, *node, domain, node);
	if (!code && options->by_vcpu)
		code = push_vcpu(builder, node, name, owner->vcpu);
	if (!code && options->by_pcpu)
		code = push_number(builder, node, XF_FRAME_PCPU, "pCPU", owner->pcpu);
	return code;
}

/* The same, from memory where possible. */
static int push_owner(struct builder *builder, const struct owner *owner, struct xf_node_id *node,
                      struct xf_profile_group **group)
{
	const struct xf_recording_domain *domain =
	        xf_recording_domain(builder->recording, owner->domid, owner->tsc);
	uint64_t hash = xf_hash_mix(xf_hash_mix(owner->domid, owner->vcpu), owner->pcpu);
	struct known_owner *known = &builder->owners[hash % KNOWN_OWNERS];
	int code;

	if (known->used && known->domid == owner->domid && known->vcpu == owner->vcpu &&
	    known->pcpu == owner->pcpu && known->domain == domain) {
		*node = known->node;
		*group = known->group == NO_GROUP ? NULL : &builder->profile->groups[known->group];
		return 0;
	}
	code = make_owner(builder, owner, node, group);
	if (!code)
		*known = (struct known_owner){
		        .used = true,
		        .domid = owner->domid,
		        .vcpu = owner->vcpu,
		        .pcpu = owner->pcpu,
		        .domain = domain,
		        .node = *node,
		        .group = *group ? (uint32_t)(*group - builder->profile->groups) : NO_GROUP};
	return code;
}

/* ---- Records --------------------------------------------------------------------------------- */

/* Counts @count samples of @node at @tsc. */
static int count_at(struct builder *builder, struct xf_node_id node,
                    const struct xf_profile_group *group, uint64_t tsc, uint32_t count)
{
	struct xf_event event = {.node = node,
	                         .group = (uint32_t)(group - builder->profile->groups),
	                         .count = count};

	xf_calltree_count(builder->tree, node, count);
	if (!builder->options->timeline)
		return 0;
	event.time = xf_recording_time(builder->recording, tsc);
	return xf_timeline_add_ticks(&builder->profile->timeline, event, builder->period);
}

static int add_idle(struct builder *builder, const struct xf_idle_record *idle)
{
	struct owner owner = {.domid = XF_DOMID_IDLE,
	                      .vcpu = idle->pcpu, /* an idle vCPU bears its pCPU's number */
	                      .pcpu = idle->pcpu,
	                      .tsc = idle->tsc};
	struct xf_profile_group *group;
	struct xf_node_id node;
	int code = 0;

	if (!idle->count)
		return 0;
	code = push_owner(builder, &owner, &node, &group);
	if (code)
		return code;
	if (!group)
		return 0;
	code = push(builder, &node, XF_FRAME_IDLE, "[idle]");
	if (code)
		return code;
	group->counts.idle += idle->count;
	return count_at(builder, node, group, idle->tsc, idle->count);
}

/* Its stacks tell the control domain's process also where they are not shown. */
static bool wants_walk(const struct builder *builder, const struct xf_sample *sample)
{
	return !builder->options->without_guests || sample->domid == XF_DOMID_CONTROL;
}

/* Finds the process that a sample belongs to. Return: it, in *@process; NULL where that is not
 * known.
 */
static const struct xf_process *
find_process(struct builder *builder, const struct xf_record *record, struct xf_process *process)
{
	enum xf_switching switching = XF_NOT_SWITCHING;

	if (record->guest.nr && wants_walk(builder, &record->sample))
		switching = xf_guest_frames_switching(builder->guest_frames);
	return xf_tasks_running(&builder->tasks, record, switching, process) ? process : NULL;
}

/* It, above *@node. */
static int push_process(struct builder *builder, const struct xf_sample *sample,
                        const struct xf_process *process, struct xf_profile_group *group,
                        struct xf_node_id *node)
{
	const struct xf_profile_options *options = builder->options;
	const char *name = XF_PROCESS_UNKNOWN;
	char text[128];

	if (!xf_tasks_recorded(&builder->tasks, sample))
		return 0;
	if (process)
		name = xf_process_label(process, options->by_process, text);
	group->counts.processes++;
	group->counts.process_unknown += !process || !process->name;
	return options->processes ? push(builder, node, XF_FRAME_PROCESS, name) : 0;
}

/* The guest's own frames, above *@node. */
static int push_guest(struct builder *builder, const struct xf_record *record,
                      const struct xf_process *process, struct xf_profile_group *group,
                      struct xf_node_id *node)
{
	const struct xf_sample *sample = &record->sample;
	struct xf_guest_frames_pushed pushed = {0};
	char text[16];
	const char *name = xf_domain_name(builder->recording, sample->domid, sample->tsc, text);
	int code =
	        xf_guest_frames_push(builder->guest_frames, record, name, process, node, &pushed);

	group->counts.stacks++;
	group->counts.kernel_incomplete += pushed.incomplete;
	group->counts.user += pushed.user;
	group->counts.user_unknown += pushed.user_unknown;
	group->counts.user_incomplete += pushed.user_incomplete;
	return code;
}

/* Where the vCPU was switched away before its stacks could be read, that is said in their place. */
static int push_switched_away(struct builder *builder, const struct xf_record *record,
                              struct xf_profile_group *group, struct xf_node_id *node)
{
	if (!xf_guest_switched_away(builder->recording, &record->sample))
		return 0;
	group->counts.switched_away++;
	return push(builder, node, XF_FRAME_INCOMPLETE, XF_GUEST_SWITCHED_AWAY);
}

/* The process and the guest's own frames, above *@node. */
static int add_guest(struct builder *builder, const struct xf_record *record,
                     struct xf_profile_group *group, struct xf_node_id *node)
{
	struct xf_process found;
	const struct xf_process *process;
	int code = 0;

	if (record->guest.nr && wants_walk(builder, &record->sample))
		code = xf_guest_frames_walk(builder->guest_frames, record);
	if (code)
		return code;
	process = find_process(builder, record, &found);
	code = push_process(builder, &record->sample, process, group, node);
	if (code || builder->options->without_guests)
		return code;
	return record->guest.nr ? push_guest(builder, record, process, group, node)
	                        : push_switched_away(builder, record, group, node);
}

static int add_sample(struct builder *builder, const struct xf_record *record)
{
	const struct xf_sample *sample = &record->sample;
	bool idle = sample->flags & XF_SAMPLE_IDLE;
	struct owner owner = {.domid = idle ? XF_DOMID_IDLE : sample->domid,
	                      .vcpu = idle ? sample->pcpu : sample->vcpu,
	                      .pcpu = sample->pcpu,
	                      .tsc = sample->tsc};
	struct xf_profile_group *group;
	struct xf_xen_frames_pushed pushed = {0};
	struct xf_node_id node;
	int code = push_owner(builder, &owner, &node, &group);

	if (code)
		return code;
	if (!group)
		return 0;
	if (!idle)
		code = add_guest(builder, record, group, &node);
	if (code)
		return code;
	if (sample->flags & XF_SAMPLE_GUEST) {
		if (!record->guest.nr || builder->options->without_guests)
			code = push(builder, &node, XF_FRAME_GUEST, xf_sample_guest_name(sample));
		group->counts.guest++;
		group->counts.guest_kernel += xf_sample_guest_rip(sample) >> 63;
	} else {
		code = xf_xen_frames_push(builder->xen_frames, record, &node, &pushed);
		group->counts.xen++;
		group->counts.incomplete += pushed.incomplete;
		group->counts.unnamed += pushed.unnamed;
	}
	return code ? code : count_at(builder, node, group, sample->tsc, 1);
}

static int add_records(struct builder *builder)
{
	struct xf_record_iterator iterator = {0};
	struct xf_record record;
	int code = 0;

	while (!code && xf_recording_next(builder->recording, &iterator, &record)) {
		uint64_t tsc = record.type == XF_RECORD_IDLE ? record.idle.tsc : record.sample.tsc;

		if (tsc > builder->last_tsc)
			builder->last_tsc = tsc;
		if (record.type == XF_RECORD_IDLE)
			code = add_idle(builder, &record.idle);
		else
			code = add_sample(builder, &record);
	}
	return code;
}

/* ---- The books ------------------------------------------------------------------------------- */

static int compare_groups(const void *left, const void *right, void *context)
{
	const struct xf_profile_group *a = left;
	const struct xf_profile_group *b = right;
	const struct xf_calltree *tree = context;

	if (a->domain.index != b->domain.index) {
		bool idle_a = xf_calltree_kind(tree, a->domain) == XF_FRAME_IDLE;
		bool idle_b = xf_calltree_kind(tree, b->domain) == XF_FRAME_IDLE;

		if (idle_a != idle_b)
			return idle_a ? 1 : -1;
		return strcmp(xf_calltree_name(tree, a->domain), xf_calltree_name(tree, b->domain));
	}
	if (a->vcpu != b->vcpu)
		return a->vcpu < b->vcpu ? -1 : 1;
	return a->pcpu < b->pcpu ? -1 : a->pcpu > b->pcpu;
}

static const char *text_of(const struct xf_recording *recording, const char *key)
{
	const char *value = xf_recording_info(recording, key);

	return value ? value : "";
}

/* All counts alike, so that none is forgotten. */
static void add_counts(struct xf_profile_counts *sum, const struct xf_profile_counts *counts)
{
	enum {
		NR = sizeof(*sum) / sizeof(uint64_t)
	};
	uint64_t sums[NR], more[NR];

	_Static_assert(sizeof(sums) == sizeof(*sum), "counts and nothing else");
	memcpy(sums, sum, sizeof(sums));
	memcpy(more, counts, sizeof(more));
	for (size_t i = 0; i < NR; i++)
		sums[i] += more[i];
	memcpy(sum, sums, sizeof(sums));
}

void xf_profile_count(struct xf_profile *profile)
{
	for (size_t i = 0; i < profile->nr_groups; i++)
		add_counts(&profile->counts, &profile->groups[i].counts);
	profile->samples = profile->counts.guest + profile->counts.xen + profile->counts.idle +
	                   profile->counts.other;
}

static bool wants_pcpu(const struct builder *builder, uint32_t pcpu)
{
	return builder->options->pcpu == XF_ANY_PCPU || builder->options->pcpu == pcpu;
}

static void count_missing(struct builder *builder)
{
	struct xf_profile *profile = builder->profile;
	size_t nr, nr_skipped;
	const struct xf_pcpu_statistics *statistics =
	        xf_recording_statistics(builder->recording, &nr);
	const struct xf_pcpu_skipped *skipped =
	        xf_recording_skipped(builder->recording, &nr_skipped);

	for (size_t i = 0; i < nr; i++) {
		if (!wants_pcpu(builder, statistics[i].pcpu))
			continue;
		profile->losses.slot += statistics[i].lost_slot;
		profile->losses.nmi += statistics[i].lost_nmi;
		profile->losses.trace += statistics[i].lost_trace;
	}
	profile->lost = profile->losses.slot + profile->losses.nmi + profile->losses.trace;
	for (size_t i = 0; i < nr_skipped; i++) {
		if (wants_pcpu(builder, skipped[i].pcpu))
			profile->skipped += skipped[i].ticks;
	}
	profile->lost_known = nr > 0;
	profile->nr_pcpus = (uint32_t)xf_recording_info_number(builder->recording, "pcpus", nr);
}

/* Return: 0 or -ENOMEM. */
static int keep_books(struct builder *builder)
{
	const struct xf_recording *recording = builder->recording;
	struct xf_profile *profile = builder->profile;
	uint64_t end = xf_recording_info_number(recording, "end.tsc", builder->last_tsc);
	uint64_t start = xf_recording_info_number(recording, "start.tsc", 0);

	xf_profile_count(profile);
	count_missing(builder);
	profile->frequency = xf_recording_info_number(recording, "frequency", 0);
	profile->start_time = xf_recording_start_time(recording);
	start = xf_recording_info_number(recording, "sampling.start.tsc", start);
	end = xf_recording_info_number(recording, "sampling.end.tsc", end);
	profile->duration = xf_recording_time(recording, end);
	profile->state = xf_recording_state(recording);
	profile->host = text_of(recording, "host");
	profile->xen_version = text_of(recording, "xen.version");
	profile->build_id = text_of(recording, "xen.build-id");
	return xf_vcpu_times_add_up(recording, builder->options, start, end, &profile->vcpu_times);
}

/* Groups get their order, and the timeline's events follow them. Return: 0 or -ENOMEM. */
int xf_profile_order_groups(struct xf_profile *profile)
{
	uint32_t *places = calloc(profile->nr_groups, sizeof(*places));
	int code;

	if (!places)
		return -ENOMEM;
	for (size_t i = 0; i < profile->nr_groups; i++)
		profile->groups[i].found = (uint32_t)i;
	qsort_r(profile->groups, profile->nr_groups, sizeof(*profile->groups), compare_groups,
	        profile->tree);
	for (size_t i = 0; i < profile->nr_groups; i++)
		places[profile->groups[i].found] = (uint32_t)i;
	code = xf_timeline_finish(&profile->timeline, places);
	free(places);
	return code;
}

static void free_builder(struct builder *builder)
{
	xf_guest_frames_free(builder->guest_frames);
	xf_inlines_free(&builder->inlines);
	xf_tasks_free(&builder->tasks);
	xf_processes_free(builder->processes);
	xf_xen_frames_free(builder->xen_frames);
	xf_index_free(&builder->group_index);
}

/* Return: 0 or -ENOMEM; free_builder is due in both cases. */
static int start_builder(struct builder *builder)
{
	const struct xf_recording *recording = builder->recording;

	builder->profile = calloc(1, sizeof(*builder->profile));
	builder->tree = xf_calltree_new();
	if (!builder->profile || !builder->tree ||
	    xf_processes_make(xf_recording_processes(recording), xf_recording_tsc_hz(recording),
	                      &builder->processes) ||
	    xf_tasks_make(&builder->tasks, recording, builder->processes))
		return -ENOMEM;
	builder->inlines = (struct xf_inlines){.debug = builder->options->debug,
	                                       .tree = builder->tree,
	                                       .frames = builder->options->inlines};
	builder->guest_frames =
	        xf_guest_frames_new(recording, builder->tools->guest_stacks, builder->processes,
	                            builder->tree, builder->options->guest_addresses);
	builder->xen_frames = xf_xen_frames_new(builder->tools->stacks, builder->tree,
	                                        &builder->inlines, builder->options->addresses);
	return builder->guest_frames && builder->xen_frames ? 0 : -ENOMEM;
}

int xf_profile_tools_make(const struct xf_recording *recording, struct xf_profile_tools *tools,
                          struct xf_error *error)
{
	int code;

	*tools = (struct xf_profile_tools){0};
	code = xf_stacks_new(recording, &tools->stacks, error);
	if (code)
		return code;
	tools->guest_stacks = xf_guest_stacks_new(recording);
	return tools->guest_stacks ? 0 : xf_fail(error, -ENOMEM, "no memory for guests' stacks");
}

void xf_profile_tools_free(struct xf_profile_tools *tools)
{
	xf_stacks_free(tools->stacks);
	xf_guest_stacks_free(tools->guest_stacks);
	*tools = (struct xf_profile_tools){0};
}

static void take_places(struct builder *builder)
{
	builder->profile->places = builder->inlines.places;
	builder->profile->nr_places = builder->inlines.nr_places;
	builder->inlines.places = NULL;
	builder->inlines.nr_places = 0;
}

int xf_profile_build(const struct xf_recording *recording, const struct xf_profile_options *options,
                     struct xf_profile **profile, struct xf_error *error)
{
	struct xf_profile_tools tools;
	int code = xf_profile_tools_make(recording, &tools, error);

	if (!code)
		code = xf_profile_build_with(&tools, recording, options, profile, error);
	xf_profile_tools_free(&tools);
	return code;
}

int xf_profile_build_with(const struct xf_profile_tools *tools,
                          const struct xf_recording *recording,
                          const struct xf_profile_options *options, struct xf_profile **profile,
                          struct xf_error *error)
{
	uint64_t frequency = xf_recording_info_number(recording, "frequency", 0);
	struct builder builder = {.tools = tools,
	                          .recording = recording,
	                          .options = options,
	                          .period = frequency ? 1000000000 / frequency : 0};
	int code;

	code = start_builder(&builder);
	if (code) {
		free_builder(&builder);
		free(builder.profile);
		xf_calltree_free(builder.tree);
		return xf_fail(error, code, "no memory for the profile");
	}
	builder.profile->tree = builder.tree;
	code = add_records(&builder);
	if (!code)
		code = xf_calltree_finish(builder.tree);
	if (!code)
		code = keep_books(&builder);
	if (code) {
		xf_fail(error, code, "no memory for the profile");
	} else {
		if (!builder.profile->samples)
			code = xf_profile_refuse(recording, options, error);
		else if (xf_profile_order_groups(builder.profile) ||
		         (options->addresses && xf_profile_take_images(builder.profile, recording)))
			code = xf_fail(error, -ENOMEM, "no memory for the profile");
	}
	take_places(&builder);
	free_builder(&builder);
	if (code) {
		xf_profile_free(builder.profile);
		return code;
	}
	*profile = builder.profile;
	return 0;
}

const char *xf_profile_place(const struct xf_profile *profile, struct xf_frame_id frame)
{
	return frame.index < profile->nr_places ? profile->places[frame.index] : NULL;
}

uint64_t xf_profile_nanoseconds(const struct xf_profile *profile, uint64_t count)
{
	uint64_t time;

	if (!profile->frequency)
		return 0;
	if (__builtin_mul_overflow(count, 1000000000 / profile->frequency, &time))
		return UINT64_MAX;
	return time;
}

void xf_profile_free(struct xf_profile *profile)
{
	if (!profile)
		return;
	xf_calltree_free(profile->tree);
	xf_timeline_free(&profile->timeline);
	xf_vcpu_times_free(&profile->vcpu_times);
	free(profile->groups);
	free(profile->images);
	for (size_t i = 0; i < profile->nr_places; i++)
		free(profile->places[i]);
	free(profile->places);
	free(profile);
}
