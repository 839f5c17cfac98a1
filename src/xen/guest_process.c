// SPDX-License-Identifier: GPL-2.0-or-later
#include "xen/guest_process.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"

/* Linux on x86-64: Documentation/arch/x86/x86_64/mm.rst. */
#define USER_END 0x0000800000000000ull

#define VM_EXEC 4u /* linux/mm.h of Linux */

/* More than any process has that is not made for it. */
#define MOST_MAPPINGS 65536u
#define MOST_CODE     4096u
#define MOST_FILES    1024u

/* A path: PATH_MAX of Linux, and directories and mounts that it leads through. */
#define PATH_BYTES 4096u
#define NAME_BYTES 255u
#define MOST_STEPS 256u

/*
 * Linux's maple trees: linux/maple_tree.h of Linux. A node's address has, in its
 * low 8 bits, its type and marks.
 */
#define NODE_BYTES       256u
#define NODE_MARKS       0xffull
#define NODE_TYPE_SHIFT  3
#define NODE_TYPE_MASK   0xfull
#define NODE_LEAF        1u /* maple_leaf_64 */
#define NODE_RANGE       2u /* maple_range_64 */
#define NODE_ALLOC_RANGE 3u /* maple_arange_64 */
#define MOST_DEPTH       8u
#define MOST_NODES       32768u

/* A struct file, and where its first byte is mapped. */
struct known_file {
	uint64_t address;
	uint64_t mapped_at; /* 0: its first byte is not */
	uint64_t mapped_bytes;
};

struct reader {
	struct xf_guest_memory *memory;
	const struct xf_memory_layout *layout;
	const struct xf_guest_process_wanted *wanted;
	struct xf_guest_process *process;
	uint64_t mm;
	uint64_t root; /* of the process's page tables, with its kernel's memory in them or not */
	struct known_file *files; /* at @process->files's indexes */
	size_t files_allocated, known_allocated, mappings_allocated;
	uint64_t last_end; /* of the mappings so far */
	unsigned int seen, nodes;
};

/* ---- Words ----------------------------------------------------------------------------------- */

static bool read_kernel(struct reader *reader, uint64_t address, void *to, size_t size)
{
	return xf_guest_memory_read_kernel(reader->memory, reader->wanted->kernel_root, address, to,
	                                   size);
}

static bool read_word(struct reader *reader, uint64_t address, uint64_t *word)
{
	return read_kernel(reader, address, word, sizeof(*word));
}

static bool read_pointer(struct reader *reader, uint64_t address, uint64_t *pointer)
{
	return read_word(reader, address, pointer) && *pointer >= XF_GUEST_KERNEL_HALF &&
	       *pointer % 8 == 0;
}

/* ---- Who it is ------------------------------------------------------------------------------- */

/* Finds the memory of the thread that is wanted, and proves by the page tables that it is the
 * sample's. */
static int identify(struct reader *reader, const struct xf_task_layout *task)
{
	const struct xf_guest_process_wanted *wanted = reader->wanted;
	uint32_t numbers[2]; /* the thread's, and directly behind it the process's */
	uint64_t pgd, frame;

	if (!read_kernel(reader, wanted->task + task->pid, numbers, sizeof(numbers)))
		return -EFAULT;
	if (numbers[1] != wanted->pid ||
	    !read_pointer(reader, wanted->task + reader->layout->task_mm, &reader->mm))
		return -ESRCH;
	if (!read_pointer(reader, reader->mm + reader->layout->mm.pgd, &pgd) ||
	    !xf_guest_memory_find(reader->memory, wanted->kernel_root, pgd, &frame))
		return -EFAULT;
	reader->root = frame * XF_GUEST_PAGE;
	return xf_guest_memory_is_same(reader->memory, reader->root, wanted->root) ? 0 : -ESRCH;
}

/* ---- Mappings -------------------------------------------------------------------------------- */

struct mapping {
	uint64_t mm, start, end, flags, page_offset, file;
};

