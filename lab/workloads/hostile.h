/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stack pointers that are none, for user programs (hostile.c) and for a guest kernel of our own
 * (guest/hostile.c). Needs no C library.
 */
#ifndef LAB_WORKLOADS_HOSTILE_H
#define LAB_WORKLOADS_HOSTILE_H

#include <stdint.h>

enum {
	HOSTILE_PAGE = 4096,
	HOSTILE_XEN_STACK = 8 * HOSTILE_PAGE,
	HOSTILE_AREA_PAGES = 16,
	HOSTILE_MAX_STACKS = 64,
};

struct hostile_aim {
	uint64_t stacks[HOSTILE_MAX_STACKS]; /* where Xen's stacks begin, as far as we were told */
	unsigned int nr_stacks;
	uint64_t area; /* HOSTILE_AREA_PAGES that come and go */
	uint64_t text; /* the attacker's own, at least 16 KiB */
};

static inline uint64_t hostile_draw(uint64_t *random)
{
	*random ^= *random << 13;
	*random ^= *random >> 7;
	*random ^= *random << 17;
	return *random;
}

/* On, just below and just above each page of a Xen stack, and anywhere on it. */
static inline uint64_t hostile_xen_stack(uint64_t *random, const struct hostile_aim *aim)
{
	static const int64_t beside[] = {-4096, -8, 0, 8, 1, 4, 0x7f8, 0xf00, 0xff8};
	uint64_t base = aim->stacks[hostile_draw(random) % aim->nr_stacks];

	if (hostile_draw(random) % 2)
		return base + hostile_draw(random) % (HOSTILE_XEN_STACK / 8) * 8;
	return base + hostile_draw(random) % 9 * HOSTILE_PAGE +
	       (uint64_t)beside[hostile_draw(random) % (sizeof(beside) / sizeof(beside[0]))];
}

/* Places of x86-64, of Xen's (public arch-x86/xen-x86_64.h, and its text since 4.17) and Linux's.
 */
static inline uint64_t hostile_value(uint64_t *random, const struct hostile_aim *aim)
{
	static const uint64_t values[] = {
	        0,
	        8,
	        (uint64_t)-8,
	        (uint64_t)-4096,
	        1,
	        0x7ffffffff000,     /* the end of user space */
	        0x7ffffffffff8,     /* the last word of the lower half */
	        0x800000000000,     /* not canonical */
	        0x8000000000000000, /* not canonical */
	        0xffff7ffffffffff8, /* the last that is not */
	        0xdeadbeefdeadbeef, /* neither canonical nor aligned */
	};
	static const uint64_t areas[][2] = {
	        {0x500000000000, 1ull << 30},     /* unmapped */
	        {0xffff800000000000, 1ull << 30}, /* Xen's table of a PV guest's frames */
	        {0xffff82d040000000, 0x200000},   /* what Xen maps below its text */
	        {0xffff82d040200000, 0x800000},   /* Xen's text and data */
	        {0xffff82d07fe00000, 0x200000},   /* Xen's entry stubs */
	        {0xffff830000000000, 0xa0000000}, /* Xen's heap */
	        {0xffff888000000000, 0x40000000}, /* Linux's map of memory */
	        {0xffffc90000000000, 1ull << 30}, /* Linux's kernel stacks */
	        {0xffffffff81000000, 0x2000000},  /* Linux's text */
	};
	uint64_t kind = hostile_draw(random) % 8;
	uint64_t odd = hostile_draw(random) % 16 == 0;

	if (aim->nr_stacks && kind < 4)
		return hostile_xen_stack(random, aim);
	if (kind == 7)
		return values[hostile_draw(random) % (sizeof(values) / sizeof(values[0]))];
	kind = hostile_draw(random) % (sizeof(areas) / sizeof(areas[0]) + 3);
	if (kind < sizeof(areas) / sizeof(areas[0]))
		return areas[kind][0] + hostile_draw(random) % areas[kind][1] / 8 * 8 + odd;
	if (kind == sizeof(areas) / sizeof(areas[0]))
		return aim->text + hostile_draw(random) % 16384;
	return aim->area + hostile_draw(random) % (HOSTILE_AREA_PAGES * HOSTILE_PAGE / 8) * 8 + odd;
}

#endif
