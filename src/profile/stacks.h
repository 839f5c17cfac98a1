// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * From a recorded sample to named frames: the unwind tables and names of one recording.
 */
#ifndef XF_PROFILE_STACKS_H
#define XF_PROFILE_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "profile/calltree.h"
#include "profile/recording.h"
#include "unwind/unwind.h"

/* Each frame has its own return address among the captured words, and one has been interrupted. */
#define XF_STACK_MAX (XF_MAX_WORDS + 2u)

struct xf_stacks;

/* A stack of Xen's, innermost frame first. */
struct xf_stack {
	struct xf_frame frames[XF_STACK_MAX];
	size_t nr;
	const char *incomplete; /* why outer frames are missing, a short label; NULL: none are */
	bool entering;          /* in the code that enters or leaves Xen on a guest's stack */
};

/*
 * Builds what walking needs from @recording, which must outlive the result.
 * Return: 0 and *@stacks, to be freed with xf_stacks_free; -ENOMEM and @error.
 */
int xf_stacks_new(const struct xf_recording *recording, struct xf_stacks **stacks,
                  struct xf_error *error);
void xf_stacks_free(struct xf_stacks *stacks);

/* The stack of a sample that was taken in Xen. */
void xf_stacks_walk(const struct xf_stacks *stacks, const struct xf_record *record,
                    struct xf_stack *stack);

/* An address with its name. */
struct xf_place {
	const char *name; /* owned by the recording, or @text */
	uint64_t offset;  /* of the address from where the name begins; 0 where there is none */
	const char *livepatch; /* the live patch that the address lies in, NULL: Xen itself */
	enum xf_frame_kind kind;
	char text[96];
};

/*
 * Names @frame of a stack for which xf_stacks_walk set @entering. A return address is named by the
 * call before it. What has no name is shown as such, with its address.
 */
void xf_stacks_name(const struct xf_stacks *stacks, struct xf_frame frame, bool entering,
                    struct xf_place *place);

/*
 * What a guest was doing, as far as its instruction pointer tells: kernels of 64-bit guests live
 * in the upper half of the address space. (A 32-bit guest's kernel counts as user code.)
 */
#define XF_GUEST_KERNEL_NAME "[guest kernel]"
const char *xf_sample_guest_name(const struct xf_sample *sample);

/* The guest's instruction pointer at the sample. */
uint64_t xf_sample_guest_rip(const struct xf_sample *sample);

#endif
