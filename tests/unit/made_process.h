// SPDX-License-Identifier: GPL-2.0-or-later
/* A process of another domain's and what Linux keeps of it, in made-up memory. */
#ifndef XF_TEST_UNIT_MADE_PROCESS_H
#define XF_TEST_UNIT_MADE_PROCESS_H

#include <elf.h>
#include <string.h>

#include "unit/made_memory.h"
#include "xen/guest_process.h"

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
	struct xf_guest_memory memory;
	struct xf_guest_process process;
	struct xf_memory_layout layout;
	uint64_t task, mm;
} made;

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
	uint8_t *page = made_memory.frames[index];
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
	memset(&made_memory, 0, sizeof(made_memory));
	made.layout = tree_layout;
	made_memory.nr = 3;
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

#endif
