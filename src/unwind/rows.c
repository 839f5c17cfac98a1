// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/rows.h"

#include <errno.h>

int xf_rows_start(struct xf_rows *rows, const struct xf_code *code, struct xf_error *error)
{
	struct xf_unwind_table *none;
	int result = xf_table_check(code, error);

	if (result)
		return result;
	rows->pending = false;
	result = xf_table_begin(&rows->writer, code->address, code->size);
	if (!result)
		return 0;
	xf_table_end(&rows->writer, result, &none);
	return xf_fail(error, result, "unwind table of %zu bytes of code: out of memory",
	               code->size);
}

static int lay(struct xf_rows *rows, uint32_t offset, const struct xf_unwind_row *row)
{
	return xf_table_lay(&rows->writer, offset, xf_table_number(&rows->writer, row));
}

/* Where nothing has been said about the first bytes. */
static int lay_not_described(struct xf_rows *rows)
{
	return xf_table_lay(&rows->writer, 0,
	                    xf_table_number_undefined(&rows->writer, XF_UNWIND_NOT_DESCRIBED));
}

int xf_rows_add(struct xf_rows *rows, uint64_t address, const struct xf_unwind_row *row)
{
	const struct xf_unwind_table *table = rows->writer.table;
	uint32_t offset;
	int result = 0;

	if (address >= table->address && address - table->address >= table->size)
		return 0;
	/* What begins before the code may hold at its first byte. */
	offset = address > table->address ? address - table->address : 0;
	if (!rows->pending && offset != 0)
		result = lay_not_described(rows);
	else if (rows->pending && offset != rows->offset)
		result = lay(rows, rows->offset, &rows->row);
	rows->pending = true;
	rows->offset = offset;
	rows->row = *row;
	return result;
}

int xf_rows_add_undefined(struct xf_rows *rows, uint64_t address, enum xf_unwind_reason reason)
{
	struct xf_unwind_row row = {.kind = XF_ROW_UNDEFINED, .reason = reason};

	return xf_rows_add(rows, address, &row);
}

int xf_rows_finish(struct xf_rows *rows, int result, struct xf_unwind_table **table)
{
	if (!result)
		result = rows->pending ? lay(rows, rows->offset, &rows->row)
		                       : lay_not_described(rows);
	return xf_table_end(&rows->writer, result, table);
}
