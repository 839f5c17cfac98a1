// SPDX-License-Identifier: GPL-2.0-or-later
/* A recording that is followed: what each interval holds, and what does not grow. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "profile/live.h"
#include "profile/process_writer.h"
#include "profile/recording.h"

/* Of AddressSanitizer's run-time library, which unit tests are linked with. */
size_t __sanitizer_get_current_allocated_bytes(void);

#define TEXT  0xffff82d040200000ull
#define AGENT 0xffff82d040801000ull
#define PID   4711u

/* A recorder whose chunks go to a follower as they are written. */
struct following {
	struct xf_live *live;
	struct xf_recording_writer *writer;
	uint8_t *bytes; /* not yet whole chunks */
	size_t size;
	bool begun;
};

static int take(void *context, const void *bytes, size_t size)
{
	struct following *following = context;
	struct xf_chunk_head head;

	following->bytes = realloc(following->bytes, following->size + size);
	memcpy(following->bytes + following->size, bytes, size);
	following->size += size;
	if (!following->begun) {
		following->begun = following->size >= 16;
		following->size = 0;
		return 0;
	}
	if (following->size < sizeof(head))
		return 0;
	memcpy(&head, following->bytes, sizeof(head));
	if (following->size < sizeof(head) + head.size)
		return 0;
	assert_int_equal(following->size, sizeof(head) + head.size);
	following->size = 0;
	return xf_live_take(following->live, head, following->bytes + sizeof(head));
}

static void write_code(struct following *following, uint64_t address, const char *first)
{
	struct xf_symbols *symbols = xf_symbols_new();
	uint8_t code[0x20];

	memset(code, 0xc3, sizeof(code));
	xf_symbols_add(symbols, address, 0, 't', first);
	xf_symbols_finish(symbols);
	assert_int_equal(xf_recording_write_symbols(following->writer, symbols), 0);
	assert_int_equal(xf_recording_write_code(following->writer, address, code, sizeof(code)),
	                 0);
	xf_symbols_free(symbols);
}

static void name_domain(struct following *following, uint16_t domid, const char *name)
{
	struct xf_recording_domain domain = {
	        .domid = domid, .type = XF_DOMAIN_PV, .tsc = 1, .name = name, .uuid = ""};

	assert_int_equal(xf_recording_write_domain(following->writer, &domain), 0);
}

static struct following begin(void)
{
	struct following following = {.live = xf_live_new()};

	assert_non_null(following.live);
	return following;
}

static void write_head(struct following *following)
{
	struct xf_recording_sink sink = {.write = take, .context = following};

	assert_int_equal(xf_recording_writer_new(sink, &following->writer, NULL), 0);
	xf_recording_write_info(following->writer, "host", "here");
	xf_recording_write_info(following->writer, "frequency", "99");
	xf_recording_write_info(following->writer, "text.start", "0x%llx", TEXT);
	xf_recording_write_info(following->writer, "text.end", "0x%llx", TEXT + 0x20);
	write_code(following, TEXT, "first");
	name_domain(following, 1, "one");
}

static void finish(struct following *following)
{
	xf_recording_writer_free(following->writer);
	xf_live_free(following->live);
	free(following->bytes);
}

static void sample(struct following *following, uint64_t rip, unsigned int pcpu)
{
	struct xf_sample sample = {.bytes = XF_SAMPLE_HEAD_BYTES,
	                           .domid = 1,
	                           .pcpu = (uint16_t)pcpu,
	                           .rip = rip,
	                           .rsp = 0xffff83007fe07fa8,
	                           .stack_end = 0xffff83007fe07fa8};

	assert_int_equal(xf_recording_write_sample(following->writer, &sample), 0);
}

static void close_books(struct following *following, uint64_t lost, uint64_t skipped)
{
	struct xf_pcpu_skipped ticks[2] = {{.pcpu = 0, .ticks = skipped}, {.pcpu = 1}};
	struct xf_pcpu_statistics books[2] = {{.pcpu = 0, .lost_nmi = lost, .lost_slot = 1},
	                                      {.pcpu = 1}};

	assert_int_equal(xf_recording_write_skipped(following->writer, ticks, 2), 0);
	assert_int_equal(xf_recording_write_statistics(following->writer, books, 2), 0);
}

