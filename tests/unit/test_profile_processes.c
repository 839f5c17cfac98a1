// SPDX-License-Identifier: GPL-2.0-or-later
/* The control domain's processes: from events in a recording to who ran at a sample. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "output/folded.h"
#include "output/script.h"
#include "profile/clock.h"
#include "profile/process_writer.h"
#include "profile/processes.h"
#include "profile/profile.h"

#define MS     1000000ull
#define TSC(t) ((t)*2 + 1000) /* the made-up host has 2 GHz */

struct bytes {
	uint8_t *at;
	size_t size, room;
};

static int take(void *context, const void *bytes, size_t size)
{
	struct bytes *taken = context;

	if (taken->size + size >= taken->room) {
		taken->room = 2 * (taken->size + size) + 64;
		taken->at = realloc(taken->at, taken->room);
	}
	memcpy(taken->at + taken->size, bytes, size);
	taken->size += size;
	return 0;
}

/* A recording in the making, and its timeline. */
struct made {
	struct bytes file;
	struct bytes records;
	struct xf_recording_writer *writer;
	struct xf_recording *recording;
	struct xf_processes *processes;
};

static void add(struct made *made, enum xf_process_type type, uint64_t time, uint32_t pid,
                uint32_t tid, uint32_t other, const void *rest, size_t size)
{
	struct xf_process_head head = {.type = (uint16_t)type,
	                               .size = (uint16_t)size,
	                               .pid = pid,
	                               .time = time,
	                               .tid = tid,
	                               .other = other};

	take(&made->records, &head, sizeof(head));
	take(&made->records, rest, size);
}

static void exists(struct made *made, uint64_t time, uint32_t pid, uint32_t tid, const char *comm)
{
	add(made, XF_PROCESS_EXISTS, time, pid, tid, 0, comm, strlen(comm) + 1);
}

static void forks(struct made *made, uint64_t time, uint32_t parent, uint32_t pid, uint32_t tid)
{
	add(made, XF_PROCESS_FORK, time, pid, tid, parent, &parent, sizeof(parent));
}

static void named(struct made *made, uint64_t time, uint32_t pid, uint32_t tid, bool exec,
                  const char *comm)
{
	add(made, XF_PROCESS_COMM, time, pid, tid, exec, comm, strlen(comm) + 1);
}

static void exits(struct made *made, uint64_t time, uint32_t pid, uint32_t tid)
{
	add(made, XF_PROCESS_EXIT, time, pid, tid, 0, "", 0);
}

static void lost(struct made *made, uint64_t time, uint64_t until)
{
	add(made, XF_PROCESS_LOST, time, 0, 0, 0, &until, sizeof(until));
}

static void maps(struct made *made, uint64_t time, uint32_t pid, uint64_t address, uint64_t size,
                 uint32_t file)
{
	const uint64_t map[3] = {address, size, 0x1000};

	add(made, XF_PROCESS_MAP, time, pid, pid, file, map, sizeof(map));
}

static void file(struct made *made, uint32_t number, const char *path)
{
	add(made, XF_PROCESS_FILE, 0, 0, 0, number, path, strlen(path) + 1);
}

static void runs(struct made *made, uint32_t cpu, uint64_t time, uint32_t pid, uint32_t tid)
{
	const struct xf_switch one = {.time = time, .pid = pid, .tid = tid};

	assert_int_equal(xf_recording_write_switches(made->writer, cpu, &one, 1), 0);
}

static void begin(struct made *made)
{
	const struct xf_recording_sink sink = {.write = take, .context = &made->file};
	const struct xf_clock_pair pairs[] = {
	        {.tsc = TSC(0), .time = 0, .width = 40},
	        {.tsc = TSC(900 * MS), .time = 900 * MS, .width = 44}};

	assert_int_equal(xf_recording_writer_new(sink, &made->writer, NULL), 0);
	assert_int_equal(xf_recording_write_info(made->writer, "tsc.hz", "2000000000"), 0);
	assert_int_equal(xf_recording_write_clock(made->writer, pairs, 2), 0);
}

