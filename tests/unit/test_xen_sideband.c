// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Linux's perf events: records made up here, and processes of this test's own as the running kernel
 * tells of them. Where it refuses, that part is skipped.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "profile/processes.h"
#include "xen/perf_map.h"
#include "xen/perf_records.h"
#include "xen/sideband.h"
#include "xen/user_file.h"

/* ---- Records --------------------------------------------------------------------------------- */

static const struct xf_process_head *first(const struct xf_gathered *gathered)
{
	return (const void *)gathered->records;
}

static void take(struct xf_perf_reader *reader, struct xf_gathered *gathered, uint32_t type,
                 uint16_t misc, const void *content, size_t size, uint64_t time)
{
	uint8_t record[512] = {0};
	const struct perf_event_header header = {
	        .type = type, .misc = misc, .size = (uint16_t)(sizeof(header) + size + 16)};
	const uint32_t who[2] = {100, 101};

	memcpy(record, &header, sizeof(header));
	memcpy(record + sizeof(header), content, size);
	memcpy(record + sizeof(header) + size, who, sizeof(who));
	memcpy(record + sizeof(header) + size + sizeof(who), &time, sizeof(time));
	xf_perf_take_record(reader, record, header.size, gathered);
}

static void the_first_that_goes_ran_since_before_anybody_looked(void **state)
{
	struct xf_perf_reader reader = {.cpu = 3, .opened = 50, .switches = true};
	const uint32_t other[2] = {7, 7};
	struct xf_gathered gathered = {0};

	(void)state;
	take(&reader, &gathered, PERF_RECORD_SWITCH_CPU_WIDE, PERF_RECORD_MISC_SWITCH_OUT, other,
	     sizeof(other), 60);
	take(&reader, &gathered, PERF_RECORD_SWITCH_CPU_WIDE, 0, other, sizeof(other), 61);
	take(&reader, &gathered, PERF_RECORD_SWITCH_CPU_WIDE, PERF_RECORD_MISC_SWITCH_OUT, other,
	     sizeof(other), 70);
	assert_int_equal(gathered.nr_cpus, 4);
	assert_int_equal(gathered.cpus[3].nr, 2);
	assert_int_equal(gathered.cpus[3].switches[0].time, 50);
	assert_int_equal(gathered.cpus[3].switches[0].pid, 100);
	assert_int_equal(gathered.cpus[3].switches[1].time, 61);
	assert_int_equal(gathered.cpus[3].switches[1].tid, 101);
	xf_gathered_free(&gathered);
}

static void after_a_loss_it_is_not_known_who_runs(void **state)
{
	struct xf_perf_reader reader = {.opened = 50, .last = 60, .switches = true};
	struct xf_perf_reader tasks = {.opened = 50, .last = 60};
	const uint64_t lost[2] = {1, 44};
	struct xf_gathered gathered = {0};

	(void)state;
	take(&reader, &gathered, PERF_RECORD_LOST, 0, lost, sizeof(lost), 90);
	assert_int_equal(gathered.cpus[0].nr, 1);
	assert_int_equal(gathered.cpus[0].switches[0].time, 61);
	assert_int_equal(gathered.cpus[0].switches[0].pid, XF_PID_UNKNOWN);
	assert_int_equal(reader.lost, 44);
	assert_int_equal(reader.lost_from, 0);
	take(&tasks, &gathered, PERF_RECORD_LOST, 0, lost, sizeof(lost), 90);
	assert_int_equal(tasks.lost_from, 61);
	assert_int_equal(gathered.cpus[0].nr, 1);
	xf_gathered_free(&gathered);
}

