// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef XF_FUZZ_CHECK_ROWS_H
#define XF_FUZZ_CHECK_ROWS_H

#include <stdlib.h>

#include "unwind/unwind.h"

/* Every byte of @code has a row in @table, of a kind that there is. */
static inline void check_rows(const struct xf_unwind_table *table, const struct xf_code *code)
{
	for (size_t at = 0; at < code->size; at++)
		if (xf_unwind_row_find(table, code->address + at).kind > XF_ROW_INTERRUPT)
			abort();
}

#endif
