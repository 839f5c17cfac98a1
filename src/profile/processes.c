// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/processes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/clock.h"
#include "profile/grow.h"
#include "profile/index.h"

#define NONE UINT32_MAX

/* A thread that has told of its end may be preempted on its last steps; a number is not used again
   so soon. */
#define LAST_STEPS_NS 10000000ull

/* So far from a sample the switch that it was taken in may seem to be, by clocks that do not agree;
   and so much at least another switch is to be further from it. */
#define AFTER_NS 2000000ull
#define SURE_NS  10000ull

/* So many mappings are looked at for one address: more than any process has. */
#define MAPS_MAX 16384u

/* What is known of a thread from some moment on, until there is something newer. */
struct state {
	uint64_t from;
	uint64_t born; /* the thread; 0: before somebody looked */
	uint32_t tid;
	uint32_t pid;
	uint32_t order;
	uint32_t space; /* of a process's first thread: its address space; else NONE */
	const char *comm;
	bool existed; /* it was as it is now before somebody looked */
	bool ended;
};

/* An address space. */
struct space {
	uint32_t parent; /* of which it was a copy at first; NONE: it began empty */
	uint64_t from;
	size_t first; /* of its mappings */
	size_t nr;
};

/* When events are lost, what is known may not be so any more. */
struct doubt {
	uint64_t from;
	uint64_t until;
};

struct map {
	uint32_t space;
	uint32_t event; /* index of it: by time */
};

/* While the timeline is made: what a thread is now. */
struct thread {
	uint32_t tid;
	uint32_t state;
};

struct xf_processes {
	const struct xf_process_events *events;
	struct xf_clock clock;
	struct state *states; /* once made: by thread, then by time */
	size_t nr_states;
	struct space *spaces;
	size_t nr_spaces;
	struct map *maps; /* once made: by space, then by time */
	size_t nr_maps;
	struct doubt *doubts; /* by time; none touches the one before it */
	size_t nr_doubts;
};

struct maker {
	struct xf_processes *made;
	struct thread *threads;
	size_t nr_threads;
	struct xf_index index;
};

/* ---- Making it ------------------------------------------------------------------------------- */

/* Return: the thread, NULL where nothing is known of it. */
static struct thread *find_thread(const struct maker *maker, uint32_t tid)
{
	struct xf_index_probe probe = xf_index_probe(&maker->index, xf_hash_mix(0, tid));

	while (maker->threads && xf_index_next(&maker->index, &probe)) {
		if (maker->threads[probe.id].tid == tid)
			return &maker->threads[probe.id];
	}
	return NULL;
}

/* Return: a new thread; NULL without memory. */
static struct thread *add_thread(struct maker *maker, uint32_t tid)
{
	struct thread *thread;

	if (maker->nr_threads >= NONE - 1)
		return NULL;
	thread = XF_GROW(maker->threads, maker->nr_threads);
	if (!thread ||
	    xf_index_add(&maker->index, xf_hash_mix(0, tid), (uint32_t)maker->nr_threads))
		return NULL;
	*thread = (struct thread){.tid = tid, .state = NONE};
	maker->nr_threads++;
	return thread;
}

/* Return: what is known of a thread so far, NULL where that is nothing. */
static const struct state *now(const struct maker *maker, uint32_t tid)
{
	const struct thread *thread = find_thread(maker, tid);

	return thread && thread->state != NONE ? &maker->made->states[thread->state] : NULL;
}

static int add_state(struct maker *maker, const struct state *state)
{
	struct xf_processes *made = maker->made;
	struct thread *thread = find_thread(maker, state->tid);
	struct state kept = *state; /* what it points to may move */
	struct state *added;

	if (!thread)
		thread = add_thread(maker, kept.tid);
	if (!thread || made->nr_states >= NONE - 1)
		return -ENOMEM;
	added = XF_GROW(made->states, made->nr_states);
	if (!added)
		return -ENOMEM;
	*added = kept;
	added->order = thread->state = (uint32_t)made->nr_states++;
	return 0;
}

static int add_space(struct maker *maker, uint32_t parent, uint64_t from, uint32_t *number)
{
	struct xf_processes *made = maker->made;
	struct space *space;

	if (made->nr_spaces >= NONE - 1)
		return -ENOMEM;
	space = XF_GROW(made->spaces, made->nr_spaces);
	if (!space)
		return -ENOMEM;
	*space = (struct space){.parent = parent, .from = from};
	*number = (uint32_t)made->nr_spaces++;
	return 0;
}