static int read_mapping(struct reader *reader, uint64_t at, struct mapping *mapping)
{
	const struct xf_memory_layout *layout = reader->layout;

	if (!read_word(reader, at + layout->mapping.mm, &mapping->mm) ||
	    !read_word(reader, at + layout->mapping.start, &mapping->start) ||
	    !read_word(reader, at + layout->mapping.end, &mapping->end) ||
	    !read_word(reader, at + layout->mapping.flags, &mapping->flags) ||
	    !read_word(reader, at + layout->mapping.page_offset, &mapping->page_offset) ||
	    !read_word(reader, at + layout->mapping.file, &mapping->file))
		return -EFAULT;
	if (mapping->mm != reader->mm || mapping->start < reader->last_end ||
	    mapping->end <= mapping->start || mapping->end > USER_END ||
	    (mapping->start | mapping->end) % XF_GUEST_PAGE ||
	    mapping->page_offset >= UINT64_MAX / XF_GUEST_PAGE ||
	    (mapping->file && mapping->file < XF_GUEST_KERNEL_HALF))
		return -EAGAIN;
	reader->last_end = mapping->end;
	return 0;
}

/* Return: 0 and the file's index; -ENOMEM. Where there are too many files it is XF_NO_GUEST_FILE.
 */
static int find_file(struct reader *reader, uint64_t address, uint32_t *index)
{
	struct xf_guest_process *process = reader->process;
	size_t nr = process->nr_files;

	*index = XF_NO_GUEST_FILE;
	if (!address)
		return 0;
	for (size_t i = 0; i < nr; i++)
		if (reader->files[i].address == address) {
			*index = (uint32_t)i;
			return 0;
		}
	if (nr >= MOST_FILES)
		return 0;
	if (!xf_make_room(&process->files, nr, &reader->files_allocated, sizeof(*process->files)) ||
	    !xf_make_room(&reader->files, nr, &reader->known_allocated, sizeof(*reader->files)))
		return -ENOMEM;
	process->files[nr] = (struct xf_guest_file){0};
	reader->files[nr] = (struct known_file){.address = address};
	*index = (uint32_t)process->nr_files++;
	return 0;
}

static int take_mapping(struct reader *reader, uint64_t at)
{
	struct xf_guest_process *process = reader->process;
	struct mapping mapping;
	uint32_t file;
	int code = ++reader->seen > MOST_MAPPINGS ? -EAGAIN : read_mapping(reader, at, &mapping);

	if (!code)
		code = find_file(reader, mapping.file, &file);
	if (code)
		return code;
	if (file != XF_NO_GUEST_FILE && !mapping.page_offset && !reader->files[file].mapped_at) {
		reader->files[file].mapped_at = mapping.start;
		reader->files[file].mapped_bytes = mapping.end - mapping.start;
	}
	if (!(mapping.flags & VM_EXEC) || process->nr_mappings >= MOST_CODE)
		return 0;
	if (!xf_make_room(&process->mappings, process->nr_mappings, &reader->mappings_allocated,
	                  sizeof(*process->mappings)))
		return -ENOMEM;
	process->mappings[process->nr_mappings++] =
	        (struct xf_guest_mapping){.address = mapping.start,
	                                  .size = mapping.end - mapping.start,
	                                  .offset = mapping.page_offset * XF_GUEST_PAGE,
	                                  .file = file};
	return 0;
}

static int take_list(struct reader *reader, uint64_t first)
{
	uint64_t at = first;
	int code = 0;

	while (!code && at) {
		code = take_mapping(reader, at);
		if (!code && !read_word(reader, at + reader->layout->mapping.next, &at))
			code = -EFAULT;
	}
	return code;
}

/* ---- Trees ----------------------------------------------------------------------------------- */

static uint64_t word_at(const uint8_t *bytes, size_t index)
{
	uint64_t word;

	memcpy(&word, bytes + 8 * index, sizeof(word));
	return word;
}

/* A node on the way down. */
struct node {
	uint8_t bytes[NODE_BYTES];
	size_t pivots, slots, nr; /* where they begin, in words; how many slots there are */
	size_t next;
	uint64_t max; /* the last address that it is about */
	bool is_leaf;
};

