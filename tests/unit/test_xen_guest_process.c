// SPDX-License-Identifier: GPL-2.0-or-later
/* What processes of other domains have mapped, out of memory that is made here, page tables and
 * all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "unit/made_process.h"
#include "xen/guest_process.h"

static int unmake(void **state)
{
	(void)state;
	xf_guest_process_free(&made.process);
	return 0;
}

static int read_process(uint32_t root)
{
	const struct xf_guest_process_wanted wanted = {.root = entry_of(root, 0),
	                                               .kernel_root = entry_of(KERNEL_ROOT, 0x18),
	                                               .task = made.task,
	                                               .pid = PID};
	int code;

	xf_guest_memory_begin(&made.memory, copy_frame, &made_memory, XF_GUEST_PROCESS_FRAMES);
	code = xf_guest_process_read(&made.memory, &task_layout, &made.layout, &wanted,
	                             &made.process);
	if (code) {
		assert_null(made.process.mappings);
		assert_null(made.process.files);
	}
	return code;
}

static void expect_mapping(size_t i, uint64_t address, uint64_t size, uint64_t offset,
                           const char *path, uint8_t build_id)
{
	const struct xf_guest_mapping *mapping = &made.process.mappings[i];
	const struct xf_guest_file *file;
	uint8_t expected[20];

	assert_true(i < made.process.nr_mappings);
	assert_true(mapping->address == address && mapping->size == size &&
	            mapping->offset == offset);
	if (!path) {
		assert_int_equal(mapping->file, XF_NO_GUEST_FILE);
		return;
	}
	assert_true(mapping->file < made.process.nr_files);
	file = &made.process.files[mapping->file];
	assert_string_equal(file->path, path);
	memset(expected, build_id, sizeof(expected));
	assert_int_equal(file->build_id_size, build_id ? 20 : 0);
	assert_memory_equal(file->build_id, expected, file->build_id_size);
}

static void expect_all(void)
{
	assert_int_equal(read_process(USER_ROOT), 0);
	assert_int_equal(made.process.nr_mappings, 3);
	expect_mapping(0, 0x401000, 0xff000, 0x1000, "/sbin/server", 0x11);
	expect_mapping(1, 0x7f0000028000, 0x158000, 0x28000, "/usr/lib/libc.so.6", 0x22);
	expect_mapping(2, 0x7f0000200000, 0x10000, 0x7f0000200000, NULL, 0);
}

static void use_list(void)
{
	made.layout.is_tree = false;
	*word(made.mm + made.layout.mm.mappings) = parts.mappings[0];
}

/* ---- Processes ------------------------------------------------------------------------------- */

static void code_is_read_out_of_a_tree(void **state)
{
	(void)state;
	expect_all();
}

static void code_is_read_out_of_a_list(void **state)
{
	(void)state;
	use_list();
	expect_all();
}

static void large_pages_are_followed(void **state)
{
	uint64_t frame;

	(void)state;
	*entry_at(KERNEL_ROOT, 0xffffc00000000000, 39) = entry_of(OTHER_ROOT, PRESENT);
	*entry_at(OTHER_ROOT, 0, 30) = 0x80000000ull | PRESENT | LARGE | NO_EXECUTE;
	xf_guest_memory_begin(&made.memory, copy_frame, &made_memory, 16);
	assert_true(xf_guest_memory_find(&made.memory, entry_of(KERNEL_ROOT, 0), 0xffffc00012345678,
	                                 &frame));
	assert_true(frame == 0x80000 + 0x12345);
	*entry_at(OTHER_ROOT, 0, 30) = entry_of(USER_ROOT, PRESENT);
	memset(made_memory.frames[USER_ROOT], 0, XF_GUEST_PAGE);
	*entry_at(USER_ROOT, 0x12345678, 21) = 0xc0200000ull | PRESENT | LARGE | 0x1000; /* PAT */
	xf_guest_memory_begin(&made.memory, copy_frame, &made_memory, 16);
	assert_true(xf_guest_memory_find(&made.memory, entry_of(KERNEL_ROOT, 0), 0xffffc00012345678,
	                                 &frame));
	assert_true(frame == 0xc0200 + 0x145);
}

