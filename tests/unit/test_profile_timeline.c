// SPDX-License-Identifier: GPL-2.0-or-later
/* Samples in the order of time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "profile/timeline.h"

static const uint32_t same_places[] = {0, 1, 2, 3};

static void times_that_go_back_are_put_in_order(void **state)
{
	static const uint64_t times[] = {50, 10, 40, 10, 0, UINT64_MAX, 40, 10, 45};
	struct xf_timeline timeline = {0};

	(void)state;
	for (uint32_t i = 0; i < 9; i++)
		xf_timeline_add(&timeline,
		                (struct xf_event){.time = times[i], .node = {i}, .count = 1});
	assert_int_equal(xf_timeline_finish(&timeline, same_places), 0);
	assert_int_equal(timeline.nr, 9);
	for (size_t i = 1; i < 9; i++) {
		const struct xf_event *event = &timeline.events[i];

		assert_true(event[-1].time <= event->time);
		/* What has one time stays in the order of the recording. */
		if (event[-1].time == event->time)
			assert_true(event[-1].node.index < event->node.index);
	}
	xf_timeline_free(&timeline);
}

static void ten_thousand_events_are_all_there(void **state)
{
	struct xf_timeline timeline = {0};
	uint64_t random = 1, nodes = 0;

	(void)state;
	for (uint32_t i = 0; i < 10000; i++) {
		random = random * 6364136223846793005ull + 1442695040888963407ull;
		xf_timeline_add(&timeline,
		                (struct xf_event){.time = random >> 50, .node = {i}, .count = 1});
	}
	assert_int_equal(xf_timeline_finish(&timeline, same_places), 0);
	for (size_t i = 0; i < 10000; i++) {
		assert_true(!i || timeline.events[i - 1].time <= timeline.events[i].time);
		nodes += timeline.events[i].node.index;
	}
	assert_int_equal(nodes, 9999 * 10000 / 2);
	xf_timeline_free(&timeline);
}

static void ticks_told_in_a_sum_lie_in_the_time_before(void **state)
{
	const struct xf_event sum = {.time = 1000, .count = 10, .group = 2};
	struct xf_timeline timeline = {0};
	uint64_t count = 0;

	(void)state;
	xf_timeline_add_ticks(&timeline, sum, 10);
	assert_int_equal(timeline.nr, 4);
	for (size_t i = 0; i < timeline.nr; i++) {
		const struct xf_event *event = &timeline.events[i];

		count += event->count;
		/* It ends with the tick that is so many ticks before the sum's. */
		assert_int_equal(event->time, 1000 - (10 - count) * 10);
		assert_true(event->count == 2 || event->count == 3);
		assert_int_equal(event->group, 2);
	}
	assert_int_equal(count, 10);
	xf_timeline_free(&timeline);
}

static void ticks_do_not_lie_before_the_beginning(void **state)
{
	const struct xf_event sum = {.time = 5, .count = UINT32_MAX};
	struct xf_timeline timeline = {0};
	uint64_t count = 0;

	(void)state;
	xf_timeline_add_ticks(&timeline, sum, UINT64_MAX / 2);
	for (size_t i = 0; i < timeline.nr; i++) {
		count += timeline.events[i].count;
		assert_true(timeline.events[i].time <= 5);
	}
	assert_int_equal(count, UINT32_MAX);
	xf_timeline_free(&timeline);
}

static void groups_go_where_they_were_put(void **state)
{
	static const uint32_t places[] = {2, 0, 1};
	struct xf_timeline timeline = {0};

	(void)state;
	for (uint32_t i = 0; i < 3; i++)
		xf_timeline_add(&timeline, (struct xf_event){.time = i, .group = i, .count = 1});
	assert_int_equal(xf_timeline_finish(&timeline, places), 0);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(timeline.events[i].group, places[i]);
	xf_timeline_free(&timeline);
}

static void no_events_are_no_trouble(void **state)
{
	struct xf_timeline timeline = {0};

	(void)state;
	assert_int_equal(xf_timeline_finish(&timeline, same_places), 0);
	assert_int_equal(timeline.nr, 0);
	xf_timeline_free(&timeline);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(times_that_go_back_are_put_in_order),
	        cmocka_unit_test(ten_thousand_events_are_all_there),
	        cmocka_unit_test(ticks_told_in_a_sum_lie_in_the_time_before),
	        cmocka_unit_test(ticks_do_not_lie_before_the_beginning),
	        cmocka_unit_test(groups_go_where_they_were_put),
	        cmocka_unit_test(no_events_are_no_trouble),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
