// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * src/xen/stream.c: samples are put together again from trace records, whatever is cut, lost, mixed
 * in or made up. XF_SEED=n repeats the random tests with another seed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "unit/trace_records.h"

static void samples_of_every_length_are_put_together(void **state)
{
	struct xf_stream stream = new_stream();
	unsigned int words;

	(void)state;
	for (words = 0; words <= XF_MAX_WORDS; words++) {
		nr_records = 0;
		add_sample(words, words);
		feed(&stream, 0, nr_records);
		assert_int_equal(nr_samples, words + 1);
		assert_int_equal(last_sequence, words);
	}
	assert_int_equal(stream.delivered, XF_MAX_WORDS + 1);
	assert_int_equal(stream.broken, 0);
}

static void samples_may_be_split_between_calls_at_every_record(void **state)
{
	size_t first, second;

	(void)state;
	add_sample(1, 20);
	add_sample(2, 0);
	add_sample(3, 9);
	for (first = 0; first <= nr_records; first++) {
		for (second = first; second <= nr_records; second++) {
			struct xf_stream stream = new_stream();

			feed(&stream, 0, first);
			feed(&stream, first, second);
			feed(&stream, second, nr_records);
			assert_int_equal(stream.delivered, 3);
			assert_int_equal(nr_samples, 3);
			assert_int_equal(stream.broken, 0);
			assert_int_equal(stream.damaged_bytes, 0);
		}
	}
}

/* Takes record @missing out and feeds the rest. */
static struct xf_stream feed_without(size_t missing, size_t nr_missing)
{
	struct xf_stream stream = new_stream();

	feed(&stream, 0, missing);
	feed(&stream, missing + nr_missing, nr_records);
	return stream;
}

static void a_part_missing_at_any_later_position_breaks_one_sample(void **state)
{
	size_t parts, first, i;

	(void)state;
	add_sample(1, 5);
	first = nr_records;
	parts = add_sample(2, 30);
	add_sample(3, 5);
	for (i = 1; i < parts; i++) {
		struct xf_stream stream = feed_without(first + i, 1);

		assert_int_equal(stream.delivered, 2);
		assert_int_equal(stream.broken, 1);
		assert_int_equal(last_sequence, 3);
	}
}

static void a_first_part_missing_breaks_one_sample(void **state)
{
	struct xf_stream stream;
	size_t first;

	(void)state;
	add_sample(1, 5);
	first = nr_records;
	add_sample(2, 30);
	add_sample(3, 5);
	stream = feed_without(first, 1);
	assert_int_equal(stream.delivered, 2);
	/* Nothing is lost without being counted. */
	assert_int_equal(stream.broken, 1);
}

static void any_run_of_parts_may_be_missing_and_no_sample_is_made_up(void **state)
{
	size_t first, nr;

	(void)state;
	for (nr = 0; nr < 5; nr++)
		add_sample((uint32_t)nr, 7 * (unsigned int)nr);
	for (first = 0; first < nr_records; first++) {
		for (nr = 1; nr <= nr_records - first; nr++) {
			struct xf_stream stream = feed_without(first, nr);

			assert_true(stream.delivered < 5);
			assert_int_equal(stream.delivered, nr_samples);
			assert_true(stream.delivered + stream.broken <= 5);
		}
	}
}

static void parts_of_two_samples_are_never_mixed(void **state)
{
	size_t first, second, i;

	(void)state;
	/* Same length, other content, sequences that differ; and that are the same modulo 64. */
	for (i = 0; i < 2; i++) {
		struct xf_stream stream = new_stream();

		nr_records = 0;
		checking = i == 0;
		first = add_sample(1, 10);
		second = add_sample(i ? 65 : 2, 10);
		feed(&stream, 0, first / 2);
		feed(&stream, first + second / 2, nr_records);
		if (i == 0) {
			assert_int_equal(stream.delivered, 0);
			assert_int_equal(stream.broken, 2);
		}
	}
}