static struct xf_live_interval look(struct following *following)
{
	struct xf_profile_options options = XF_PROFILE_DEFAULTS;
	struct xf_live_interval interval;
	struct xf_error error = {0};

	assert_int_equal(xf_live_look(following->live, &options, &interval, &error), 0);
	return interval;
}

static uint64_t self_of(const struct xf_live_interval *interval, const char *name)
{
	const struct xf_calltree *tree = interval->profile->tree;
	uint64_t self = 0;

	for (size_t i = 1; i < xf_calltree_nr_nodes(tree); i++) {
		const struct xf_node *node =
		        xf_calltree_node(tree, (struct xf_node_id){(uint32_t)i});

		if (strcmp(xf_calltree_name(tree, node->frame), name) == 0)
			self += node->self;
	}
	return self;
}

static void an_interval_has_its_own_samples_and_no_others(void **state)
{
	struct following following = begin();
	struct xf_live_interval interval;

	(void)state;
	write_head(&following);
	sample(&following, TEXT + 4, 0);
	sample(&following, TEXT + 4, 1);
	close_books(&following, 0, 0);
	assert_int_equal(xf_live_books(following.live), 1);
	interval = look(&following);
	assert_int_equal(interval.profile->samples, 2);
	assert_int_equal(self_of(&interval, "first"), 2);
	assert_string_equal(interval.host, "here");
	assert_int_equal(interval.frequency, 99);
	assert_int_equal(interval.nr_pcpus, 2);
	assert_int_equal(interval.pcpus[1], 1);
	xf_live_interval_free(&interval);
	sample(&following, TEXT + 8, 0);
	close_books(&following, 0, 0);
	interval = look(&following);
	assert_int_equal(interval.profile->samples, 1);
	xf_live_interval_free(&interval);
	finish(&following);
}

static void what_is_missing_is_that_of_the_interval(void **state)
{
	struct following following = begin();
	struct xf_live_interval interval;

	(void)state;
	write_head(&following);
	sample(&following, TEXT, 0);
	close_books(&following, 5, 7);
	interval = look(&following);
	assert_int_equal(interval.lost, 6);
	assert_int_equal(interval.skipped, 7);
	xf_live_interval_free(&interval);
	close_books(&following, 7, 17);
	interval = look(&following);
	assert_null(interval.profile); /* nothing has come */
	assert_int_equal(interval.lost, 2);
	assert_int_equal(interval.losses.nmi, 2);
	assert_int_equal(interval.skipped, 10);
	xf_live_interval_free(&interval);
	/* Books that go backwards are somebody's mistake. */
	close_books(&following, 1, 1);
	interval = look(&following);
	assert_int_equal(interval.lost, 0);
	assert_int_equal(interval.skipped, 0);
	xf_live_interval_free(&interval);
	finish(&following);
}

static void what_was_before_can_be_forgotten(void **state)
{
	struct following following = begin();
	struct xf_live_interval interval;

	(void)state;
	write_head(&following);
	sample(&following, TEXT, 0);
	close_books(&following, 5, 7);
	assert_true(xf_live_has_samples(following.live));
	xf_live_forget(following.live);
	assert_false(xf_live_has_samples(following.live));
	xf_live_skip(following.live, 100);
	interval = look(&following);
	assert_null(interval.profile);
	assert_int_equal(interval.lost, 0);
	assert_int_equal(interval.bytes, 116);
	xf_live_interval_free(&interval);
	finish(&following);
}