static void finish(struct made *made)
{
	assert_int_equal(
	        xf_recording_write_processes(made->writer, made->records.at, made->records.size),
	        0);
	assert_int_equal(xf_recording_write_end(made->writer), 0);
	xf_recording_writer_free(made->writer);
	assert_int_equal(xf_recording_open(made->file.at, made->file.size, &made->recording, NULL),
	                 0);
	assert_int_equal(xf_recording_state(made->recording).damaged, 0);
	assert_int_equal(xf_processes_make(xf_recording_processes(made->recording),
	                                   xf_recording_tsc_hz(made->recording), &made->processes),
	                 0);
}

static void release(struct made *made)
{
	xf_processes_free(made->processes);
	xf_recording_free(made->recording);
	free(made->records.at);
	free(made->file.at);
}

/* CPU @cpu ran process @pid by that name at @time; @name "": it is not known by what name. */
static void expect(const struct made *made, uint32_t cpu, uint64_t time, uint32_t pid,
                   const char *name)
{
	struct xf_process process;

	if (!xf_processes_running(made->processes, cpu, TSC(time), XF_NOT_SWITCHING, &process))
		fail_msg("at %lu nobody is known", (unsigned long)time);
	assert_int_equal(process.pid, pid);
	assert_string_equal(process.name ? process.name : "", name);
}

static void expect_nobody(const struct made *made, uint32_t cpu, uint64_t time)
{
	struct xf_process process;

	assert_false(
	        xf_processes_running(made->processes, cpu, TSC(time), XF_NOT_SWITCHING, &process));
}

/* What runs on @cpu at @time has the file at @path mapped at @address; NULL: nothing known. */
static void expect_mapped(const struct made *made, uint32_t cpu, uint64_t time, uint64_t address,
                          const char *path)
{
	struct xf_process process;
	struct xf_mapping mapping = {0};

	assert_true(
	        xf_processes_running(made->processes, cpu, TSC(time), XF_NOT_SWITCHING, &process));
	assert_int_equal(xf_processes_mapping(made->processes, &process, address, &mapping),
	                 path != NULL);
	if (path) {
		assert_non_null(mapping.file);
		assert_string_equal(mapping.file->path, path);
	}
}

static void a_process_of_three_milliseconds_is_itself_and_nobody_after(void **state)
{
	struct made made = {0};

	(void)state;
	begin(&made);
	exists(&made, 1 * MS, 100, 100, "bash");
	runs(&made, 0, 10 * MS, 100, 100);
	forks(&made, 20 * MS, 100, 200, 200);
	runs(&made, 1, 20 * MS + 100, 200, 200);
	named(&made, 20 * MS + 500, 200, 200, true, "true");
	exits(&made, 23 * MS, 200, 200);
	runs(&made, 1, 23 * MS + 50, 0, 0);
	finish(&made);
	expect_nobody(&made, 1, 20 * MS);
	expect(&made, 1, 20 * MS + 200, 200, "bash");
	expect(&made, 1, 20 * MS + 500, 200, "true");
	expect(&made, 1, 23 * MS + 40, 200, "true");
	expect(&made, 1, 23 * MS + 60, 0, "swapper");
	expect(&made, 0, 23 * MS, 100, "bash");
	expect_nobody(&made, 2, 23 * MS);
	expect_nobody(&made, UINT32_MAX, 23 * MS);
	release(&made);
}

static void a_number_that_is_used_again_is_another_process(void **state)
{
	struct made made = {0};

	(void)state;
	begin(&made);
	exists(&made, 1 * MS, 100, 100, "bash");
	exists(&made, 1 * MS, 300, 300, "cron");
	runs(&made, 0, 2 * MS, 200, 200);
	forks(&made, 10 * MS, 100, 200, 200);
	named(&made, 11 * MS, 200, 200, true, "first");
	maps(&made, 11 * MS, 200, 0x1000, 0x1000, 1);
	exits(&made, 20 * MS, 200, 200);
	runs(&made, 0, 50 * MS, 200, 200);
	forks(&made, 100 * MS, 300, 200, 200);
	named(&made, 120 * MS, 200, 200, true, "second");
	file(&made, 1, "/bin/first");
	finish(&made);
	expect(&made, 0, 5 * MS, 200, "");
	expect(&made, 0, 15 * MS, 200, "first");
	expect_mapped(&made, 0, 15 * MS, 0x1800, "/bin/first");
	expect(&made, 0, 99 * MS, 200, ""); /* it has ended long ago */
	expect(&made, 0, 110 * MS, 200, "cron");
	expect_mapped(&made, 0, 110 * MS, 0x1800, NULL);
	expect(&made, 0, 130 * MS, 200, "second");
	expect_mapped(&made, 0, 130 * MS, 0x1800, NULL);
	release(&made);
}

