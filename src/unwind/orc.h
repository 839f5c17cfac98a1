// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * ORC: the table that Linux's own unwinder uses, which objtool makes when a kernel is built. Pure.
 *
 * It is two sections: for each entry the distance of its code from itself, 32 bits, and six bytes
 * that say how to find the frame from there up to the next entry. What these bytes mean has
 * changed twice, and only since 6.4 does a third section, .orc_header, name the layout; backports
 * change it too, so that the kernel's version says little. The layout is proven from the entries
 * themselves: docs/unwinding.md has how.
 */
#ifndef XF_UNWIND_ORC_H
#define XF_UNWIND_ORC_H

#include <stddef.h>
#include <stdint.h>

#include "unwind/unwind.h"

/* The sections' bytes, all borrowed. */
struct xf_orc {
	const void *places; /* .orc_unwind_ip */
	size_t places_size;
	uint64_t places_address; /* where it lies in memory */
	const void *entries;     /* .orc_unwind */
	size_t entries_size;
	const void *header; /* .orc_header; NULL: there is none */
	size_t header_size;
};

enum xf_orc_layout {
	XF_ORC_BEFORE_6_3,
	XF_ORC_6_3,
	XF_ORC_SINCE_6_4,
};

/* As people call it. */
const char *xf_orc_layout_name(enum xf_orc_layout layout);

/* Return: 0 and *@layout; -EBADMSG and @error where the sections are damaged or of a layout that is
 * not known for sure. */
int xf_orc_find_layout(const struct xf_orc *orc, enum xf_orc_layout *layout,
                       struct xf_error *error);

/*
 * The table of @code, whose bytes are not looked at. Where Linux says that the stack ends, the row
 * is undefined with the reason XF_UNWIND_END.
 * Return: 0 and *@table, to be freed with xf_unwind_table_free; as above, -EINVAL, -ENOMEM.
 */
int xf_orc_table(const struct xf_orc *orc, const struct xf_code *code,
                 struct xf_unwind_table **table, struct xf_error *error);

#endif
