// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The live view as lines: what `top` prints as text, and shows on a terminal. Shares are of all
 * samples of the interval, idle ticks included; of a pCPU's line, of its own.
 */
#ifndef XF_OUTPUT_TOP_H
#define XF_OUTPUT_TOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "profile/live.h"
#include "profile/sort.h"

/* An interval, and what looking at it has cost. */
struct xf_top_moment {
	const struct xf_live_interval *interval;
	uint64_t time;        /* of its end, ns since 1970, UTC; 0: not to be told */
	uint64_t nanoseconds; /* that it took */
	uint64_t own_cpu;     /* CPU time of ours in it, ns */
	bool records;         /* that is with the recorder's; otherwise somebody else records */
};

struct xf_top_facts {
	char title[640];   /* "2026-11-30 04:13:07 UTC, labhost, Xen 4.17.7, 2 pCPUs" */
	char samples[160]; /* "198 in 1.0 s at 99 Hz (guests 20.2%, Xen 30.3%, idle 49.5%)" */
	char quality[320]; /* "lost 0, incomplete 1 (1.7% of Xen's), process unknown 2" */
	char cost[160];    /* "100 samples/s, agent 0.5%, 45.1 KiB/s, 12.3% of a CPU in dom0" */
};

void xf_top_facts_of(const struct xf_top_moment *moment, struct xf_top_facts *facts);

enum xf_top_section {
	XF_TOP_PCPUS, /* all together, then each */
	XF_TOP_DOMAINS,
	XF_TOP_PROCESSES, /* of the domains whose processes are told apart */
	XF_TOP_FUNCTIONS, /* idle ones left out */
	XF_TOP_SECTIONS,
};

struct xf_top_line {
	char left[96];    /* numbers */
	const char *name; /* the interval's, or @text; bytes that somebody else chose */
	char text[160];
	enum xf_frame_kind kind;
};

struct xf_top_lines {
	struct xf_top_line *lines;
	size_t nr;
	size_t of; /* how many there would be without the filter */
};

/* The heads of a section's columns. */
const char *xf_top_heads(enum xf_top_section section);

/*
 * The lines of a section, in the order of @sort (no keys: pCPUs by number, the rest by samples),
 * those with @filter in their name in whatever case ("": all). Return: 0 and *@lines, whose @lines
 * the caller frees; -ENOMEM.
 */
int xf_top_lines_of(const struct xf_top_moment *moment, enum xf_top_section section,
                    const struct xf_sort *sort, const char *filter, struct xf_top_lines *lines);

/* All as text, at most @most processes and functions (0: all), and an empty line. Return: 0 or
 * -ENOMEM. The caller looks at ferror(@out). */
int xf_top_write(FILE *out, const struct xf_top_moment *moment, uint32_t most);

#endif
