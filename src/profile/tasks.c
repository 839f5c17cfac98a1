// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/tasks.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "profile/grow.h"
#include "profile/index.h"

/* Of Linux's stacks for tasks on x86-64. */
#define KERNEL_BYTES 16384u

/* Stacks on which kernels are entered (Documentation/arch/x86/x86_64/mm.rst): they say nothing, and
 * no task is switched to on them. */
#define ENTRY_STACKS     0xfffffe0000000000ull
#define ENTRY_STACKS_END 0xfffffe8000000000ull

/* So many threads that had the same stack, one after the other, are told apart. */
#define MOST_ON_STACK 64u

/* Linux's PID_MAX_LIMIT: numbers are below it. */
#define NUMBERS_END 0x400000u

/* The task was read by the layout of a kernel that the domain may not have been running. */
static bool is_kernel_known(const struct xf_recording *recording, const struct xf_sample *sample)
{
	const struct xf_recording_kernel_of *said =
	        xf_kernels_said_of(xf_recording_kernels(recording), sample->domid, sample->tsc);

	return said && said->kernel != XF_NO_KERNEL;
}

/*
 * The stack that the kernel runs on is its current task's, or for interrupts, and leads there: but
 * for the middle of a switch, and where all of it is a lie. In a process there is none.
 */
static bool is_on_stack(const struct xf_guest_pieces *pieces, uint64_t stack)
{
	struct xf_guest_piece piece;
	bool in_kernel = false;

	for (unsigned int i = 0; i < pieces->nr; i++) {
		xf_guest_pieces_read(pieces, i, &piece);
		if (piece.stack.mode != XF_GUEST_KERNEL ||
		    (piece.stack.rsp >= ENTRY_STACKS && piece.stack.rsp < ENTRY_STACKS_END))
			continue;
		in_kernel = true;
		if (piece.stack.rsp - stack < KERNEL_BYTES)
			return true;
	}
	return !in_kernel;
}

static bool is_sound(const struct xf_guest_task *task)
{
	return task->pid < NUMBERS_END && task->tgid < NUMBERS_END && !task->pid == !task->tgid &&
	       memchr(task->comm, '\0', sizeof(task->comm));
}

/* Return: whether the kernel told which task was its current one. */
static bool read_task(const struct xf_recording *recording, const struct xf_record *record,
                      struct xf_guest_task *task)
{
	return xf_guest_pieces_task(&record->guest, task) && is_sound(task) &&
	       is_kernel_known(recording, &record->sample);
}

/* Of the looks at its process those count that are of the same time of its kernel: another domain
 * may have had its number before. */
static struct xf_guest_looks find_looks(const struct xf_recording *recording,
                                        const struct xf_sample *sample, uint32_t pid)
{
	const struct xf_kernels *kernels = xf_recording_kernels(recording);
	const struct xf_recording_kernel_of *now =
	        xf_kernels_said_of(kernels, sample->domid, sample->tsc);
	struct xf_guest_looks looks =
	        xf_guest_maps_find(xf_recording_guest_maps(recording), sample, pid);

	if (looks.before &&
	    xf_kernels_said_of(kernels, sample->domid, looks.before->head.tsc) != now)
		looks.before = NULL;
	if (looks.after && xf_kernels_said_of(kernels, sample->domid, looks.after->head.tsc) != now)
		looks.after = NULL;
	return looks;
}

/* Fills in the thread that a kernel has named, whose process it is of, at @sample. */
static void tell(const struct xf_tasks *tasks, const struct xf_sample *sample, uint32_t tgid,
                 uint32_t pid, const char *comm, struct xf_process *process)
{
	*process = (struct xf_process){.pid = tgid, .tid = pid, .space = XF_NO_SPACE};
	process->thread = process->name = pid ? comm : XF_PROCESS_IDLE;
	if (sample->domid != XF_DOMID_CONTROL)
		process->looks = find_looks(tasks->recording, sample, tgid);
	else if (pid)
		xf_processes_describe(tasks->processes, sample->tsc, process);
}

static const char *comm_of(const struct xf_record *record)
{
	return (const char *)record->guest.task + offsetof(struct xf_guest_task, comm);
}

