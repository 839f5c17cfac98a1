// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/live_processes.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/grow.h"
#include "profile/index.h"
#include "profile/process_events.h"

/* Of one interval: four million switches; what is more is folded while the interval lasts. */
#define INTERVAL_MAX (64u << 20)
/* More threads than a control domain has. */
#define THREADS_MAX  (1u << 18)

/* Each CPU's events are told for themselves: one of another CPU's may be told with the next
 * interval that came so much earlier. Until then later ones wait, if they are not too many. */
#define LATE_NS     100000000ull
#define WAITING_MAX 65536u

/* Longer than any thread's name, those of the kernel's workers included. */
#define COMM_BYTES 64u

/* What is known of a thread. */
struct xf_live_thread {
	uint64_t from; /* since when */
	uint64_t told; /* when it was last heard of */
	uint32_t pid;
	uint32_t tid;
	bool named;
	bool ended;
	bool old; /* ended before what was folded last */
	char comm[COMM_BYTES];
};

/* ---- Taking ---------------------------------------------------------------------------------- */

static int begin_chunk(struct xf_buffer *buffer, enum xf_chunk_type type, size_t *at)
{
	const struct xf_chunk_head head = {.type = htole32(type)};

	*at = buffer->used;
	return xf_buffer_add(buffer, &head, sizeof(head));
}

/* A chunk with nothing in it is taken back. */
static void end_chunk(struct xf_buffer *buffer, size_t at)
{
	struct xf_chunk_head head;
	size_t size = buffer->used - at - sizeof(head);

	memcpy(&head, buffer->bytes + at, sizeof(head));
	head.size = htole64(size);
	memcpy(buffer->bytes + at, &head, sizeof(head));
	if (!size)
		buffer->used = at;
}

/* The records that tell of threads. */
static int take_records(struct xf_buffer *buffer, struct xf_cursor *content)
{
	int code = 0;

	while (!code && xf_cursor_left(content)) {
		const uint8_t *record = xf_cursor_take(content, sizeof(struct xf_process_head));
		struct xf_process_head head;

		if (!record)
			break;
		memcpy(&head, record, sizeof(head));
		if (!xf_cursor_take(content, le16toh(head.size)))
			break;
		head.type = le16toh(head.type);
		if (head.type != XF_PROCESS_MAP && head.type != XF_PROCESS_FILE)
			code = xf_buffer_add(buffer, record, sizeof(head) + le16toh(head.size));
	}
	return code;
}

int xf_live_processes_take(struct xf_live_processes *processes, enum xf_chunk_type type,
                           struct xf_cursor content)
{
	size_t size = xf_cursor_left(&content);
	struct xf_buffer *now = &processes->now;
	size_t at;
	int code;

	if (size > INTERVAL_MAX)
		return 0;
	if (now->used + size > INTERVAL_MAX)
		xf_live_processes_turn(processes);
	code = begin_chunk(now, type, &at);
	if (code)
		return code;
	if (type == XF_CHUNK_PROCESSES)
		code = take_records(now, &content);
	else
		code = xf_buffer_add(now, xf_cursor_take(&content, size), size);
	if (code)
		now->used = at;
	else
		end_chunk(now, at);
	return code;
}

/* ---- Folding: threads ------------------------------------------------------------------------ */

struct fold {
	struct xf_live_processes *processes;
	struct xf_index index; /* of threads, by their number */
	bool lost;             /* events are told to have been */
};

static struct xf_live_thread *find_thread(const struct fold *fold, uint32_t tid)
{
	struct xf_index_probe probe = xf_index_probe(&fold->index, xf_hash_mix(0, tid));

	while (xf_index_next(&fold->index, &probe)) {
		if (fold->processes->threads[probe.id].tid == tid)
			return &fold->processes->threads[probe.id];
	}
	return NULL;
}

static int add_thread(struct fold *fold, uint32_t tid, struct xf_live_thread **thread)
{
	struct xf_live_processes *processes = fold->processes;

	*thread = NULL;
	if (processes->nr_threads == THREADS_MAX)
		return 0;
	*thread = XF_GROW(processes->threads, processes->nr_threads);
	if (!*thread ||
	    xf_index_add(&fold->index, xf_hash_mix(0, tid), (uint32_t)processes->nr_threads))
		return -ENOMEM;
	(*thread)->tid = tid;
	processes->nr_threads++;
	return 0;
}

