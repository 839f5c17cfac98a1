// SPDX-License-Identifier: GPL-2.0-or-later
/* Where an image's unwind table comes from: the best of what there is, or what was asked for. */
#ifndef XF_UNWIND_SOURCE_H
#define XF_UNWIND_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/elf.h"
#include "unwind/orc.h"
#include "unwind/unwind.h"

/* From the best to the last resort. */
enum xf_source {
	XF_SOURCE_AUTO,           /* the first of these that works */
	XF_SOURCE_ORC,            /* a Linux kernel's, by which it unwinds itself */
	XF_SOURCE_CFI,            /* .eh_frame; .debug_frame only where it is asked for */
	XF_SOURCE_CODE,           /* inferred from the machine code */
	XF_SOURCE_FRAME_POINTERS, /* no more than an assumption: all rows are XF_UNWIND_ASSUMED */
};

/* Return: whether @text names a source for --source, in *@source. */
bool xf_source_by_name(const char *text, enum xf_source *source);

struct xf_source_image {
	const struct xf_elf *elf; /* that the code is from; NULL: there is only the code */
	const struct xf_code *code;
	const uint64_t *entries; /* as for xf_unwind_table_build */
	size_t nr_entries;
};

struct xf_source_used {
	enum xf_source source;   /* never XF_SOURCE_AUTO */
	char name[64];           /* for people: "ORC, layout before 6.3" */
	struct xf_error refused; /* why a better one was not; code 0: there was none */
};

/*
 * Makes the table of @image from @wanted. Return: 0, *@table, to be freed with
 * xf_unwind_table_free, and @used; -ENODATA where the image does not have what is wanted; -EBADMSG,
 * -EINVAL or -ENOMEM. @error.
 */
int xf_source_table(enum xf_source wanted, const struct xf_source_image *image,
                    struct xf_unwind_table **table, struct xf_source_used *used,
                    struct xf_error *error);

/* Return: whether the ELF file has ORC, in *@orc, which borrows from it. */
bool xf_source_orc(const struct xf_elf *elf, struct xf_orc *orc);

#endif