static struct state state_of(const struct xf_process_event *event)
{
	return (struct state){
	        .from = event->time, .tid = event->tid, .pid = event->pid, .space = NONE};
}

static int exists(struct maker *maker, const struct xf_process_event *event)
{
	struct state state = state_of(event);
	int code = 0;

	state.comm = event->comm;
	state.existed = !now(maker, event->tid);
	if (event->tid == event->pid)
		code = add_space(maker, NONE, event->time, &state.space);
	return code ? code : add_state(maker, &state);
}

static int fork_thread(struct maker *maker, const struct xf_process_event *event)
{
	const struct state *parent = now(maker, event->parent_tid);
	const struct state *process = now(maker, event->other);
	struct state state = state_of(event);
	int code = 0;

	state.born = event->time;
	if (parent && parent->pid == event->other)
		state.comm = parent->comm;
	if (event->tid == event->pid)
		code = add_space(maker, process ? process->space : NONE, event->time, &state.space);
	return code ? code : add_state(maker, &state);
}

static int name_thread(struct maker *maker, const struct xf_process_event *event)
{
	const struct state *before = now(maker, event->tid);
	struct state state = state_of(event);
	bool process = event->tid == event->pid;
	int code = 0;

	state.comm = event->comm;
	state.born = before ? before->born : 0;
	if (process && !event->other && before && before->pid == event->pid)
		state.space = before->space;
	else if (process)
		code = add_space(maker, NONE, event->time, &state.space);
	return code ? code : add_state(maker, &state);
}

static int end_thread(struct maker *maker, const struct xf_process_event *event)
{
	const struct state *before = now(maker, event->tid);
	struct state state;

	if (!before)
		return 0;
	state = *before;
	state.from = event->time;
	state.existed = false;
	state.ended = true;
	return add_state(maker, &state);
}

static int map_code(struct maker *maker, const struct xf_process_event *event)
{
	const struct state *process = now(maker, event->pid);
	struct xf_processes *made = maker->made;
	struct map *map;

	if (!process || process->space == NONE)
		return 0;
	if (made->nr_maps >= NONE - 1)
		return -ENOMEM;
	map = XF_GROW(made->maps, made->nr_maps);
	if (!map)
		return -ENOMEM;
	*map = (struct map){.space = process->space,
	                    .event = (uint32_t)(event - made->events->events)};
	made->nr_maps++;
	return 0;
}

/* Events come by time, so that only the last doubt can reach into a new one. */
static int add_doubt(struct maker *maker, const struct xf_process_event *event)
{
	struct xf_processes *made = maker->made;
	struct doubt *doubt;

	if (made->nr_doubts) {
		doubt = &made->doubts[made->nr_doubts - 1];
		if (event->time <= doubt->until) {
			doubt->until = event->until > doubt->until ? event->until : doubt->until;
			return 0;
		}
	}
	doubt = XF_GROW(made->doubts, made->nr_doubts);
	if (!doubt)
		return -ENOMEM;
	*doubt = (struct doubt){.from = event->time, .until = event->until};
	made->nr_doubts++;
	return 0;
}

static int take_event(struct maker *maker, const struct xf_process_event *event)
{
	switch (event->type) {
	case XF_PROCESS_EXISTS:
		return exists(maker, event);
	case XF_PROCESS_FORK:
		return fork_thread(maker, event);
	case XF_PROCESS_COMM:
		return name_thread(maker, event);
	case XF_PROCESS_EXIT:
		return end_thread(maker, event);
	case XF_PROCESS_MAP:
		return map_code(maker, event);
	case XF_PROCESS_LOST:
		return add_doubt(maker, event);
	default:
		return 0;
	}
}