static int begin_fold(struct fold *fold, struct xf_live_processes *processes)
{
	int code = 0;

	*fold = (struct fold){.processes = processes};
	for (size_t i = 0; !code && i < processes->nr_threads; i++) {
		struct xf_live_thread *thread = &processes->threads[i];

		thread->old = thread->ended;
		code = xf_index_add(&fold->index, xf_hash_mix(0, thread->tid), (uint32_t)i);
	}
	return code;
}

static void set_comm(struct xf_live_thread *thread, const char *comm)
{
	thread->named = comm != NULL;
	if (comm)
		memcpy(thread->comm, comm, strnlen(comm, COMM_BYTES - 1));
}

/* Return: the name that a thread has from its parent, as that was then; NULL: none is known. */
static const char *inherited(const struct fold *fold, const struct xf_process_event *event)
{
	const struct xf_live_thread *parent = find_thread(fold, event->parent_tid);

	if (!parent || !parent->named || parent->pid != event->other || parent->from > event->time)
		return NULL;
	return parent->comm;
}

/* What is told later than what came after it tells nothing new: each CPU's events are told for
   themselves. */
static int change_thread(struct fold *fold, const struct xf_process_event *event)
{
	struct xf_live_thread *thread = find_thread(fold, event->tid);
	bool known = thread != NULL;
	struct xf_live_thread made = {.from = event->time,
	                              .told = event->time,
	                              .pid = event->pid,
	                              .tid = event->tid,
	                              .ended = event->type == XF_PROCESS_EXIT};
	int code = 0;

	if (known && event->time < thread->from)
		return 0;
	if (event->type == XF_PROCESS_EXIT)
		set_comm(&made, known && thread->named ? thread->comm : NULL);
	else if (event->type == XF_PROCESS_FORK)
		set_comm(&made, inherited(fold, event));
	else
		set_comm(&made, event->comm);
	if (!known)
		code = add_thread(fold, event->tid, &thread);
	if (thread)
		*thread = made;
	return code;
}

static void note_loss(struct fold *fold, const struct xf_process_event *event)
{
	uint64_t *from = &fold->processes->lost_from;

	fold->lost = true;
	if (!*from || event->time < *from)
		*from = event->time;
}

static int take_event(struct fold *fold, const struct xf_process_event *event)
{
	switch (event->type) {
	case XF_PROCESS_EXISTS:
	case XF_PROCESS_FORK:
	case XF_PROCESS_COMM:
	case XF_PROCESS_EXIT:
		return change_thread(fold, event);
	case XF_PROCESS_LOST:
		note_loss(fold, event);
		return 0;
	default:
		return 0;
	}
}

static int compare_threads(const void *left, const void *right)
{
	const struct xf_live_thread *a = left;
	const struct xf_live_thread *b = right;

	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	return a->tid < b->tid ? -1 : a->tid > b->tid;
}

/* Return: whether a thread is still there, by what is known; after all have been @looked at anew,
 * only if it was seen then. */
static bool is_there(const struct xf_live_processes *processes, const struct xf_live_thread *thread,
                     bool looked)
{
	return !thread->ended && !(looked && thread->told < processes->lost_from);
}

/* Forgets those of one process's @nr threads that are gone. One that has ended is kept for a while,
 * lest an event that is told later make it anew; the first one as long as there are others. */
static size_t drop_gone(const struct xf_live_processes *processes, struct xf_live_thread *threads,
                        size_t nr, bool looked)
{
	bool others = false;
	size_t kept = 0;

	for (size_t i = 0; i < nr; i++)
		others |= is_there(processes, &threads[i], looked);
	for (size_t i = 0; i < nr; i++) {
		bool first = threads[i].tid == threads[i].pid && others;

		if (is_there(processes, &threads[i], looked) ||
		    (threads[i].ended && (!threads[i].old || first)))
			threads[kept++] = threads[i];
	}
	return kept;
}

static void drop_all_gone(struct fold *fold)
{
	struct xf_live_processes *processes = fold->processes;
	struct xf_live_thread *threads = processes->threads;
	bool looked = processes->lost_from && !fold->lost;
	size_t kept = 0;

	if (processes->nr_threads)
		qsort(threads, processes->nr_threads, sizeof(*threads), compare_threads);
	for (size_t first = 0, end; first < processes->nr_threads; first = end) {
		size_t left;

		for (end = first + 1; end < processes->nr_threads; end++) {
			if (threads[end].pid != threads[first].pid)
				break;
		}
		left = drop_gone(processes, threads + first, end - first, looked);
		memmove(threads + kept, threads + first, left * sizeof(*threads));
		kept += left;
	}
	processes->nr_threads = kept;
	if (looked)
		processes->lost_from = 0;
}

