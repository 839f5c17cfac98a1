// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * src/xen/runstates.c: what it claims of a vCPU is what was, whatever the order in which the pCPUs'
 * buffers are read and whatever is lost; and where nothing is lost, nothing is unknown. XF_SEED=n
 * repeats the random tests with another seed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "xen/runstates.h"
#include "xen/stream.h"

#define RUNNING XF_RUNSTATE_RUNNING
#define WAITING XF_RUNSTATE_WAITING
#define BLOCKED XF_RUNSTATE_BLOCKED
#define OFFLINE XF_RUNSTATE_OFFLINE

#define SPAN 100u

static struct xf_runstates *states;
static uint64_t random_state;

static uint64_t random_below(uint64_t limit)
{
	uint64_t value = random_state += 0x9e3779b97f4a7c15ull;

	value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ull;
	value = (value ^ (value >> 27)) * 0x94d049bb133111ebull;
	return (value ^ (value >> 31)) % limit;
}

static int set_up(void **state)
{
	const char *seed = getenv("XF_SEED");

	(void)state;
	random_state = seed ? strtoull(seed, NULL, 0) : 1;
	states = xf_runstates_new(SPAN);
	assert_non_null(states);
	xf_runstates_begin(states, 1000);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	xf_runstates_free(states);
	return 0;
}

static void take(uint64_t tsc, uint16_t domid, uint16_t vcpu, unsigned int before,
                 unsigned int after)
{
	const uint16_t content[2] = {vcpu, domid};

	xf_runstates_take(states, 0x00021001u | before << 8 | after << 4, tsc,
	                  (const uint8_t *)content, sizeof(content));
}

static void goes_on(uint64_t tsc, uint16_t domid, uint16_t vcpu)
{
	const uint16_t content[2] = {vcpu, domid};

	xf_runstates_take(states, 0x00021002u, tsc, (const uint8_t *)content, sizeof(content));
}

/* What the spans of a vCPU have of each state. Return: how many they are. */
static size_t sum_up(uint16_t domid, uint16_t vcpu, uint64_t sums[XF_RUNSTATES])
{
	const struct xf_runstate_span *spans;
	size_t nr = xf_runstates_spans(states, &spans), found = 0;

	memset(sums, 0, XF_RUNSTATES * sizeof(*sums));
	for (size_t i = 0; i < nr; i++) {
		if (spans[i].domid != domid || spans[i].vcpu != vcpu)
			continue;
		found++;
		for (size_t s = 0; s < XF_RUNSTATES; s++)
			sums[s] += spans[i].ticks[s];
	}
	return found;
}

static void want(uint16_t domid, uint16_t vcpu, uint64_t running, uint64_t waiting,
                 uint64_t blocked, uint64_t offline)
{
	uint64_t sums[XF_RUNSTATES];

	sum_up(domid, vcpu, sums);
	assert_int_equal(sums[RUNNING], running);
	assert_int_equal(sums[WAITING], waiting);
	assert_int_equal(sums[BLOCKED], blocked);
	assert_int_equal(sums[OFFLINE], offline);
}

static void end_at(uint64_t tsc)
{
	xf_runstates_turn(states, tsc, false);
	xf_runstates_end(states);
}

static void each_state_has_its_time_and_the_first_record_tells_what_was_before_it(void **state)
{
	(void)state;
	take(1010, 3, 1, BLOCKED, WAITING);
	take(1030, 3, 1, WAITING, RUNNING);
	take(1070, 3, 1, RUNNING, OFFLINE);
	end_at(1150);
	want(3, 1, 40, 20, 10, 80);
}

static void records_of_several_pcpus_count_in_the_order_of_time(void **state)
{
	(void)state;
	take(1030, 3, 1, WAITING, RUNNING);
	xf_runstates_turn(states, 1040, false);
	take(1060, 3, 1, BLOCKED, WAITING); /* woken elsewhere, read first */
	take(1050, 3, 1, RUNNING, BLOCKED);
	take(1010, 3, 1, BLOCKED, WAITING); /* still of before the turn */
	end_at(1070);
	want(3, 1, 20, 30, 20, 0);
	assert_int_equal(xf_runstates_books(states).broken, 0);
}