/* Return: whether the kernel's word is to be believed. */
static bool find_task(const struct xf_tasks *tasks, const struct xf_record *record,
                      struct xf_process *process)
{
	struct xf_guest_task task;

	if (!read_task(tasks->recording, record, &task) || !is_on_stack(&record->guest, task.stack))
		return false;
	tell(tasks, &record->sample, task.tgid, task.pid, comm_of(record), process);
	return true;
}

/* ---- By the stack ---------------------------------------------------------------------------- */

/*
 * A thread whose stack this was, from its first sample to its last one. In the midst of a switch
 * the stack is the next thread's already, while the kernel still names the one before: other
 * samples on the same stack say whose it is.
 */
struct xf_tasks_on_stack {
	uint64_t stack;
	uint64_t first, last; /* TSC */
	const char *comm;
	uint32_t pid, tgid;
	uint16_t domid;
};

/* Return: whether the sample is in a kernel, and the stack of the task that it was on. */
static bool find_stack(const struct xf_guest_pieces *pieces, uint64_t *stack)
{
	struct xf_guest_piece piece;
	bool found = false;

	/* Those for interrupts lead to it. */
	for (unsigned int i = 0; i < pieces->nr; i++) {
		xf_guest_pieces_read(pieces, i, &piece);
		if (piece.stack.mode != XF_GUEST_KERNEL)
			break;
		*stack = piece.stack.rsp & ~(uint64_t)(KERNEL_BYTES - 1);
		found = true;
	}
	return found;
}

static bool is_same_thread(const struct xf_tasks_on_stack *a, const struct xf_tasks_on_stack *b)
{
	return a->domid == b->domid && a->stack == b->stack && a->pid == b->pid &&
	       a->tgid == b->tgid && strcmp(a->comm, b->comm) == 0;
}

static int add_on_stack(struct xf_tasks *tasks, struct xf_index *index,
                        const struct xf_tasks_on_stack *seen)
{
	uint64_t hash = xf_hash_mix(xf_hash_mix(seen->stack, seen->domid), seen->pid);
	struct xf_index_probe probe = xf_index_probe(index, hash);
	struct xf_tasks_on_stack *added;

	while (xf_index_next(index, &probe)) {
		struct xf_tasks_on_stack *known = &tasks->on_stacks[probe.id];

		if (!is_same_thread(known, seen))
			continue;
		known->first = seen->first < known->first ? seen->first : known->first;
		known->last = seen->last > known->last ? seen->last : known->last;
		return 0;
	}
	if (tasks->nr_on_stacks >= UINT32_MAX - 1)
		return -ENOMEM;
	added = XF_GROW(tasks->on_stacks, tasks->nr_on_stacks);
	if (!added || xf_index_add(index, hash, (uint32_t)tasks->nr_on_stacks))
		return -ENOMEM;
	*added = *seen;
	tasks->nr_on_stacks++;
	return 0;
}

static int take_record(struct xf_tasks *tasks, struct xf_index *index,
                       const struct xf_record *record)
{
	const struct xf_sample *sample = &record->sample;
	struct xf_tasks_on_stack seen = {
	        .first = sample->tsc, .last = sample->tsc, .domid = sample->domid};
	struct xf_guest_task task;

	if (record->type != XF_RECORD_SAMPLE || !read_task(tasks->recording, record, &task) ||
	    !find_stack(&record->guest, &seen.stack) || seen.stack != task.stack || !task.pid)
		return 0;
	seen.comm = comm_of(record);
	seen.pid = task.pid;
	seen.tgid = task.tgid;
	return add_on_stack(tasks, index, &seen);
}

static int compare_on_stacks(const void *left, const void *right)
{
	const struct xf_tasks_on_stack *a = left;
	const struct xf_tasks_on_stack *b = right;

	if (a->domid != b->domid)
		return a->domid < b->domid ? -1 : 1;
	if (a->stack != b->stack)
		return a->stack < b->stack ? -1 : 1;
	return a->first < b->first ? -1 : a->first > b->first;
}

