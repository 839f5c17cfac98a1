// SPDX-License-Identifier: GPL-2.0-or-later
/* src/profile/vcpu_times.c: spans of a recording, whatever is in them, and what they add up to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "profile/profile.h"
#include "profile/recording.h"

/* A counter of a thousand ticks a second: a tick is a million nanoseconds. */
#define MS 1000000u

struct bytes {
	uint8_t at[65536];
	size_t size;
};

static struct bytes bytes;
static struct xf_recording *recording;
static struct xf_vcpu_times times;

static int take(void *context, const void *taken, size_t size)
{
	struct bytes *all = context;

	assert_true(all->size + size <= sizeof(all->at));
	memcpy(all->at + all->size, taken, size);
	all->size += size;
	return 0;
}

static void write_domain(struct xf_recording_writer *writer, uint16_t domid, uint64_t tsc,
                         const char *name)
{
	const struct xf_recording_domain domain = {
	        .domid = domid, .tsc = tsc, .name = name, .uuid = ""};

	assert_int_equal(xf_recording_write_domain(writer, &domain), 0);
}

static void open_with(const struct xf_runstate_span *spans, size_t nr)
{
	struct xf_recording_sink sink = {.write = take, .context = &bytes};
	struct xf_recording_writer *writer;

	bytes.size = 0;
	assert_int_equal(xf_recording_writer_new(sink, &writer, NULL), 0);
	xf_recording_write_info(writer, "tsc.hz", "1000");
	write_domain(writer, 1, 0, "web");
	write_domain(writer, 1, 5000, "other");
	write_domain(writer, 2, 0, "build");
	assert_int_equal(xf_recording_write_runstates(writer, spans, nr), 0);
	xf_recording_write_end(writer);
	xf_recording_writer_free(writer);
	assert_int_equal(xf_recording_open(bytes.at, bytes.size, &recording, NULL), 0);
}

static void add_up(const char *domain, uint64_t from, uint64_t to)
{
	struct xf_profile_options options = XF_PROFILE_DEFAULTS;

	options.domain = domain;
	xf_vcpu_times_free(&times);
	assert_int_equal(xf_vcpu_times_add_up(recording, &options, from, to, &times), 0);
}

static int close_it(void **state)
{
	(void)state;
	xf_vcpu_times_free(&times);
	xf_recording_free(recording);
	recording = NULL;
	return 0;
}

static void want(size_t row, const char *domain, uint16_t vcpu, uint64_t running, uint64_t waiting,
                 uint64_t blocked, uint64_t unknown)
{
	assert_true(row < times.nr);
	assert_string_equal(times.rows[row].domain, domain);
	assert_int_equal(times.rows[row].vcpu, vcpu);
	assert_int_equal(times.rows[row].time[XF_RUNSTATE_RUNNING], running);
	assert_int_equal(times.rows[row].time[XF_RUNSTATE_WAITING], waiting);
	assert_int_equal(times.rows[row].time[XF_RUNSTATE_BLOCKED], blocked);
	assert_int_equal(times.rows[row].unknown, unknown);
}

static void spans_add_up_by_vcpu_and_what_they_leave_out_is_unknown(void **state)
{
	static const struct xf_runstate_span spans[] = {
	        {.domid = 2, .vcpu = 0, .from = 1000, .to = 2000, .ticks = {600, 300, 100}},
	        {.domid = XF_DOMID_IDLE, .vcpu = 1, .from = 1000, .to = 3000, .ticks = {2000}},
	        {.domid = 1, .vcpu = 1, .from = 1500, .to = 2000, .ticks = {0, 0, 400}},
	        {.domid = 2, .vcpu = 0, .from = 2000, .to = 3000, .ticks = {0, 1000}},
	};

	(void)state;
	open_with(spans, 4);
	assert_int_equal(xf_recording_state(recording).damaged, 0);
	add_up(NULL, 1000, 3000);
	assert_int_equal(times.nr, 3);
	want(0, "web", 1, 0, 0, 400 * MS, 1600 * MS);
	want(1, "build", 0, 600 * MS, 1300 * MS, 100 * MS, 0);
	want(2, "Idle", 1, 2000 * MS, 0, 0, 0);
	assert_int_equal(xf_vcpu_time_whole(&times.rows[0]), 2000 * MS);
}