static int compare_states(const void *left, const void *right)
{
	const struct state *a = left;
	const struct state *b = right;

	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

static int compare_maps(const void *left, const void *right)
{
	const struct map *a = left;
	const struct map *b = right;

	if (a->space != b->space)
		return a->space < b->space ? -1 : 1;
	return a->event < b->event ? -1 : a->event > b->event;
}

static void put_in_order(struct xf_processes *made)
{
	if (made->nr_states)
		qsort(made->states, made->nr_states, sizeof(*made->states), compare_states);
	if (made->nr_maps)
		qsort(made->maps, made->nr_maps, sizeof(*made->maps), compare_maps);
	for (size_t i = 0; i < made->nr_maps; i++) {
		struct space *space = &made->spaces[made->maps[i].space];

		if (!space->nr++)
			space->first = i;
	}
}

int xf_processes_make(const struct xf_process_events *events, uint64_t tsc_hz,
                      struct xf_processes **processes)
{
	struct maker maker = {.made = calloc(1, sizeof(*maker.made))};
	struct xf_clock clock = {0};
	int code;

	if (!maker.made)
		return -ENOMEM;
	maker.made->events = events;
	code = events->nr < NONE ? xf_clock_make(&clock, events->pairs, events->nr_pairs, tsc_hz)
	                         : -ENOMEM;
	maker.made->clock = clock;
	for (size_t i = 0; !code && i < events->nr; i++)
		code = take_event(&maker, &events->events[i]);
	free(maker.threads);
	xf_index_free(&maker.index);
	if (code) {
		xf_processes_free(maker.made);
		return code;
	}
	put_in_order(maker.made);
	*processes = maker.made;
	return 0;
}

void xf_processes_free(struct xf_processes *processes)
{
	if (!processes)
		return;
	xf_clock_free(&processes->clock);
	free(processes->states);
	free(processes->spaces);
	free(processes->maps);
	free(processes->doubts);
	free(processes);
}

/* ---- Asking it ------------------------------------------------------------------------------- */

bool xf_processes_recorded(const struct xf_processes *processes)
{
	return processes->clock.nr && processes->events->nr_cpus;
}

/* Return: how many switches of @cpu had been at @time. */
static size_t count_switches(const struct xf_process_cpu *cpu, uint64_t time)
{
	size_t low = 0;
	size_t high = cpu->nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (cpu->switches[middle].time <= time)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Return: what @cpu ran at @time, NULL where that is not known. */
static const struct xf_switch *find_switch(const struct xf_process_events *events, uint32_t cpu,
                                           uint64_t time)
{
	size_t nr = cpu < events->nr_cpus ? count_switches(&events->cpus[cpu], time) : 0;

	return nr ? &events->cpus[cpu].switches[nr - 1] : NULL;
}

/* Return: what a thread was at @time, NULL where that is not known. */
static const struct state *find_state(const struct xf_processes *processes, uint32_t tid,
                                      uint64_t time)
{
	const struct state *states = processes->states;
	size_t low = 0;
	size_t high = processes->nr_states;

	/* @low becomes the number of states at or before (tid, time). */
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (states[middle].tid < tid ||
		    (states[middle].tid == tid && states[middle].from <= time))
			low = middle + 1;
		else
			high = middle;
	}
	if (low && states[low - 1].tid == tid)
		return &states[low - 1];
	if (low < processes->nr_states && states[low].tid == tid && states[low].existed)
		return &states[low];
	return NULL;
}

/* Return: whether events have been lost that may have told of what was at @time. */
static bool is_doubtful(const struct xf_processes *processes, uint64_t time)
{
	size_t low = 0;
	size_t high = processes->nr_doubts;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (processes->doubts[middle].from <= time)
			low = middle + 1;
		else
			high = middle;
	}
	return low && time < processes->doubts[low - 1].until;
}

/*
 * Return: what the thread that @ran was at @time, NULL where that is not known. On its last steps
 * its number may be another's already, on another CPU: that one was not there yet when it began to
 * run.
 */
static const struct state *find_ran(const struct xf_processes *processes,
                                    const struct xf_switch *ran, uint64_t time)
{
	const struct state *thread = find_state(processes, ran->tid, time);
	const struct state *before = NULL;

	if (thread && thread->born > ran->time)
		before = find_state(processes, ran->tid, thread->born - 1);
	return before && before->ended && before->from >= ran->time ? before : thread;
}

/* Fills in what is known of the thread that @ran, since @ran->time. */
static void describe(const struct xf_processes *processes, const struct xf_switch *ran,
                     struct xf_process *process)
{
	const struct state *thread = find_ran(processes, ran, process->time);
	const struct state *first = thread;