/* Reads the node that @entry of a tree stands for. */
static int read_node(struct reader *reader, uint64_t entry, uint64_t max, struct node *node)
{
	unsigned int type = (unsigned int)(entry >> NODE_TYPE_SHIFT & NODE_TYPE_MASK);
	size_t pivots = reader->layout->leaf.pivots, slots = reader->layout->leaf.slots;

	if (type != NODE_LEAF && type != NODE_RANGE && type != NODE_ALLOC_RANGE)
		return -EAGAIN;
	if (type == NODE_ALLOC_RANGE) {
		pivots = reader->layout->inner.pivots;
		slots = reader->layout->inner.slots;
	}
	if (pivots % 8 || slots % 8 || slots <= pivots || 2 * slots - pivots + 8 > NODE_BYTES ||
	    ++reader->nodes > MOST_NODES)
		return -EAGAIN;
	if (!read_kernel(reader, entry & ~NODE_MARKS, node->bytes, NODE_BYTES))
		return -EFAULT;
	node->pivots = pivots / 8;
	node->slots = slots / 8;
	node->nr = node->slots - node->pivots + 1;
	node->next = 0;
	node->max = max;
	node->is_leaf = type == NODE_LEAF;
	return 0;
}

/* Return: whether there is another slot, which is about addresses up to *@max. What lies behind the
 * last one is left from before. */
static bool next_slot(struct node *node, uint64_t *slot, uint64_t *max)
{
	size_t i = node->next++;

	if (i >= node->nr)
		return false;
	*max = i + 1 < node->nr ? word_at(node->bytes, node->pivots + i) : node->max;
	if (i && !*max)
		return false;
	if (*max >= node->max) {
		*max = node->max;
		node->next = node->nr;
	}
	*slot = word_at(node->bytes, node->slots + i);
	return true;
}

static int take_tree(struct reader *reader, uint64_t root)
{
	struct node *nodes = calloc(MOST_DEPTH, sizeof(*nodes));
	size_t depth = 1;
	int code = nodes ? read_node(reader, root, UINT64_MAX, &nodes[0]) : -ENOMEM;

	while (!code && depth) {
		uint64_t slot, max;

		if (!next_slot(&nodes[depth - 1], &slot, &max))
			depth--;
		else if (nodes[depth - 1].is_leaf)
			code = slot >= XF_GUEST_KERNEL_HALF ? take_mapping(reader, slot) : 0;
		else if (depth == MOST_DEPTH)
			code = -EAGAIN;
		else
			code = read_node(reader, slot, max, &nodes[depth++]);
	}
	free(nodes);
	return code;
}

static int take_all(struct reader *reader)
{
	uint64_t first;

	if (!read_word(reader, reader->mm + reader->layout->mm.mappings, &first))
		return -EFAULT;
	return reader->layout->is_tree ? take_tree(reader, first) : take_list(reader, first);
}

/* ---- Paths ----------------------------------------------------------------------------------- */

struct path {
	char text[PATH_BYTES];
	size_t begin; /* it is made from its end on */
};

/* Puts the name of @directory before the rest. */
static bool prepend_name(struct reader *reader, struct path *path, uint64_t directory)
{
	char name[NAME_BYTES];
	uint64_t at;
	uint32_t size;

	if (!read_word(reader, directory + reader->layout->directory.name, &at) ||
	    !read_kernel(reader, directory + reader->layout->directory.name_size, &size,
	                 sizeof(size)) ||
	    !size || size > NAME_BYTES || size + 1 > path->begin ||
	    !read_kernel(reader, at, name, size) || memchr(name, '/', size) ||
	    memchr(name, '\0', size))
		return false;
	path->begin -= size;
	memcpy(path->text + path->begin, name, size);
	path->text[--path->begin] = '/';
	return true;
}

/* Where a path leads through: a directory, in what is mounted there. */
struct step {
	uint64_t directory, mount;
};

/* Goes a step up, at the top of a mount to where that is. Return: 1; 0 at the very top; -1 where
 * that can't be read. */
