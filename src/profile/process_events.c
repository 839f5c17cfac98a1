// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/process_events.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "profile/grow.h"

/* ---- Records --------------------------------------------------------------------------------- */

static int add_event(struct xf_process_events *events, const struct xf_process_event *event)
{
	struct xf_process_event *added = XF_GROW(events->events, events->nr);

	if (!added)
		return -ENOMEM;
	*added = *event;
	added->order = events->nr++;
	return 0;
}

static int add_file(struct xf_process_events *events, uint32_t number, struct xf_cursor *content)
{
	struct xf_process_file file = {.number = number, .path = xf_cursor_string(content)};
	struct xf_process_file *added;

	file.build_id_size = xf_cursor_left(content);
	file.build_id = xf_cursor_take(content, file.build_id_size);
	if (content->failed || number == XF_NO_FILE)
		return -EBADMSG;
	added = XF_GROW(events->files, events->nr_files);
	if (!added)
		return -ENOMEM;
	*added = file;
	events->nr_files++;
	return 0;
}

/* Reads what follows the head of an event of a known type. Return: 0 or -EBADMSG. */
static int read_rest(struct xf_process_event *event, struct xf_cursor *content)
{
	switch (event->type) {
	case XF_PROCESS_EXISTS:
	case XF_PROCESS_COMM:
		event->comm = xf_cursor_string(content);
		break;
	case XF_PROCESS_FORK:
		event->parent_tid = xf_cursor_u32(content);
		break;
	case XF_PROCESS_MAP:
		event->map.address = xf_cursor_u64(content);
		event->map.size = xf_cursor_u64(content);
		event->map.offset = xf_cursor_u64(content);
		if (event->map.address + event->map.size < event->map.address)
			return -EBADMSG;
		break;
	case XF_PROCESS_LOST:
		event->until = xf_cursor_u64(content);
		break;
	default:
		break;
	}
	return content->failed ? -EBADMSG : 0;
}

static int read_record(struct xf_process_events *events, const struct xf_process_head *head,
                       struct xf_cursor *content)
{
	struct xf_process_event event = {.type = head->type,
	                                 .pid = head->pid,
	                                 .tid = head->tid,
	                                 .other = head->other,
	                                 .time = head->time};
	int code;

	if (head->type == XF_PROCESS_FILE)
		return add_file(events, head->other, content);
	if (!head->type || head->type > XF_PROCESS_LOST)
		return 0; /* of a later version */
	code = read_rest(&event, content);
	return code ? code : add_event(events, &event);
}

/* A record that makes no sense leaves those after it whole, since its size is known. */
static int read_records(struct xf_process_events *events, struct xf_cursor *content)
{
	int result = 0;

	while (xf_cursor_left(content)) {
		struct xf_process_head head = {.type = xf_cursor_u16(content),
		                               .size = xf_cursor_u16(content),
		                               .pid = xf_cursor_u32(content),
		                               .time = xf_cursor_u64(content),
		                               .tid = xf_cursor_u32(content),
		                               .other = xf_cursor_u32(content)};
		struct xf_cursor rest = xf_cursor_sub(content, head.size);
		int code;

		if (content->failed)
			return -EBADMSG;
		code = read_record(events, &head, &rest);
		if (code == -ENOMEM)
			return code;
		result = code ? code : result;
	}
	return result;
}

/* ---- Tables ---------------------------------------------------------------------------------- */

/* Return: the CPU with that number, below XF_MAX_CPUS, made if need be; NULL without memory. */
static struct xf_process_cpu *find_cpu(struct xf_process_events *events, uint32_t number)
{
	size_t nr = (size_t)number + 1;
	struct xf_process_cpu *grown;

	if (number < events->nr_cpus)
		return &events->cpus[number];
	grown = reallocarray(events->cpus, nr, sizeof(*grown));
	if (!grown)
		return NULL;
	memset(grown + events->nr_cpus, 0, (nr - events->nr_cpus) * sizeof(*grown));
	events->cpus = grown;
	events->nr_cpus = nr;
	return &grown[number];
}

