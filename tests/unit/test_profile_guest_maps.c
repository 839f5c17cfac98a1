// SPDX-License-Identifier: GPL-2.0-or-later
/* What processes of other domains had mapped, by looks at them: which are believed for a sample,
 * and what becomes of it. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "profile/guest_maps.h"
#include "profile/process_writer.h"
#include "profile/tasks.h"
#include "profile/user_hits.h"
#include "unit/expect_folded.h"
#include "unit/taken_bytes.h"

#define GUEST    7u
#define PROCESS  100u
#define ROOT     0x1234000ull
#define PROGRAM  0x401000ull /* mapped from offset 0x1000 on */
#define LIBRARY  0x7f0000000000ull
#define JITTED   0x7e0000000000ull
#define STACK    0x7ffc00001000ull
#define SAMPLE   1000u /* TSC */
#define MAIN     0x1100u
#define NR(list) (sizeof(list) / sizeof((list)[0]))

#define FIRST_FILE XF_GUEST_FILES
#define OTHER_FILE (XF_GUEST_FILES + 1)

static const struct xf_guest_map program = {PROGRAM, 0x2000, 0x1000, FIRST_FILE, 0};

static struct xf_guest_maps_head look_at(uint64_t tsc)
{
	return (struct xf_guest_maps_head){
	        .domid = GUEST, .pid = PROCESS, .root = ROOT, .tsc = tsc};
}

/* ---- Looks ----------------------------------------------------------------------------------- */

static void add_look(struct xf_guest_maps *maps, struct xf_guest_maps_head head,
                     const struct xf_guest_map *map)
{
	struct bytes content = {0};

	take(&content, &head, sizeof(head));
	if (map)
		take(&content, map, sizeof(*map));
	assert_int_equal(xf_guest_maps_read(maps, xf_cursor_over(content.at, content.size)), 0);
	free(content.at);
}

static bool is_mapped(struct xf_guest_maps *maps, struct xf_guest_map *map)
{
	const struct xf_sample sample = {
	        .domid = GUEST, .tsc = SAMPLE, .cr3 = ROOT | 0x18, .hvm_cr3 = 0};
	struct xf_guest_looks looks;
	bool found;

	xf_guest_maps_finish(maps);
	looks = xf_guest_maps_find(maps, &sample, PROCESS);
	found = xf_guest_looks_mapping(&looks, PROGRAM + 0x1fff, map);
	assert_false(xf_guest_looks_mapping(&looks, PROGRAM + 0x2000, map) ||
	             xf_guest_looks_mapping(&looks, PROGRAM - 1, map));
	return found;
}

static void a_look_before_or_after_is_enough(void **state)
{
	static const uint64_t moments[] = {0, SAMPLE, SAMPLE + 1, UINT64_MAX};

	(void)state;
	for (size_t i = 0; i < NR(moments); i++) {
		struct xf_guest_maps maps = {0};
		struct xf_guest_map map = {0};

		add_look(&maps, look_at(moments[i]), &program);
		assert_true(is_mapped(&maps, &map));
		assert_memory_equal(&map, &program, sizeof(map));
		xf_guest_maps_free(&maps);
	}
}

static void two_looks_have_to_agree(void **state)
{
	static const struct {
		struct xf_guest_map map;
		bool known;
	} others[] = {
	        {{PROGRAM, 0x2000, 0x1000, FIRST_FILE, 0}, true},
	        {{PROGRAM + 0x1000, 0x1000, 0x2000, FIRST_FILE, 0}, true},
	        {{PROGRAM, 0x2000, 0x1000, OTHER_FILE, 0}, false},
	        {{PROGRAM, 0x2000, 0x2000, FIRST_FILE, 0}, false},
	        {{PROGRAM, 0x2000, 0x1000, XF_NO_FILE, 0}, false},
	};

	(void)state;
	for (size_t i = 0; i < NR(others); i++) {
		struct xf_guest_maps maps = {0};
		struct xf_guest_map map;

		add_look(&maps, look_at(SAMPLE - 10), &program);
		add_look(&maps, look_at(SAMPLE + 10), &others[i].map);
		/* Those further away do not count. */
		add_look(&maps, look_at(SAMPLE - 20), &others[2].map);
		add_look(&maps, look_at(SAMPLE + 20), &others[3].map);
		assert_int_equal(is_mapped(&maps, &map), others[i].known);
		xf_guest_maps_free(&maps);
	}
}

static void nothing_at_one_look_is_no_contradiction(void **state)
{
	struct xf_guest_maps maps = {0};
	struct xf_guest_map map;

	(void)state;
	add_look(&maps, look_at(SAMPLE - 10), NULL);
	assert_false(is_mapped(&maps, &map));
	add_look(&maps, look_at(SAMPLE + 10), &program);
	assert_true(is_mapped(&maps, &map));
	xf_guest_maps_free(&maps);
}

