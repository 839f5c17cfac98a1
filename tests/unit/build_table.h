// SPDX-License-Identifier: GPL-2.0-or-later
/* Tables for tests of the inference. To be included behind what cmocka wants. */
#ifndef XF_TEST_BUILD_TABLE_H
#define XF_TEST_BUILD_TABLE_H

#include "unwind/unwind.h"

/* Where the code is taken to lie. */
#define BASE 0xffff82d040200000ull

/* @entries: at most 16 offsets. Return: the table, to be freed. */
static inline struct xf_unwind_table *build(const uint8_t *bytes, size_t size,
                                            const uint8_t *entries, size_t nr_entries)
{
	const struct xf_code code = {BASE, bytes, size};
	struct xf_unwind_table *table;
	uint64_t addresses[16];
	struct xf_error error;

	assert_in_range(nr_entries, 0, 16);
	for (size_t i = 0; i < nr_entries; i++)
		addresses[i] = BASE + entries[i];
	assert_int_equal(xf_unwind_table_build(&code, addresses, nr_entries, &table, &error), 0);
	return table;
}

#endif