static void of_spans_that_reach_over_an_end_a_part_counts_and_no_tick_is_lost(void **state)
{
	static const struct xf_runstate_span spans[] = {
	        {.domid = 2, .vcpu = 0, .from = 1000, .to = 1030, .ticks = {10, 10, 10}},
	        {.domid = 2, .vcpu = 0, .from = 1030, .to = 1130, .ticks = {100}},
	};

	(void)state;
	open_with(spans, 2);
	add_up(NULL, 1010, 1080);
	want(0, "build", 0, 56 * MS, 7 * MS, 7 * MS, 0);
	add_up(NULL, 1023, 1030);
	assert_int_equal(times.rows[0].unknown, 0);
	assert_int_equal(xf_vcpu_time_whole(&times.rows[0]), 7 * MS);
	add_up(NULL, 2000, 3000);
	assert_int_equal(times.nr, 0);
	add_up(NULL, 1080, 1010);
	assert_int_equal(times.nr, 0);
}

static void a_domid_under_two_names_has_two_rows(void **state)
{
	static const struct xf_runstate_span spans[] = {
	        {.domid = 1, .vcpu = 0, .from = 4000, .to = 5000, .ticks = {1000}},
	        {.domid = 1, .vcpu = 0, .from = 5000, .to = 6000, .ticks = {0, 1000}},
	        {.domid = 1, .vcpu = 1, .from = 4000, .to = 5000, .ticks = {0, 0, 1000}},
	};
	struct xf_vcpu_time sum;

	(void)state;
	open_with(spans, 3);
	add_up(NULL, 4000, 6000);
	assert_int_equal(times.nr, 3);
	want(0, "other", 0, 0, 1000 * MS, 0, 1000 * MS);
	want(1, "web", 0, 1000 * MS, 0, 0, 1000 * MS);
	want(2, "web", 1, 0, 0, 1000 * MS, 1000 * MS);
	assert_int_equal(xf_vcpu_times_domain(&times, 0, &sum), 1);
	assert_int_equal(xf_vcpu_times_domain(&times, 1, &sum), 2);
	assert_int_equal(sum.time[XF_RUNSTATE_RUNNING], 1000 * MS);
	assert_int_equal(sum.unknown, 2000 * MS);
	add_up("web", 4000, 6000);
	assert_int_equal(times.nr, 2);
	add_up("1", 4000, 6000);
	assert_int_equal(times.nr, 3);
}

static void of_one_pcpu_there_are_none(void **state)
{
	static const struct xf_runstate_span span = {
	        .domid = 2, .from = 1000, .to = 2000, .ticks = {1000}};
	struct xf_profile_options options = XF_PROFILE_DEFAULTS;

	(void)state;
	open_with(&span, 1);
	options.pcpu = 0;
	assert_int_equal(xf_vcpu_times_add_up(recording, &options, 1000, 2000, &times), 0);
	assert_int_equal(times.nr, 0);
}

static void spans_that_make_no_sense_are_left_out_and_counted(void **state)
{
	static const struct xf_runstate_span spans[] = {
	        {.domid = 2, .from = 1000, .to = 2000, .ticks = {600, 401}},
	        {.domid = 2, .from = 1000, .to = 2000, .ticks = {UINT64_MAX, 2}},
	        {.domid = 2, .from = 2000, .to = 2000},
	        {.domid = 2, .from = 2000, .to = 1000, .ticks = {1}},
	        {.domid = 2, .from = 1000, .to = 2000, .ticks = {1000}},
	        {.domid = 2, .from = 1999, .to = 3000, .ticks = {1}},
	        {.domid = 2, .from = 3000, .to = UINT64_MAX, .ticks = {UINT64_MAX - 3000}},
	};

	(void)state;
	open_with(spans, 7);
	/* Those of one chunk count as one piece of damage, that over another by itself. */
	assert_int_equal(xf_recording_state(recording).damaged, 2);
	assert_int_equal(xf_recording_runstates(recording)->nr, 2);
	add_up(NULL, 1000, 4000);
	want(0, "build", 0, 2000 * MS, 0, 0, 1000 * MS);
	add_up(NULL, 0, UINT64_MAX);
	assert_int_equal(times.nr, 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_teardown(name, close_it)
	const struct CMUnitTest tests[] = {
	        TEST(spans_add_up_by_vcpu_and_what_they_leave_out_is_unknown),
	        TEST(of_spans_that_reach_over_an_end_a_part_counts_and_no_tick_is_lost),
	        TEST(a_domid_under_two_names_has_two_rows),
	        TEST(of_one_pcpu_there_are_none),
	        TEST(spans_that_make_no_sense_are_left_out_and_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
