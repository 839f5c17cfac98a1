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

struct xf_tasks_on_stack;

/* What is asked. Made with xf_tasks_make, freed with xf_tasks_free. */
struct xf_tasks {
	const struct xf_recording *recording;
	const struct xf_processes *processes; /* of the same */
	/* Which threads the kernels' stacks were seen to be of: by domain and stack, then by time.
	 */
	struct xf_tasks_on_stack *on_stacks;
	size_t nr_on_stacks;
};

/* Makes what is asked of @recording and its @processes, which both outlive it. Return: 0 or
 * -ENOMEM. */
int xf_tasks_make(struct xf_tasks *tasks, const struct xf_recording *recording,
                  const struct xf_processes *processes);
void xf_tasks_free(struct xf_tasks *tasks);

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
