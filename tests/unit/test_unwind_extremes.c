// SPDX-License-Identifier: GPL-2.0-or-later
/* Code of sizes and shapes that no compiler makes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "build_table.h"

/* More different rows than numbers: the rest have a reason, and nothing is wrong. */
static void test_too_many(void **state)
{
	const size_t count = 70000;
	uint8_t *bytes = malloc(count * 7);
	struct xf_unwind_table *big;

	(void)state;
	assert_non_null(bytes);
	for (size_t i = 0; i < count; i++) /* sub $8,%rsp, in its long form */
		memcpy(bytes + i * 7, "\x48\x81\xec\x08\x00\x00\x00", 7);
	big = build(bytes, count * 7, (const uint8_t[]){0}, 1);
	assert_int_equal(xf_unwind_row_find(big, BASE + 7 * 60000).base_offset, 8 + 8 * 60000);
	assert_int_equal(xf_unwind_row_find(big, BASE + 7 * 69999).reason, XF_UNWIND_TOO_MANY_ROWS);
	xf_unwind_table_free(big);
	free(bytes);
}

/* A row for each of three million instructions. */
static void test_three_million_rows(void **state)
{
	const size_t pairs = 1500000;
	uint8_t *bytes = malloc(pairs * 2 + 1);
	struct xf_unwind_table *big;

	(void)state;
	assert_non_null(bytes);
	for (size_t i = 0; i < pairs; i++)
		memcpy(bytes + i * 2, "\x53\x5b", 2); /* push %rbx; pop %rbx */
	bytes[pairs * 2] = 0xc3;                      /* ret */
	big = build(bytes, pairs * 2 + 1, (const uint8_t[]){0}, 1);
	assert_int_equal(xf_unwind_table_measure(big).nr_rows, pairs * 2 + 1);
	for (size_t i = 0; i <= pairs * 2; i++)
		if (xf_unwind_row_find(big, BASE + i).base_offset != 8 + 8 * (int)(i % 2))
			fail_msg("wrong row at %zu", i);
	xf_unwind_table_free(big);
	free(bytes);
}

/* One function of a megabyte, which jumps from either end to the other: what is known at its last
 * instruction comes from the first. */
static void test_function_of_a_megabyte(void **state)
{
	const size_t size = 1 << 20, step = 8;
	uint8_t *bytes = malloc(size);
	struct xf_unwind_table *big;

	(void)state;
	assert_non_null(bytes);
	memset(bytes, 0x90, size);
	bytes[0] = 0x53; /* push %rbx */
	for (size_t at = step; at + step < size; at += step) {
		int32_t to = (int32_t)(size - at) - (int32_t)(at + 6);

		memcpy(bytes + at, "\x0f\x84", 2); /* je */
		memcpy(bytes + at + 2, &to, 4);
	}
	memcpy(bytes + size - 2, "\x5b\xc3", 2); /* pop %rbx; ret */
	big = build(bytes, size, (const uint8_t[]){0}, 1);
	for (size_t at = 1; at < size - 1; at++)
		if (xf_unwind_row_find(big, BASE + at).base_offset != 16)
			fail_msg("wrong row at %zu", at);
	assert_int_equal(xf_unwind_row_find(big, BASE + size - 1).base_offset, 8);
	xf_unwind_table_free(big);
	free(bytes);
}

/* Code that jumps to itself, into the middle of what it has just executed, and a symbol for every
 * byte: what two readings of the same bytes disagree on has a reason, and nothing hangs. */
static void test_overlapping(void **state)
{
	static const uint8_t bytes[] = {
	        /* 0 push %rbx */ 0x53,
	        /* 1 mov $0x53fceb53,%eax: at 2 it reads push %rbx; jmp 1; push %rbx */ 0xb8,
	        0x53,
	        0xeb,
	        0xfc,
	        0x53,
	        /* 6 jmp 2 */ 0xeb,
	        0xfa,
	        /* 8 jmp 8 */ 0xeb,
	        0xfe,
	};
	static const uint8_t one[] = {0}, all[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
	struct xf_unwind_table *table = build(bytes, sizeof(bytes), one, 1);

	(void)state;
	/* Each turn through 1, 2 and 3 pushes once more: RSP is nowhere known. */
	assert_int_equal(xf_unwind_row_find(table, BASE).base_offset, 8);
	assert_int_equal(xf_unwind_row_find(table, BASE + 6).kind, XF_ROW_UNDEFINED);
	assert_int_equal(xf_unwind_row_find(table, BASE + 6).reason, XF_UNWIND_DISAGREEMENT);
	xf_unwind_table_free(table);
	table = build(bytes, sizeof(bytes), all, sizeof(all));
	assert_int_equal(xf_unwind_row_find(table, BASE + 8).base_offset, 8);
	xf_unwind_table_free(table);
	table = build(bytes, sizeof(bytes), NULL, 0);
	assert_int_equal(xf_unwind_table_measure(table).code_bytes, sizeof(bytes));
	xf_unwind_table_free(table);
}

/* Pages with a row for every byte, with one row for many of them, and what ends in the middle. */
static void test_pages(void **state)
{
	static uint8_t bytes[1500];
	struct xf_unwind_table *dense;

	(void)state;
	memset(bytes, 0x53, 700);                       /* push %rbx */
	memset(bytes + 700, 0xf8, sizeof(bytes) - 701); /* clc */
	bytes[sizeof(bytes) - 1] = 0xf4;                /* hlt */
	for (size_t size = sizeof(bytes); size > 600; size -= 7) {
		dense = build(bytes, size, (const uint8_t[]){0}, 1);
		for (size_t i = 0; i < size; i++)
			assert_int_equal(xf_unwind_row_find(dense, BASE + i).base_offset,
			                 8 + 8 * (i < 700 ? i : 700));
		xf_unwind_table_free(dense);
	}
}

/* A fixed sequence, so that a failure can be had again. */
static uint32_t draw(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
	return *seed >> 33;
}

static void build_random(size_t size, bool biased, uint64_t seed)
{
	static const uint8_t favourites[] = {0x55, 0x53, 0x5b, 0x5d, 0xc3, 0xe8, 0xe9, 0xeb,
	                                     0x74, 0x48, 0x83, 0xec, 0xc4, 0x89, 0xe5, 0xcf,
	                                     0x0f, 0x0b, 0x00, 0xff, 0xfe, 0x08, 0x50, 0x24};
	uint8_t *bytes = malloc(size);
	struct xf_unwind_table *table;
	struct xf_error error;
	uint64_t entries[64];

	assert_non_null(bytes);
	for (size_t i = 0; i < size; i++)
		bytes[i] = biased ? favourites[draw(&seed) % sizeof(favourites)] : draw(&seed);
	for (size_t i = 0; i < 64; i++)
		entries[i] = BASE - 16 + draw(&seed) % (size + 32);
	assert_int_equal(xf_unwind_table_build(&(const struct xf_code){BASE, bytes, size}, entries,
	                                       64, &table, &error),
	                 0);
	for (size_t i = 0; i < size; i++)
		(void)xf_unwind_row_find(table, BASE + i);
	xf_unwind_table_free(table);
	free(bytes);
}

static void test_random(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed < 200; seed++)
		build_random(1 + seed * 7, seed % 2, seed);
	build_random(300000, false, 7);
	build_random(300000, true, 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_too_many),
	        cmocka_unit_test(test_three_million_rows),
	        cmocka_unit_test(test_function_of_a_megabyte),
	        cmocka_unit_test(test_overlapping),
	        cmocka_unit_test(test_pages),
	        cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
