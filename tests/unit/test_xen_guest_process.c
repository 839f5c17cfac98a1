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

#include "xen/guest_process.h"

#define FIRST_FRAME 0x100u
#define FRAMES      512u
#define DIRECT      0xffff888000000000ull /* the kernel's own view of all frames */
#define PRESENT     0x63ull
#define USER        0x67ull
#define LARGE       0x80ull
#define NO_EXECUTE  (1ull << 63)

#define KERNEL_ROOT 0u /* frames, from FIRST_FRAME on */
#define OTHER_ROOT  1u
#define USER_ROOT   2u

#define PID 4711u

/* Offsets as no kernel has them, in pages of their own. */
static const struct xf_task_layout task_layout = {.pid = 0x30};
static const struct xf_memory_layout tree_layout = {
        .task_mm = 0x48,
        .mm = {.pgd = 0x18, .mappings = 0x20},
        .is_tree = true,
        .mapping = {.mm = 0,
                    .next = 8,
                    .start = 16,
                    .end = 24,
                    .flags = 32,
                    .page_offset = 40,
                    .file = 48},
        .leaf = {.pivots = 8, .slots = 128},
        .inner = {.pivots = 8, .slots = 80},
        .file = {.directory = 8, .mount = 0},
        .directory = {.parent = 24, .name = 40, .name_size = 36},
        .mount_top = 0,
        .mount = {.own = 32, .parent = 16, .place = 24},
};

static struct {
	uint8_t frames[FRAMES][XF_GUEST_PAGE];
	uint32_t nr;       /* in use */
	uint32_t copied;   /* so far */
	uint32_t change;   /* when so many have been, ... */
	uint64_t *changed; /* ... this becomes ... */
	uint64_t into;     /* ... this */
	struct xf_guest_memory memory;
	struct xf_guest_process process;
	struct xf_memory_layout layout;
	uint64_t task, mm;
} made;

static bool copy_frame(void *context, uint64_t frame, uint8_t page[XF_GUEST_PAGE])
{
	assert_ptr_equal(context, &made);
	if (made.changed && made.copied++ >= made.change)
		*made.changed = made.into;
	if (frame < FIRST_FRAME || frame - FIRST_FRAME >= made.nr)
		return false;
	memcpy(page, made.frames[frame - FIRST_FRAME], XF_GUEST_PAGE);
	return true;
}

static uint32_t take_frame(void)
{
	assert_true(made.nr < FRAMES);
	return made.nr++;
}

static uint64_t entry_of(uint32_t index, uint64_t flags)
{
	return (uint64_t)(FIRST_FRAME + index) * XF_GUEST_PAGE | flags;
}

static uint64_t *entry_at(uint32_t table, uint64_t address, int shift)
{
	return (uint64_t *)made.frames[table] + (address >> shift & 511);
}

/* Makes @address, in the tables of @root, the frame of @index. */
static void map_page(uint32_t root, uint64_t address, uint32_t index)
{
	uint32_t table = root;

	for (int shift = 39; shift > 12; shift -= 9) {
		uint64_t *entry = entry_at(table, address, shift);

		if (!*entry)
			*entry = entry_of(take_frame(), USER);
		table = (uint32_t)(*entry / XF_GUEST_PAGE & 0xffffff) - FIRST_FRAME;
	}
	*entry_at(table, address, 12) = entry_of(index, USER);
}

/* Return: the address, in the kernel's memory, of a page of its own. */
static uint64_t make_object(void)
{
	uint32_t index = take_frame();
	uint64_t address = DIRECT + (uint64_t)index * XF_GUEST_PAGE;

	map_page(KERNEL_ROOT, address, index);
	return address;
}

static uint64_t *word(uint64_t address)
{
	return (uint64_t *)(made.frames[(address - DIRECT) / XF_GUEST_PAGE] +
	                    address % XF_GUEST_PAGE);
}

/* ---- Linux's structures ---------------------------------------------------------------------- */

static uint64_t make_directory(uint64_t parent, const char *name)
{
	uint64_t at = make_object();
	uint32_t size = (uint32_t)strlen(name);

	*word(at + made.layout.directory.parent) = parent ? parent : at;
	*word(at + made.layout.directory.name) = at + 512;
	memcpy((char *)word(at) + made.layout.directory.name_size, &size, sizeof(size));
	memcpy(word(at + 512), name, size);
	return at;
}