static void names_that_come_later_count(void **state)
{
	struct xf_recording_livepatch agent = {.address = AGENT, .size = 32, .name = XF_AGENT_NAME};
	struct following following = begin();
	struct xf_live_interval interval;

	(void)state;
	write_head(&following);
	sample(&following, TEXT, 0);
	close_books(&following, 0, 0);
	interval = look(&following);
	xf_live_interval_free(&interval);
	assert_int_equal(xf_recording_write_livepatch(following.writer, &agent), 0);
	write_code(&following, AGENT, "xf_pace_tick");
	name_domain(&following, 1, "renamed");
	sample(&following, AGENT, 0);
	close_books(&following, 0, 0);
	interval = look(&following);
	assert_int_equal(self_of(&interval, "xf_pace_tick"), 1);
	assert_string_equal(
	        xf_calltree_name(interval.profile->tree, interval.profile->groups[0].domain),
	        "renamed");
	xf_live_interval_free(&interval);
	finish(&following);
}

/* A process of dom0's, and what its CPU ran, in the time of a clock that is the TSC. */
static void write_process(struct following *following, uint64_t time, const char *comm)
{
	const struct xf_clock_pair pairs[2] = {{.tsc = time, .time = time, .width = 1},
	                                       {.tsc = time + 100, .time = time + 100, .width = 1}};
	const struct xf_process_head head = {.type = XF_PROCESS_COMM,
	                                     .size = (uint16_t)(strlen(comm) + 1),
	                                     .pid = PID,
	                                     .time = time,
	                                     .tid = PID};
	const struct xf_switch ran = {.time = time, .pid = PID, .tid = PID};
	uint8_t record[64];

	memcpy(record, &head, sizeof(head));
	memcpy(record + sizeof(head), comm, head.size);
	assert_int_equal(xf_recording_write_clock(following->writer, pairs, 2), 0);
	assert_int_equal(
	        xf_recording_write_processes(following->writer, record, sizeof(head) + head.size),
	        0);
	assert_int_equal(xf_recording_write_switches(following->writer, 0, &ran, 1), 0);
}

/* Of dom0's kernel, without its stacks. */
static void dom0_sample(struct following *following, uint64_t tsc)
{
	struct xf_sample sample = {.bytes = XF_SAMPLE_HEAD_BYTES,
	                           .flags = XF_SAMPLE_GUEST,
	                           .tsc = tsc,
	                           .rip = 0xffffffff81000000ull};

	assert_int_equal(xf_recording_write_sample(following->writer, &sample), 0);
}

static uint64_t total_of(const struct xf_live_interval *interval, const char *name)
{
	const struct xf_calltree *tree = interval->profile->tree;
	uint64_t total = 0;

	for (size_t i = 1; i < xf_calltree_nr_nodes(tree); i++) {
		const struct xf_node *node =
		        xf_calltree_node(tree, (struct xf_node_id){(uint32_t)i});

		if (strcmp(xf_calltree_name(tree, node->frame), name) == 0)
			total += node->total;
	}
	return total;
}

/* Of a process no more may be told for a long time: it is who it was. */
static void who_ran_is_known_however_long_ago_that_was_told(void **state)
{
	struct following following = begin();

	(void)state;
	write_head(&following);
	write_process(&following, 1000, "early");
	for (uint64_t interval = 1; interval < 10; interval++) {
		const struct xf_clock_pair pair = {
		        .tsc = 10000 * interval, .time = 10000 * interval, .width = 1};
		struct xf_live_interval got;

		assert_int_equal(xf_recording_write_clock(following.writer, &pair, 1), 0);
		if (interval == 5)
			write_process(&following, 50000, "late");
		dom0_sample(&following, 10000 * interval + 50);
		close_books(&following, 0, 0);
		got = look(&following);
		assert_int_equal(total_of(&got, interval < 5 ? "early" : "late"), 1);
		assert_int_equal(got.profile->counts.processes, 1);
		assert_int_equal(got.profile->counts.process_unknown, 0);
		xf_live_interval_free(&got);
	}
	finish(&following);
}