static void a_look_at_another_process_says_nothing(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 3; i++) {
		struct xf_guest_maps_head head = look_at(SAMPLE);
		struct xf_guest_maps maps = {0};
		struct xf_guest_map map;

		head.domid += i == 0;
		head.pid += i == 1;
		head.root += i == 2 ? 4096 : 0;
		add_look(&maps, head, &program);
		assert_false(is_mapped(&maps, &map));
		xf_guest_maps_free(&maps);
	}
}

static void of_hvm_guests_it_is_their_own_cr3(void **state)
{
	const struct xf_sample sample = {.cr3 = 0x77000, .hvm_cr3 = 0x8000000001234fffull};

	(void)state;
	assert_true(xf_guest_maps_root(&sample) == ROOT);
}

static void what_makes_no_sense_is_left_out_whole(void **state)
{
	static const struct xf_guest_map wrong[] = {
	        {PROGRAM + 0x1fff, 0x1000, 0, FIRST_FILE, 0}, /* overlaps */
	        {0x1000, 0x1000, 0, FIRST_FILE, 0},           /* comes before */
	        {LIBRARY, 0, 0, FIRST_FILE, 0},
	        {LIBRARY, UINT64_MAX - LIBRARY + 1, 0, FIRST_FILE, 0},
	        {LIBRARY, 0x1000, UINT64_MAX - 0xfff, FIRST_FILE, 0},
	};
	const struct xf_guest_maps_head head = {.domid = GUEST};

	(void)state;
	for (size_t i = 0; i < NR(wrong); i++) {
		struct xf_guest_maps maps = {0};
		struct bytes content = {0};

		take(&content, &head, sizeof(head));
		take(&content, &program, sizeof(program));
		for (size_t size = 0; size < content.size; size++)
			assert_int_equal(
			        xf_guest_maps_read(&maps, xf_cursor_over(content.at, size)),
			        size == sizeof(head) ? 0 : -EBADMSG);
		take(&content, &wrong[i], sizeof(wrong[i]));
		assert_int_equal(
		        xf_guest_maps_read(&maps, xf_cursor_over(content.at, content.size)),
		        -EBADMSG);
		assert_int_equal(maps.nr_looks, 1);
		assert_int_equal(maps.nr_maps, 0);
		xf_guest_maps_free(&maps);
		free(content.at);
	}
}

/* ---- Recordings ------------------------------------------------------------------------------ */

/* When it was looked at the process, and since when its domain has run its kernel. */
struct moments {
	uint64_t look, kernel;
};

static void write_guest(struct xf_recording_writer *writer, const struct moments *moments)
{
	static const uint8_t build_id[] = {1, 2, 3, 4};
	static const struct xf_guest_map maps[] = {{PROGRAM, 0x2000, 0x1000, FIRST_FILE, 0},
	                                           {JITTED, 0x1000, 0, XF_NO_FILE, 0},
	                                           {LIBRARY, 0x1000, 0, OTHER_FILE, 0}};
	const struct xf_guest_maps_head head = look_at(moments->look);
	const struct xf_recording_domain domain = {.domid = GUEST, .name = "web", .uuid = ""};
	struct xf_recording_kernel_of of = {.domid = GUEST, .kernel = 3, .tsc = moments->kernel};

	assert_int_equal(xf_recording_write_domain(writer, &domain), 0);
	xf_recording_write_info(writer, "tasks", "%u", GUEST);
	assert_int_equal(xf_recording_write_kernel(writer, 3, "Linux"), 0);
	assert_int_equal(xf_recording_write_kernel_of(writer, &of), 0);
	of.tsc = SAMPLE + 100; /* made anew, with the same image */
	assert_int_equal(xf_recording_write_kernel_of(writer, &of), 0);
	assert_int_equal(xf_recording_write_process_file(writer, FIRST_FILE, "/sbin/server",
	                                                 build_id, sizeof(build_id)),
	                 0);
	assert_int_equal(
	        xf_recording_write_process_file(writer, OTHER_FILE, "/lib/libc.so.6", NULL, 0), 0);
	assert_int_equal(xf_recording_write_guest_maps(writer, &head, maps, NR(maps)), 0);
}

static void write_code(struct xf_recording_writer *writer)
{
	const struct xf_user_place places[] = {
	        {.offset = 0x1015,
	         .start = 0x1010,
	         .row = {.kind = XF_ROW_UNDEFINED, .reason = XF_UNWIND_END},
	         .name = "_start"},
	        {.offset = MAIN + 4,
	         .start = MAIN,
	         .row = {.kind = XF_ROW_CALL,
	                 .base_register = 4,
	                 .rbp_rule = XF_RBP_SAME,
	                 .base_offset = 16},
	         .name = "main"},
	};

	assert_int_equal(xf_recording_write_user_code(writer, FIRST_FILE, 0, places, NR(places)),
	                 0);
}

