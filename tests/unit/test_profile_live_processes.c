// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Processes of a recording that is followed: what is said of an interval's samples is what the
 * whole recording says, and what is kept does not grow. Events are made up at random, seeded.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "profile/live_processes.h"
#include "profile/processes.h"
#include "profile/recording.h"

/* Of AddressSanitizer's run-time library, which unit tests are linked with. */
size_t __sanitizer_get_current_allocated_bytes(void);

#define CPUS   3u
#define TIDS   48u
#define MS     1000000ull
#define TSC(t) ((t)*2 + 1000)
#define LINES  400u /* steps of an interval, each up to two milliseconds */
#define LATE   40u  /* of the last ones something may be told with the next interval */

/* ---- A domain that lives --------------------------------------------------------------------- */

struct thread {
	uint32_t pid; /* 0: there is none of that number */
	char comm[16];
};

struct domain {
	uint64_t seed;
	uint64_t time;
	unsigned int left;           /* steps in this interval */
	struct thread threads[TIDS]; /* by number */
	struct xf_buffer records;    /* told at the end of the interval */
	struct xf_buffer late;       /* and those that are told with the next one */
	struct xf_buffer switches[CPUS];
	struct xf_buffer whole; /* all chunks so far */
	struct xf_live_processes live;
};

static uint32_t any(struct domain *domain, uint32_t below)
{
	domain->seed = domain->seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(domain->seed >> 33) % below;
}

static void tell(struct domain *domain, enum xf_process_type type, uint32_t tid, uint32_t other,
                 const void *rest, size_t size)
{
	const struct xf_process_head head = {.type = (uint16_t)type,
	                                     .size = (uint16_t)size,
	                                     .pid = domain->threads[tid].pid,
	                                     .time = domain->time,
	                                     .tid = tid,
	                                     .other = other};
	struct xf_buffer *to = &domain->records;

	if (domain->left < LATE && any(domain, 3))
		to = &domain->late;
	assert_int_equal(xf_buffer_add(to, &head, sizeof(head)), 0);
	assert_int_equal(xf_buffer_add(to, rest, size), 0);
}

static void name(struct domain *domain, uint32_t tid, enum xf_process_type type, bool exec)
{
	struct thread *thread = &domain->threads[tid];

	snprintf(thread->comm, sizeof(thread->comm), "comm-%u", any(domain, 100000));
	tell(domain, type, tid, exec, thread->comm, strlen(thread->comm) + 1);
}

static uint32_t any_thread(struct domain *domain)
{
	for (;;) {
		uint32_t tid = 1 + any(domain, TIDS - 1);

		if (domain->threads[tid].pid)
			return tid;
	}
}

/* A process's number is in use as long as it has threads. */
static bool is_free(const struct domain *domain, uint32_t tid)
{
	bool used = domain->threads[tid].pid;

	for (uint32_t i = 1; i < TIDS; i++)
		used |= domain->threads[i].pid == tid;
	return !used;
}

static void begin_thread(struct domain *domain, uint32_t tid)
{
	uint32_t parent = any_thread(domain);
	uint32_t pid = domain->threads[parent].pid;

	if (!is_free(domain, tid))
		return;
	domain->threads[tid] = domain->threads[parent];
	domain->threads[tid].pid = any(domain, 2) ? pid : tid;
	tell(domain, XF_PROCESS_FORK, tid, pid, &parent, sizeof(parent));
}

/* The last ones stay, so that there is always somebody. */
static void end_thread(struct domain *domain, uint32_t tid)
{
	if (tid + 3 > TIDS || !domain->threads[tid].pid)
		return;
	tell(domain, XF_PROCESS_EXIT, tid, 0, "", 0);
	domain->threads[tid].pid = 0;
}

static void run_thread(struct domain *domain, uint32_t cpu)
{
	uint32_t tid = any(domain, 4) ? any_thread(domain) : 0;
	struct xf_switch one = {
	        .time = domain->time, .tid = tid, .pid = tid ? domain->threads[tid].pid : 0};

	if (!any(domain, 50))
		one.pid = XF_PID_UNKNOWN;
	assert_int_equal(xf_buffer_add(&domain->switches[cpu], &one, sizeof(one)), 0);
}