/* Return: how many of @events, which are in order, cannot follow others that are still to come. */
static size_t count_settled(const struct xf_process_events *events)
{
	uint64_t latest = 0;
	size_t nr = 0;

	for (size_t i = 0; i < events->nr_pairs; i++)
		latest = events->pairs[i].time > latest ? events->pairs[i].time : latest;
	while (nr < events->nr &&
	       (events->events[nr].time > latest || latest - events->events[nr].time >= LATE_NS))
		nr++;
	return events->nr - nr > WAITING_MAX ? events->nr : nr;
}

static int fold_threads(struct xf_live_processes *processes, const struct xf_process_events *events,
                        size_t settled)
{
	struct fold fold;
	int code = begin_fold(&fold, processes);

	for (size_t i = 0; !code && i < settled; i++)
		code = take_event(&fold, &events->events[i]);
	for (size_t i = settled; i < events->nr; i++)
		fold.lost |= events->events[i].type == XF_PROCESS_LOST;
	xf_index_free(&fold.index);
	if (!code)
		drop_all_gone(&fold);
	return code;
}

/* ---- Records --------------------------------------------------------------------------------- */

static int write_record(struct xf_buffer *out, const struct xf_process_event *event,
                        const void *rest, size_t size)
{
	const struct xf_process_head head = {.type = htole16((uint16_t)event->type),
	                                     .size = htole16((uint16_t)size),
	                                     .pid = htole32(event->pid),
	                                     .time = htole64(event->time),
	                                     .tid = htole32(event->tid),
	                                     .other = htole32(event->other)};
	int code = xf_buffer_add(out, &head, sizeof(head));

	return code ? code : xf_buffer_add(out, rest, size);
}

static int write_event(struct xf_buffer *out, const struct xf_process_event *event)
{
	const uint32_t parent = htole32(event->parent_tid);
	const uint64_t until = htole64(event->until);

	switch (event->type) {
	case XF_PROCESS_EXISTS:
	case XF_PROCESS_COMM:
		return write_record(out, event, event->comm, strlen(event->comm) + 1);
	case XF_PROCESS_FORK:
		return write_record(out, event, &parent, sizeof(parent));
	case XF_PROCESS_LOST:
		return write_record(out, event, &until, sizeof(until));
	default:
		return write_record(out, event, "", 0);
	}
}

/* ---- Folding: CPUs and clocks ---------------------------------------------------------------- */

