// SPDX-License-Identifier: GPL-2.0-or-later
/* A table made of rows that somebody else has worked out: an image's own unwind information. */
#ifndef XF_UNWIND_ROWS_H
#define XF_UNWIND_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "unwind/unwind.h"

struct xf_rows {
	uint64_t address; /* of the code that the table is for */
	uint64_t size;
	uint32_t *starts;
	struct xf_unwind_row *rows; /* bytes that hold no field are 0, for memcmp */
	size_t count, room;
};

/* Begins a table for @code, whose bytes are not looked at. Return: 0, or -EINVAL and @error where
 * there can be no table for so much of it; xf_rows_free is due in both cases. */
int xf_rows_start(struct xf_rows *rows, const struct xf_code *code, struct xf_error *error);
void xf_rows_free(struct xf_rows *rows);

/*
 * From @address on @row holds, up to where the next one begins. Addresses must not fall; of several
 * rows at one address the last one counts; what lies outside the code is left out. Where nothing
 * has been said, XF_UNWIND_NOT_DESCRIBED holds. Return: 0 or -ENOMEM.
 */
int xf_rows_add(struct xf_rows *rows, uint64_t address, const struct xf_unwind_row *row);

/* The same for a row that is undefined because of @reason. */
int xf_rows_add_undefined(struct xf_rows *rows, uint64_t address, enum xf_unwind_reason reason);

/* Return: 0 and *@table, to be freed with xf_unwind_table_free; or -ENOMEM. */
int xf_rows_finish(const struct xf_rows *rows, struct xf_unwind_table **table);

#endif
