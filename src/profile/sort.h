// SPDX-License-Identifier: GPL-2.0-or-later
/* In what order lines of a profile stand: the keys of `report --sort`, the first one first. */
#ifndef XF_PROFILE_SORT_H
#define XF_PROFILE_SORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/calltree.h"

enum xf_sort_key {
	XF_SORT_SELF,
	XF_SORT_TOTAL,
	XF_SORT_SAMPLES, /* what a view's column of that name shows: self of functions */
	XF_SORT_NAME,
	XF_SORT_KIND,
	XF_SORT_KEYS,
};

/* Lines that are alike by all keys stand by name. No keys: each view's own order. */
struct xf_sort {
	enum xf_sort_key keys[XF_SORT_KEYS];
	size_t nr;
};

/* What is looked at of a line. */
struct xf_sort_line {
	uint64_t self;
	uint64_t total;
	uint64_t samples;
	const char *name;
	enum xf_frame_kind kind;
};

/* Most samples first, names from A to Z and "vCPU 10" after "vCPU 9". Return: as for qsort. */
int xf_sort_compare(const struct xf_sort *sort, const struct xf_sort_line *a,
                    const struct xf_sort_line *b);

/* The order of names alone. */
int xf_sort_names(const char *a, const char *b);

/* Return: whether @words, names of keys with commas between them, make a sort, in *@sort. */
bool xf_sort_parse(const char *words, struct xf_sort *sort);

#endif