/* Events have been lost; all processes are looked at anew. */
static void lose(struct domain *domain)
{
	uint64_t until = domain->time + 1;

	tell(domain, XF_PROCESS_LOST, 0, 0, &until, sizeof(until));
	for (uint32_t tid = 1; tid < TIDS; tid++) {
		const char *comm = domain->threads[tid].comm;

		if (domain->threads[tid].pid)
			tell(domain, XF_PROCESS_EXISTS, tid, 0, comm, strlen(comm) + 1);
	}
}

static void step(struct domain *domain)
{
	domain->time += 1 + any(domain, 2000) * 1000;
	switch (any(domain, 12)) {
	case 0:
		begin_thread(domain, 1 + any(domain, TIDS - 1));
		break;
	case 1:
		end_thread(domain, 1 + any(domain, TIDS - 1));
		break;
	case 2:
		name(domain, any_thread(domain), XF_PROCESS_COMM, any(domain, 2));
		break;
	case 3:
		name(domain, any_thread(domain), XF_PROCESS_EXISTS, false);
		break;
	case 4:
		if (!any(domain, 40))
			lose(domain);
		break;
	default:
		run_thread(domain, any(domain, CPUS));
	}
}

static void live_on(struct domain *domain)
{
	for (domain->left = LINES; domain->left > 0; domain->left--)
		step(domain);
}

/* ---- Chunks ---------------------------------------------------------------------------------- */

static void hand_over(struct domain *domain, enum xf_chunk_type type, const void *bytes,
                      size_t size)
{
	const struct xf_chunk_head head = {.type = type, .size = size};

	assert_int_equal(xf_buffer_add(&domain->whole, &head, sizeof(head)), 0);
	assert_int_equal(xf_buffer_add(&domain->whole, bytes, size), 0);
	assert_int_equal(xf_live_processes_take(&domain->live, type, xf_cursor_over(bytes, size)),
	                 0);
}

static void hand_over_switches(struct domain *domain, uint32_t cpu)
{
	struct xf_buffer content = {0};
	const uint32_t head[2] = {cpu, 0};

	assert_int_equal(xf_buffer_add(&content, head, sizeof(head)), 0);
	assert_int_equal(
	        xf_buffer_add(&content, domain->switches[cpu].bytes, domain->switches[cpu].used),
	        0);
	hand_over(domain, XF_CHUNK_SWITCHES, content.bytes, content.used);
	domain->switches[cpu].used = 0;
	xf_buffer_free(&content);
}

/* What the recorder writes each second. */
static void write_all(struct domain *domain)
{
	const struct xf_clock_pair pair = {
	        .tsc = TSC(domain->time), .time = domain->time, .width = 40};
	struct xf_buffer told = domain->late;

	hand_over(domain, XF_CHUNK_CLOCK, &pair, sizeof(pair));
	hand_over(domain, XF_CHUNK_PROCESSES, domain->records.bytes, domain->records.used);
	for (uint32_t cpu = 0; cpu < CPUS; cpu++)
		hand_over_switches(domain, cpu);
	domain->late = domain->records;
	domain->late.used = 0;
	domain->records = told;
}

static struct domain *begin(uint64_t seed)
{
	struct domain *domain = calloc(1, sizeof(*domain));

	domain->seed = seed;
	domain->time = 1000 * MS;
	domain->left = LINES;
	for (uint32_t tid = TIDS / 2; tid < TIDS; tid++) {
		domain->threads[tid].pid = tid & ~1u;
		name(domain, tid, XF_PROCESS_EXISTS, false);
	}
	return domain;
}

static void finish(struct domain *domain)
{
	xf_live_processes_free(&domain->live);
	xf_buffer_free(&domain->records);
	xf_buffer_free(&domain->late);
	xf_buffer_free(&domain->whole);
	for (uint32_t cpu = 0; cpu < CPUS; cpu++)
		xf_buffer_free(&domain->switches[cpu]);
	free(domain);
}

/* ---- Asking ---------------------------------------------------------------------------------- */

struct asked {
	struct xf_buffer bytes;
	struct xf_recording *recording;
	struct xf_processes *processes;
};