static void a_missing_record_leaves_unknown_what_lies_before_the_one_that_shows_it(void **state)
{
	(void)state;
	take(1010, 3, 1, BLOCKED, RUNNING);
	take(1050, 3, 1, WAITING, RUNNING); /* it had stopped running some time before */
	end_at(1060);
	want(3, 1, 10, 0, 10, 0);
	assert_int_equal(xf_runstates_books(states).broken, 1);
}

static void in_a_gap_and_right_after_it_nothing_is_known_of_anybody(void **state)
{
	(void)state;
	take(1010, 3, 1, BLOCKED, RUNNING);
	xf_runstates_turn(states, 1100, false);
	take(1150, 3, 1, RUNNING, BLOCKED);
	xf_runstates_turn(states, 1200, true);
	xf_runstates_turn(states, 1300, false);
	take(1350, 3, 1, BLOCKED, RUNNING); /* so it was since the gap's end */
	end_at(1400);
	want(3, 1, 90 + 50, 0, 10 + 50, 0);
	assert_int_equal(xf_runstates_books(states).gaps, 1);
	assert_int_equal(xf_runstates_books(states).broken, 0);
}

static void who_stays_running_says_so(void **state)
{
	(void)state;
	goes_on(1020, 3, 1);
	goes_on(1040, 3, 1);
	end_at(1060);
	want(3, 1, 60, 0, 0, 0);
	assert_int_equal(xf_runstates_books(states).broken, 0);
}

static void who_has_no_record_has_always_been_as_it_is(void **state)
{
	(void)state;
	xf_runstates_tell(states, 3, 1, BLOCKED);
	xf_runstates_tell(states, 3, 2, BLOCKED);
	xf_runstates_tell(states, 3, 3, BLOCKED);
	take(1020, 3, 2, RUNNING, WAITING); /* the record knows better ... */
	xf_runstates_turn(states, 1100, true);
	xf_runstates_turn(states, 1200, false);
	xf_runstates_turn(states, 1300, false);
	xf_runstates_tell(states, 3, 1, RUNNING); /* ... and what was said before a gap is old */
	end_at(1400);
	want(3, 1, 200, 0, 0, 0);
	want(3, 2, 0, 0, 0, 0);
	want(3, 3, 0, 0, 0, 0);
}

static void what_is_long_has_a_span_of_its_own(void **state)
{
	const struct xf_runstate_span *spans;

	(void)state;
	take(1010, 3, 1, BLOCKED, RUNNING);
	take(1060, 3, 1, RUNNING, BLOCKED);
	take(5000, 3, 1, BLOCKED, RUNNING);
	end_at(5050);
	assert_int_equal(xf_runstates_spans(states, &spans), 3);
	assert_int_equal(spans[0].from, 1000);
	assert_int_equal(spans[0].to, 1060);
	assert_int_equal(spans[1].to, 5000);
	assert_int_equal(spans[1].ticks[BLOCKED], 5000 - 1060);
	assert_int_equal(spans[2].ticks[RUNNING], 50);
	xf_runstates_forget(states);
	assert_int_equal(xf_runstates_spans(states, &spans), 0);
}

static void counters_beyond_32_bits_and_those_that_go_back_are_survived(void **state)
{
	const uint64_t start = 0xfffffffff0ull; /* the low half is about to wrap */

	(void)state;
	xf_runstates_begin(states, start);
	take(start + 8, 3, 1, BLOCKED, RUNNING);
	take(start + 32, 3, 1, RUNNING, BLOCKED);
	xf_runstates_turn(states, start + 40, false);
	xf_runstates_turn(states, start + 50, false);
	take(start + 30, 3, 1, BLOCKED, RUNNING); /* of a pCPU whose counter is behind */
	end_at(start + 60);
	want(3, 1, 24 + 28, 0, 8, 0);
}

static void other_events_other_sizes_and_what_has_no_time_are_left_alone(void **state)
{
	static const uint8_t content[8] = {1, 0, 3, 0};

	(void)state;
	xf_runstates_take(states, 0x00021001u | RUNNING << 8 | BLOCKED << 4, 1010, content, 8);
	xf_runstates_take(states, 0x00021003u, 1010, content, 4);
	xf_runstates_take(states, 0x00022001u, 1010, content, 4);
	xf_runstates_take(states, 0x00021041u, 1010, content, 4);
	xf_runstates_take(states, 0x00021001u, 1010, NULL, 0);
	take(0, 3, 1, RUNNING, BLOCKED);
	take(1010, 0x8000, 0, RUNNING, BLOCKED); /* no domain has that number */
	end_at(1100);
	assert_int_equal(xf_runstates_books(states).records, 1);
	want(3, 1, 0, 0, 0, 0);
}