static int read_switches(struct xf_process_events *events, struct xf_cursor *content)
{
	uint32_t number = xf_cursor_u32(content);
	struct xf_process_cpu *cpu;
	size_t nr;

	xf_cursor_u32(content);
	if (content->failed || number >= XF_MAX_CPUS)
		return -EBADMSG;
	nr = xf_cursor_left(content) / sizeof(struct xf_switch);
	cpu = find_cpu(events, number);
	if (!cpu)
		return -ENOMEM;
	if (nr > cpu->allocated - cpu->nr) {
		size_t wanted =
		        2 * cpu->allocated > cpu->nr + nr ? 2 * cpu->allocated : cpu->nr + nr;
		struct xf_switch *grown = reallocarray(cpu->switches, wanted, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		cpu->switches = grown;
		cpu->allocated = wanted;
	}
	if (nr)
		memcpy(cpu->switches + cpu->nr,
		       xf_cursor_take(content, nr * sizeof(struct xf_switch)),
		       nr * sizeof(struct xf_switch));
	cpu->nr += nr;
	return xf_cursor_left(content) ? -EBADMSG : 0;
}

static int read_clock(struct xf_process_events *events, struct xf_cursor *content)
{
	while (xf_cursor_left(content)) {
		struct xf_clock_pair read = {.tsc = xf_cursor_u64(content),
		                             .time = xf_cursor_u64(content),
		                             .width = xf_cursor_u64(content)};
		struct xf_clock_pair *pair;

		if (content->failed)
			return -EBADMSG;
		pair = XF_GROW(events->pairs, events->nr_pairs);
		if (!pair)
			return -ENOMEM;
		*pair = read;
		events->nr_pairs++;
	}
	return 0;
}

int xf_process_events_read(struct xf_process_events *events, enum xf_chunk_type type,
                           struct xf_cursor content)
{
	switch (type) {
	case XF_CHUNK_CLOCK:
		return read_clock(events, &content);
	case XF_CHUNK_PROCESSES:
		return read_records(events, &content);
	case XF_CHUNK_SWITCHES:
		return read_switches(events, &content);
	default:
		return -EBADMSG;
	}
}

/* ---- Order ----------------------------------------------------------------------------------- */

static int compare_events(const void *left, const void *right)
{
	const struct xf_process_event *a = left;
	const struct xf_process_event *b = right;

	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

static int compare_switches(const void *left, const void *right)
{
	const struct xf_switch *a = left;
	const struct xf_switch *b = right;

	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	return a->tid < b->tid ? -1 : a->tid > b->tid;
}

/* As a CPU tells of its switches they are in order: of several at one time that is all that is
 * known of which came first. */
static bool are_in_order(const struct xf_process_cpu *cpu)
{
	for (size_t i = 1; i < cpu->nr; i++)
		if (cpu->switches[i].time < cpu->switches[i - 1].time)
			return false;
	return true;
}

static int compare_files(const void *left, const void *right)
{
	const struct xf_process_file *a = left;
	const struct xf_process_file *b = right;

	if (a->number != b->number)
		return a->number < b->number ? -1 : 1;
	return a->path < b->path ? -1 : a->path > b->path;
}

void xf_process_events_finish(struct xf_process_events *events)
{
	if (events->nr)
		qsort(events->events, events->nr, sizeof(*events->events), compare_events);
	if (events->nr_files)
		qsort(events->files, events->nr_files, sizeof(*events->files), compare_files);
	for (size_t i = 0; i < events->nr_cpus; i++)
		if (!are_in_order(&events->cpus[i]))
			qsort(events->cpus[i].switches, events->cpus[i].nr,
			      sizeof(struct xf_switch), compare_switches);
}

void xf_process_events_free(struct xf_process_events *events)
{
	for (size_t i = 0; i < events->nr_cpus; i++)
		free(events->cpus[i].switches);
	free(events->events);
	free(events->files);
	free(events->cpus);
	free(events->pairs);
	*events = (struct xf_process_events){0};
}

const struct xf_process_file *xf_process_events_file(const struct xf_process_events *events,
                                                     uint32_t number)
{
	size_t low = 0;
	size_t high = events->nr_files;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (events->files[middle].number < number)
			low = middle + 1;
		else
			high = middle;
	}
	return low < events->nr_files && events->files[low].number == number ? &events->files[low]
	                                                                     : NULL;
}