static void ask(const struct xf_buffer *chunks, struct asked *asked)
{
	uint8_t start[16] = XF_FILE_MAGIC;
	static const char info[] = "tsc.hz=2000000000\n";
	const struct xf_chunk_head head = {.type = XF_CHUNK_INFO, .size = sizeof(info) - 1};

	*asked = (struct asked){0};
	start[8] = XF_FILE_VERSION;
	xf_buffer_add(&asked->bytes, start, sizeof(start));
	xf_buffer_add(&asked->bytes, &head, sizeof(head));
	xf_buffer_add(&asked->bytes, info, sizeof(info) - 1);
	xf_buffer_add(&asked->bytes, chunks->bytes, chunks->used);
	assert_int_equal(
	        xf_recording_open(asked->bytes.bytes, asked->bytes.used, &asked->recording, NULL),
	        0);
	assert_int_equal(xf_recording_state(asked->recording).damaged, 0);
	assert_int_equal(xf_processes_make(xf_recording_processes(asked->recording),
	                                   xf_recording_tsc_hz(asked->recording),
	                                   &asked->processes),
	                 0);
}

static void ask_live(const struct domain *domain, struct asked *asked)
{
	struct xf_buffer chunks = {0};

	assert_int_equal(xf_live_processes_write(&domain->live, &chunks), 0);
	ask(&chunks, asked);
	xf_buffer_free(&chunks);
}

static void close_asked(struct asked *asked)
{
	xf_processes_free(asked->processes);
	xf_recording_free(asked->recording);
	xf_buffer_free(&asked->bytes);
}

/* "NAME THREAD PID TID" */
static void describe(const struct asked *asked, uint32_t cpu, uint64_t time, char text[128])
{
	struct xf_process process;

	snprintf(text, 128, "unknown");
	if (xf_processes_running(asked->processes, cpu, TSC(time), XF_NOT_SWITCHING, &process))
		snprintf(text, 128, "%s %s %u %u", process.name ? process.name : "-",
		         process.thread ? process.thread : "-", process.pid, process.tid);
}

/* Return: how many of the answers tell a name. */
static unsigned int compare(const struct domain *domain, uint64_t from, bool unknown_will_do)
{
	struct asked live, whole;
	unsigned int known = 0;

	ask_live(domain, &live);
	ask(&domain->whole, &whole);
	for (uint64_t time = from; time < domain->time; time += (domain->time - from) / 100 + 1) {
		for (uint32_t cpu = 0; cpu < CPUS; cpu++) {
			char said[128], right[128];

			describe(&live, cpu, time, said);
			describe(&whole, cpu, time, right);
			known += strncmp(said, "comm", 4) == 0;
			if (unknown_will_do && (!strcmp(said, "unknown") || strchr(said, '-')))
				continue;
			assert_string_equal(said, right);
		}
	}
	close_asked(&live);
	close_asked(&whole);
	return known;
}

/* ---- What must hold -------------------------------------------------------------------------- */

/* Also of samples that come an interval late. */
static void of_an_intervals_samples_it_says_what_the_whole_recording_says(void **state)
{
	unsigned int known = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 12; seed++) {
		struct domain *domain = begin(seed);
		uint64_t before = domain->time;

		for (unsigned int interval = 0; interval < 25; interval++) {
			uint64_t begun = domain->time;

			live_on(domain);
			write_all(domain);
			known += compare(domain, before, false);
			xf_live_processes_turn(&domain->live);
			before = begun;
		}
		finish(domain);
	}
	assert_true(known > 20000);
}

/* Of samples that come so late that what they need is gone. */
static void of_what_is_no_longer_kept_it_says_nothing_wrong(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 12; seed++) {
		struct domain *domain = begin(seed);
		uint64_t first = domain->time;

		for (unsigned int interval = 0; interval < 10; interval++) {
			live_on(domain);
			write_all(domain);
			compare(domain, first, true);
			xf_live_processes_turn(&domain->live);
		}
		finish(domain);
	}
}