/* Return: the struct vfsmount in it. */
static uint64_t make_mount(uint64_t parent, uint64_t place, uint64_t top)
{
	uint64_t at = make_object(), own = at + made.layout.mount.own;

	*word(own + made.layout.mount_top) = top;
	*word(at + made.layout.mount.parent) = parent ? parent - made.layout.mount.own : at;
	*word(at + made.layout.mount.place) = place ? place : top;
	return own;
}

static uint64_t make_file(uint64_t directory, uint64_t mount)
{
	uint64_t at = make_object();

	*word(at + made.layout.file.directory) = directory;
	*word(at + made.layout.file.mount) = mount;
	return at;
}

static uint64_t make_mapping(uint64_t start, uint64_t end, uint64_t flags, uint64_t page_offset,
                             uint64_t file)
{
	uint64_t at = make_object();

	*word(at + made.layout.mapping.mm) = made.mm;
	*word(at + made.layout.mapping.start) = start;
	*word(at + made.layout.mapping.end) = end;
	*word(at + made.layout.mapping.flags) = flags;
	*word(at + made.layout.mapping.page_offset) = page_offset;
	*word(at + made.layout.mapping.file) = file;
	return at;
}

/* The first page of a program with a build-id of 20 bytes @value, at @address in the process. */
static void make_program(uint64_t address, uint8_t value)
{
	uint32_t index = take_frame();
	uint8_t *page = made.frames[index];
	const Elf64_Ehdr head = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64},
	                         .e_phoff = 64,
	                         .e_phentsize = sizeof(Elf64_Phdr),
	                         .e_phnum = 1};
	const Elf64_Phdr header = {.p_type = PT_NOTE, .p_offset = 512, .p_filesz = 36};
	const Elf64_Nhdr note = {.n_namesz = 4, .n_descsz = 20, .n_type = NT_GNU_BUILD_ID};

	memcpy(page, &head, sizeof(head));
	memcpy(page + 64, &header, sizeof(header));
	memcpy(page + 512, &note, sizeof(note));
	memcpy(page + 524, "GNU", 4);
	memset(page + 528, value, 20);
	map_page(USER_ROOT, address, index);
}

#define MAPPINGS 6u
enum {
	HEAD,
	CODE,
	LIBRARY_HEAD,
	LIBRARY,
	JIT,
	OTHER
};

static struct {
	uint64_t mappings[MAPPINGS];
	uint64_t files[2];
	uint64_t node; /* of the tree's leaf */
	uint64_t root_directory, library_directory;
} parts;

/* A program at / and a library on a file system that is mounted at /usr. */
static void make_files(void)
{
	uint64_t top = make_directory(0, "/"), usr = make_directory(top, "usr");
	uint64_t program = make_directory(make_directory(top, "sbin"), "server");
	uint64_t upper = make_directory(0, "/");
	uint64_t root = make_mount(0, 0, top), mount = make_mount(root, usr, upper);

	parts.root_directory = top;
	parts.library_directory = make_directory(upper, "lib");
	parts.files[0] = make_file(program, root);
	parts.files[1] = make_file(make_directory(parts.library_directory, "libc.so.6"), mount);
}

static void make_mappings(void)
{
	parts.mappings[HEAD] = make_mapping(0x400000, 0x401000, 1, 0, parts.files[0]);
	parts.mappings[CODE] = make_mapping(0x401000, 0x500000, 5, 1, parts.files[0]);
	parts.mappings[LIBRARY_HEAD] =
	        make_mapping(0x7f0000000000, 0x7f0000028000, 1, 0, parts.files[1]);
	parts.mappings[LIBRARY] =
	        make_mapping(0x7f0000028000, 0x7f0000180000, 5, 0x28, parts.files[1]);
	parts.mappings[JIT] = make_mapping(0x7f0000200000, 0x7f0000210000, 7, 0x7f0000200, 0);
	parts.mappings[OTHER] = make_mapping(0x7ffff0000000, 0x7ffff0100000, 3, 0x7fffffff0, 0);
	for (size_t i = 0; i + 1 < MAPPINGS; i++)
		*word(parts.mappings[i] + made.layout.mapping.next) = parts.mappings[i + 1];
}

/* Leaves of two mappings with a hole between, below one node. What lies behind their ends is left
 * over from before. */