/* In main, which _start has called; the other words are other code's. */
static void write_sample(struct xf_recording_writer *writer)
{
	static const struct xf_guest_task task = {.bytes = sizeof(task),
	                                          .mode = XF_GUEST_TASK,
	                                          .pid = PROCESS,
	                                          .tgid = PROCESS,
	                                          .comm = "server"};
	const struct xf_sample sample = {.bytes = XF_SAMPLE_HEAD_BYTES,
	                                 .flags = XF_SAMPLE_GUEST,
	                                 .domid = GUEST,
	                                 .tsc = SAMPLE,
	                                 .hvm_cr3 = ROOT,
	                                 .guest_rip = PROGRAM + MAIN + 4 - 0x1000};
	struct {
		struct xf_guest_stack head;
		uint64_t words[3];
	} stack = {.head = {.bytes = XF_GUEST_HEAD_BYTES + 24,
	                    .mode = XF_GUEST_USER,
	                    .rip = PROGRAM + MAIN + 4 - 0x1000,
	                    .rsp = STACK,
	                    .end = STACK + 64},
	           .words = {XF_WORD(1, PROGRAM + 0x16), XF_WORD(3, JITTED + 8),
	                     XF_WORD(4, LIBRARY + 0x21)}};

	assert_int_equal(xf_recording_write_guest_task(writer, &task), 0);
	assert_int_equal(xf_recording_write_guest_stack(writer, &stack.head), 0);
	assert_int_equal(xf_recording_write_sample(writer, &sample), 0);
}

static struct xf_recording *make_recording(struct bytes *file, const struct moments *moments)
{
	const struct xf_recording_sink sink = {.write = take, .context = file};
	struct xf_recording_writer *writer;
	struct xf_recording *recording;

	assert_int_equal(xf_recording_writer_new(sink, &writer, NULL), 0);
	write_guest(writer, moments);
	write_code(writer);
	write_sample(writer);
	assert_int_equal(xf_recording_write_end(writer), 0);
	xf_recording_writer_free(writer);
	assert_int_equal(xf_recording_open(file->at, file->size, &recording, NULL), 0);
	assert_int_equal(xf_recording_state(recording).damaged, 0);
	assert_int_equal(xf_recording_state(recording).unknown_chunks, 0);
	return recording;
}

static void expect_recording(const struct moments *moments, const char *expected)
{
	struct bytes file = {0};
	struct xf_recording *recording = make_recording(&file, moments);

	expect_folded(recording, expected);
	xf_recording_free(recording);
	free(file.at);
}

static void a_process_of_another_domains_has_its_functions(void **state)
{
	const struct moments moments = {.look = SAMPLE + 50, .kernel = 10};

	(void)state;
	expect_recording(&moments, "web;server;_start;main 1\n");
}

/* Of the same number, pid and root: of another time of the domain's. */
static void a_look_at_another_domain_of_that_number_says_nothing(void **state)
{
	const struct moments late = {.look = SAMPLE + 100, .kernel = 10};
	const struct moments early = {.look = 9, .kernel = 10};

	(void)state;
	expect_recording(&late, "web;server;[user] 1\n");
	expect_recording(&early, "web;server;[user] 1\n");
}

static void its_files_are_looked_up_and_nothing_else(void **state)
{
	static const struct {
		uint32_t file;
		uint64_t offset;
	} expected[] = {{FIRST_FILE, 0x1015}, {FIRST_FILE, MAIN + 4}, {OTHER_FILE, 0x20}};
	const struct moments moments = {.look = SAMPLE + 50, .kernel = 10};
	struct bytes file = {0};
	struct xf_recording *recording = make_recording(&file, &moments);
	struct xf_processes *processes;
	struct xf_user_hit *hits;
	size_t nr;

	(void)state;
	assert_int_equal(xf_processes_make(xf_recording_processes(recording), 1, &processes), 0);
	assert_int_equal(xf_user_hits_collect(recording, processes, &hits, &nr), 0);
	assert_int_equal(nr, NR(expected));
	for (size_t i = 0; i < nr; i++) {
		assert_int_equal(hits[i].domid, GUEST);
		assert_int_equal(hits[i].file, expected[i].file);
		assert_int_equal(hits[i].offset, expected[i].offset);
	}
	free(hits);
	xf_processes_free(processes);
	xf_recording_free(recording);
	free(file.at);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(a_look_before_or_after_is_enough),
	        cmocka_unit_test(two_looks_have_to_agree),
	        cmocka_unit_test(nothing_at_one_look_is_no_contradiction),
	        cmocka_unit_test(a_look_at_another_process_says_nothing),
	        cmocka_unit_test(of_hvm_guests_it_is_their_own_cr3),
	        cmocka_unit_test(what_makes_no_sense_is_left_out_whole),
	        cmocka_unit_test(a_process_of_another_domains_has_its_functions),
	        cmocka_unit_test(a_look_at_another_domain_of_that_number_says_nothing),
	        cmocka_unit_test(its_files_are_looked_up_and_nothing_else),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