/* On one CPU it has told of its end and still runs, on another one its number is given anew. */
static void last_steps_are_not_those_of_the_next_with_that_number(void **state)
{
	struct made made = {0};

	(void)state;
	begin(&made);
	exists(&made, 1 * MS, 100, 100, "bash");
	forks(&made, 10 * MS, 100, 200, 200);
	named(&made, 11 * MS, 200, 200, true, "first");
	runs(&made, 0, 12 * MS, 200, 200);
	runs(&made, 0, 25 * MS, 0, 0);
	exits(&made, 20 * MS, 200, 200);
	forks(&made, 21 * MS, 100, 200, 200);
	runs(&made, 1, 22 * MS, 200, 200);
	named(&made, 23 * MS, 200, 200, true, "second");
	finish(&made);
	expect(&made, 0, 15 * MS, 200, "first");
	expect(&made, 0, 22 * MS, 200, "first");
	expect(&made, 0, 24 * MS, 200, "first");
	expect(&made, 1, 22 * MS + 1, 200, "bash");
	expect(&made, 1, 24 * MS, 200, "second");
	release(&made);
}

/* Each CPU hands over its events by itself: what comes later in the file may be earlier. */
static void events_of_several_cpus_are_put_in_order(void **state)
{
	struct made made = {0};

	(void)state;
	begin(&made);
	named(&made, 30 * MS, 200, 200, true, "child");
	exits(&made, 40 * MS, 200, 200);
	runs(&made, 0, 50 * MS, 0, 0);
	runs(&made, 0, 25 * MS, 200, 200);
	forks(&made, 20 * MS, 100, 200, 200);
	exists(&made, 5 * MS, 100, 100, "parent");
	finish(&made);
	expect(&made, 0, 26 * MS, 200, "parent");
	expect(&made, 0, 31 * MS, 200, "child");
	expect(&made, 0, 51 * MS, 0, "swapper");
	release(&made);
}

static void what_existed_was_so_before_somebody_looked(void **state)
{
	struct made made = {0};

	(void)state;
	begin(&made);
	runs(&made, 0, 1 * MS, 100, 101);
	exists(&made, 50 * MS, 100, 100, "daemon");
	exists(&made, 50 * MS, 100, 101, "worker");
	maps(&made, 50 * MS, 100, 0x1000, 0x1000, 7);
	file(&made, 7, "/sbin/daemon");
	runs(&made, 1, 1 * MS, 300, 300);
	named(&made, 40 * MS, 300, 300, true, "after");
	exists(&made, 50 * MS, 300, 300, "after");
	finish(&made);
	expect(&made, 0, 2 * MS, 100, "daemon");
	expect_mapped(&made, 0, 2 * MS, 0x1000, "/sbin/daemon");
	expect_mapped(&made, 0, 2 * MS, 0x2000, NULL);
	expect(&made, 1, 2 * MS, 300, ""); /* until it told its name, it may have had another */
	expect(&made, 1, 45 * MS, 300, "after");
	release(&made);
}

static void threads_go_by_the_name_of_their_process(void **state)
{
	struct made made = {0};
	struct xf_process process;

	(void)state;
	begin(&made);
	exists(&made, 1 * MS, 100, 100, "qemu");
	forks(&made, 2 * MS, 100, 100, 101);
	named(&made, 3 * MS, 100, 101, false, "CPU 0/KVM");
	maps(&made, 3 * MS, 100, 0x1000, 0x1000, 1);
	file(&made, 1, "/usr/bin/qemu");
	runs(&made, 0, 4 * MS, 100, 101);
	exits(&made, 5 * MS, 100, 100);
	finish(&made);
	expect(&made, 0, 5 * MS, 100, "qemu");
	expect(&made, 0, 500 * MS, 100, "qemu"); /* its first thread has ended, but not it */
	expect_mapped(&made, 0, 500 * MS, 0x1fff, "/usr/bin/qemu");
	assert_true(
	        xf_processes_running(made.processes, 0, TSC(5 * MS), XF_NOT_SWITCHING, &process));
	assert_string_equal(process.thread, "CPU 0/KVM");
	release(&made);
}

