// SPDX-License-Identifier: GPL-2.0-or-later
/* The instructions of a function with their shares of its samples, as text. */
#ifndef XF_OUTPUT_ANNOTATE_H
#define XF_OUTPUT_ANNOTATE_H

#include <stdio.h>

#include "base/error.h"
#include "profile/hits.h"
#include "symbol/debug.h"

/* The text of the source, for those who have it. */
struct xf_source_text {
	/* Return: line @line of @file, as the debug info names it, *@size bytes; NULL: not known.
	 */
	const char *(*find)(void *context, const char *file, int line, size_t *size);
	void *context;
};

struct xf_annotate_options {
	double percent_limit;              /* instructions with less are left out, and counted */
	struct xf_debug *debug;            /* for places in the source; NULL: there is none */
	const struct xf_source_text *text; /* NULL: there is none */
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
