// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/tasks.h"

#include <stddef.h>
#include <string.h>

/* Of Linux's stacks for tasks on x86-64. */
#define KERNEL_BYTES 16384u

/* Stacks on which kernels are entered (Documentation/arch/x86/x86_64/mm.rst): they say nothing, and
 * no task is switched to on them. */
#define ENTRY_STACKS     0xfffffe0000000000ull
#define ENTRY_STACKS_END 0xfffffe8000000000ull

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

/* Return: whether that is to be believed. */
static bool find_task(const struct xf_recording *recording, const struct xf_record *record,
                      struct xf_process *process)
{
	struct xf_guest_task task;

	if (!read_task(recording, record, &task) || !is_on_stack(&record->guest, task.stack))
		return false;
	*process = (struct xf_process){.pid = task.tgid, .tid = task.pid, .space = XF_NO_SPACE};
	process->thread = (const char *)record->guest.task + offsetof(struct xf_guest_task, comm);
	if (!task.pid)
		process->thread = XF_PROCESS_IDLE;
	process->name = process->thread;
	if (record->sample.domid != XF_DOMID_CONTROL)
		process->looks = find_looks(recording, &record->sample, task.tgid);
	return true;
}

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
	const struct xf_sample *sample = &record->sample;
	bool control = sample->domid == XF_DOMID_CONTROL;

	if (!find_task(tasks->recording, record, process))
		return control && find_by_clock(tasks, record, switching, process);
	if (control && process->pid)
		xf_processes_describe(tasks->processes, sample->tsc, process);
	return true;
}
