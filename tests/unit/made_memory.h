// SPDX-License-Identifier: GPL-2.0-or-later
/* A domain's memory, made up, page tables and all: for tests that include cmocka's header before.
 */
#ifndef XF_TEST_UNIT_MADE_MEMORY_H
#define XF_TEST_UNIT_MADE_MEMORY_H

#include <string.h>

#include "xen/guest_memory.h"

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

static struct {
	uint8_t frames[FRAMES][XF_GUEST_PAGE];
	uint32_t nr;       /* in use */
	uint32_t copied;   /* so far */
	uint32_t change;   /* when so many have been, ... */
	uint64_t *changed; /* ... this becomes ... */
	uint64_t into;     /* ... this */
} made_memory;

static inline bool copy_frame(void *context, uint64_t frame, uint8_t page[XF_GUEST_PAGE])
{
	assert_ptr_equal(context, &made_memory);
	if (made_memory.changed && made_memory.copied++ >= made_memory.change)
		*made_memory.changed = made_memory.into;
	if (frame < FIRST_FRAME || frame - FIRST_FRAME >= made_memory.nr)
		return false;
	memcpy(page, made_memory.frames[frame - FIRST_FRAME], XF_GUEST_PAGE);
	return true;
}

static inline uint32_t take_frame(void)
{
	assert_true(made_memory.nr < FRAMES);
	return made_memory.nr++;
}

static inline uint64_t entry_of(uint32_t index, uint64_t flags)
{
	return (uint64_t)(FIRST_FRAME + index) * XF_GUEST_PAGE | flags;
}

static inline uint64_t *entry_at(uint32_t table, uint64_t address, int shift)
{
	return (uint64_t *)made_memory.frames[table] + (address >> shift & 511);
}

/* Makes @address, in the tables of @root, the frame of @index. */
static inline void map_page(uint32_t root, uint64_t address, uint32_t index)
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
static inline uint64_t make_object(void)
{
	uint32_t index = take_frame();
	uint64_t address = DIRECT + (uint64_t)index * XF_GUEST_PAGE;

	map_page(KERNEL_ROOT, address, index);
	return address;
}

static inline uint64_t *word(uint64_t address)
{
	return (uint64_t *)(made_memory.frames[(address - DIRECT) / XF_GUEST_PAGE] +
	                    address % XF_GUEST_PAGE);
}

#endif
