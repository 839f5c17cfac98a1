// SPDX-License-Identifier: GPL-2.0-or-later
/* The files of processes as perf is told of them: which, where, and with which names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "output/perf_images.h"
#include "profile/guest_code.h"
#include "profile/process_writer.h"
#include "unit/process_records.h"

#define PROGRAM 0x555555554000ull
#define COPY    0x7f0000000000ull
#define VDSO    0x7fff00000000ull
#define WORK    0x1200u

#define PATH     "/opt/prog"
#define BUILD_ID "0123456789abcdefghij"

/* Files 1 and 2 have one build-id, the third has none. */
static void write_process(struct xf_recording_writer *writer)
{
	static const char program[] = PATH "\0" BUILD_ID;
	static const char copy[] = "/srv/copy\0" BUILD_ID;
	const struct xf_clock_pair pairs[] = {{1, 1, 1}, {1000000, 1000000, 1}};
	const struct xf_switch run = {.time = 1, .pid = PID, .tid = PID};
	struct bytes records = {0};

	add(&records, XF_PROCESS_FILE, 1, program, sizeof(program) - 1);
	add(&records, XF_PROCESS_FILE, 2, copy, sizeof(copy) - 1);
	add(&records, XF_PROCESS_FILE, 3, "[vdso]", 7);
	add(&records, XF_PROCESS_EXISTS, 0, "prog", 5);
	map(&records, PROGRAM, 0x2000, 0, 1);
	map(&records, COPY, 0x2000, 0, 2);
	map(&records, VDSO, 0x2000, 0, 3);
	assert_int_equal(xf_recording_write_clock(writer, pairs, 2), 0);
	assert_int_equal(xf_recording_write_processes(writer, records.at, records.size), 0);
	assert_int_equal(xf_recording_write_switches(writer, 0, &run, 1), 0);
	free(records.at);
}

static void write_place(struct xf_recording_writer *writer, uint32_t file, uint64_t offset,
                        uint64_t start, const char *name)
{
	const struct xf_user_place place = {
	        .offset = offset,
	        .start = start,
	        .row = {.kind = XF_ROW_UNDEFINED, .reason = XF_UNWIND_END},
	        .name = name};

	assert_int_equal(xf_recording_write_user_code(writer, file, 0, &place, 1), 0);
}

/* A sample whose process was at @rip. */
static void write_sample(struct xf_recording_writer *writer, uint64_t rip)
{
	const struct xf_sample sample = {
	        .bytes = XF_SAMPLE_HEAD_BYTES, .flags = XF_SAMPLE_GUEST, .tsc = 100, .rip = rip};
	const struct xf_guest_stack stack = {.mode = XF_GUEST_USER,
	                                     .bytes = XF_GUEST_HEAD_BYTES,
	                                     .rip = rip,
	                                     .rsp = 0x7ffc00001000,
	                                     .end = 0x7ffc00001100};

	assert_int_equal(xf_recording_write_guest_stack(writer, &stack), 0);
	assert_int_equal(xf_recording_write_sample(writer, &sample), 0);
}

struct made {
	struct bytes file;
	struct xf_recording *recording;
	struct xf_profile *profile;
	struct xf_perf_images images;
};

static void make(struct made *made, void (*write)(struct xf_recording_writer *writer))
{
	const struct xf_recording_sink sink = {.write = take, .context = &made->file};
	struct xf_profile_options options = XF_PROFILE_DEFAULTS;
	struct xf_recording_writer *writer;

	*made = (struct made){0};
	options.by_domain = false;
	options.addresses = options.guest_addresses = true;
	assert_int_equal(xf_recording_writer_new(sink, &writer, NULL), 0);
	write_process(writer);
	write(writer);
	assert_int_equal(xf_recording_write_end(writer), 0);
	xf_recording_writer_free(writer);
	assert_int_equal(xf_recording_open(made->file.at, made->file.size, &made->recording, NULL),
	                 0);
	assert_int_equal(xf_recording_state(made->recording).damaged, 0);
	assert_int_equal(xf_profile_build(made->recording, &options, &made->profile, NULL), 0);
	assert_int_equal(xf_perf_images_make(made->recording, made->profile, &made->images), 0);
}

static void unmake(struct made *made)
{
	xf_perf_images_free(&made->images);
	xf_profile_free(made->profile);
	xf_recording_free(made->recording);
	free(made->file.at);
}

static const struct xf_perf_image *find_image(const struct made *made, const char *name)
{
	for (size_t i = 0; i < made->images.nr; i++) {
		if (strcmp(made->images.images[i].name, name) == 0)
			return &made->images.images[i];
	}
	return NULL;
}

