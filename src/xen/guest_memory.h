// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Another domain's memory, read as its processor would: by way of its own page tables. All of it is
 * what the guest has made of it, and may change while it is read; so the reading is bounded, and
 * what comes of it is to be checked. x86-64, page tables of four levels.
 */
#ifndef XF_XEN_GUEST_MEMORY_H
#define XF_XEN_GUEST_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define XF_GUEST_PAGE 4096u

/* Where Linux on x86-64 has its own: Documentation/arch/x86/x86_64/mm.rst. */
#define XF_GUEST_KERNEL_HALF 0xffff800000000000ull

/* Copies a frame of the domain's: of a PV guest a machine's, of others one of the guest's own.
 * Return: whether it could be had. */
typedef bool (*xf_guest_frame_t)(void *context, uint64_t frame, uint8_t page[XF_GUEST_PAGE]);

#define XF_GUEST_CACHED 64u

struct xf_guest_memory {
	xf_guest_frame_t copy;
	void *context;
	uint32_t budget; /* frames that may still be copied */
	/* The pages that were read last, each at its frame's number modulo XF_GUEST_CACHED. */
	struct {
		uint64_t frame_after; /* the frame's number and 1; 0: there is none */
		uint8_t bytes[XF_GUEST_PAGE];
	} cache[XF_GUEST_CACHED];
};

/* Begins anew: nothing is known of the memory, and @budget frames may be copied. */
void xf_guest_memory_begin(struct xf_guest_memory *memory, xf_guest_frame_t copy, void *context,
                           uint32_t budget);

/* @root: what CR3 holds, or would. Return: whether all of the @size bytes at @address could be
 * read. */
bool xf_guest_memory_read(struct xf_guest_memory *memory, uint64_t root, uint64_t address, void *to,
                          size_t size);

/* The same, of the kernel's half of the addresses alone. */
bool xf_guest_memory_read_kernel(struct xf_guest_memory *memory, uint64_t root, uint64_t address,
                                 void *to, size_t size);

/* Return: true and, in *@frame, of which frame the page at @address is. */
bool xf_guest_memory_find(struct xf_guest_memory *memory, uint64_t root, uint64_t address,
                          uint64_t *frame);

/* Return: whether processes that have @one and @other as their roots share all of their memory: by
 * the upper level of the tables for it, which must not be empty. */
bool xf_guest_memory_is_same(struct xf_guest_memory *memory, uint64_t one, uint64_t other);

#endif