static void mappings_are_copied_by_forks_dropped_by_execs_and_replaced_by_later_ones(void **state)
{
	struct made made = {0};

	(void)state;
	begin(&made);
	file(&made, 1, "/bin/sh");
	file(&made, 2, "/lib/old.so");
	file(&made, 3, "/lib/new.so");
	file(&made, 4, "/bin/ls");
	exists(&made, 1 * MS, 100, 100, "sh");
	maps(&made, 1 * MS, 100, 0x10000, 0x4000, 1);
	maps(&made, 2 * MS, 100, 0x20000, 0x4000, 2);
	runs(&made, 0, 3 * MS, 100, 100);
	forks(&made, 10 * MS, 100, 200, 200);
	runs(&made, 1, 10 * MS, 200, 200);
	maps(&made, 15 * MS, 100, 0x21000, 0x1000, 3);
	named(&made, 20 * MS, 200, 200, true, "ls");
	maps(&made, 21 * MS, 200, 0x50000, 0x1000, 4);
	finish(&made);
	expect_mapped(&made, 0, 5 * MS, 0x21000, "/lib/old.so");
	expect_mapped(&made, 0, 16 * MS, 0x21000, "/lib/new.so");
	expect_mapped(&made, 0, 16 * MS, 0x20fff, "/lib/old.so");
	expect_mapped(&made, 0, 16 * MS, 0x22000, "/lib/old.so");
	expect_mapped(&made, 1, 16 * MS, 0x21000, "/lib/old.so"); /* the parent's came later */
	expect_mapped(&made, 1, 16 * MS, 0x13fff, "/bin/sh");
	expect_mapped(&made, 1, 22 * MS, 0x13fff, NULL);
	expect_mapped(&made, 1, 22 * MS, 0x50000, "/bin/ls");
	expect_mapped(&made, 1, 20 * MS, 0x50000, NULL);
	release(&made);
}

static void what_may_have_been_lost_is_not_known(void **state)
{
	struct made made = {0};

	(void)state;
	begin(&made);
	exists(&made, 1 * MS, 100, 100, "before");
	runs(&made, 0, 2 * MS, 100, 100);
	runs(&made, 0, 60 * MS, XF_PID_UNKNOWN, 0);
	lost(&made, 10 * MS, 20 * MS);
	lost(&made, 15 * MS, 18 * MS);
	lost(&made, 19 * MS, 30 * MS);
	exists(&made, 30 * MS, 100, 100, "after");
	finish(&made);
	expect(&made, 0, 9 * MS, 100, "before");
	expect(&made, 0, 10 * MS, 100, "");
	expect(&made, 0, 29 * MS, 100, "");
	expect(&made, 0, 30 * MS, 100, "after");
	expect_nobody(&made, 0, 61 * MS);
	release(&made);
}

/* Between readings whose paces differ nobody knows where the pace has changed. */
static void a_clock_that_changes_its_pace_is_doubted_there(void **state)
{
	const struct xf_clock_pair pairs[] = {
	        {.tsc = 0, .time = 0, .width = 10},       {.tsc = 1000, .time = 1000, .width = 10},
	        {.tsc = 2000, .time = 2000, .width = 10}, {.tsc = 3000, .time = 3500, .width = 10},
	        {.tsc = 4000, .time = 5500, .width = 10}, {.tsc = 5000, .time = 7500, .width = 10},
	        {.tsc = 6000, .time = 9500, .width = 10}, {.tsc = 7000, .time = 11500, .width = 10},
	};
	const struct xf_clock_pair set[] = {
	        {.tsc = 0, .time = 0, .width = 10},
	        {.tsc = 1024, .time = 1024, .width = 10},
	        {.tsc = 2048, .time = 2304, .width = 10},
	        {.tsc = 3072, .time = 3328, .width = 10},
	};
	struct xf_clock clock;

	(void)state;
	assert_int_equal(xf_clock_make(&clock, pairs, 8, 0), 0);
	assert_int_equal(xf_clock_doubt(&clock, 500), 5);
	/* From 1 to 2 within a thousand ticks: 250 at most, in the middle. */
	assert_int_equal(xf_clock_doubt(&clock, 2500), 250 + 7);
	assert_int_equal(xf_clock_doubt(&clock, 5500), 10);
	assert_int_equal(xf_clock_doubt(&clock, 100000), 10);
	xf_clock_free(&clock);
	/* Set by 256 somewhere between two of them. */
	assert_int_equal(xf_clock_make(&clock, set, 4, 0), 0);
	assert_int_equal(xf_clock_doubt(&clock, 1500), 256 + 6);
	xf_clock_free(&clock);
	assert_int_equal(xf_clock_make(&clock, pairs, 2, 0), 0);
	assert_int_equal(xf_clock_doubt(&clock, 500), 0);
	xf_clock_free(&clock);
}