static void make_tree(void)
{
	uint64_t inner = make_object(), leaf[2] = {make_object(), make_object()};
	const uint16_t pivots = made.layout.leaf.pivots, slots = made.layout.leaf.slots;

	*word(leaf[0] + pivots) = 0x3fffff;
	for (size_t i = 0; i < 2; i++) {
		*word(leaf[0] + pivots + 8 * (i + 1)) =
		        *word(parts.mappings[i] + made.layout.mapping.end) - 1;
		*word(leaf[0] + slots + 8 * (i + 1)) = parts.mappings[i];
	}
	*word(leaf[0] + pivots + 24) = 0x6fffffffffff;
	*word(leaf[0] + slots + 8 * 4) = DIRECT + 0x123450;
	for (size_t i = 0; i < 4; i++) {
		*word(leaf[1] + pivots + 8 * i) =
		        *word(parts.mappings[i + 2] + made.layout.mapping.end) - 1;
		*word(leaf[1] + slots + 8 * i) = parts.mappings[i + 2];
	}
	*word(leaf[1] + pivots + 8 * 4) = UINT64_MAX;
	*word(leaf[1] + slots + 8 * 5) = DIRECT + 0x123450;
	*word(inner + made.layout.inner.pivots) = 0x6fffffffffff;
	*word(inner + made.layout.inner.pivots + 8) = UINT64_MAX;
	*word(inner + made.layout.inner.slots) = leaf[0] | 1u << 3 | 4;
	*word(inner + made.layout.inner.slots + 8) = leaf[1] | 1u << 3 | 4;
	*word(inner + made.layout.inner.slots + 16) = DIRECT + 0x123400;
	parts.node = leaf[1];
	*word(made.mm + made.layout.mm.mappings) = inner | 3u << 3 | 2;
}

static int make(void **state)
{
	uint32_t numbers[2] = {PID + 1, PID};

	(void)state;
	memset(&made, 0, sizeof(made));
	made.layout = tree_layout;
	made.nr = 3;
	made.task = make_object();
	made.mm = make_object();
	memcpy((char *)word(made.task) + task_layout.pid, numbers, sizeof(numbers));
	*word(made.task + made.layout.task_mm) = made.mm;
	map_page(KERNEL_ROOT, DIRECT + USER_ROOT * XF_GUEST_PAGE, USER_ROOT);
	map_page(OTHER_ROOT, 0x400000, take_frame());
	*word(made.mm + made.layout.mm.pgd) = DIRECT + USER_ROOT * XF_GUEST_PAGE;
	make_files();
	make_mappings();
	make_tree();
	make_program(0x400000, 0x11);
	make_program(0x7f0000000000, 0x22);
	return 0;
}

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

	xf_guest_memory_begin(&made.memory, copy_frame, &made, XF_GUEST_PROCESS_FRAMES);
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
	xf_guest_memory_begin(&made.memory, copy_frame, &made, 16);
	assert_true(xf_guest_memory_find(&made.memory, entry_of(KERNEL_ROOT, 0), 0xffffc00012345678,
	                                 &frame));
	assert_true(frame == 0x80000 + 0x12345);
	*entry_at(OTHER_ROOT, 0, 30) = entry_of(USER_ROOT, PRESENT);
	memset(made.frames[USER_ROOT], 0, XF_GUEST_PAGE);
	*entry_at(USER_ROOT, 0x12345678, 21) = 0xc0200000ull | PRESENT | LARGE | 0x1000; /* PAT */
	xf_guest_memory_begin(&made.memory, copy_frame, &made, 16);
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
	memcpy(made.frames[OTHER_ROOT], made.frames[USER_ROOT], XF_GUEST_PAGE / 2);
	for (size_t i = 0; i < 256; i++)
		if (((uint64_t *)made.frames[OTHER_ROOT])[i])
			((uint64_t *)made.frames[USER_ROOT])[i] |= NO_EXECUTE | 0x20;
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
	memset(made.frames[OTHER_ROOT], 0, XF_GUEST_PAGE);
	memset(made.frames[USER_ROOT], 0, XF_GUEST_PAGE);
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
		made.copied = 0;
		made.change = when;
		made.changed = mm;
		made.into = parts.mappings[0];
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
	made.changed = &unused; /* counts */
	made.change = UINT32_MAX;
	for (uint32_t budget = 0; budget < 60; budget++) {
		int code;

		made.copied = 0;
		xf_guest_memory_begin(&made.memory, copy_frame, &made, budget);
		code = xf_guest_process_read(&made.memory, &task_layout, &made.layout, &wanted,
		                             &made.process);
		assert_true(made.copied <= budget);
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