static void a_file_is_told_once_by_its_build_id(void **state)
{
	struct {
		uint32_t pid, tid;
		uint64_t address, size, offset;
		uint8_t build_id_size, zero[3], build_id[20];
		uint32_t protection, flags;
		char path[16];
	} map = {7, 7, 0x1000, 0x2000, 0x3000, 20, {0}, {1, 2, 3}, 5, 2, "/bin/true"};
	struct xf_perf_reader reader = {0};
	struct xf_gathered gathered = {0};
	size_t with_file, without;

	(void)state;
	take(&reader, &gathered, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER | 1 << 14, &map,
	     sizeof(map), 5);
	with_file = gathered.size;
	assert_int_equal(first(&gathered)->type, XF_PROCESS_FILE);
	assert_int_equal(first(&gathered)->size, sizeof("/bin/true") + 20);
	take(&reader, &gathered, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER | 1 << 14, &map,
	     sizeof(map), 6);
	without = gathered.size - with_file;
	assert_int_equal(without, sizeof(struct xf_process_head) + 24);
	map.build_id[19] = 1; /* the file has been replaced */
	take(&reader, &gathered, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER | 1 << 14, &map,
	     sizeof(map), 7);
	assert_int_equal(gathered.nr_files, 2);
	/* What the kernel itself maps is nobody's. */
	take(&reader, &gathered, PERF_RECORD_MMAP2, PERF_RECORD_MISC_KERNEL, &map, sizeof(map), 8);
	assert_int_equal(gathered.size, 2 * with_file + without);
	xf_gathered_free(&gathered);
}

/* Those of other domains' processes have the numbers behind them. */
static void there_is_an_end_to_numbers_of_files(void **state)
{
	struct xf_gathered gathered = {0};
	char path[32];

	(void)state;
	for (uint32_t i = 0; i < XF_GUEST_FILES; i++) {
		snprintf(path, sizeof(path), "/lib/%u", i);
		assert_int_equal(xf_gather_file(&gathered, path, "", NULL, 0), i);
	}
	assert_int_equal(xf_gather_file(&gathered, "/lib/more", "", NULL, 0), XF_NO_FILE);
	assert_int_equal(xf_gathered_file(&gathered, "/lib/more", ""), XF_NO_FILE);
	assert_int_equal(xf_gathered_file(&gathered, path, ""), XF_GUEST_FILES - 1);
	xf_gathered_free(&gathered);
}

static void records_that_are_cut_off_are_left_out(void **state)
{
	static const uint32_t types[] = {PERF_RECORD_COMM, PERF_RECORD_FORK, PERF_RECORD_EXIT,
	                                 PERF_RECORD_MMAP2, PERF_RECORD_LOST};
	struct xf_perf_reader reader = {0};
	struct xf_gathered gathered = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		for (size_t size = 0; size < 24; size++) {
			const struct perf_event_header header = {.type = types[i]};
			uint8_t *record = calloc(1, sizeof(header) + size); /* for ASan */

			memcpy(record, &header, sizeof(header));
			if (size != 16 || types[i] != PERF_RECORD_LOST)
				xf_perf_take_record(&reader, record, sizeof(header) + size,
				                    &gathered);
			free(record);
		}
	assert_int_equal(gathered.size, 0);
	xf_gathered_free(&gathered);
}

/* ---- The running kernel ---------------------------------------------------------------------- */

static void short_process(void)
{
	pid_t child = fork();

	if (child == 0) {
		prctl(PR_SET_NAME, "xf-short");
		_exit(0);
	}
	waitpid(child, NULL, 0);
}

/* What has been gathered, read as a recording's. */
static void read_gathered(const struct xf_gathered *gathered, struct xf_process_events *events)
{
	assert_int_equal(xf_process_events_read(events, XF_CHUNK_PROCESSES,
	                                        xf_cursor_over(gathered->records, gathered->size)),
	                 0);
	xf_process_events_finish(events);
}

static size_t count(const struct xf_process_events *events, enum xf_process_type type,
                    uint32_t parent, const char *comm)
{
	size_t nr = 0;

	for (size_t i = 0; i < events->nr; i++) {
		const struct xf_process_event *event = &events->events[i];

		nr += event->type == type && (!parent || event->other == parent) &&
		      (!comm || strcmp(event->comm, comm) == 0);
	}
	return nr;
}

static void open_or_skip(enum xf_sideband_wish wish, struct xf_sideband **sideband)
{
	struct xf_error error = {0};

	if (xf_sideband_open(wish, sideband, &error) == 0)
		return;
	print_message("%s\n", error.text);
	assert_non_null(strstr(error.text, "processes are not recorded"));
	skip();
}