static void addresses_that_no_processor_has_are_not_read(void **state)
{
	uint64_t frame;

	(void)state;
	assert_false(xf_guest_memory_find(&made.memory, entry_of(KERNEL_ROOT, 0),
	                                  0x0000800000000000, &frame));
	assert_false(xf_guest_memory_find(&made.memory, entry_of(KERNEL_ROOT, 0),
	                                  0xffff7fffffffffff, &frame));
	assert_false(xf_guest_memory_read(&made.memory, entry_of(KERNEL_ROOT, 0), UINT64_MAX - 2,
	                                  &frame, 8));
}

/* With PTI, and in PV guests, processes have other tables of the same memory. */
static void the_tables_of_user_mode_are_known_as_the_same_memorys(void **state)
{
	(void)state;
	memcpy(made_memory.frames[OTHER_ROOT], made_memory.frames[USER_ROOT], XF_GUEST_PAGE / 2);
	for (size_t i = 0; i < 256; i++)
		if (((uint64_t *)made_memory.frames[OTHER_ROOT])[i])
			((uint64_t *)made_memory.frames[USER_ROOT])[i] |= NO_EXECUTE | 0x20;
	assert_int_equal(read_process(OTHER_ROOT), 0);
	assert_int_equal(made.process.nr_mappings, 3);
}

static void without_its_first_page_a_file_has_no_build_id(void **state)
{
	(void)state;
	*entry_at((uint32_t)(*entry_at((uint32_t)(*entry_at((uint32_t)(*entry_at(USER_ROOT,
	                                                                         0x400000, 39) /
	                                                               XF_GUEST_PAGE) -
	                                                            FIRST_FRAME,
	                                                    0x400000, 30) /
	                                          XF_GUEST_PAGE) -
	                                       FIRST_FRAME,
	                               0x400000, 21) /
	                     XF_GUEST_PAGE) -
	                  FIRST_FRAME,
	          0x400000, 12) = 0;
	assert_int_equal(read_process(USER_ROOT), 0);
	expect_mapping(0, 0x401000, 0xff000, 0x1000, "/sbin/server", 0);
}

static void a_file_without_a_name_goes_without(void **state)
{
	(void)state;
	*word(parts.library_directory + 512) = '/' << 8 | 'l';
	assert_int_equal(read_process(USER_ROOT), 0);
	expect_mapping(0, 0x401000, 0xff000, 0x1000, "/sbin/server", 0x11);
	expect_mapping(1, 0x7f0000028000, 0x158000, 0x28000, NULL, 0);
}

/* ---- Others ---------------------------------------------------------------------------------- */

static void another_processs_tables_are_no_proof(void **state)
{
	(void)state;
	assert_int_equal(read_process(OTHER_ROOT), -ESRCH);
	memset(made_memory.frames[OTHER_ROOT], 0, XF_GUEST_PAGE);
	memset(made_memory.frames[USER_ROOT], 0, XF_GUEST_PAGE);
	assert_int_equal(read_process(OTHER_ROOT), -ESRCH);
}

static void a_task_that_is_anothers_by_now_is_not_read(void **state)
{
	(void)state;
	*word(made.task + task_layout.pid) = (uint64_t)(PID + 1) << 32 | PID;
	assert_int_equal(read_process(USER_ROOT), -ESRCH);
}

static void a_task_without_memory_is_not_read(void **state)
{
	(void)state;
	*word(made.task + made.layout.task_mm) = 0;
	assert_int_equal(read_process(USER_ROOT), -ESRCH);
	*word(made.task + made.layout.task_mm) = 0x400000;
	assert_int_equal(read_process(USER_ROOT), -ESRCH);
}

/* Whenever it gets other memory while it is read, nothing is found, or all of what it had. */
static void a_task_that_changes_meanwhile_is_not_read(void **state)
{
	uint64_t *mm = word(made.task + made.layout.task_mm);
	unsigned int refused = 0, whole = 0;

	(void)state;
	for (uint32_t when = 0; when < 120; when++) {
		*mm = made.mm;
		made_memory.copied = 0;
		made_memory.change = when;
		made_memory.changed = mm;
		made_memory.into = parts.mappings[0];
		if (read_process(USER_ROOT)) {
			refused++;
			continue;
		}
		whole++;
		assert_int_equal(made.process.nr_mappings, 3);
		xf_guest_process_free(&made.process);
	}
	assert_true(refused > 20 && whole > 20);
}

/* ---- Lies ------------------------------------------------------------------------------------ */

