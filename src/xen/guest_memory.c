// SPDX-License-Identifier: GPL-2.0-or-later
#include "xen/guest_memory.h"

#include <string.h>

/* Entries of page tables: AMD64 Architecture Programmer's Manual, volume 2, 5.3. */
#define ENTRIES     512u
#define PRESENT     1u
#define LARGE       (1u << 7)
#define FRAMES_MASK 0x000ffffffffff000ull

#define TOP_SHIFT    39
#define LEVEL_BITS   9
#define PAGE_SHIFT   12
#define LARGEST_PAGE 30 /* its shift: 1 GiB */

void xf_guest_memory_begin(struct xf_guest_memory *memory, xf_guest_frame_t copy, void *context,
                           uint32_t budget)
{
	memory->copy = copy;
	memory->context = context;
	memory->budget = budget;
	for (size_t i = 0; i < XF_GUEST_CACHED; i++)
		memory->cache[i].frame_after = 0;
}

/* Return: the frame's bytes, until the next call; NULL where they can't be had. */
static const uint8_t *find_page(struct xf_guest_memory *memory, uint64_t frame)
{
	size_t slot = frame % XF_GUEST_CACHED;

	if (memory->cache[slot].frame_after == frame + 1)
		return memory->cache[slot].bytes;
	memory->cache[slot].frame_after = 0;
	if (!memory->budget)
		return NULL;
	memory->budget--;
	if (!memory->copy(memory->context, frame, memory->cache[slot].bytes))
		return NULL;
	memory->cache[slot].frame_after = frame + 1;
	return memory->cache[slot].bytes;
}

/* Return: whether the table at @frame could be read, and its entry. */
static bool read_entry(struct xf_guest_memory *memory, uint64_t frame, size_t index,
                       uint64_t *entry)
{
	const uint8_t *page = find_page(memory, frame);

	if (page)
		memcpy(entry, page + index * sizeof(*entry), sizeof(*entry));
	return page;
}

static bool is_canonical(uint64_t address)
{
	uint64_t upper = address >> 47;

	return upper == 0 || upper == UINT64_MAX >> 47;
}

bool xf_guest_memory_find(struct xf_guest_memory *memory, uint64_t root, uint64_t address,
                          uint64_t *frame)
{
	uint64_t table = (root & FRAMES_MASK) >> PAGE_SHIFT, entry;

	if (!is_canonical(address))
		return false;
	for (int shift = TOP_SHIFT; shift >= PAGE_SHIFT; shift -= LEVEL_BITS) {
		uint64_t page_mask = (1ull << shift) - 1;

		if (!read_entry(memory, table, address >> shift & (ENTRIES - 1), &entry) ||
		    !(entry & PRESENT))
			return false;
		table = (entry & FRAMES_MASK) >> PAGE_SHIFT;
		if (shift > PAGE_SHIFT && shift <= LARGEST_PAGE && entry & LARGE) {
			*frame = ((entry & FRAMES_MASK & ~page_mask) | (address & page_mask)) >>
			         PAGE_SHIFT;
			return true;
		}
	}
	*frame = table;
	return true;
}

bool xf_guest_memory_read(struct xf_guest_memory *memory, uint64_t root, uint64_t address, void *to,
                          size_t size)
{
	uint8_t *bytes = to;

	if (address > UINT64_MAX - size)
		return false;
	while (size) {
		size_t offset = address % XF_GUEST_PAGE, nr = XF_GUEST_PAGE - offset;
		const uint8_t *page;
		uint64_t frame;

		if (nr > size)
			nr = size;
		if (!xf_guest_memory_find(memory, root, address, &frame))
			return false;
		page = find_page(memory, frame);
		if (!page)
			return false;
		memcpy(bytes, page + offset, nr);
		address += nr;
		bytes += nr;
		size -= nr;
	}
	return true;
}

bool xf_guest_memory_read_kernel(struct xf_guest_memory *memory, uint64_t root, uint64_t address,
                                 void *to, size_t size)
{
	return address >= XF_GUEST_KERNEL_HALF &&
	       xf_guest_memory_read(memory, root, address, to, size);
}

bool xf_guest_memory_is_same(struct xf_guest_memory *memory, uint64_t one, uint64_t other)
{
	uint64_t left = (one & FRAMES_MASK) >> PAGE_SHIFT;
	uint64_t right = (other & FRAMES_MASK) >> PAGE_SHIFT;
	bool found = false;

	for (size_t i = 0; i < ENTRIES / 2; i++) {
		uint64_t a, b;

		if (!read_entry(memory, left, i, &a) || !read_entry(memory, right, i, &b))
			return false;
		a = a & PRESENT ? a & FRAMES_MASK : 0;
		b = b & PRESENT ? b & FRAMES_MASK : 0;
		if (a != b)
			return false;
		found = found || a;
	}
	return found;
}