/* The clock's pace changes near 370 ms, where "other" takes over from "one". */
static void begin_uneven(struct made *made)
{
	const struct xf_clock_pair uneven[] = {
	        {.tsc = TSC(300 * MS), .time = 300 * MS, .width = 40},
	        {.tsc = TSC(400 * MS), .time = 420 * MS, .width = 40},
	        {.tsc = TSC(500 * MS), .time = 560 * MS, .width = 40}};

	begin(made);
	assert_int_equal(xf_recording_write_clock(made->writer, uneven, 3), 0);
	exists(made, 0, 100, 100, "one");
	exists(made, 0, 200, 200, "other");
	runs(made, 0, 0, 100, 100);
	runs(made, 0, 370 * MS, 200, 200);
}

static void near_a_switch_nobody_is_known_where_the_clock_is_doubted(void **state)
{
	struct made made = {0};

	(void)state;
	begin_uneven(&made);
	finish(&made);
	expect(&made, 0, 340 * MS, 100, "one");
	expect_nobody(&made, 0, 355 * MS);
	expect(&made, 0, 372 * MS, 200, "other");
	release(&made);
}

static void expect_switching(const struct made *made, uint64_t time, enum xf_switching switching,
                             uint32_t pid)
{
	struct xf_process process = {.pid = XF_PID_UNKNOWN};

	xf_processes_running(made->processes, 0, TSC(time), switching, &process);
	if (process.pid != pid)
		fail_msg("at %lu: %u, not %u", (unsigned long)time, process.pid, pid);
}

/* It is told of after that, so that the event to come names it. */
static void in_a_switch_the_next_thread_runs(void **state)
{
	struct made made = {0};

	(void)state;
	begin(&made);
	exists(&made, 0, 100, 100, "one");
	exists(&made, 0, 200, 200, "other");
	runs(&made, 0, 10 * MS, 100, 100);
	runs(&made, 0, 50 * MS, 200, 200);
	runs(&made, 0, 90 * MS, XF_PID_UNKNOWN, 0);
	finish(&made);
	expect_switching(&made, 5 * MS, XF_SWITCH_UNTOLD, 100);
	expect_switching(&made, 11 * MS, XF_SWITCH_UNTOLD, 200);
	expect_switching(&made, 49 * MS, XF_SWITCH_UNTOLD, 200);
	expect_switching(&made, 51 * MS, XF_SWITCH_UNTOLD, XF_PID_UNKNOWN);
	expect_switching(&made, 91 * MS, XF_SWITCH_UNTOLD, XF_PID_UNKNOWN);
	expect_switching(&made, 11 * MS, XF_SWITCH_TOLD, 100);
	expect_switching(&made, 49 * MS, XF_SWITCH_TOLD, 200);
	expect_switching(&made, 51 * MS, XF_SWITCH_TOLD, 200);
	release(&made);
}

/* The clock may have told too late by 10 ms there. */
static void expect_after(const struct made *made, uint64_t time, uint32_t tid, const char *name)
{
	struct xf_process process;
	bool known = xf_processes_after(made->processes, 0, TSC(time), tid, &process);

	if (known != (name != NULL))
		fail_msg("at %lu: %d", (unsigned long)time, known);
	if (name)
		assert_string_equal(process.name, name);
}

/* The kernel said from whom: by that the switch is known, however the clocks go, and those of one
 * time stay in their order. */
