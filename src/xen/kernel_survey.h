// SPDX-License-Identifier: GPL-2.0-or-later
/* What a kernel's symbols say of where things are in it. Pure. */
#ifndef XF_XEN_KERNEL_SURVEY_H
#define XF_XEN_KERNEL_SURVEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol/kallsyms.h"
#include "unwind/unwind.h"

#define XF_MOST_KERNEL_BYTES (128u << 20) /* the kernel's own code, or its table */
#define XF_MOST_MODULES      1024u
#define XF_MOST_MADE         512u /* pieces of code made at run time */

/* What lies between two symbols. */
struct xf_survey_range {
	const char *start_name, *end_name;
	uint64_t start, end;
};

enum xf_survey_place {
	XF_SURVEY_TEXT,
	XF_SURVEY_BOOT,   /* code that is freed after the boot: the first idle task has come from
	                     there */
	XF_SURVEY_THUNKS, /* for indirect calls; of them ORC says no more, up to 6.3, than ... */
	XF_SURVEY_ITS_THUNKS, /* ... that the stack ends */
	XF_SURVEY_PLACES,
	XF_SURVEY_ENTRIES,
	XF_SURVEY_HEADER,
	XF_NR_SURVEY_RANGES
};

struct xf_survey_module {
	char name[64];
	uint64_t first, last; /* the addresses of its first and last symbol of code */
};

/* What is learnt on the way through the symbols. */
struct xf_survey {
	struct xf_survey_range ranges[XF_NR_SURVEY_RANGES];
	uint64_t image;     /* where the kernel begins */
	uint64_t hypercall; /* the page of hypercalls, which Xen fills in; 0: none */
	uint64_t banner;    /* the text that says which Linux it is; 0: none */
	struct xf_survey_module *modules;
	size_t nr_modules;
	uint64_t made[XF_MOST_MADE];
	size_t nr_made;
};

/* Goes through the @size bytes of @text (symbol/kallsyms.h). Return: 0, and @survey, to be freed
 * with xf_survey_free; -ENOMEM. */
int xf_survey_symbols(struct xf_survey *survey, const char *text, size_t size);
void xf_survey_free(struct xf_survey *survey);

/* Return: whether both ends are known, and make sense. */
bool xf_survey_is_range(const struct xf_survey_range *range);

/* Return: where the thunks of @place lie, from the first one's symbol to the last one's end; of no
 * size where there are none. */
struct xf_code xf_survey_thunks(const struct xf_survey *survey, enum xf_survey_place place);

/* Return: the code that the kernel's own table is for: with that of the boot, where it is behind
 * the rest; of no size where it is not known. */
struct xf_code xf_survey_text(const struct xf_survey *survey);

#endif
