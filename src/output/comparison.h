// SPDX-License-Identifier: GPL-2.0-or-later
/* Two profiles compared, as text for a terminal or a pipe, 80 columns wide where names allow it. */
#ifndef XF_OUTPUT_COMPARISON_H
#define XF_OUTPUT_COMPARISON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "profile/difference.h"
#include "profile/profile.h"

/* What a change is measured in. */
enum xf_measure {
	XF_MEASURE_SAMPLES,  /* shares of all samples */
	XF_MEASURE_TIME,     /* of one pCPU's time */
	XF_MEASURE_ABSOLUTE, /* numbers of samples */
};

/* What is compared: A is @profiles[0], B @profiles[1]. */
struct xf_comparison {
	const struct xf_profile *profiles[2];
	const char *names[2]; /* of the recordings */
	const struct xf_difference *difference;
	enum xf_measure measure;
};

struct xf_comparison_options {
	bool by_total;  /* sorted by the change of the total, not of self */
	bool all;       /* changes that may be chance, too */
	uint32_t lines; /* at most so many functions; 0: no limit */
};

/* What counts of @profiles are compared with, by @measure. Return: whether that is known. */
bool xf_comparison_whole(const struct xf_profile *const profiles[2], enum xf_measure measure,
                         struct xf_sides *whole);

/* Return: 0 or -ENOMEM; the caller looks at ferror(@out). */
int xf_comparison_write(FILE *out, const struct xf_comparison *comparison,
                        const struct xf_comparison_options *options);

/* "12.34%" or, by measure, "1,234"; "-" for nothing at all. Return: @text. */
const char *xf_comparison_value(const struct xf_comparison *comparison, uint64_t count, int side,
                                char text[32]);

/* The same of a change, with its sign. */
const char *xf_comparison_change(const struct xf_comparison *comparison, struct xf_sides sides,
                                 char text[32]);

/* "shares of all samples": what the values are. */
const char *xf_comparison_unit(const struct xf_comparison *comparison);

#endif