static void after_a_thread_comes_the_one_that_its_cpu_switched_to(void **state)
{
	struct made made = {0};

	(void)state;
	begin(&made);
	exists(&made, 1 * MS, 100, 100, "one");
	exists(&made, 1 * MS, 200, 200, "two");
	exists(&made, 1 * MS, 300, 300, "three");
	runs(&made, 0, 10 * MS, 100, 100);
	runs(&made, 0, 20 * MS, 200, 200);
	runs(&made, 0, 20 * MS + MS / 10, 300, 300);
	runs(&made, 0, 20 * MS + MS / 5, 200, 200);
	runs(&made, 0, 50 * MS, 100, 100);
	runs(&made, 0, 50 * MS + MS / 10, 200, 200);
	runs(&made, 0, 50 * MS + MS / 5, 100, 100);
	runs(&made, 0, 50 * MS + MS / 4, 300, 300);
	runs(&made, 0, 50 * MS + MS / 4, 200, 200);
	finish(&made);
	expect(&made, 0, 60 * MS, 200, "two");
	expect_after(&made, 20 * MS - MS / 2, 100, "two");
	expect_after(&made, 20 * MS + MS / 2, 100, "two");
	expect_after(&made, 20 * MS, 300, "two");
	expect_after(&made, 20 * MS + MS / 5, 200, "three");
	expect_after(&made, 30 * MS, 100, NULL); /* there is none near */
	expect_after(&made, 20 * MS, 400, NULL);
	expect_after(&made, 50 * MS + MS / 5 - MS / 50, 100, NULL); /* two or three */
	expect_after(&made, 50 * MS + MS / 10, 100, "two");
	release(&made);
}

static void a_switch_that_was_just_told_counts_where_the_clock_is_doubted(void **state)
{
	struct made made = {0};

	(void)state;
	begin_uneven(&made);
	runs(&made, 0, 420 * MS, 100, 100);
	finish(&made);
	/* 360 ms by the TSC are 372 by the clock. */
	expect_switching(&made, 360 * MS, XF_SWITCH_UNTOLD, 200);
	expect_switching(&made, 375 * MS, XF_SWITCH_UNTOLD, 100);
	release(&made);
}

static void a_clock_follows_its_readings(void **state)
{
	const struct xf_clock_pair pairs[] = {
	        {.tsc = 3000, .time = 2000, .width = 10}, {.tsc = 1000, .time = 1000, .width = 10},
	        {.tsc = 2000, .time = 9000, .width = 81}, /* interrupted */
	        {.tsc = 5000, .time = 4000, .width = 80}, {.tsc = 6000, .time = 3000, .width = 10},
	};
	struct xf_clock clock;
	uint64_t time;

	(void)state;
	assert_int_equal(xf_clock_make(&clock, pairs, 5, 0), 0);
	assert_int_equal(clock.nr, 3);
	assert_true(xf_clock_time(&clock, 2000, &time));
	assert_int_equal(time, 1500);
	assert_true(xf_clock_time(&clock, 4500, &time));
	assert_int_equal(time, 3500);
	assert_true(xf_clock_time(&clock, 5400, &time)); /* by the whole: 3000 in 4000 */
	assert_int_equal(time, 4300);
	assert_true(xf_clock_time(&clock, 600, &time));
	assert_int_equal(time, 700);
	assert_true(xf_clock_time(&clock, 0, &time));
	assert_int_equal(time, 250);
	xf_clock_free(&clock);
	assert_int_equal(xf_clock_make(&clock, pairs, 1, 2000000000), 0);
	assert_true(xf_clock_time(&clock, 3400, &time));
	assert_int_equal(time, 2200);
	assert_true(xf_clock_time(&clock, UINT64_MAX, &time));
	xf_clock_free(&clock);
	assert_int_equal(xf_clock_make(&clock, pairs, 0, 0), 0);
	assert_false(xf_clock_time(&clock, 3400, &time));
	xf_clock_free(&clock);
}

/* ---- In a profile ---------------------------------------------------------------------------- */

static void sample(struct made *made, uint16_t domid, uint32_t vcpu, uint64_t time, uint16_t flags)
{
	const struct xf_sample one = {.bytes = XF_SAMPLE_HEAD_BYTES,
	                              .flags = flags,
	                              .domid = domid,
	                              .vcpu = vcpu,
	                              .tsc = TSC(time),
	                              .rip = 0x400000};

	assert_int_equal(xf_recording_write_sample(made->writer, &one), 0);
}