/* ---- Through the stream ---------------------------------------------------------------------- */

static void hand_on(void *context, uint32_t event, uint64_t tsc, const uint8_t *bytes, size_t size)
{
	(void)context;
	xf_runstates_take(states, event, tsc, bytes, size);
}

/* The record as Xen writes it: its head, the counter's halves, and @word. */
static void feed(uint32_t event, uint64_t tsc, uint32_t word)
{
	const uint32_t record[4] = {event | 1u << 28 | 1u << 31, (uint32_t)tsc,
	                            (uint32_t)(tsc >> 32), word};
	const struct xf_stream_sink sink = {.foreign = hand_on};
	struct xf_stream stream;

	xf_stream_init(&stream, 0);
	xf_stream_feed(&stream, (const uint8_t *)record, sizeof(record), &sink);
	assert_int_equal(stream.foreign_records, 1);
	assert_int_equal(stream.damaged_bytes, 0);
}

/* One that bears no time has none. */
static void hand_on_untimed(void *context, uint32_t event, uint64_t tsc, const uint8_t *bytes,
                            size_t size)
{
	assert_int_equal(event, 0x00021002u);
	assert_int_equal(tsc, 0);
	assert_int_equal(size, 4);
	assert_int_equal(bytes[0], 1);
	*(bool *)context = true;
}

static void a_record_without_a_time_is_handed_on_as_such(void **state)
{
	const uint32_t record[2] = {0x00021002u | 1u << 28, 1};
	bool heard = false;
	const struct xf_stream_sink sink = {.context = &heard, .foreign = hand_on_untimed};
	struct xf_stream stream;

	(void)state;
	xf_stream_init(&stream, 0);
	xf_stream_feed(&stream, (const uint8_t *)record, sizeof(record), &sink);
	assert_true(heard);
}

static void records_of_xen_4_17_and_4_20_are_understood(void **state)
{
	/* Bit-fields of one word there, two numbers of 16 bits here. */
	union {
		struct {
			uint32_t vcpu : 16, domain : 16;
		} of_4_17;
		struct {
			uint16_t vcpu, domain;
		} of_4_20;
		uint32_t word;
	} older = {.of_4_17 = {.vcpu = 1, .domain = 3}}, newer = {.of_4_20 = {2, 0x7ff0}};

	(void)state;
	feed(0x00021001u | BLOCKED << 8 | WAITING << 4, 0x100000010ull, older.word);
	feed(0x00021001u | WAITING << 8 | RUNNING << 4, 0x100000030ull, newer.word);
	feed(0x00021002u, 0x100000040ull, newer.word);
	end_at(0x100000050ull);
	want(3, 1, 0, 0x40, 0x100000010ull - 1000, 0);
	want(0x7ff0, 2, 0x20, 0x100000030ull - 1000, 0, 0);
}

/* ---- At random ------------------------------------------------------------------------------- */

#define VCPUS   5u
#define PCPUS   3u
#define TURNS   200u
#define PERIOD  1000u
#define CHANGES 40000u

struct event {
	uint64_t tsc;
	uint16_t vcpu;
	uint8_t before, after;
	uint8_t pcpu; /* in whose buffer it is */
	bool lost;
};

static struct event events[CHANGES];
static size_t nr_events;

/* What happens: one change of anybody's at each moment that has one. */
static void happen(uint64_t until)
{
	uint8_t now[VCPUS] = {0};
	uint64_t tsc = 1000;

	nr_events = 0;
	while (nr_events < CHANGES) {
		struct event *event = &events[nr_events];
		uint16_t vcpu = (uint16_t)random_below(VCPUS);

		/* The last one's changes are rare, so that it has times without any. */
		if (vcpu == VCPUS - 1 && random_below(300))
			vcpu = 0;
		tsc += 1 + random_below(40);
		if (tsc >= until)
			break;
		*event = (struct event){.tsc = tsc,
		                        .vcpu = vcpu,
		                        .before = now[vcpu],
		                        .after = (uint8_t)((now[vcpu] + 1 + random_below(3)) % 4),
		                        .pcpu = (uint8_t)random_below(PCPUS)};
		now[vcpu] = event->after;
		nr_events++;
	}
}