static int fold_cpus(struct xf_live_processes *processes, const struct xf_process_events *events)
{
	struct xf_switch *grown;

	if (events->nr_cpus > processes->nr_cpus) {
		grown = reallocarray(processes->cpus, events->nr_cpus, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		memset(grown + processes->nr_cpus, 0,
		       (events->nr_cpus - processes->nr_cpus) * sizeof(*grown));
		processes->cpus = grown;
		processes->nr_cpus = events->nr_cpus;
	}
	for (size_t i = 0; i < events->nr_cpus; i++) {
		const struct xf_process_cpu *cpu = &events->cpus[i];

		if (cpu->nr && cpu->switches[cpu->nr - 1].time >= processes->cpus[i].time)
			processes->cpus[i] = cpu->switches[cpu->nr - 1];
	}
	return 0;
}

static void fold_clocks(struct xf_live_processes *processes, const struct xf_process_events *events)
{
	size_t room = XF_LIVE_CLOCKS;
	size_t nr = events->nr_pairs < room ? events->nr_pairs : room;
	size_t old = processes->nr_clocks < room - nr ? processes->nr_clocks : room - nr;

	memmove(processes->clocks, processes->clocks + processes->nr_clocks - old,
	        old * sizeof(*processes->clocks));
	if (nr)
		memcpy(processes->clocks + old, events->pairs + events->nr_pairs - nr,
		       nr * sizeof(*processes->clocks));
	processes->nr_clocks = old + nr;
}

/* Reads the chunks that have been taken; what makes no sense in them is left out. Return: 0 or
 * -ENOMEM. */
static int read_events(const struct xf_buffer *chunks, struct xf_process_events *events)
{
	struct xf_cursor cursor = xf_cursor_over(chunks->bytes, chunks->used);
	int code = 0;

	while (code != -ENOMEM && xf_cursor_left(&cursor)) {
		uint32_t type = xf_cursor_u32(&cursor);
		uint64_t size;

		xf_cursor_u32(&cursor);
		size = xf_cursor_u64(&cursor);
		code = xf_process_events_read(events, (enum xf_chunk_type)type,
		                              xf_cursor_sub(&cursor, size));
	}
	xf_process_events_finish(events);
	return code == -ENOMEM ? code : 0;
}

/* Those that are not settled are told of in the interval before this one. Return: 0 or -ENOMEM. */
static int keep_waiting(struct xf_live_processes *processes, const struct xf_process_events *events,
                        size_t settled)
{
	size_t at;
	int code = begin_chunk(&processes->now, XF_CHUNK_PROCESSES, &at);

	if (code)
		return code;
	for (size_t i = settled; !code && i < events->nr; i++)
		code = write_event(&processes->now, &events->events[i]);
	end_chunk(&processes->now, at);
	return code;
}

static void forget_history(struct xf_live_processes *processes)
{
	processes->nr_threads = processes->nr_cpus = processes->nr_clocks = 0;
	processes->lost_from = 0;
}

void xf_live_processes_turn(struct xf_live_processes *processes)
{
	struct xf_process_events events = {0};
	struct xf_buffer folded = processes->before;
	int code = read_events(&folded, &events);
	size_t settled = count_settled(&events);

	if (!code)
		code = fold_threads(processes, &events, settled);
	if (!code)
		code = keep_waiting(processes, &events, settled);
	if (!code)
		code = fold_cpus(processes, &events);
	if (!code)
		fold_clocks(processes, &events);
	xf_process_events_free(&events);
	folded.used = 0;
	processes->before = processes->now;
	processes->now = folded;
	if (code) {
		forget_history(processes);
		processes->before.used = 0;
	}
}

/* ---- Telling --------------------------------------------------------------------------------- */

/* By events from which the same follows as did from those that there were. */
static int write_thread(struct xf_buffer *out, const struct xf_live_thread *thread)
{
	struct xf_process_event event = {
	        .pid = thread->pid, .tid = thread->tid, .time = thread->from};
	int code;

	event.type = thread->named ? XF_PROCESS_COMM : XF_PROCESS_FORK;
	if (thread->named)
		event.comm = thread->comm;
	code = write_event(out, &event);
	event.type = XF_PROCESS_EXIT;
	return code || !thread->ended ? code : write_event(out, &event);
}

static int write_threads(const struct xf_live_processes *processes, struct xf_buffer *out)
{
	size_t at;
	int code = begin_chunk(out, XF_CHUNK_PROCESSES, &at);

	if (code)
		return code;
	for (size_t i = 0; !code && i < processes->nr_threads; i++)
		code = write_thread(out, &processes->threads[i]);
	end_chunk(out, at);
	return code;
}

static int write_cpu(struct xf_buffer *out, uint32_t number, const struct xf_switch *ran)
{
	const uint32_t head[2] = {htole32(number), 0};
	size_t at;
	int code = begin_chunk(out, XF_CHUNK_SWITCHES, &at);

	if (code)
		return code;
	code = xf_buffer_add(out, head, sizeof(head));
	if (!code)
		code = xf_buffer_add(out, ran, sizeof(*ran));
	end_chunk(out, at);
	return code;
}

static int write_clocks(const struct xf_live_processes *processes, struct xf_buffer *out)
{
	size_t at;
	int code = begin_chunk(out, XF_CHUNK_CLOCK, &at);

	if (code)
		return code;
	code = xf_buffer_add(out, processes->clocks,
	                     processes->nr_clocks * sizeof(*processes->clocks));
	end_chunk(out, at);
	return code;
}

int xf_live_processes_write(const struct xf_live_processes *processes, struct xf_buffer *out)
{
	int code = write_clocks(processes, out);

	if (!code)
		code = write_threads(processes, out);
	for (size_t i = 0; !code && i < processes->nr_cpus; i++) {
		if (processes->cpus[i].time)
			code = write_cpu(out, (uint32_t)i, &processes->cpus[i]);
	}
	if (!code)
		code = xf_buffer_add(out, processes->before.bytes, processes->before.used);
	return code ? code : xf_buffer_add(out, processes->now.bytes, processes->now.used);
}

void xf_live_processes_free(struct xf_live_processes *processes)
{
	xf_buffer_free(&processes->before);
	xf_buffer_free(&processes->now);
	free(processes->threads);
	free(processes->cpus);
	*processes = (struct xf_live_processes){0};
}