/* So many events in an interval that they are folded while it lasts. */
static void an_interval_of_too_many_events_has_the_last_ones(void **state)
{
	struct domain *domain = begin(1);
	const size_t nr = 5u << 20;
	uint64_t from;

	(void)state;
	for (unsigned int turn = 0; turn < 4; turn++) {
		for (size_t i = 0; i < nr / 4; i++) {
			domain->time += 100;
			run_thread(domain, 0);
		}
		write_all(domain);
	}
	assert_true(domain->live.now.used <= 64u << 20);
	assert_true(domain->live.before.used <= 64u << 20);
	from = domain->time - 10000;
	assert_true(compare(domain, from, false) > 50);
	compare(domain, 1000 * MS, true);
	finish(domain);
}

static void a_long_life_takes_no_more_memory_than_a_short_one(void **state)
{
	struct domain *domain = begin(7);
	size_t after_some = 0;

	(void)state;
	for (unsigned int interval = 0; interval < 300; interval++) {
		live_on(domain);
		write_all(domain);
		domain->whole.used = 0;
		xf_live_processes_turn(&domain->live);
		if (interval == 100)
			after_some = __sanitizer_get_current_allocated_bytes();
	}
	assert_true(__sanitizer_get_current_allocated_bytes() <= after_some + (16 << 10));
	finish(domain);
}

/* Told of thread @tid of process @pid, at @time, now. */
static void told_now(struct domain *domain, enum xf_process_type type, uint64_t time, uint32_t pid,
                     uint32_t tid, const char *comm)
{
	const struct xf_process_head head = {.type = (uint16_t)type,
	                                     .size = (uint16_t)(type == XF_PROCESS_FORK ? 4
	                                                        : comm ? strlen(comm) + 1
	                                                               : 0),
	                                     .pid = pid,
	                                     .time = time,
	                                     .tid = tid,
	                                     .other = type == XF_PROCESS_FORK ? TIDS - 2 : 0};
	const uint32_t parent = TIDS - 2;

	xf_buffer_add(&domain->records, &head, sizeof(head));
	if (type == XF_PROCESS_FORK)
		xf_buffer_add(&domain->records, &parent, sizeof(parent));
	else if (comm)
		xf_buffer_add(&domain->records, comm, head.size);
}

static void turn(struct domain *domain)
{
	domain->time += 1000 * MS;
	write_all(domain);
	xf_live_processes_turn(&domain->live);
}

/* With numbers that are never used again. */
static void processes_that_have_ended_are_forgotten(void **state)
{
	struct domain *domain = begin(7);

	(void)state;
	for (uint32_t nr = 1; nr < 2000; nr++) {
		uint32_t pid = 1000 + 2 * nr;

		told_now(domain, XF_PROCESS_FORK, domain->time + 1, pid, pid, NULL);
		told_now(domain, XF_PROCESS_COMM, domain->time + 2, pid, pid, "short");
		told_now(domain, XF_PROCESS_COMM, domain->time + 3, pid, pid + 1, "thread");
		told_now(domain, XF_PROCESS_EXIT, domain->time + 4, pid, pid + nr % 2, NULL);
		told_now(domain, XF_PROCESS_EXIT, domain->time + 5, pid, pid + !(nr % 2), NULL);
		turn(domain);
		assert_true(domain->live.nr_threads < TIDS / 2 + 8);
	}
	finish(domain);
}

/* An end is not undone, nor is a name inherited that the parent has got since. */
static void what_is_told_an_interval_late_changes_nothing_wrongly(void **state)
{
	struct domain *domain = begin(7);
	uint32_t parent = TIDS - 2;
	struct asked asked;
	uint64_t begun;
	char said[128];

	(void)state;
	turn(domain);
	begun = domain->time;
	told_now(domain, XF_PROCESS_COMM, begun + 500 * MS, parent, parent, "later");
	told_now(domain, XF_PROCESS_EXIT, begun + 500 * MS, 2000, 2000, NULL);
	turn(domain);
	told_now(domain, XF_PROCESS_FORK, begun + 400 * MS, 3000, 3000, NULL);
	told_now(domain, XF_PROCESS_COMM, begun + 400 * MS, 2000, 2000, "undead");
	for (unsigned int i = 0; i < 3; i++)
		turn(domain);
	assert_int_equal(domain->live.nr_threads, TIDS / 2 + 1);
	xf_buffer_add(&domain->switches[0],
	              &(struct xf_switch){.time = domain->time, .pid = 3000, .tid = 3000},
	              sizeof(struct xf_switch));
	turn(domain);
	ask_live(domain, &asked);
	describe(&asked, 0, domain->time - 500 * MS, said);
	assert_string_equal(said, "- - 3000 3000");
	close_asked(&asked);
	finish(domain);
}

