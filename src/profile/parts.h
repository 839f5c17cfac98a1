// SPDX-License-Identifier: GPL-2.0-or-later
/* Parts of a profile that are made once its samples are in: for src/profile/ alone. */
#ifndef XF_PROFILE_PARTS_H
#define XF_PROFILE_PARTS_H

#include "profile/profile.h"

/* Fills in the images of @recording. Return: 0 or -ENOMEM. */
int xf_profile_take_images(struct xf_profile *profile, const struct xf_recording *recording);

/* Adds up what the groups count. */
void xf_profile_count(struct xf_profile *profile);

/* Puts the groups in order; the timeline's events follow them. Return: 0 or -ENOMEM. */
int xf_profile_order_groups(struct xf_profile *profile);

#endif
