// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Profiles from text that other tools write, and xenflame itself: folded stacks ("a;b;c 12" a line)
 * and what `perf script` prints. Which of them it is is seen from the text.
 *
 * The lowest frame, perf's command, is the domain. Frames whose code is not told, by an image's or
 * a bracketed name, are of the kind XF_FRAME_FUNCTION. Each of perf's events is one sample, at its
 * time; folded stacks have no times.
 */
#ifndef XF_PROFILE_TEXT_INPUT_H
#define XF_PROFILE_TEXT_INPUT_H

#include <stddef.h>

#include "profile/profile.h"

/* Looks at a file's first bytes, 16 or more of them where it has as many. Return: 0 where they are
 * text; -EBADMSG and @error. */
int xf_text_recognize(const void *bytes, size_t size, struct xf_error *error);

/*
 * Makes the profile of @size bytes of text. Names are copied.
 * Return: 0 and *@profile, to be freed with xf_profile_free; -EBADMSG where a line is of neither
 * form; -ENODATA where no sample is left, or has no time while one is needed; -EOVERFLOW; -ENOMEM;
 * @error tells, without the file's name.
 */
int xf_text_profile(const void *bytes, size_t size, const struct xf_profile_options *options,
                    struct xf_profile **profile, struct xf_error *error);

#endif