int xf_tasks_make(struct xf_tasks *tasks, const struct xf_recording *recording,
                  const struct xf_processes *processes)
{
	struct xf_record_iterator iterator = {0};
	struct xf_index index = {0};
	struct xf_record record;
	int code = 0;

	*tasks = (struct xf_tasks){.recording = recording, .processes = processes};
	if (!xf_recording_info(recording, "tasks"))
		return 0;
	while (!code && xf_recording_next(recording, &iterator, &record))
		code = take_record(tasks, &index, &record);
	xf_index_free(&index);
	if (code) {
		xf_tasks_free(tasks);
		return code;
	}
	if (tasks->nr_on_stacks)
		qsort(tasks->on_stacks, tasks->nr_on_stacks, sizeof(*tasks->on_stacks),
		      compare_on_stacks);
	return 0;
}

void xf_tasks_free(struct xf_tasks *tasks)
{
	free(tasks->on_stacks);
	tasks->on_stacks = NULL;
	tasks->nr_on_stacks = 0;
}

/* Return: the one thread that was seen on @stack before and after @tsc; NULL where that is none, or
 * may be several. */
static const struct xf_tasks_on_stack *find_on_stack(const struct xf_tasks *tasks, uint16_t domid,
                                                     uint64_t stack, uint64_t tsc)
{
	const struct xf_tasks_on_stack wanted = {.domid = domid, .stack = stack};
	const struct xf_tasks_on_stack *found = NULL;
	size_t low = 0, high = tasks->nr_on_stacks;

	/* @low becomes the number of those on other stacks before. */
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_on_stacks(&tasks->on_stacks[middle], &wanted) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (unsigned int i = 0; low < tasks->nr_on_stacks; low++, i++) {
		const struct xf_tasks_on_stack *on = &tasks->on_stacks[low];

		if (on->domid != domid || on->stack != stack || on->first > tsc)
			break;
		if (i == MOST_ON_STACK || (on->last >= tsc && found))
			return NULL;
		if (on->last >= tsc)
			found = on;
	}
	return found;
}

static bool find_by_stack(const struct xf_tasks *tasks, const struct xf_record *record,
                          struct xf_process *process)
{
	const struct xf_sample *sample = &record->sample;
	const struct xf_tasks_on_stack *on = NULL;
	uint64_t stack;

	if (find_stack(&record->guest, &stack))
		on = find_on_stack(tasks, sample->domid, stack, sample->tsc);
	if (on)
		tell(tasks, sample, on->tgid, on->pid, on->comm, process);
	return on;
}

/* ---- By the clock ---------------------------------------------------------------------------- */

/* By the timeline. In the midst of a switch the kernel's word is which thread it is from. */
static bool find_by_clock(const struct xf_tasks *tasks, const struct xf_record *record,
                          enum xf_switching switching, struct xf_process *process)
{
	const struct xf_sample *sample = &record->sample;
	struct xf_guest_task task;

	if (switching == XF_SWITCH_UNTOLD && read_task(tasks->recording, record, &task))
		return xf_processes_after(tasks->processes, sample->vcpu, sample->tsc, task.pid,
		                          process);
	return xf_processes_running(tasks->processes, sample->vcpu, sample->tsc, switching,
	                            process);
}

bool xf_tasks_recorded(const struct xf_tasks *tasks, const struct xf_sample *sample)
{
	if (sample->domid == XF_DOMID_CONTROL && xf_processes_recorded(tasks->processes))
		return true;
	/* Asked of every sample: what costs less comes first, and is mostly the answer. */
	return is_kernel_known(tasks->recording, sample) &&
	       xf_recording_reads_tasks(tasks->recording, sample->domid);
}

bool xf_tasks_running(const struct xf_tasks *tasks, const struct xf_record *record,
                      enum xf_switching switching, struct xf_process *process)
{
	if (find_task(tasks, record, process))
		return true;
	if (switching == XF_SWITCH_UNTOLD && is_kernel_known(tasks->recording, &record->sample) &&
	    find_by_stack(tasks, record, process))
		return true;
	return record->sample.domid == XF_DOMID_CONTROL &&
	       find_by_clock(tasks, record, switching, process);
}