static void make_samples(struct made *made)
{
	begin(made);
	exists(made, 1 * MS, 100, 100, "xl");
	exists(made, 1 * MS, 101, 101, "xl");
	runs(made, 0, 2 * MS, 100, 100);
	runs(made, 0, 20 * MS, 101, 101);
	runs(made, 1, 2 * MS, 0, 0);
	runs(made, 1, 30 * MS, 777, 777);
	sample(made, 0, 0, 10 * MS, XF_SAMPLE_GUEST);
	sample(made, 0, 0, 21 * MS, XF_SAMPLE_GUEST);
	sample(made, 0, 1, 10 * MS, XF_SAMPLE_GUEST);
	sample(made, 0, 1, 31 * MS, XF_SAMPLE_GUEST);
	sample(made, 0, 2, 10 * MS, XF_SAMPLE_GUEST);
	sample(made, 3, 0, 10 * MS, XF_SAMPLE_GUEST);
	sample(made, 0, 0, 10 * MS, XF_SAMPLE_GUEST | XF_SAMPLE_IDLE);
	finish(made);
}

static void expect_folded(const struct made *made, const struct xf_profile_options *options,
                          const char *expected)
{
	struct xf_profile *profile;
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(xf_profile_build(made->recording, options, &profile, NULL), 0);
	assert_int_equal(profile->counts.processes, 5);
	assert_int_equal(profile->counts.process_unknown, 2);
	assert_int_equal(xf_folded_write(out, profile), 0);
	fclose(out);
	assert_string_equal(text, expected);
	free(text);
	xf_profile_free(profile);
}

static void processes_stand_above_the_control_domain_alone(void **state)
{
	struct xf_profile_options options = XF_PROFILE_DEFAULTS;
	struct made made = {0};

	(void)state;
	make_samples(&made);
	expect_folded(&made, &options,
	              "Domain-0;[unknown process];[guest user] 2\n"
	              "Domain-0;swapper;[guest user] 1\n"
	              "Domain-0;xl;[guest user] 2\n"
	              "d3;[guest user] 1\n"
	              "Idle;[guest user] 1\n");
	options.by_domain = false;
	options.by_process = true;
	expect_folded(&made, &options,
	              "[guest user] 2\n"
	              "[unknown process];[guest user] 1\n"
	              "[unknown process] (777);[guest user] 1\n"
	              "swapper (0);[guest user] 1\n"
	              "xl (100);[guest user] 1\n"
	              "xl (101);[guest user] 1\n");
	options.processes = false;
	expect_folded(&made, &options, "[guest user] 7\n");
	release(&made);
}

static void script_tells_the_process_as_the_outermost_frame(void **state)
{
	const struct xf_profile_options options = XF_PROFILE_DEFAULTS;
	struct made made = {0};
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	make_samples(&made);
	assert_int_equal(xf_script_write(out, made.recording, &options, NULL), 0);
	fclose(out);
	assert_non_null(strstr(text, "[guest user] (guest)\n\t               0 xl (process)\n\n"));
	assert_non_null(strstr(text, "[guest user] (guest)\n\nIdle"));
	free(text);
	release(&made);
}

/* ---- Hostile recordings ---------------------------------------------------------------------- */