	if (!thread || thread->pid != ran->pid ||
	    (thread->ended && ran->time > thread->from &&
	     process->time - thread->from > LAST_STEPS_NS))
		return;
	process->thread = thread->comm;
	/* The first thread of a process may end before others; its name and number live on. */
	if (ran->tid != ran->pid)
		first = find_state(processes, ran->pid, process->time);
	if (!first)
		return;
	process->name = first->comm;
	process->space = first->space;
	if (first->from > process->time)
		process->time = first->from;
}

/*
 * Return: what the kernel of @cpu was switching to at @time. It tells of that later, so that it is
 * the next one; or the one before, where @time is only by a doubtful clock later than it was told,
 * or where it may have been @told just before and that is nearer. NULL: either may be.
 */
static const struct xf_switch *find_next(const struct xf_processes *processes, uint32_t cpu,
                                         uint64_t time, uint64_t doubt, bool told)
{
	const struct xf_process_events *events = processes->events;
	const struct xf_process_cpu *found = cpu < events->nr_cpus ? &events->cpus[cpu] : NULL;
	size_t next = found ? count_switches(found, time) : 0;
	uint64_t since = next ? time - found->switches[next - 1].time : UINT64_MAX;
	uint64_t until = UINT64_MAX;

	if (found && next < found->nr)
		until = found->switches[next].time - time;
	if (since <= doubt && until <= doubt)
		return NULL;
	if (since <= doubt || (told && since < until))
		return &found->switches[next - 1];
	return until < UINT64_MAX ? &found->switches[next] : NULL;
}

/* Whether @cpu ran the same thread all through the time that @tsc may have been at. */
static bool is_certain(const struct xf_processes *processes, uint32_t cpu, uint64_t time,
                       uint64_t doubt, const struct xf_switch *ran)
{
	return find_switch(processes->events, cpu, time > doubt ? time - doubt : 0) == ran &&
	       find_switch(processes->events, cpu, time + doubt) == ran;
}

/* Fills in who @ran. Return: false where that is not known. */
static bool tell(const struct xf_processes *processes, const struct xf_switch *ran, uint64_t time,
                 struct xf_process *process)
{
	if (!ran || ran->pid == XF_PID_UNKNOWN)
		return false;
	*process =
	        (struct xf_process){.pid = ran->pid, .tid = ran->tid, .space = NONE, .time = time};
	if (!ran->pid)
		process->name = process->thread = XF_PROCESS_IDLE;
	else if (!is_doubtful(processes, time))
		describe(processes, ran, process);
	return true;
}

/* Return: how far the switch from @tid to the one at @index of @cpu's is from @time; all bits set
 * where it is from another thread. */
static uint64_t distance_of(const struct xf_process_cpu *cpu, size_t index, uint32_t tid,
                            uint64_t time)
{
	const struct xf_switch *next = &cpu->switches[index];

	if (!index || next[-1].tid != tid || next[-1].pid == XF_PID_UNKNOWN)
		return UINT64_MAX;
	return next->time > time ? next->time - time : time - next->time;
}

/* Return: the nearest to @time of the switches of @cpu from @tid; NULL where there is none within
 * AFTER_NS, or another thread may have been the next as well. */
static const struct xf_switch *find_after(const struct xf_process_cpu *cpu, uint32_t tid,
                                          uint64_t time)
{
	uint64_t nearest = AFTER_NS, distance;
	const struct xf_switch *found = NULL;
	size_t first = count_switches(cpu, time > AFTER_NS ? time - AFTER_NS : 0);
	size_t end = count_switches(cpu, time + AFTER_NS);

	for (size_t i = first; i < end; i++) {
		distance = distance_of(cpu, i, tid, time);
		if (distance < nearest) {
			found = &cpu->switches[i];
			nearest = distance;
		}
	}
	for (size_t i = first; found && i < end; i++)
		if (distance_of(cpu, i, tid, time) < 2 * nearest + SURE_NS &&
		    cpu->switches[i].tid != found->tid)
			return NULL;
	return found;
}

bool xf_processes_after(const struct xf_processes *processes, uint32_t cpu, uint64_t tsc,
                        uint32_t tid, struct xf_process *process)
{
	const struct xf_process_events *events = processes->events;
	const struct xf_switch *next;
	uint64_t time;

	if (cpu >= events->nr_cpus || !xf_clock_time(&processes->clock, tsc, &time))
		return false;
	next = find_after(&events->cpus[cpu], tid, time);
	return next && tell(processes, next, next->time, process);
}