static void a_guests_kernel_has_names_from_when_it_is_said_to_run(void **state)
{
	const struct xf_recording_kernel_of of = {
	        .domid = 1, .kernel = 3, .tsc = 10, .slide = 0x200000};
	const struct xf_recording_kernel_of end = {.domid = 1, .kernel = XF_NO_KERNEL, .tsc = 1000};
	struct xf_guest_stack stack = {.bytes = XF_GUEST_HEAD_BYTES,
	                               .mode = XF_GUEST_KERNEL,
	                               .rip = 0xffffffff81200010ull};
	static const char *const expected[] = {"[one kernel]+0xffffffff81200010", "schedule",
	                                       "[one kernel]+0xffffffff81200010"};
	struct xf_symbols *symbols = xf_symbols_new();
	struct following following = begin();

	(void)state;
	write_head(&following);
	xf_symbols_add(symbols, 0xffffffff81000000ull, 0x100, 't', "schedule");
	xf_symbols_finish(symbols);
	assert_int_equal(xf_recording_write_kernel(following.writer, 3, "Linux"), 0);
	assert_int_equal(xf_recording_write_kernel_symbols(following.writer, 3, symbols), 0);
	xf_symbols_free(symbols);
	for (uint64_t interval = 0; interval < 3; interval++) {
		struct xf_sample sample = {.bytes = XF_SAMPLE_HEAD_BYTES,
		                           .domid = 1,
		                           .flags = XF_SAMPLE_GUEST,
		                           .tsc = 1000 * interval,
		                           .rip = stack.rip};
		struct xf_live_interval got;

		if (interval == 1)
			assert_int_equal(xf_recording_write_kernel_of(following.writer, &of), 0);
		/* Old news, as often as a domain's number is used again. */
		for (unsigned int i = 0; interval == 2 && i < 10; i++) {
			assert_int_equal(xf_recording_write_kernel_of(following.writer, &of), 0);
			assert_int_equal(xf_recording_write_kernel_of(following.writer, &end), 0);
		}
		assert_int_equal(xf_recording_write_guest_stack(following.writer, &stack), 0);
		assert_int_equal(xf_recording_write_sample(following.writer, &sample), 0);
		close_books(&following, 0, 0);
		got = look(&following);
		assert_int_equal(self_of(&got, expected[interval]), 1);
		xf_live_interval_free(&got);
	}
	finish(&following);
}

/* Its kernel tells them, and is believed once it is known which one it is. */
static void a_guests_processes_are_known_once_its_kernel_is(void **state)
{
	const struct xf_recording_kernel_of of = {.domid = 1, .kernel = 3, .tsc = 10};
	const struct xf_guest_task task = {.bytes = XF_GUEST_TASK_BYTES,
	                                   .mode = XF_GUEST_TASK,
	                                   .pid = 43,
	                                   .tgid = 42,
	                                   .comm = "sh"};
	struct following following = begin();

	(void)state;
	write_head(&following);
	xf_recording_write_info(following.writer, "tasks", "1");
	assert_int_equal(xf_recording_write_kernel(following.writer, 3, "Linux"), 0);
	for (uint64_t interval = 0; interval < 3; interval++) {
		struct xf_sample sample = {.bytes = XF_SAMPLE_HEAD_BYTES,
		                           .domid = 1,
		                           .flags = XF_SAMPLE_GUEST,
		                           .tsc = 1000 * interval + 1,
		                           .rip = 0x401000};
		struct xf_live_interval got;

		if (interval == 1)
			assert_int_equal(xf_recording_write_kernel_of(following.writer, &of), 0);
		assert_int_equal(xf_recording_write_guest_task(following.writer, &task), 0);
		assert_int_equal(xf_recording_write_sample(following.writer, &sample), 0);
		close_books(&following, 0, 0);
		got = look(&following);
		assert_int_equal(total_of(&got, "sh"), interval > 0);
		xf_live_interval_free(&got);
	}
	finish(&following);
}

static void the_end_is_seen(void **state)
{
	struct following following = begin();

	(void)state;
	write_head(&following);
	assert_false(xf_live_ended(following.live));
	xf_recording_write_end(following.writer);
	assert_true(xf_live_ended(following.live));
	finish(&following);
}