static void what_makes_no_sense_is_left_out_and_counted(void **state)
{
	static const struct {
		enum xf_process_type type;
		uint32_t other;
		const char *rest;
		size_t size;
	} wrong[] = {
	        {XF_PROCESS_EXISTS, 0, "abc", 3}, /* without its NUL */
	        {XF_PROCESS_FORK, 0, "ab", 2},
	        {XF_PROCESS_COMM, 0, "", 0},
	        {XF_PROCESS_MAP, 0, "12345678abcdefgh", 16},
	        {XF_PROCESS_MAP, 0, "\377\377\377\377\377\377\377\377\1\0\0\0\0\0\0\0abcdefgh", 24},
	        {XF_PROCESS_FILE, 0, "abc", 3},
	        {XF_PROCESS_FILE, XF_NO_FILE, "abc\0", 4},
	        {XF_PROCESS_LOST, 0, "", 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct made made = {0};
		struct xf_process_events events = {0};

		add(&made, wrong[i].type, 1, 100, 100, wrong[i].other, wrong[i].rest,
		    wrong[i].size);
		exists(&made, 2, 100, 100, "after");
		assert_int_equal(
		        xf_process_events_read(&events, XF_CHUNK_PROCESSES,
		                               xf_cursor_over(made.records.at, made.records.size)),
		        -EBADMSG);
		assert_int_equal(events.nr, 1); /* what comes after it is whole */
		assert_int_equal(events.nr_files, 0);
		xf_process_events_free(&events);
		free(made.records.at);
	}
}

static void what_is_cut_off_is_left_out(void **state)
{
	struct made made = {0};

	(void)state;
	exists(&made, 1, 100, 100, "name");
	for (size_t size = 0; size < made.records.size; size++) {
		struct xf_process_events events = {0};
		uint8_t *copy = malloc(size + 1); /* for ASan: no byte more */

		memcpy(copy, made.records.at, size);
		assert_int_equal(xf_process_events_read(&events, XF_CHUNK_PROCESSES,
		                                        xf_cursor_over(copy, size)),
		                 size ? -EBADMSG : 0);
		assert_int_equal(events.nr, 0);
		xf_process_events_free(&events);
		free(copy);
	}
	free(made.records.at);
}

static void cpus_that_no_domain_has_are_refused(void **state)
{
	struct xf_process_events events = {0};
	uint32_t content[6] = {XF_MAX_CPUS};

	(void)state;
	assert_int_equal(xf_process_events_read(&events, XF_CHUNK_SWITCHES,
	                                        xf_cursor_over(content, sizeof(content))),
	                 -EBADMSG);
	content[0] = XF_MAX_CPUS - 1;
	assert_int_equal(xf_process_events_read(&events, XF_CHUNK_SWITCHES,
	                                        xf_cursor_over(content, sizeof(content))),
	                 0);
	assert_int_equal(events.cpus[XF_MAX_CPUS - 1].nr, 1);
	assert_int_equal(xf_process_events_read(&events, XF_CHUNK_SWITCHES,
	                                        xf_cursor_over(content, sizeof(content) - 1)),
	                 -EBADMSG);
	xf_process_events_free(&events);
}

/* Forks of forks, each with a mapping: the search for an address that none has must end soon. */
static void chains_of_forks_without_end_are_given_up(void **state)
{
	struct made made = {0};

	(void)state;
	begin(&made);
	exists(&made, 1, 1, 1, "first");
	maps(&made, 1, 1, 0x1000, 0x1000, XF_NO_FILE);
	for (uint32_t pid = 2; pid < 20000; pid++) {
		forks(&made, pid, pid - 1, pid, pid);
		maps(&made, pid, pid, 0x5000, 0x1000, XF_NO_FILE);
	}
	runs(&made, 0, 1 * MS, 19999, 19999);
	runs(&made, 1, 1 * MS, 8000, 8000);
	finish(&made);
	expect(&made, 0, 2 * MS, 19999, "first");
	expect_mapped(&made, 0, 2 * MS, 0x1000, NULL);
	expect(&made, 1, 2 * MS, 8000, "first");
	release(&made);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(a_process_of_three_milliseconds_is_itself_and_nobody_after),
	        cmocka_unit_test(a_number_that_is_used_again_is_another_process),
	        cmocka_unit_test(last_steps_are_not_those_of_the_next_with_that_number),
	        cmocka_unit_test(events_of_several_cpus_are_put_in_order),
	        cmocka_unit_test(what_existed_was_so_before_somebody_looked),
	        cmocka_unit_test(threads_go_by_the_name_of_their_process),
	        cmocka_unit_test(
	                mappings_are_copied_by_forks_dropped_by_execs_and_replaced_by_later_ones),
	        cmocka_unit_test(what_may_have_been_lost_is_not_known),
	        cmocka_unit_test(a_clock_that_changes_its_pace_is_doubted_there),
	        cmocka_unit_test(near_a_switch_nobody_is_known_where_the_clock_is_doubted),
	        cmocka_unit_test(in_a_switch_the_next_thread_runs),
	        cmocka_unit_test(after_a_thread_comes_the_one_that_its_cpu_switched_to),
	        cmocka_unit_test(a_switch_that_was_just_told_counts_where_the_clock_is_doubted),
	        cmocka_unit_test(a_clock_follows_its_readings),
	        cmocka_unit_test(processes_stand_above_the_control_domain_alone),
	        cmocka_unit_test(script_tells_the_process_as_the_outermost_frame),
	        cmocka_unit_test(what_makes_no_sense_is_left_out_and_counted),
	        cmocka_unit_test(what_is_cut_off_is_left_out),
	        cmocka_unit_test(cpus_that_no_domain_has_are_refused),
	        cmocka_unit_test(chains_of_forks_without_end_are_given_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
