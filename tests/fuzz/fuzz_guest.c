// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What is read of other domains' processes and modules, in memory of a guest's making: in sound
 * memory, made up, words are changed as the input says. The first byte chooses what is read; then,
 * 11 bytes for each change: the frame (2), the word in it (1 and a half) and how (the rest of 2),
 * what it becomes (7).
 */
#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define assert_true(what)            assert(what)
#define assert_int_equal(one, other) assert((one) == (other))
#define assert_ptr_equal(one, other) assert((one) == (other))

#include "unit/made_modules.h"
#include "unit/made_process.h"

#define CHANGE_BYTES 11u

static void change(const uint8_t *input)
{
	uint16_t frame, place;
	uint64_t value = 0, *changed;

	memcpy(&frame, input, sizeof(frame));
	memcpy(&place, input + 2, sizeof(place));
	memcpy(&value, input + 4, 7);
	changed = (uint64_t *)made_memory.frames[frame % made_memory.nr] + place % 512;
	switch (place >> 9 & 3) {
	case 0: /* where the kernel has its memory */
		*changed = DIRECT + value % ((uint64_t)made_memory.nr * XF_GUEST_PAGE);
		break;
	case 1: /* another frame, in a page table */
		*changed = entry_of((uint32_t)(value % made_memory.nr), value >> 32 & 0xfff);
		break;
	case 2:
		*changed ^= value;
		break;
	default:
		*changed = (uint64_t)((int64_t)(value << 8) >> 8);
	}
}

static void check_process(const struct xf_guest_process *process)
{
	uint64_t end = 0;

	for (size_t i = 0; i < process->nr_mappings; i++) {
		const struct xf_guest_mapping *mapping = &process->mappings[i];

		assert(mapping->address >= end && mapping->size);
		end = mapping->address + mapping->size;
		assert(end > mapping->address && end <= 0x800000000000);
		if (mapping->file == XF_NO_GUEST_FILE)
			continue;
		assert(mapping->file < process->nr_files);
		assert(process->files[mapping->file].path[0] == '/');
		assert(process->files[mapping->file].build_id_size <= XF_BUILD_ID_MAX);
	}
}

static void read_process(bool is_tree)
{
	const struct xf_guest_process_wanted wanted = {.root = entry_of(USER_ROOT, 0),
	                                               .kernel_root = entry_of(KERNEL_ROOT, 0),
	                                               .task = made.task,
	                                               .pid = PID};

	if (!is_tree) {
		made.layout.is_tree = false;
		*word(made.mm + made.layout.mm.mappings) = parts.mappings[0];
	}
	xf_guest_memory_begin(&made.memory, copy_frame, &made_memory, 512);
	if (xf_guest_process_read(&made.memory, &task_layout, &made.layout, &wanted,
	                          &made.process) == 0)
		check_process(&made.process);
	xf_guest_process_free(&made.process);
}

static void read_modules(void)
{
	struct xf_guest_modules *found = &made_modules.found;

	xf_guest_memory_begin(&made.memory, copy_frame, &made_memory, 512);
	if (xf_guest_modules_read(&made.memory, &module_layout, entry_of(KERNEL_ROOT, 0), SLIDE,
	                          found) != 0)
		return;
	for (size_t i = 0; i < found->nr_code; i++)
		assert(found->code[i].bytes[found->code[i].size - 1] || true);
	xf_guest_modules_free(found);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
	unsigned int what = size ? input[0] % 3 : 0;

	if (what == 2)
		make_modules(NULL);
	else
		make(NULL);
	for (size_t at = 1; at + CHANGE_BYTES <= size; at += CHANGE_BYTES)
		change(input + at);
	if (what == 2)
		read_modules();
	else
		read_process(what == 0);
	return 0;
}
