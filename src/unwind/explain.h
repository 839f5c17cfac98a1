// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the inference thinks, as text for people and golden tests. Stable: the same code gives the
 * same text. Writes to a stream that the caller opened, closes and checks for errors.
 */
#ifndef XF_UNWIND_EXPLAIN_H
#define XF_UNWIND_EXPLAIN_H

#include <stdio.h>

#include "unwind/unwind.h"

/* Bytes of code by kind of row and, where there is none, by reason. */
struct xf_coverage {
	uint64_t bytes;
	uint64_t call;           /* with a row for a called function */
	uint64_t interrupt;      /* with a row for interrupt entry code */
	uint64_t undefined[256]; /* by enum xf_unwind_reason */
};

/* Fills in @coverage from @table. */
void xf_coverage_count(const struct xf_unwind_table *table, struct xf_coverage *coverage);

/* Prints the coverage of @table: a line for each kind and reason that occurs. */
void xf_coverage_print(const struct xf_unwind_table *table, FILE *out);

/*
 * Prints for each instruction in [@from, @to) its bytes, its text, its operations and the row
 * before it, and for each block the ground on which its state stands. Arguments as for
 * xf_unwind_table_build. Return: 0, or -ENOMEM or -EINVAL and @error.
 */
int xf_unwind_explain(const struct xf_code *code, const uint64_t *entries, size_t nr_entries,
                      uint64_t from, uint64_t to, FILE *out, struct xf_error *error);

/* Prints for each instruction in [@from, @to) of @code its text and the row that @table has before
 * it, wherever the table comes from. */
void xf_unwind_explain_table(const struct xf_unwind_table *table, const struct xf_code *code,
                             uint64_t from, uint64_t to, FILE *out);

#endif