static void parts_out_of_order_or_twice_break_the_sample(void **state)
{
	struct xf_stream stream;
	size_t parts = add_sample(1, 10);
	size_t i;

	(void)state;
	for (i = 1; i + 1 < parts; i++) {
		stream = new_stream();
		feed(&stream, 0, i + 1);
		feed(&stream, i, parts);
		assert_int_equal(stream.delivered, 0);
		assert_int_equal(stream.broken, 1);
	}
	stream = new_stream();
	feed(&stream, 0, 1);
	feed(&stream, 0, parts); /* begins anew */
	assert_int_equal(stream.delivered, 1);
	assert_int_equal(stream.broken, 1);
}

static void lost_records_in_band_are_added_up_and_break_the_open_sample(void **state)
{
	uint32_t lost[4] = {17, 0, 0, 0};
	size_t parts, i;

	(void)state;
	parts = add_sample(1, 10);
	nr_records = parts;
	for (i = 0; i <= parts; i++) {
		struct xf_stream stream = new_stream();

		nr_records = parts;
		add_record(LOST_EVENT, true, lost, sizeof(lost));
		feed(&stream, 0, i);
		feed(&stream, parts, parts + 1);
		feed(&stream, i, parts);
		assert_int_equal(stream.lost_records, 17);
		if (i == 0 || i == parts) {
			assert_int_equal(stream.delivered, 1);
			assert_int_equal(stream.broken, 0);
		} else {
			assert_int_equal(stream.delivered, 0);
			assert_int_equal(stream.broken, 1);
		}
		feed(&stream, parts, parts + 1);
		assert_int_equal(stream.lost_records, 34);
	}
}

static void foreign_and_wrap_records_between_parts_do_no_harm(void **state)
{
	static const uint32_t foreign[] = {0x0001f000, 0x00021011, 0x00802001, 0x04008001, 0x0};
	uint32_t noise[7] = {1, 2, 3, 4, 5, 6, 7};
	struct xf_stream stream = new_stream();
	size_t parts = add_sample(1, 40);
	size_t i, expected = 0;

	(void)state;
	for (i = 0; i < parts; i++) {
		size_t extra = nr_records;

		feed(&stream, i, i + 1);
		add_record(WRAP_EVENT, i % 2, noise, 4 * (i % 8));
		add_record(foreign[i % 5], i % 3, noise, 4 * (i % 8));
		feed(&stream, extra, nr_records);
		expected++;
	}
	assert_int_equal(stream.delivered, 1);
	assert_int_equal(stream.broken, 0);
	assert_int_equal(stream.foreign_records, expected);
	assert_int_equal(stream.damaged_bytes, 0);
}

static void records_with_cycles_are_read_as_well(void **state)
{
	struct xf_stream stream = new_stream();
	size_t i, parts = add_sample(9, 12);

	(void)state;
	for (i = 0; i < parts; i++) {
		uint32_t head;
		uint8_t content[28];
		size_t size = records[i].size - 4;

		memcpy(&head, records[i].bytes, 4);
		memcpy(content, records[i].bytes + 4, size);
		add_record(head & 0x0fffffff, true, content, size);
	}
	feed(&stream, parts, nr_records);
	assert_int_equal(stream.delivered, 1);
	assert_int_equal(last_sequence, 9);
}

static void control_records_come_with_their_words_and_break_nothing(void **state)
{
	uint32_t words[7] = {PCPU | XF_STATISTICS_FINAL, 10, 20, 30, 40, 50, 60};
	struct xf_stream stream = new_stream();
	size_t parts = add_sample(1, 10);
	size_t nr;

	(void)state;
	feed(&stream, 0, 2);
	for (nr = 1; nr <= 7; nr++) {
		size_t at = nr_records;

		add_record(XF_TRACE_CONTROL | XF_CONTROL_STATISTICS, false, words, 4 * nr);
		feed(&stream, at, nr_records);
		assert_int_equal(nr_controls, nr);
		assert_int_equal(last_kind, XF_CONTROL_STATISTICS);
		assert_int_equal(last_nr, nr);
		assert_memory_equal(last_words, words, 4 * nr);
	}
	feed(&stream, 2, parts);
	assert_int_equal(stream.delivered, 1);
	/* One without words says nothing. */
	nr_records = 0;
	add_record(XF_TRACE_CONTROL | XF_CONTROL_HELLO, false, words, 0);
	feed(&stream, 0, 1);
	assert_int_equal(nr_controls, 7);
}

