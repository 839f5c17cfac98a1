// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which process of the control domain's was running, and what was mapped in it: a timeline made of
 * events. What is not known stays so; no name is guessed.
 */
#ifndef XF_PROFILE_PROCESSES_H
#define XF_PROFILE_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/guest_maps.h"
#include "profile/process_events.h"

#define XF_DOMID_CONTROL 0 /* the domain whose processes are recorded */

struct xf_processes;

/*
 * Makes the timeline of @events, which are finished and must outlive it; a TSC of @tsc_hz timed the
 * samples. Return: 0 and *@processes, to be freed with xf_processes_free; -ENOMEM.
 */
int xf_processes_make(const struct xf_process_events *events, uint64_t tsc_hz,
                      struct xf_processes **processes);
void xf_processes_free(struct xf_processes *processes);

/* Return: whether there is anything to know: without it no process is to be called unknown. */
bool xf_processes_recorded(const struct xf_processes *processes);

/* A thread at some moment. */
struct xf_process {
	uint32_t pid; /* of the process; 0: the CPU was idle */
	uint32_t tid;
	const char *name;   /* of the process; NULL: not known */
	const char *thread; /* of the thread; NULL: not known */
	/* For xf_processes_mapping. */
	uint32_t space; /* XF_NO_SPACE: nothing is known to be mapped */
	uint64_t time;
	struct xf_guest_looks looks; /* at a process of another domain's */
};

#define XF_NO_SPACE UINT32_MAX

/* The name of what a CPU runs that has nothing to run. */
#define XF_PROCESS_IDLE "swapper"

/* What a kernel's stack says of a switch from one thread to the next, whose stack it is already. */
enum xf_switching {
	XF_NOT_SWITCHING,
	XF_SWITCH_UNTOLD, /* the event that tells of it comes later */
	XF_SWITCH_TOLD,   /* that event is being made: its time may be a little earlier, or later */
};

/* Return: true and who ran on CPU @cpu of the control domain's (its vCPU of that number) at @tsc;
 * false where that is not known. */
bool xf_processes_running(const struct xf_processes *processes, uint32_t cpu, uint64_t tsc,
                          enum xf_switching switching, struct xf_process *process);

/*
 * Return: true and who CPU @cpu was switching to at @tsc, from the thread with number @tid: told is
 * that later, and where the clock is doubted it may seem to be earlier. False where that is not
 * known.
 */
bool xf_processes_after(const struct xf_processes *processes, uint32_t cpu, uint64_t tsc,
                        uint32_t tid, struct xf_process *process);

/*
 * Of the @process that ran at @tsc its numbers and its thread's name are known for certain: fills
 * in what else is known of it. Where the timeline has another name for the thread, it was another
 * program's at that time: then nothing is.
 */
void xf_processes_describe(const struct xf_processes *processes, uint64_t tsc,
                           struct xf_process *process);

#define XF_PROCESS_UNKNOWN "[unknown process]"

/* Return: the name that @process goes by, with its number where @with_pid asks for it; @text has
 * room for what has to be made up. */
const char *xf_process_label(const struct xf_process *process, bool with_pid, char text[128]);

/* Code that is mapped in a process. */
struct xf_mapping {
	uint64_t address;
	uint64_t size;
	uint64_t offset;                    /* in the file, of what is at @address */
	const struct xf_process_file *file; /* NULL: not known */
};

/* Return: true and what @process had mapped at @address; false where no code is known to be there.
 */
bool xf_processes_mapping(const struct xf_processes *processes, const struct xf_process *process,
                          uint64_t address, struct xf_mapping *mapping);

/* Return: whether the mapping is of a file, so that what is there is known by its place in that. */
bool xf_mapping_is_file(const struct xf_mapping *mapping);

/* How code is known that @process has at @address, in @mapping: by its file and offset in it, or by
 * its process and address. Without a file nothing is known of other domains': the process is 0. */
void xf_mapping_place(const struct xf_mapping *mapping, const struct xf_process *process,
                      uint64_t address, uint32_t *file, uint32_t *pid, uint64_t *offset);

#endif