static void mappings_are_to_be_in_order_and_of_that_memory(void **state)
{
	static const struct {
		size_t mapping;
		uint16_t member;
		uint64_t value;
	} lies[] = {
	        {CODE, 16, 0x3ff000},
	        {CODE, 24, 0x401000},
	        {CODE, 24, 0x400000},
	        {CODE, 24, 0x4fffff},
	        {LIBRARY, 0, 0xffff888000000000},
	        {JIT, 24, 0x0000800000001000},
	        {JIT, 40, UINT64_MAX / 8},
	        {JIT, 48, 0x1000},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		uint64_t *lie = word(parts.mappings[lies[i].mapping] + lies[i].member),
		         truth = *lie;

		*lie = lies[i].value;
		assert_int_equal(read_process(USER_ROOT), -EAGAIN);
		*lie = truth;
	}
	expect_all();
}

static void a_list_in_a_circle_ends(void **state)
{
	(void)state;
	use_list();
	*word(parts.mappings[JIT] + made.layout.mapping.next) = parts.mappings[HEAD];
	assert_int_equal(read_process(USER_ROOT), -EAGAIN);
	*word(parts.mappings[JIT] + made.layout.mapping.next) = 0x1234;
	assert_int_equal(read_process(USER_ROOT), -EFAULT);
}

static void a_tree_in_itself_ends(void **state)
{
	(void)state;
	for (size_t i = 0; i < 16; i++)
		*word(parts.node + made.layout.leaf.slots + 8 * i) = parts.node | 2u << 3 | 4;
	*word(made.mm + made.layout.mm.mappings) = parts.node | 2u << 3 | 2;
	assert_int_equal(read_process(USER_ROOT), -EAGAIN);
	*word(made.mm + made.layout.mm.mappings) = parts.node | 7u << 3 | 2;
	assert_int_equal(read_process(USER_ROOT), -EAGAIN);
	*word(made.mm + made.layout.mm.mappings) = 0x400000 | 1u << 3 | 2;
	assert_int_equal(read_process(USER_ROOT), -EFAULT);
}

static void directories_in_a_circle_end(void **state)
{
	uint64_t lower = make_directory(parts.library_directory, "x");

	(void)state;
	*word(parts.library_directory + made.layout.directory.parent) = lower;
	assert_int_equal(read_process(USER_ROOT), 0);
	expect_mapping(1, 0x7f0000028000, 0x158000, 0x28000, NULL, 0);
}

static void no_more_frames_are_copied_than_is_said(void **state)
{
	const struct xf_guest_process_wanted wanted = {.root = entry_of(USER_ROOT, 0),
	                                               .kernel_root = entry_of(KERNEL_ROOT, 0),
	                                               .task = made.task,
	                                               .pid = PID};
	uint64_t unused = 0;

	(void)state;
	made_memory.changed = &unused; /* counts */
	made_memory.change = UINT32_MAX;
	for (uint32_t budget = 0; budget < 60; budget++) {
		int code;

		made_memory.copied = 0;
		xf_guest_memory_begin(&made.memory, copy_frame, &made_memory, budget);
		code = xf_guest_process_read(&made.memory, &task_layout, &made.layout, &wanted,
		                             &made.process);
		assert_true(made_memory.copied <= budget);
		assert_true(!code || code == -EFAULT || code == -ESRCH);
		xf_guest_process_free(&made.process);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make, unmake)

int main(void)
{
	const struct CMUnitTest tests[] = {
	        TEST(code_is_read_out_of_a_tree),
	        TEST(code_is_read_out_of_a_list),
	        TEST(large_pages_are_followed),
	        TEST(addresses_that_no_processor_has_are_not_read),
	        TEST(the_tables_of_user_mode_are_known_as_the_same_memorys),
	        TEST(without_its_first_page_a_file_has_no_build_id),
	        TEST(a_file_without_a_name_goes_without),
	        TEST(another_processs_tables_are_no_proof),
	        TEST(a_task_that_is_anothers_by_now_is_not_read),
	        TEST(a_task_without_memory_is_not_read),
	        TEST(a_task_that_changes_meanwhile_is_not_read),
	        TEST(mappings_are_to_be_in_order_and_of_that_memory),
	        TEST(a_list_in_a_circle_ends),
	        TEST(a_tree_in_itself_ends),
	        TEST(directories_in_a_circle_end),
	        TEST(no_more_frames_are_copied_than_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
