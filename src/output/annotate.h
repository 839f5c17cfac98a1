// SPDX-License-Identifier: GPL-2.0-or-later
/* The instructions of a function with their shares of its samples, as text. */
#ifndef XF_OUTPUT_ANNOTATE_H
#define XF_OUTPUT_ANNOTATE_H

#include <stdio.h>

#include "base/error.h"
#include "profile/hits.h"

/* Where an address comes from in the source, for those who know. */
struct xf_lines {
	/* Return: whether it is known; then *@file, which stays valid, and *@line. */
	bool (*find)(void *context, uint64_t address, const char **file, int *line);
	void *context;
};

struct xf_annotate_options {
	double percent_limit;         /* instructions with less are left out, and counted */
	const struct xf_lines *lines; /* NULL: nobody knows */
};

/*
 * Every function of @recording that goes by @name and that was interrupted in a sample of
 * @selection, with which @profile was built. Return: 0; -ENOENT and @error where there is none,
 * -ENOMEM; the caller looks at ferror(@out).
 */
int xf_annotate_write(FILE *out, const struct xf_recording *recording,
                      const struct xf_profile *profile, const struct xf_profile_options *selection,
                      const char *name, const struct xf_annotate_options *options,
                      struct xf_error *error);

#endif