static void turn_with(struct domain *domain, enum xf_process_type type, uint32_t tid)
{
	uint64_t until = domain->time + 10;

	domain->time += 1000 * MS;
	domain->left = LINES;
	if (type == XF_PROCESS_LOST)
		tell(domain, type, 0, 0, &until, sizeof(until));
	else if (type)
		name(domain, tid, type, false);
	write_all(domain);
	xf_live_processes_turn(&domain->live);
}

/* Whoever has ended while events were lost is not seen in the look that follows. */
static void after_a_loss_only_those_are_kept_that_are_seen_again(void **state)
{
	struct domain *domain = begin(3);

	(void)state;
	for (unsigned int turn = 0; turn < 4; turn++)
		turn_with(domain, (enum xf_process_type)0, 0);
	assert_int_equal(domain->live.nr_threads, TIDS / 2);
	turn_with(domain, XF_PROCESS_LOST, 0);
	turn_with(domain, XF_PROCESS_EXISTS, TIDS - 1);
	for (unsigned int turn = 0; turn < 5; turn++)
		turn_with(domain, (enum xf_process_type)0, 0);
	assert_int_equal(domain->live.nr_threads, 1);
	finish(domain);
}

static void what_is_mapped_is_left_out(void **state)
{
	const uint64_t map[3] = {0x1000, 0x1000, 0};
	struct domain *domain = begin(1);
	struct asked asked;

	(void)state;
	tell(domain, XF_PROCESS_FILE, 0, 0, "/bin/true", 10);
	tell(domain, XF_PROCESS_MAP, TIDS - 1, 0, map, sizeof(map));
	write_all(domain);
	write_all(domain); /* the late ones */
	ask_live(domain, &asked);
	assert_int_equal(xf_recording_processes(asked.recording)->nr_files, 0);
	assert_int_equal(xf_recording_processes(asked.recording)->nr, TIDS / 2);
	close_asked(&asked);
	finish(domain);
}

/* Sizes that lie, times that go back, numbers that are out of range. */
static void what_makes_no_sense_does_no_harm(void **state)
{
	struct domain *domain = begin(99);

	(void)state;
	for (unsigned int turn = 0; turn < 300; turn++) {
		uint8_t bytes[256];

		for (size_t i = 0; i < sizeof(bytes); i++)
			bytes[i] = (uint8_t)(any(domain, 3) ? any(domain, 8) : any(domain, 256));
		bytes[3] = bytes[2] = 0;
		for (int type = XF_CHUNK_CLOCK; type <= XF_CHUNK_SWITCHES; type++)
			xf_live_processes_take(&domain->live, (enum xf_chunk_type)type,
			                       xf_cursor_over(bytes, any(domain, 257)));
		if (turn % 8 == 0) {
			struct xf_buffer chunks = {0};

			assert_int_equal(xf_live_processes_write(&domain->live, &chunks), 0);
			assert_true(chunks.used < (64 << 10) + domain->live.before.used +
			                                  domain->live.now.used +
			                                  100 * domain->live.nr_cpus);
			xf_buffer_free(&chunks);
			xf_live_processes_turn(&domain->live);
		}
	}
	finish(domain);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(of_an_intervals_samples_it_says_what_the_whole_recording_says),
	        cmocka_unit_test(of_what_is_no_longer_kept_it_says_nothing_wrong),
	        cmocka_unit_test(an_interval_of_too_many_events_has_the_last_ones),
	        cmocka_unit_test(a_long_life_takes_no_more_memory_than_a_short_one),
	        cmocka_unit_test(processes_that_have_ended_are_forgotten),
	        cmocka_unit_test(what_is_told_an_interval_late_changes_nothing_wrongly),
	        cmocka_unit_test(after_a_loss_only_those_are_kept_that_are_seen_again),
	        cmocka_unit_test(what_is_mapped_is_left_out),
	        cmocka_unit_test(what_makes_no_sense_does_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
