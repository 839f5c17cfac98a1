// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "profile/tracks.h"

#define PERIOD 10000000ull /* ns, at 100 Hz */

static struct xf_event samples[8];
static struct xf_profile_group groups[] = {{.pcpu = 5}, {.pcpu = 2}, {.pcpu = 5}};

/* @nr of the samples above, on groups of pCPUs 5, 2 and 5. */
static struct xf_tracks *build(size_t nr, uint64_t frequency)
{
	struct xf_profile profile = {.groups = groups,
	                             .nr_groups = 3,
	                             .timeline = {.events = samples, .nr = nr},
	                             .frequency = frequency};
	struct xf_tracks *tracks;

	assert_int_equal(xf_tracks_build(&profile, &tracks), 0);
	return tracks;
}

static struct xf_event at(uint64_t time, uint32_t node, uint32_t group)
{
	return (struct xf_event){.time = time, .count = 1, .node = {node}, .group = group};
}

static void assert_span(const struct xf_span *span, uint64_t start, uint64_t end, uint64_t count,
                        uint32_t node)
{
	assert_int_equal(span->start, start);
	assert_int_equal(span->end, end);
	assert_int_equal(span->count, count);
	assert_int_equal(span->node.index, node);
}

static void each_pcpu_has_a_track(void **state)
{
	struct xf_tracks *tracks;

	(void)state;
	samples[0] = at(PERIOD, 1, 0);
	samples[1] = at(PERIOD + 1, 1, 1);
	samples[2] = at(2 * PERIOD, 2, 2);
	tracks = build(3, 100);
	assert_int_equal(tracks->nr, 2);
	assert_int_equal(tracks->tracks[0].pcpu, 2);
	assert_int_equal(tracks->tracks[1].pcpu, 5);
	assert_int_equal(tracks->tracks[1].nr_spans, 2);
	assert_span(&tracks->tracks[0].spans[0], 0, PERIOD + 1, 1, 1);
	assert_span(&tracks->tracks[1].spans[0], 0, PERIOD, 1, 1);
	assert_span(&tracks->tracks[1].spans[1], PERIOD, 2 * PERIOD, 1, 2);
	xf_tracks_free(tracks);
}

static void neighbours_on_a_node_are_one_span(void **state)
{
	struct xf_tracks *tracks;

	(void)state;
	samples[0] = at(PERIOD, 7, 0);
	samples[1] = at(2 * PERIOD, 7, 2);
	samples[2] = at(3 * PERIOD, 8, 0);
	samples[3] = at(4 * PERIOD, 7, 0);
	tracks = build(4, 100);
	assert_int_equal(tracks->tracks[1].nr_spans, 3);
	assert_span(&tracks->tracks[1].spans[0], 0, 2 * PERIOD, 2, 7);
	assert_span(&tracks->tracks[1].spans[2], 3 * PERIOD, 4 * PERIOD, 1, 7);
	xf_tracks_free(tracks);
}

static void where_samples_are_missing_there_is_a_gap(void **state)
{
	struct xf_tracks *tracks;

	(void)state;
	samples[0] = at(PERIOD, 7, 0);
	samples[1] = at(PERIOD + 2 * PERIOD, 7, 0); /* two periods: jitter */
	samples[2] = at(10 * PERIOD, 7, 0);
	samples[3] = at(20 * PERIOD, 7, 0);
	samples[3].count = 8; /* ten periods for eight ticks: jitter too */
	tracks = build(4, 100);
	assert_int_equal(tracks->tracks[1].nr_spans, 2);
	assert_span(&tracks->tracks[1].spans[0], 0, 3 * PERIOD, 2, 7);
	assert_span(&tracks->tracks[1].spans[1], 9 * PERIOD, 20 * PERIOD, 9, 7);
	xf_tracks_free(tracks);
	tracks = build(4, 0); /* nobody knows what is missing */
	assert_int_equal(tracks->tracks[1].nr_spans, 1);
	xf_tracks_free(tracks);
}

static void time_is_as_much_as_64_bits_hold(void **state)
{
	struct xf_profile profile = {.frequency = 99};

	(void)state;
	assert_true(xf_profile_nanoseconds(&profile, 2) == 20202020);
	assert_true(xf_profile_nanoseconds(&profile, UINT64_MAX) == UINT64_MAX);
	samples[0] = at(UINT64_MAX, 1, 0);
	samples[0].count = UINT32_MAX;
	xf_tracks_free(build(1, 100));
	profile.frequency = UINT64_MAX;
	assert_true(xf_profile_nanoseconds(&profile, 5) == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(each_pcpu_has_a_track),
	        cmocka_unit_test(neighbours_on_a_node_are_one_span),
	        cmocka_unit_test(where_samples_are_missing_there_is_a_gap),
	        cmocka_unit_test(time_is_as_much_as_64_bits_hold),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
