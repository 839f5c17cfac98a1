// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which process of a guest's was running at a sample, by all that is recorded of it: what its
 * kernel itself said there, or else, of the control domain's, the timeline of its processes. What
 * is not known stays so; no name is guessed.
 */
#ifndef XF_PROFILE_TASKS_H
#define XF_PROFILE_TASKS_H

#include <stdbool.h>

#include "profile/processes.h"
#include "profile/recording.h"

/* What is asked; both outlive it. */
struct xf_tasks {
	const struct xf_recording *recording;
	const struct xf_processes *processes; /* of the same */
};

/* Return: whether it is recorded which processes the domain of @sample ran at its time: otherwise
 * none of its is to be called unknown. */
bool xf_tasks_recorded(const struct xf_tasks *tasks, const struct xf_sample *sample);

/*
 * Return: true and which one was running at the sample @record; false where that is not known.
 * @switching is what the kernel's stack says, where it has been walked. Names are owned by the
 * recording.
 */
bool xf_tasks_running(const struct xf_tasks *tasks, const struct xf_record *record,
                      enum xf_switching switching, struct xf_process *process);

#endif