/* Domains come and are named anew, processes do what they do, and all of it is looked at: after a
   first round memory is what it was. */
static void a_long_run_takes_no_more_memory_than_a_short_one(void **state)
{
	struct following following = begin();
	static const uint8_t processes[64 << 10];
	static const struct xf_recording_kernel_of of = {.domid = 1};
	size_t after_some = 0;

	(void)state;
	write_head(&following);
	for (unsigned int round = 0; round < 400; round++) {
		struct xf_live_interval interval;
		char name[16];

		snprintf(name, sizeof(name), "name-%u", 1000 + round);
		name_domain(&following, (uint16_t)(round % 8), name);
		for (unsigned int i = 0; i < 100; i++)
			sample(&following, TEXT + i % 32, i % 2);
		xf_recording_write_bytes(following.writer, XF_CHUNK_PROCESSES, processes,
		                         sizeof(processes));
		write_process(&following, 1000 * (round + 1), name);
		assert_int_equal(xf_recording_write_kernel_of(following.writer, &of), 0);
		close_books(&following, round, round);
		interval = look(&following);
		assert_int_equal(interval.profile->samples, 100);
		xf_live_interval_free(&interval);
		if (round == 20)
			after_some = __sanitizer_get_current_allocated_bytes();
	}
	assert_true(__sanitizer_get_current_allocated_bytes() <= after_some + (4 << 10));
	finish(&following);
}

static void chunks_that_make_no_sense_are_left_out(void **state)
{
	struct following following = begin();
	struct xf_live_interval interval;
	uint8_t *much = calloc(1, 80 << 20);

	(void)state;
	write_head(&following);
	sample(&following, TEXT, 0);
	close_books(&following, 3, 0);
	xf_recording_write_bytes(following.writer, XF_CHUNK_STATISTICS, "odd", 3);
	xf_recording_write_bytes(following.writer, XF_CHUNK_SKIPPED, "odd", 3);
	xf_recording_write_bytes(following.writer, XF_CHUNK_DOMAIN, "1", 1);
	xf_recording_write_bytes(following.writer, XF_CHUNK_DOMAIN, much, 1 << 20);
	xf_recording_write_bytes(following.writer, XF_CHUNK_INFO, much, 2 << 20);
	xf_recording_write_bytes(following.writer, (enum xf_chunk_type)1000, much, 100);
	xf_recording_write_bytes(following.writer, XF_CHUNK_SAMPLES, much, 80 << 20);
	interval = look(&following);
	assert_int_equal(interval.profile->samples, 1);
	assert_int_equal(interval.lost, 4);
	assert_int_equal(interval.left_out, 80 << 20);
	xf_live_interval_free(&interval);
	free(much);
	finish(&following);
}

static void without_anything_there_is_an_empty_interval(void **state)
{
	struct following following = begin();
	struct xf_live_interval interval = look(&following);

	(void)state;
	assert_null(interval.profile);
	assert_string_equal(interval.host, "");
	xf_live_interval_free(&interval);
	finish(&following);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(an_interval_has_its_own_samples_and_no_others),
	        cmocka_unit_test(what_is_missing_is_that_of_the_interval),
	        cmocka_unit_test(what_was_before_can_be_forgotten),
	        cmocka_unit_test(names_that_come_later_count),
	        cmocka_unit_test(who_ran_is_known_however_long_ago_that_was_told),
	        cmocka_unit_test(a_guests_kernel_has_names_from_when_it_is_said_to_run),
	        cmocka_unit_test(a_guests_processes_are_known_once_its_kernel_is),
	        cmocka_unit_test(the_end_is_seen),
	        cmocka_unit_test(a_long_run_takes_no_more_memory_than_a_short_one),
	        cmocka_unit_test(chunks_that_make_no_sense_are_left_out),
	        cmocka_unit_test(without_anything_there_is_an_empty_interval),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