bool xf_processes_running(const struct xf_processes *processes, uint32_t cpu, uint64_t tsc,
                          enum xf_switching switching, struct xf_process *process)
{
	const struct xf_switch *ran;
	uint64_t time, doubt;

	if (!xf_clock_time(&processes->clock, tsc, &time))
		return false;
	doubt = xf_clock_doubt(&processes->clock, tsc);
	if (switching != XF_NOT_SWITCHING) {
		ran = find_next(processes, cpu, time, doubt, switching == XF_SWITCH_TOLD);
		time = ran ? ran->time : time;
	} else {
		ran = find_switch(processes->events, cpu, time);
		if (ran && !is_certain(processes, cpu, time, doubt, ran))
			ran = NULL;
	}
	return tell(processes, ran, time, process);
}

void xf_processes_describe(const struct xf_processes *processes, uint64_t tsc,
                           struct xf_process *process)
{
	struct xf_switch ran = {.pid = process->pid, .tid = process->tid};
	struct xf_process described = {.pid = process->pid, .tid = process->tid, .space = NONE};

	if (!xf_clock_time(&processes->clock, tsc, &described.time) ||
	    is_doubtful(processes, described.time))
		return;
	ran.time = described.time;
	describe(processes, &ran, &described);
	if (!described.thread || strcmp(described.thread, process->thread) != 0)
		return;
	process->space = described.space;
	process->time = described.time;
	if (described.name && process->tid != process->pid)
		process->name = described.name;
}

const char *xf_process_label(const struct xf_process *process, bool with_pid, char text[128])
{
	const char *name = process->name ? process->name : XF_PROCESS_UNKNOWN;

	if (!with_pid)
		return name;
	snprintf(text, 128, "%.100s (%" PRIu32 ")", name, process->pid);
	return text;
}

static bool find_guest_mapping(const struct xf_processes *processes,
                               const struct xf_guest_looks *looks, uint64_t address,
                               struct xf_mapping *mapping)
{
	struct xf_guest_map map;

	if (!xf_guest_looks_mapping(looks, address, &map))
		return false;
	*mapping = (struct xf_mapping){.address = map.address,
	                               .size = map.size,
	                               .offset = map.offset,
	                               .file = xf_process_events_file(processes->events, map.file)};
	return true;
}

static bool is_of_guest(const struct xf_process *process)
{
	return process->looks.before || process->looks.after;
}

bool xf_processes_mapping(const struct xf_processes *processes, const struct xf_process *process,
                          uint64_t address, struct xf_mapping *mapping)
{
	const struct xf_process_events *events = processes->events;
	uint32_t number = process->space;
	uint64_t time = process->time;
	unsigned int budget = MAPS_MAX;

	if (is_of_guest(process))
		return find_guest_mapping(processes, &process->looks, address, mapping);
	for (; number != NONE && budget; budget--) {
		const struct space *space = &processes->spaces[number];

		for (size_t i = space->nr; i > 0 && budget; i--, budget--) {
			const struct xf_process_event *event =
			        &events->events[processes->maps[space->first + i - 1].event];

			if (event->time > time || address < event->map.address ||
			    address - event->map.address >= event->map.size)
				continue;
			*mapping = (struct xf_mapping){
			        .address = event->map.address,
			        .size = event->map.size,
			        .offset = event->map.offset,
			        .file = xf_process_events_file(events, event->other)};
			return true;
		}
		time = space->from;
		number = space->parent;
	}
	return false;
}

/* What is mapped without a file's name, as Linux's perf events have it. */
#define ANONYMOUS "//anon"

bool xf_mapping_is_file(const struct xf_mapping *mapping)
{
	return mapping->file && strcmp(mapping->file->path, ANONYMOUS) != 0;
}

void xf_mapping_place(const struct xf_mapping *mapping, const struct xf_process *process,
                      uint64_t address, uint32_t *file, uint32_t *pid, uint64_t *offset)
{
	bool in_file = xf_mapping_is_file(mapping);

	*file = in_file ? mapping->file->number : XF_NO_FILE;
	*pid = in_file || is_of_guest(process) ? 0 : process->pid;
	*offset = in_file ? address - mapping->address + mapping->offset : address;
}
