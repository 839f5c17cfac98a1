// SPDX-License-Identifier: GPL-2.0-or-later
/* From the stack of a process, at a sample, to named frames. */
#ifndef XF_PROFILE_USER_STACKS_H
#define XF_PROFILE_USER_STACKS_H

#include <stddef.h>
#include <stdint.h>

#include "profile/guest_stacks.h"
#include "profile/processes.h"
#include "profile/recording.h"
#include "profile/stacks.h"
#include "profile/user_code.h"
#include "unwind/unwind.h"

/* Frames of a process. Its stack is captured as far as 16 KiB. */
#define XF_USER_STACK_MAX 256u

/* What walks go by; all of it outlives them. */
struct xf_user_stacks {
	const struct xf_processes *processes;
	const struct xf_user_places *places;
};

/* Innermost frame first. */
struct xf_user_trace {
	struct xf_process process;
	struct xf_frame frames[XF_USER_STACK_MAX];
	size_t nr;              /* 0: it is not known where it was */
	const char *incomplete; /* why outer frames are missing; NULL: none are */
};

/* Where @process was, which called the kernel whose frames @kernel has, or was running, at the
 * sample
 * @record. NULL: it is not known which one it was. */
void xf_user_stacks_walk(const struct xf_user_stacks *stacks, const struct xf_record *record,
                         const struct xf_guest_trace *kernel, const struct xf_process *process,
                         struct xf_user_trace *trace);

/* Names a frame of a @trace: what has no name is "[FILE]+0xOFFSET". Return: the path of the file
 * that it is in, owned by the recording; NULL where that is not known. */
const char *xf_user_stacks_name(const struct xf_user_stacks *stacks,
                                const struct xf_user_trace *trace, struct xf_frame frame,
                                struct xf_place *place);

/* Return: the address of a frame as profile/guest_code.h has it; 0 where it is in no known file. */
uint64_t xf_user_stacks_code(const struct xf_user_stacks *stacks, const struct xf_user_trace *trace,
                             struct xf_frame frame);

/* The name of what stands where outer frames of a process are missing, with the reason. */
#define XF_USER_INCOMPLETE "[user incomplete: %s]"

#endif
