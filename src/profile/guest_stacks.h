// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * From a guest's stacks at a sample to named frames: the tables and names of the kernels of one
 * recording, each made when it is first needed.
 */
#ifndef XF_PROFILE_GUEST_STACKS_H
#define XF_PROFILE_GUEST_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/processes.h"
#include "profile/recording.h"
#include "profile/stacks.h"
#include "unwind/unwind.h"

/* Frames of a guest's kernel. More of them cannot be honest: its stack has 16 KiB. */
#define XF_GUEST_STACK_MAX 256u

struct xf_guest_stacks;
struct xf_guest_kernel;

/* What a guest was doing, innermost frame first. */
struct xf_guest_trace {
	struct xf_frame frames[XF_GUEST_STACK_MAX]; /* of its kernel */
	size_t nr;
	const char *incomplete; /* why outer frames of the kernel are missing; NULL: none are */
	enum xf_switching switching;
	bool user;         /* it is known that below them user code was running, or called ... */
	uint64_t user_rip; /* ... here; 0: not known */
	unsigned int user_piece;        /* where that is known: the sample's piece with its stack */
	struct xf_guest_kernel *kernel; /* NULL: not known */
	uint64_t slide;                 /* of it */
};

/* Return: an empty one, which makes what it needs from @recording, which must outlive it; NULL
 * without memory. */
struct xf_guest_stacks *xf_guest_stacks_new(const struct xf_recording *recording);
void xf_guest_stacks_free(struct xf_guest_stacks *stacks);

/* What the guest was doing at a sample that has its stacks (record->guest). Return: 0 or -ENOMEM.
 */
int xf_guest_stacks_walk(struct xf_guest_stacks *stacks, const struct xf_record *record,
                         struct xf_guest_trace *trace);

/* The same where the sample is of another @recording, which tells who ran which of the kernels. */
int xf_guest_stacks_walk_of(struct xf_guest_stacks *stacks, const struct xf_recording *recording,
                            const struct xf_record *record, struct xf_guest_trace *trace);

/*
 * Names a frame of a @trace of the domain that goes by @domain. Addresses of a kernel that is not
 * known, and those that it has no name for, are "[DOMAIN kernel]+0xADDRESS".
 */
void xf_guest_stacks_name(const struct xf_guest_trace *trace, struct xf_frame frame,
                          const char *domain, struct xf_place *place);

/* Return: the address of a frame as profile/guest_code.h has it; 0 where the kernel is not known.
 */
uint64_t xf_guest_stacks_code(const struct xf_guest_stacks *stacks,
                              const struct xf_guest_trace *trace, struct xf_frame frame);

/* Of what is below the kernel's frames no more is known yet than that it is there. */
#define XF_GUEST_USER_NAME "[user]"

/* Stands in the place of all of a guest's frames where its stacks could not be read any more. */
#define XF_GUEST_SWITCHED_AWAY "[guest switched away]"
/* Return: whether that is so: they were wanted, but the vCPU was switched away before. */
bool xf_guest_switched_away(const struct xf_recording *recording, const struct xf_sample *sample);

/* The name of what stands where outer frames of a kernel are missing, with the reason. */
#define XF_GUEST_INCOMPLETE "[kernel incomplete: %s]"

#endif