static void a_cut_record_is_counted_damaged_and_the_sample_broken(void **state)
{
	uint8_t bytes[2 * 40];
	size_t cut;

	(void)state;
	add_sample(1, 10);
	memcpy(bytes, records[0].bytes, records[0].size);
	memcpy(bytes + records[0].size, records[1].bytes, records[1].size);
	for (cut = records[0].size + 1; cut < records[0].size + records[1].size; cut++) {
		struct xf_stream stream = new_stream();

		feed_bytes(&stream, bytes, cut);
		assert_int_equal(stream.damaged_bytes, cut - records[0].size);
		assert_int_equal(stream.broken, 1);
		assert_int_equal(stream.delivered, 0);
	}
}

/* What a sample's head says is checked: its size, and whose it is. */
static void heads_that_make_no_sense_break_the_sample(void **state)
{
	static const struct {
		uint16_t bytes, pcpu;
		bool whole;
	} cases[] = {
	        {XF_SAMPLE_HEAD_BYTES + 80, PCPU, true},
	        {XF_SAMPLE_HEAD_BYTES + 80, PCPU + 1, false},
	        {0, PCPU, false},
	        {1, PCPU, false},
	        {XF_SAMPLE_HEAD_BYTES - 8, PCPU, false},
	        {XF_SAMPLE_HEAD_BYTES, PCPU, false},
	        {XF_SAMPLE_HEAD_BYTES + 72, PCPU, false},
	        {XF_SAMPLE_HEAD_BYTES + 79, PCPU, false},
	        {XF_SAMPLE_HEAD_BYTES + 81, PCPU, false},
	        {XF_SAMPLE_HEAD_BYTES + 88, PCPU, false},
	        {UINT16_MAX, PCPU, false},
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct xf_stream stream = new_stream();
		size_t offset = 4 + offsetof(struct xf_sample, bytes);

		nr_records = 0;
		add_sample(1, 10);
		memcpy(records[0].bytes + offset, &cases[i].bytes, 2);
		offset = 4 + offsetof(struct xf_sample, pcpu);
		memcpy(records[0].bytes + offset, &cases[i].pcpu, 2);
		add_sample(2, 0);
		feed(&stream, 0, nr_records);
		assert_int_equal(stream.delivered, cases[i].whole ? 2 : 1);
		assert_int_equal(stream.broken, !cases[i].whole);
		assert_int_equal(last_sequence, 2);
	}
}

/* Readers have room for XF_MAX_WORDS. */
static void more_words_than_a_sample_may_have_break_it(void **state)
{
	unsigned int words;

	(void)state;
	for (words = XF_MAX_WORDS + 1; words <= XF_MAX_WORDS + 6; words++) {
		struct xf_stream stream = new_stream();

		nr_records = 0;
		add_sample(1, words);
		feed(&stream, 0, nr_records);
		assert_int_equal(stream.delivered, 0);
		assert_int_equal(stream.broken, 1);
	}
}

static void a_sink_may_want_nothing(void **state)
{
	struct xf_stream_sink none = {0};
	struct xf_stream stream = new_stream();
	uint32_t word = 0;
	uint8_t bytes[80];
	size_t size;

	(void)state;
	add_record(XF_TRACE_CONTROL | XF_CONTROL_HELLO, false, &word, 4);
	add_sample(1, 0);
	memcpy(bytes, records[0].bytes, records[0].size);
	size = records[0].size;
	memcpy(bytes + size, records[1].bytes, records[1].size);
	xf_stream_feed(&stream, bytes, size + records[1].size, &none);
	xf_stream_feed(&stream, NULL, 0, &none);
	assert_int_equal(stream.damaged_bytes, 0);
}

/*
 * Random samples, of which random records are lost and told in band as Xen does, in random chunks:
 * all that was not touched comes out.
 */
