// SPDX-License-Identifier: GPL-2.0-or-later
/* Parts of which a profile is made: for src/profile/ alone. */
#ifndef XF_PROFILE_PARTS_H
#define XF_PROFILE_PARTS_H

#include "profile/guest_stacks.h"
#include "profile/profile.h"
#include "profile/stacks.h"

/* What unwinds and names stacks; may be of another recording of the same Xen. */
struct xf_profile_tools {
	struct xf_stacks *stacks;
	struct xf_guest_stacks *guest_stacks;
};

/* Makes them of @recording, which must outlive them. Return: 0, or -ENOMEM and @error. To be freed
 * in either case. */
int xf_profile_tools_make(const struct xf_recording *recording, struct xf_profile_tools *tools,
                          struct xf_error *error);
void xf_profile_tools_free(struct xf_profile_tools *tools);

/* xf_profile_build with tools that are there already. */
int xf_profile_build_with(const struct xf_profile_tools *tools,
                          const struct xf_recording *recording,
                          const struct xf_profile_options *options, struct xf_profile **profile,
                          struct xf_error *error);

/* Fills in the images of @recording. Return: 0 or -ENOMEM. */
int xf_profile_take_images(struct xf_profile *profile, const struct xf_recording *recording);

/* Adds up what the groups count. */
void xf_profile_count(struct xf_profile *profile);

/* Puts the groups in order; the timeline's events follow them. Return: 0 or -ENOMEM. */
int xf_profile_order_groups(struct xf_profile *profile);

#endif
