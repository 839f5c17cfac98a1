// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A profile as one self-contained SVG: interactive in a browser, whole without a script.
 */
#ifndef XF_OUTPUT_FLAMEGRAPH_H
#define XF_OUTPUT_FLAMEGRAPH_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "output/comparison.h"
#include "profile/profile.h"

enum xf_flamegraph_colors {
	XF_COLORS_KIND,   /* by what a frame is */
	XF_COLORS_DOMAIN, /* by the domain at its foot; where there is none, by kind */
	XF_COLORS_GREY,   /* for paper */
};

struct xf_flamegraph_options {
	const char *title; /* NULL: one that names the host */
	uint32_t width;    /* of the picture as it is without a script, in pixels */
	double min_width;  /* frames narrower than this many pixels are not drawn; their samples
	                      are in the frames below them all the same */
	enum xf_flamegraph_colors colors;
	bool reverse;  /* innermost functions at the root, their callers on them */
	bool inverted; /* the root on top */
};
#define XF_FLAMEGRAPH_DEFAULTS ((struct xf_flamegraph_options){.width = 1200, .min_width = 0.1})

/* Return: 0 or -ENOMEM; the caller looks at ferror(@out). */
int xf_flamegraph_write(FILE *out, const struct xf_profile *profile,
                        const struct xf_flamegraph_options *options);

/*
 * The same of two profiles: a frame is as wide as what it is worth in both together, red where that
 * is more in B, blue where it is less. Of @options @colors and @reverse do not matter: the
 * comparison's tree stands as it is.
 */
int xf_flamegraph_write_comparison(FILE *out, const struct xf_comparison *comparison,
                                   const struct xf_flamegraph_options *options);

#endif
