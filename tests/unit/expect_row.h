// SPDX-License-Identifier: GPL-2.0-or-later
/* To be included behind what cmocka wants. */
#ifndef XF_TEST_EXPECT_ROW_H
#define XF_TEST_EXPECT_ROW_H

#include "unwind/unwind.h"

/* The row at @address, field by field. */
static inline void expect_row(const struct xf_unwind_table *table, uint64_t address,
                              enum xf_row_kind kind, enum xf_base_rule rule, unsigned int reg,
                              int base_offset, int addend, enum xf_rbp_rule rbp, int rbp_offset)
{
	struct xf_unwind_row row = xf_unwind_row_find(table, address);

	assert_int_equal(row.kind, kind);
	assert_int_equal(row.base_rule, rule);
	assert_int_equal(row.base_register, reg);
	assert_int_equal(row.base_offset, base_offset);
	assert_int_equal(row.base_addend, addend);
	assert_int_equal(row.rbp_rule, rbp);
	assert_int_equal(row.rbp_offset, rbp_offset);
}

static inline void expect_undefined_row(const struct xf_unwind_table *table, uint64_t address,
                                        enum xf_unwind_reason reason)
{
	struct xf_unwind_row row = xf_unwind_row_find(table, address);

	assert_int_equal(row.kind, XF_ROW_UNDEFINED);
	assert_int_equal(row.reason, reason);
}

#endif