static int go_up(struct reader *reader, struct path *path, struct step *step)
{
	const struct xf_memory_layout *layout = reader->layout;
	uint64_t top, parent, own = step->mount - layout->mount.own;

	if (!read_pointer(reader, step->mount + layout->mount_top, &top))
		return -1;
	if (step->directory == top) {
		if (!read_pointer(reader, own + layout->mount.parent, &parent) ||
		    !read_pointer(reader, own + layout->mount.place, &step->directory))
			return -1;
		step->mount = parent + layout->mount.own;
		return parent != own;
	}
	if (!read_pointer(reader, step->directory + layout->directory.parent, &parent) ||
	    !prepend_name(reader, path, step->directory))
		return -1;
	if (parent == step->directory)
		return 0;
	step->directory = parent;
	return 1;
}

/* Return: the path of the struct file at @address, to be freed; NULL where it is not known, or
 * without memory. */
static char *read_path(struct reader *reader, uint64_t address)
{
	struct path path = {.begin = PATH_BYTES - 1};
	struct step step;
	int more = 1;

	path.text[PATH_BYTES - 1] = '\0';
	if (!read_pointer(reader, address + reader->layout->file.directory, &step.directory) ||
	    !read_pointer(reader, address + reader->layout->file.mount, &step.mount))
		return NULL;
	for (unsigned int i = 0; more > 0 && i < MOST_STEPS; i++)
		more = go_up(reader, &path, &step);
	return more || path.begin == PATH_BYTES - 1 ? NULL : strdup(path.text + path.begin);
}

/* ---- Files ----------------------------------------------------------------------------------- */

struct mapped {
	struct reader *reader;
	const struct known_file *file;
};

/* An xf_file_bytes_t: what of the file is mapped from its beginning on. */
static size_t read_mapped(void *context, uint64_t offset, void *to, size_t size)
{
	const struct mapped *mapped = context;
	const struct known_file *file = mapped->file;

	if (!file->mapped_at || offset > file->mapped_bytes || size > file->mapped_bytes - offset ||
	    !xf_guest_memory_read(mapped->reader->memory, mapped->reader->root,
	                          file->mapped_at + offset, to, size))
		return 0;
	return size;
}

/* Of files with code. */
static void describe_file(struct reader *reader, size_t index)
{
	struct mapped mapped = {.reader = reader, .file = &reader->files[index]};
	struct xf_guest_file *file = &reader->process->files[index];

	file->path = read_path(reader, reader->files[index].address);
	if (file->path)
		file->build_id_size = xf_file_build_id(read_mapped, &mapped, file->build_id);
}

static void describe_files(struct reader *reader)
{
	struct xf_guest_process *process = reader->process;

	for (size_t i = 0; i < process->nr_mappings; i++) {
		struct xf_guest_mapping *mapping = &process->mappings[i];

		if (mapping->file == XF_NO_GUEST_FILE)
			continue;
		if (!process->files[mapping->file].path)
			describe_file(reader, mapping->file);
		if (!process->files[mapping->file].path)
			mapping->file = XF_NO_GUEST_FILE;
	}
}

/* ---- All of it ------------------------------------------------------------------------------- */

int xf_guest_process_read(struct xf_guest_memory *memory, const struct xf_task_layout *task,
                          const struct xf_memory_layout *layout,
                          const struct xf_guest_process_wanted *wanted,
                          struct xf_guest_process *process)
{
	struct reader reader = {
	        .memory = memory, .layout = layout, .wanted = wanted, .process = process};
	int code = identify(&reader, task);

	if (!code)
		code = take_all(&reader);
	if (!code)
		describe_files(&reader);
	/* By the same memory, read anew: it was there all the time. */
	xf_guest_memory_begin(memory, memory->copy, memory->context, memory->budget);
	if (!code)
		code = identify(&reader, task);
	free(reader.files);
	if (code)
		xf_guest_process_free(process);
	return code;
}

void xf_guest_process_free(struct xf_guest_process *process)
{
	for (size_t i = 0; i < process->nr_files; i++)
		free(process->files[i].path);
	free(process->files);
	free(process->mappings);
	*process = (struct xf_guest_process){0};
}
