// SPDX-License-Identifier: GPL-2.0-or-later
/* src/xen/stream.c: stacks and tasks of guests, on their way to their sample. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "unit/trace_records.h"

static void guests_stacks_come_with_their_sample_in_order(void **state)
{
	struct xf_stream stream = new_stream();

	(void)state;
	nr_records = 0;
	add_guest(1, 0);
	add_guest(1, XF_MAX_GUEST_WORDS);
	add_guest(1, 7);
	add_guest(1, 1);
	add_sample(1, 20);
	feed(&stream, 0, nr_records);
	assert_int_equal(nr_guests, 4);
	assert_int_equal(guest_words[0], 0);
	assert_int_equal(guest_words[1], XF_MAX_GUEST_WORDS);
	assert_int_equal(guest_words[2], 7);
	assert_int_equal(guest_words[3], 1);
}

static void stacks_of_another_sample_are_dropped_and_counted(void **state)
{
	struct xf_stream stream = new_stream();

	(void)state;
	nr_records = 0;
	add_guest(1, 3);
	add_guest(1, 3);
	add_sample(2, 1);
	feed(&stream, 0, nr_records);
	assert_int_equal(nr_samples, 1);
	assert_int_equal(nr_guests, 0);
	assert_int_equal(stream.broken_guests, 2);
	nr_records = 0;
	add_guest(3, 3);
	add_guest(4, 3);
	add_sample(4, 1);
	feed(&stream, 0, nr_records);
	assert_int_equal(nr_guests, 1);
	assert_int_equal(stream.broken_guests, 3);
	assert_int_equal(stream.broken, 0);
}

static void more_stacks_than_a_sample_has_are_dropped_and_counted(void **state)
{
	struct xf_stream stream = new_stream();
	unsigned int i;

	(void)state;
	nr_records = 0;
	for (i = 0; i <= XF_MAX_GUEST_STACKS; i++)
		add_guest(1, i);
	add_sample(1, 1);
	feed(&stream, 0, nr_records);
	assert_int_equal(nr_guests, XF_MAX_GUEST_STACKS);
	assert_int_equal(stream.broken_guests, 1);
}

/* Whichever record is missing, the sample is not lost with its guest's stack. */
static void a_guests_stack_that_is_not_whole_leaves_its_sample(void **state)
{
	size_t missing, of_guest;

	(void)state;
	nr_records = 0;
	add_guest(1, 30);
	of_guest = nr_records;
	add_sample(1, 9);
	for (missing = 0; missing < of_guest; missing++) {
		struct xf_stream stream = new_stream();

		feed(&stream, 0, missing);
		feed(&stream, missing + 1, nr_records);
		assert_int_equal(nr_samples, 1);
		assert_int_equal(nr_guests, 0);
		assert_int_equal(stream.broken_guests, 1);
		assert_int_equal(stream.broken, 0);
	}
}

static void a_task_comes_with_its_sample_and_no_other(void **state)
{
	struct xf_stream stream = new_stream();

	(void)state;
	nr_records = 0;
	add_task(1, 4711);
	add_guest(1, 2);
	add_sample(1, 20);
	feed(&stream, 0, nr_records);
	assert_int_equal(nr_guests, 1);
	assert_int_equal(tgid, 4711);
	nr_records = 0;
	add_sample(2, 1);
	feed(&stream, 0, nr_records);
	assert_int_equal(tgid, 0);
	assert_int_equal(stream.broken_guests, 0);
	nr_records = 0;
	add_task(3, 1);
	add_guest(4, 1);
	add_sample(4, 1);
	feed(&stream, 0, nr_records);
	assert_int_equal(tgid, 0);
	assert_int_equal(nr_guests, 1);
	assert_int_equal(stream.broken_guests, 1);
	nr_records = 0;
	add_task(5, 8);
	add_task(5, 9);
	add_sample(5, 1);
	feed(&stream, 0, nr_records);
	assert_int_equal(stream.broken_guests, 2);
	assert_int_equal(stream.broken, 0);
}

static void a_task_of_another_size_is_dropped_and_counted(void **state)
{
	struct xf_stream stream = new_stream();
	struct {
		struct xf_guest_task task;
		uint64_t more;
	} longer = {.task = {.sequence = 1,
	                     .bytes = sizeof(longer),
	                     .mode = XF_GUEST_TASK,
	                     .pcpu = PCPU,
	                     .tgid = 5}};

	(void)state;
	nr_records = 0;
	add_guest_parts(1, &longer, sizeof(longer));
	add_sample(1, 1);
	feed(&stream, 0, nr_records);
	assert_int_equal(tgid, 0);
	assert_int_equal(nr_samples, 1);
	assert_int_equal(stream.broken_guests, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup(name, set_up)
	        TEST(guests_stacks_come_with_their_sample_in_order),
	        TEST(stacks_of_another_sample_are_dropped_and_counted),
	        TEST(more_stacks_than_a_sample_has_are_dropped_and_counted),
	        TEST(a_guests_stack_that_is_not_whole_leaves_its_sample),
	        TEST(a_task_comes_with_its_sample_and_no_other),
	        TEST(a_task_of_another_size_is_dropped_and_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