/* How long @vcpu really was in which state between two moments. */
static void truth(uint16_t vcpu, uint64_t from, uint64_t to, uint64_t sums[XF_RUNSTATES])
{
	uint64_t at = from;
	uint8_t now = 0;

	memset(sums, 0, XF_RUNSTATES * sizeof(*sums));
	for (size_t i = 0; i < nr_events && events[i].tsc < to; i++) {
		if (events[i].vcpu != vcpu)
			continue;
		if (events[i].tsc > at) {
			sums[now] += events[i].tsc - at;
			at = events[i].tsc;
		}
		now = events[i].after;
	}
	sums[now] += to - at;
}

static void nothing_false_is_claimed(void)
{
	const struct xf_runstate_span *spans;
	size_t nr = xf_runstates_spans(states, &spans);

	assert_true(nr > 0);
	for (size_t i = 0; i < nr; i++) {
		uint64_t sums[XF_RUNSTATES];

		assert_true(spans[i].from < spans[i].to);
		truth(spans[i].vcpu, spans[i].from, spans[i].to, sums);
		assert_memory_equal(sums, spans[i].ticks, sizeof(sums));
	}
}

/*
 * Reads the buffers turn by turn, each at another moment after the turn's. With @loses, now and
 * then a buffer has been full for a while when it is read: what it should have taken is lost, which
 * Xen says only when it next writes into it.
 */
static void read_all(bool loses)
{
	uint64_t read_until[PCPUS] = {1000, 1000, 1000};

	for (uint64_t turn = 1; turn <= TURNS; turn++) {
		uint64_t tsc = 1000 + turn * PERIOD;
		bool gap = false;

		for (unsigned int p = 0; p < PCPUS; p++) {
			unsigned int pcpu = (p + (unsigned int)turn) % PCPUS;
			uint64_t read_at = tsc + random_below(PERIOD / 2);
			bool full = loses && !random_below(20);
			uint64_t lost_from =
			        full ? read_at - random_below(read_at - read_until[pcpu]) : read_at;

			for (size_t i = 0; i < nr_events; i++) {
				const struct event *event = &events[i];

				if (event->pcpu == pcpu && event->tsc >= read_until[pcpu] &&
				    event->tsc < lost_from)
					take(event->tsc, 7, event->vcpu, event->before,
					     event->after);
			}
			read_until[pcpu] = read_at;
			gap = gap || full;
		}
		xf_runstates_turn(states, tsc, gap);
	}
	xf_runstates_end(states);
}

static void where_nothing_is_lost_all_is_known_and_true(void **state)
{
	(void)state;
	happen(1000 + (TURNS + 2) * PERIOD);
	read_all(false);
	nothing_false_is_claimed();
	for (uint16_t vcpu = 0; vcpu < VCPUS; vcpu++) {
		uint64_t sums[XF_RUNSTATES], whole = 0;

		sum_up(7, vcpu, sums);
		for (size_t s = 0; s < XF_RUNSTATES; s++)
			whole += sums[s];
		assert_int_equal(whole, TURNS * PERIOD);
	}
}

static void whatever_is_lost_nothing_false_is_claimed(void **state)
{
	(void)state;
	for (unsigned int round = 0; round < 10; round++) {
		tear_down(state);
		states = xf_runstates_new(SPAN);
		xf_runstates_begin(states, 1000);
		happen(1000 + (TURNS + 2) * PERIOD);
		read_all(true);
		nothing_false_is_claimed();
		assert_true(xf_runstates_books(states).gaps > 0);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
	        TEST(each_state_has_its_time_and_the_first_record_tells_what_was_before_it),
	        TEST(records_of_several_pcpus_count_in_the_order_of_time),
	        TEST(a_missing_record_leaves_unknown_what_lies_before_the_one_that_shows_it),
	        TEST(in_a_gap_and_right_after_it_nothing_is_known_of_anybody),
	        TEST(who_stays_running_says_so),
	        TEST(who_has_no_record_has_always_been_as_it_is),
	        TEST(what_is_long_has_a_span_of_its_own),
	        TEST(counters_beyond_32_bits_and_those_that_go_back_are_survived),
	        TEST(other_events_other_sizes_and_what_has_no_time_are_left_alone),
	        TEST(a_record_without_a_time_is_handed_on_as_such),
	        TEST(records_of_xen_4_17_and_4_20_are_understood),
	        TEST(where_nothing_is_lost_all_is_known_and_true),
	        TEST(whatever_is_lost_nothing_false_is_claimed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