/* Where perf is told that the function @name was. */
static uint64_t address_of(const struct made *made, const char *name)
{
	for (uint32_t i = 1; i < xf_calltree_nr_frames(made->profile->tree); i++) {
		if (strcmp(xf_calltree_name(made->profile->tree, (struct xf_frame_id){i}), name) ==
		    0)
			return made->images.addresses[i];
	}
	fail_msg("no frame is named %s", name);
	return 0;
}

static void expect_symbol(const struct xf_perf_image *image, size_t index, uint64_t start,
                          uint64_t end, const char *name)
{
	assert_true(index < image->nr_symbols);
	assert_int_equal(image->symbols[index].start - image->start + image->offset, start);
	assert_int_equal(image->symbols[index].end - image->start + image->offset, end);
	assert_string_equal(image->symbols[index].name, name);
}

static void write_one(struct xf_recording_writer *writer)
{
	write_place(writer, 1, WORK + 9, WORK, "work");
	write_sample(writer, PROGRAM + WORK + 9);
}

static void a_function_lies_in_its_file_as_the_file_has_it(void **state)
{
	const struct xf_perf_image *image;
	struct made made;

	(void)state;
	make(&made, write_one);
	image = find_image(&made, PATH);
	assert_non_null(image);
	assert_int_equal(image->build_id_size, 20);
	assert_memory_equal(image->build_id, BUILD_ID, 20);
	assert_int_equal(image->offset, 0x1000);
	assert_int_equal(image->address, 0x1000);
	assert_int_equal(image->size, 0x1000);
	assert_int_equal(image->nr_symbols, 1);
	expect_symbol(image, 0, WORK, WORK + 10, "work");
	assert_int_equal(address_of(&made, "work"), image->start + WORK + 9 - 0x1000);
	unmake(&made);
}

static void write_copies(struct xf_recording_writer *writer)
{
	write_place(writer, 1, WORK + 9, WORK, "work");
	write_place(writer, 2, 0x100, 0x80, "other");
	write_sample(writer, PROGRAM + WORK + 9);
	write_sample(writer, COPY + 0x100);
}

static void files_with_one_build_id_are_one(void **state)
{
	const struct xf_perf_image *image;
	struct made made;

	(void)state;
	make(&made, write_copies);
	image = find_image(&made, PATH);
	if (!image)
		image = find_image(&made, "/srv/copy");
	assert_non_null(image);
	assert_false(find_image(&made, PATH) && find_image(&made, "/srv/copy"));
	assert_int_equal(image->nr_symbols, 2);
	expect_symbol(image, 0, 0x80, 0x101, "other");
	expect_symbol(image, 1, WORK, WORK + 10, "work");
	unmake(&made);
}

static void write_tangled(struct xf_recording_writer *writer)
{
	write_place(writer, 1, WORK + 0x90, WORK, "outer");
	write_place(writer, 1, WORK + 0x80, WORK + 0x40, "inner");
	write_sample(writer, PROGRAM + WORK + 0x90);
	write_sample(writer, PROGRAM + WORK + 0x80);
}

static void a_name_that_another_ones_symbol_hides_is_elsewhere(void **state)
{
	const struct xf_perf_image *image, *others;
	struct made made;

	(void)state;
	make(&made, write_tangled);
	image = find_image(&made, PATH);
	others = find_image(&made, "xenflame");
	assert_true(image && others);
	assert_true(address_of(&made, "inner") - image->start < image->size);
	assert_true(address_of(&made, "outer") - others->start < others->size);
	unmake(&made);
}

static void write_vdso(struct xf_recording_writer *writer)
{
	write_place(writer, 3, 0x100, 0x100, "__vdso_time");
	write_sample(writer, VDSO + 0x100);
}

static void what_perf_takes_for_memory_is_a_file(void **state)
{
	const struct xf_perf_image *image;
	struct made made;

	(void)state;
	make(&made, write_vdso);
	image = find_image(&made, "mapped [vdso]");
	assert_non_null(image);
	assert_int_equal(image->build_id_size, 20);
	assert_memory_equal(image->build_id, "xenflame", 8);
	unmake(&made);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(a_function_lies_in_its_file_as_the_file_has_it),
	        cmocka_unit_test(files_with_one_build_id_are_one),
	        cmocka_unit_test(a_name_that_another_ones_symbol_hides_is_elsewhere),
	        cmocka_unit_test(what_perf_takes_for_memory_is_a_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