static void every_process_of_this_test_is_told(void **state)
{
	struct xf_process_events events = {0};
	const uint32_t self = (uint32_t)getpid();
	struct xf_sideband *sideband;
	size_t mapped = 0;

	(void)state;
	open_or_skip(XF_SIDEBAND_CODE, &sideband);
	for (unsigned int i = 0; i < 100; i++) {
		short_process();
		xf_sideband_poll(sideband);
	}
	read_gathered(xf_sideband_gathered(sideband), &events);
	assert_int_equal(count(&events, XF_PROCESS_FORK, self, NULL), 100);
	assert_int_equal(count(&events, XF_PROCESS_COMM, 0, "xf-short"), 100);
	for (size_t i = 0; i < events.nr; i++)
		mapped += events.events[i].type == XF_PROCESS_MAP && events.events[i].pid == self;
	assert_true(mapped > 0);
	xf_process_events_free(&events);
	xf_sideband_close(sideband);
}

/* For whom names are enough, nothing is told of what is mapped. */
static void names_alone_are_told_on_request(void **state)
{
	struct xf_process_events events = {0};
	const uint32_t self = (uint32_t)getpid();
	struct xf_sideband *sideband;

	(void)state;
	open_or_skip(XF_SIDEBAND_NAMES, &sideband);
	short_process();
	xf_sideband_poll(sideband);
	read_gathered(xf_sideband_gathered(sideband), &events);
	assert_int_equal(count(&events, XF_PROCESS_FORK, self, NULL), 1);
	assert_true(count(&events, XF_PROCESS_EXISTS, 0, NULL) > 0);
	assert_int_equal(count(&events, XF_PROCESS_MAP, 0, NULL), 0);
	assert_int_equal(events.nr_files, 0);
	xf_process_events_free(&events);
	xf_sideband_close(sideband);
}

#define SELF "test_xen_sideba" /* as Linux cuts it */

/* Since when it is not known who ran, and all processes anew. */
static void what_was_left_out_is_told_to_have_been(void **state)
{
	struct xf_process_events events = {0};
	const uint32_t self = (uint32_t)getpid();
	struct xf_gathered *gathered;
	struct xf_sideband *sideband;

	(void)state;
	open_or_skip(XF_SIDEBAND_NAMES, &sideband);
	gathered = xf_sideband_gathered(sideband);
	xf_gathered_written(gathered);
	for (unsigned int i = 0; i < 3; i++) {
		short_process();
		xf_sideband_poll(sideband);
		xf_gathered_leave_out(gathered);
		assert_int_equal(gathered->size, 0);
		for (size_t cpu = 0; cpu < gathered->nr_cpus; cpu++)
			assert_true(gathered->cpus[cpu].nr <= 1);
	}
	xf_sideband_go_on(sideband, 1);
	assert_true(gathered->size > 0);
	/* A look takes as many polls as the machine's load makes it. */
	for (unsigned int i = 0; i < 5000 && !count(&events, XF_PROCESS_EXISTS, 0, SELF); i++) {
		xf_sideband_poll(sideband);
		xf_process_events_free(&events);
		read_gathered(gathered, &events);
	}
	assert_int_equal(count(&events, XF_PROCESS_FORK, self, NULL), 0);
	assert_true(count(&events, XF_PROCESS_LOST, 0, NULL) >= 2);
	assert_true(count(&events, XF_PROCESS_EXISTS, 0, SELF) > 0);
	for (size_t cpu = 0; cpu < gathered->nr_cpus; cpu++)
		if (gathered->cpus[cpu].nr)
			assert_int_equal(gathered->cpus[cpu].switches[0].pid, XF_PID_UNKNOWN);
	xf_process_events_free(&events);
	xf_sideband_close(sideband);
}

static void the_clocks_are_read_together(void **state)
{
	struct xf_clock_pair before, after;

	(void)state;
	xf_sideband_read_clocks(&before);
	xf_sideband_read_clocks(&after);
	assert_true(after.time > before.time);
	assert_true(after.tsc > before.tsc);
	assert_true(before.width > 0 && before.width < UINT64_MAX);
}

/* ---- Files ----------------------------------------------------------------------------------- */

/* A mapping of this test's own. */
struct mapping {
	unsigned long start, end, offset;
	char path[512];
};

static struct mapping find_mapping(const void *address)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	struct mapping found = {0};
	char line[1024];

	while (maps && fgets(line, sizeof(line), maps)) {
		found.path[0] = '\0';
		if (sscanf(line, "%lx-%lx %*s %lx %*s %*s %511[^\n]", &found.start, &found.end,
		           &found.offset, found.path) >= 3 &&
		    (unsigned long)address >= found.start && (unsigned long)address < found.end)
			break;
	}
	if (maps)
		fclose(maps);
	return found;
}

