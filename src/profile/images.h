// SPDX-License-Identifier: GPL-2.0-or-later
/* The pieces of code of a recording: for src/profile/ alone. */
#ifndef XF_PROFILE_IMAGES_H
#define XF_PROFILE_IMAGES_H

#include "profile/profile.h"

/* Fills in the images of @recording. Return: 0 or -ENOMEM. */
int xf_profile_take_images(struct xf_profile *profile, const struct xf_recording *recording);

#endif
