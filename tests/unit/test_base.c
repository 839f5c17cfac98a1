// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "base/cursor.h"
#include "base/error.h"

static void values_are_little_endian(void **state)
{
	static const uint8_t bytes[] = {1, 2, 0, 3, 0, 0,    0,   4,   0,
	                                0, 0, 0, 0, 0, 0x80, 'h', 'i', 0};
	struct xf_cursor cursor = xf_cursor_over(bytes, sizeof(bytes));

	(void)state;
	assert_int_equal(xf_cursor_u8(&cursor), 1);
	assert_int_equal(xf_cursor_u16(&cursor), 2);
	assert_int_equal(xf_cursor_u32(&cursor), 3);
	assert_true(xf_cursor_u64(&cursor) == 0x8000000000000004ull);
	assert_string_equal(xf_cursor_string(&cursor), "hi");
	assert_int_equal(xf_cursor_left(&cursor), 0);
	assert_false(cursor.failed);
}

#define ULEB(...)                                                                                  \
	read_uleb((const uint8_t[]){__VA_ARGS__}, sizeof((uint8_t[]){__VA_ARGS__}), &failed)
#define SLEB(...)                                                                                  \
	read_sleb((const uint8_t[]){__VA_ARGS__}, sizeof((uint8_t[]){__VA_ARGS__}), &failed)

static uint64_t read_uleb(const uint8_t *bytes, size_t size, bool *failed)
{
	struct xf_cursor cursor = xf_cursor_over(bytes, size);
	uint64_t value = xf_cursor_uleb(&cursor);

	*failed = cursor.failed || xf_cursor_left(&cursor) != 0;
	return value;
}

static int64_t read_sleb(const uint8_t *bytes, size_t size, bool *failed)
{
	struct xf_cursor cursor = xf_cursor_over(bytes, size);
	int64_t value = xf_cursor_sleb(&cursor);

	*failed = cursor.failed || xf_cursor_left(&cursor) != 0;
	return value;
}

/* Values of DWARF 5's tables C.1 and C.2, and those at the ends. */
static void numbers_of_variable_length(void **state)
{
	bool failed;

	(void)state;
	assert_true(ULEB(2) == 2 && !failed);
	assert_true(ULEB(0x80, 0x01) == 128 && !failed);
	assert_true(ULEB(0xb9, 0x64) == 12857 && !failed);
	assert_true(ULEB(0x80, 0x80, 0) == 0 && !failed);
	assert_true(ULEB(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1) == UINT64_MAX &&
	            !failed);
	assert_true(SLEB(2) == 2 && !failed);
	assert_true(SLEB(0x7e) == -2 && !failed);
	assert_true(SLEB(0xff, 0x00) == 127 && !failed);
	assert_true(SLEB(0x81, 0x7f) == -127 && !failed);
	assert_true(SLEB(0xff, 0x7e) == -129 && !failed);
	assert_true(SLEB(0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x7f) == INT64_MIN &&
	            !failed);
	assert_true(SLEB(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0) == INT64_MAX &&
	            !failed);
	/* Too large, and cut off. */
	assert_true(ULEB(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2) == 0 && failed);
	assert_true(SLEB(0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1) == 0 && failed);
	assert_true(ULEB(0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0) == 0 &&
	            failed);
	assert_true(ULEB(0x80) == 0 && failed);
	assert_true(SLEB(0xff) == 0 && failed);
}

static void failure_lasts(void **state)
{
	static const uint8_t bytes[] = {1, 2, 3};
	struct xf_cursor cursor = xf_cursor_over(bytes, sizeof(bytes));
	struct xf_cursor sub;

	(void)state;
	assert_int_equal(xf_cursor_u32(&cursor), 0);
	assert_true(cursor.failed);
	assert_int_equal(xf_cursor_u8(&cursor), 0);
	assert_null(xf_cursor_take(&cursor, 0));
	sub = xf_cursor_sub(&cursor, 1);
	assert_true(sub.failed);
	assert_int_equal(xf_cursor_left(&cursor), 0);
}

static void ends_are_proven(void **state)
{
	static const uint8_t bytes[] = {'a', 'b', 'c'};
	struct xf_cursor cursor = xf_cursor_over(bytes, sizeof(bytes));
	struct xf_cursor empty = xf_cursor_over(NULL, 7);

	(void)state;
	assert_null(xf_cursor_string(&cursor)); /* no NUL */
	assert_true(cursor.failed);
	cursor = xf_cursor_over(bytes, sizeof(bytes));
	assert_null(xf_cursor_take(&cursor, SIZE_MAX));
	cursor = xf_cursor_over(bytes, sizeof(bytes));
	xf_cursor_seek(&cursor, 3);
	assert_false(cursor.failed);
	xf_cursor_seek(&cursor, 4);
	assert_true(cursor.failed);
	assert_int_equal(xf_cursor_left(&empty), 0);
	assert_null(xf_cursor_string(&empty));
}

static void errors_tell(void **state)
{
	struct xf_error error = {0};

	(void)state;
	assert_int_equal(xf_fail(&error, 5, "cannot open %s", "x"), -5);
	assert_int_equal(error.code, -5);
	assert_string_equal(error.text, "cannot open x");
	assert_int_equal(xf_fail_prefix(&error, "record"), -5);
	assert_string_equal(error.text, "record: cannot open x");
	xf_fail_suffix(&error, ", nor %s", "y");
	assert_string_equal(error.text, "record: cannot open x, nor y");
	assert_int_equal(error.code, -5);
	xf_fail_suffix(&error, "%2000s", "much");
	assert_int_equal(strlen(error.text), sizeof(error.text) - 1);
	xf_fail_suffix(&error, "more");
	xf_fail_suffix(NULL, "nobody listens");
	assert_int_equal(xf_fail(NULL, -2, "nobody listens"), -2);
}

static void buffers_hold_what_was_added(void **state)
{
	struct xf_buffer buffer = {0};
	uint8_t bytes[3000];

	(void)state;
	assert_int_equal(xf_buffer_add(&buffer, NULL, 0), 0);
	for (uint8_t i = 1; i <= 5; i++) {
		memset(bytes, i, sizeof(bytes));
		assert_int_equal(xf_buffer_add(&buffer, bytes, sizeof(bytes)), 0);
	}
	assert_int_equal(buffer.used, 15000);
	for (size_t i = 0; i < buffer.used; i++)
		assert_int_equal(buffer.bytes[i], i / sizeof(bytes) + 1);
	xf_buffer_free(&buffer);
	assert_null(buffer.bytes);
	assert_int_equal(buffer.used, 0);
}

static void arrays_have_room_for_one_more(void **state)
{
	uint32_t *array = NULL;
	size_t allocated = 0;
	size_t most = UINT32_MAX / 2;

	(void)state;
	for (uint32_t i = 0; i < 1000; i++) {
		assert_true(xf_make_room(&array, i, &allocated, sizeof(*array)));
		assert_true(allocated > i);
		array[i] = i;
	}
	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(array[i], i);
	assert_false(xf_make_room(&array, most, &most, sizeof(*array)));
	free(array);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(values_are_little_endian),
	        cmocka_unit_test(numbers_of_variable_length),
	        cmocka_unit_test(failure_lasts),
	        cmocka_unit_test(ends_are_proven),
	        cmocka_unit_test(errors_tell),
	        cmocka_unit_test(buffers_hold_what_was_added),
	        cmocka_unit_test(arrays_have_room_for_one_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