static void a_function_of_a_file_is_found_by_its_offset(void **state)
{
	const unsigned long address = (unsigned long)&find_mapping;
	struct mapping mapping = find_mapping((const void *)address);
	struct xf_user_file_wanted wanted = {.path = mapping.path, .pid = (uint32_t)getpid()};
	uint8_t build_id[XF_BUILD_ID_MAX];
	struct xf_user_file_place place;
	struct xf_user_file *file;
	int fd = open(mapping.path, O_RDONLY);

	(void)state;
	wanted.build_id_size = xf_user_file_build_id(fd, build_id);
	wanted.build_id = build_id;
	close(fd);
	assert_true(wanted.build_id_size > 0);
	file = xf_user_file_open(&wanted);
	assert_non_null(file);
	xf_user_file_find(file, address - mapping.start + mapping.offset, &place);
	assert_string_equal(place.name, "find_mapping");
	assert_int_equal(place.start, address - mapping.start + mapping.offset);
	assert_int_equal(place.row.kind, XF_ROW_CALL);
	assert_int_equal(place.row.base_offset, 8);
	xf_user_file_find(file, UINT64_MAX, &place);
	assert_string_equal(place.name, "");
	assert_int_equal(place.row.kind, XF_ROW_UNDEFINED);
	xf_user_file_close(file);
	build_id[0] ^= 1; /* another file has taken its place */
	assert_null(xf_user_file_open(&wanted));
}

static void the_kernels_own_code_in_processes_is_found(void **state)
{
	const struct xf_user_file_wanted wanted = {.path = "[vdso]"};
	struct xf_user_file *file = xf_user_file_open(&wanted);
	unsigned int functions = 0;

	(void)state;
	assert_non_null(file);
	for (uint64_t offset = 0; offset < 0x4000; offset++) {
		struct xf_user_file_place place;

		xf_user_file_find(file, offset, &place);
		functions += strstr(place.name, "clock_gettime") && place.start == offset;
	}
	assert_int_equal(functions, 1);
	xf_user_file_close(file);
}

static void write_map(const char *path)
{
	FILE *map = fopen(path, "w");

	assert_non_null(map);
	fputs("7f0000001000 20 ~fast function\nnonsense\n7f0000002000 0 empty\n"
	      "ffffffffffffff00 200 wraps\n7f0000001020 10 next",
	      map);
	fclose(map);
}

static void what_a_process_has_compiled_goes_by_its_map(void **state)
{
	struct xf_symbols *symbols;
	char path[64];

	(void)state;
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	write_map(path);
	symbols = xf_perf_map_read((uint32_t)getpid(), false);
	assert_non_null(symbols);
	assert_int_equal(xf_symbols_count(symbols), 2);
	assert_string_equal(xf_symbols_find(symbols, 0x7f000000101f)->name, "~fast function");
	assert_string_equal(xf_symbols_find(symbols, 0x7f0000001020)->name, "next");
	assert_null(xf_symbols_find(symbols, 0x7f0000001030));
	xf_symbols_free(symbols);
	if (getuid() == 0) { /* then it could be anybody's */
		assert_int_equal(chown(path, 12345, 12345), 0);
		assert_null(xf_perf_map_read((uint32_t)getpid(), false));
		assert_null(xf_perf_map_read((uint32_t)getpid(), true));
	}
	unlink(path);
	assert_null(xf_perf_map_read((uint32_t)getpid(), false));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(the_first_that_goes_ran_since_before_anybody_looked),
	        cmocka_unit_test(after_a_loss_it_is_not_known_who_runs),
	        cmocka_unit_test(a_file_is_told_once_by_its_build_id),
	        cmocka_unit_test(there_is_an_end_to_numbers_of_files),
	        cmocka_unit_test(records_that_are_cut_off_are_left_out),
	        cmocka_unit_test(every_process_of_this_test_is_told),
	        cmocka_unit_test(names_alone_are_told_on_request),
	        cmocka_unit_test(what_was_left_out_is_told_to_have_been),
	        cmocka_unit_test(the_clocks_are_read_together),
	        cmocka_unit_test(a_function_of_a_file_is_found_by_its_offset),
	        cmocka_unit_test(the_kernels_own_code_in_processes_is_found),
	        cmocka_unit_test(what_a_process_has_compiled_goes_by_its_map),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