static void what_was_produced_was_delivered_or_lost(void **state)
{
	unsigned int round;

	(void)state;
	for (round = 0; round < 2000; round++) {
		struct xf_stream stream = new_stream();
		uint64_t lost_here = 0, lost_all = 0, whole = 0, produced = 0;
		unsigned int rate = (unsigned int)(random_value() % 20);
		uint32_t sequence = (uint32_t)random_value();
		unsigned int i;

		for (i = 0; i < 40; i++) {
			size_t part, parts;
			bool touched = false;

			nr_records = 0;
			parts = add_sample(sequence++,
			                   (unsigned int)(random_value() % (XF_MAX_WORDS + 1)));
			produced++;
			for (part = 0; part < parts; part++) {
				uint32_t lost[4] = {(uint32_t)lost_here, 0, 0, 0};

				if (random_value() % 100 < rate) {
					lost_here++;
					touched = true;
					continue;
				}
				if (lost_here) {
					add_record(LOST_EVENT, true, lost, sizeof(lost));
					feed(&stream, nr_records - 1, nr_records);
					nr_records--;
					lost_all += lost_here;
				}
				lost_here = 0;
				feed(&stream, part, part + 1);
			}
			whole += !touched;
		}
		assert_int_equal(stream.delivered, whole);
		assert_int_equal(nr_samples, whole);
		assert_int_equal(stream.lost_records, lost_all);
		assert_true(stream.delivered + stream.broken <= produced);
	}
}

static void random_bytes_are_survived_and_accounted_for(void **state)
{
	unsigned int round;

	(void)state;
	checking = false;
	for (round = 0; round < 20000; round++) {
		struct xf_stream stream = new_stream();
		uint8_t bytes[512];
		unsigned int calls;

		for (calls = 0; calls < 4; calls++) {
			size_t size = random_value() % sizeof(bytes), i;

			for (i = 0; i < size; i++)
				bytes[i] = (uint8_t)random_value();
			/* Often enough something that looks like ours. */
			for (i = 0; i + 4 <= size && random_value() % 2; i += 4 * 8) {
				uint32_t head =
				        XF_PART_EVENT(XF_TRACE_SAMPLE, 0, i / 32) | 7u << 28;

				memcpy(bytes + i, &head, 4);
			}
			feed_bytes(&stream, bytes, size);
			assert_true(stream.filled <= sizeof(stream.bytes));
		}
		assert_int_equal(stream.delivered, nr_samples);
	}
}

static void flipped_bits_in_good_records_are_survived(void **state)
{
	unsigned int round;

	(void)state;
	checking = false;
	for (round = 0; round < 5000; round++) {
		struct xf_stream stream = new_stream();
		unsigned int flips = 1 + (unsigned int)(random_value() % 4);
		uint32_t sequence;

		nr_records = 0;
		for (sequence = 0; sequence < 4; sequence++)
			add_sample(sequence, (unsigned int)(random_value() % 40));
		while (flips--) {
			struct record *record = &records[random_value() % nr_records];

			record->bytes[random_value() % record->size] ^=
			        (uint8_t)(1u << random_value() % 8);
		}
		feed(&stream, 0, nr_records);
		assert_int_equal(stream.delivered, nr_samples);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup(name, set_up)
	        TEST(samples_of_every_length_are_put_together),
	        TEST(samples_may_be_split_between_calls_at_every_record),
	        TEST(a_part_missing_at_any_later_position_breaks_one_sample),
	        TEST(a_first_part_missing_breaks_one_sample),
	        TEST(any_run_of_parts_may_be_missing_and_no_sample_is_made_up),
	        TEST(parts_of_two_samples_are_never_mixed),
	        TEST(parts_out_of_order_or_twice_break_the_sample),
	        TEST(lost_records_in_band_are_added_up_and_break_the_open_sample),
	        TEST(foreign_and_wrap_records_between_parts_do_no_harm),
	        TEST(records_with_cycles_are_read_as_well),
	        TEST(control_records_come_with_their_words_and_break_nothing),
	        TEST(a_cut_record_is_counted_damaged_and_the_sample_broken),
	        TEST(heads_that_make_no_sense_break_the_sample),
	        TEST(more_words_than_a_sample_may_have_break_it),
	        TEST(a_sink_may_want_nothing),
	        TEST(what_was_produced_was_delivered_or_lost),
	        TEST(random_bytes_are_survived_and_accounted_for),
	        TEST(flipped_bits_in_good_records_are_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
