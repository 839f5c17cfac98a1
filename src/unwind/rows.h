// SPDX-License-Identifier: GPL-2.0-or-later
/* A table made of rows that somebody else has worked out: an image's own unwind information. */
#ifndef XF_UNWIND_ROWS_H
#define XF_UNWIND_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind/table_writer.h"

struct xf_rows {
	struct xf_table_writer writer;
	/* The last row that was added: another one may still take its place. */
	bool pending;
	uint32_t offset;
	struct xf_unwind_row row;
};

/* Begins a table for @code, whose bytes are not looked at. Return: 0; -EINVAL and @error where
 * there can be no table for so much of it; -ENOMEM and @error. xf_rows_finish is due in the first
 * case. */
int xf_rows_start(struct xf_rows *rows, const struct xf_code *code, struct xf_error *error);

/*
 * From @address on @row holds, up to where the next one begins. Addresses must not fall; of several
 * rows at one address the last one counts; what lies outside the code is left out. Where nothing
 * has been said, XF_UNWIND_NOT_DESCRIBED holds. Return: 0 or -ENOMEM.
 */
int xf_rows_add(struct xf_rows *rows, uint64_t address, const struct xf_unwind_row *row);

/* The same for a row that is undefined because of @reason. */
int xf_rows_add_undefined(struct xf_rows *rows, uint64_t address, enum xf_unwind_reason reason);

/* Ends @rows, after @result as of the calls before. Return: 0 and *@table, to be freed with
 * xf_unwind_table_free; otherwise @result or -ENOMEM, and NULL. */
int xf_rows_finish(struct xf_rows *rows, int result, struct xf_unwind_table **table);

#endif
