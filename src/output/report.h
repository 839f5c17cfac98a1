// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A profile as tables: text for a terminal or a pipe, 80 columns wide where names allow it, or JSON
 * for other programs. Shares are of all samples of the profile, idle ones included.
 */
#ifndef XF_OUTPUT_REPORT_H
#define XF_OUTPUT_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "profile/profile.h"
#include "profile/sort.h"

enum xf_report_view {
	XF_REPORT_SUMMARY = 1 << 0,   /* each domain's time in its guest, in Xen, idle */
	XF_REPORT_FUNCTIONS = 1 << 1, /* self and total of each frame */
	XF_REPORT_VCPUS = 1 << 2,
	XF_REPORT_PCPUS = 1 << 3,
	XF_REPORT_KINDS = 1 << 4,         /* by what was running: Xen, a guest, nothing ... */
	XF_REPORT_CALLERS_FIRST = 1 << 5, /* the call tree from the outermost frames */
	XF_REPORT_CALLEES_FIRST = 1 << 6, /* the same from the innermost ones */
	XF_REPORT_PROCESSES = 1 << 8,
};

struct xf_report_options {
	unsigned int views;   /* enum xf_report_view */
	const char *callers;  /* who calls the function of this name; NULL: nobody asks */
	const char *callees;  /* whom it calls */
	const char *function; /* both, and its own share */
	struct xf_sort sort;  /* no keys: each view's own order */
	double percent_limit; /* lines below that share are left out, and counted */
	uint32_t lines;       /* at most so many per view; 0: no limit */
	bool header;          /* what was recorded where, and how well */
};

/* Before anything is written. Return: 0; -ENOENT and @error as below. */
int xf_report_check(const struct xf_profile *profile, const struct xf_report_options *options,
                    struct xf_error *error);

/*
 * As text. Return: 0; -ENOENT and @error where a function that was asked for is not in the profile;
 * -ENOMEM. The caller looks at ferror(@out).
 */
int xf_report_write(FILE *out, const struct xf_profile *profile,
                    const struct xf_report_options *options, struct xf_error *error);

/*
 * The same as one JSON object, docs/report-json.md. @selection is what @profile was built with.
 * Return: as above.
 */
int xf_report_write_json(FILE *out, const struct xf_profile *profile,
                         const struct xf_profile_options *selection,
                         const struct xf_report_options *options, struct xf_error *error);

#endif
