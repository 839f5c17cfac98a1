// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where a guest's frame lies, as one number, which is its address in the call tree: kernels share
 * their addresses with each other, and what processes have mapped lies elsewhere in each.
 */
#ifndef XF_PROFILE_GUEST_CODE_H
#define XF_PROFILE_GUEST_CODE_H

#include <stdint.h>

#include "profile/kernels.h"

#define XF_GUEST_CODE_BITS      48 /* of the offset */
#define XF_GUEST_CODE_FILES     (1u + XF_MAX_KERNELS)
#define XF_GUEST_CODE_FILES_END 0xf000u /* Xen's own addresses are above */

/* A number of code, other than 0: of a recording's kernel by its index, of a file by its number.
 * Return: 0 where the number is too large for one. */
static inline uint32_t xf_guest_code_of_kernel(size_t index)
{
	return index < XF_MAX_KERNELS ? 1u + (uint32_t)index : 0;
}

static inline uint32_t xf_guest_code_of_file(uint32_t number)
{
	return number < XF_GUEST_CODE_FILES_END - XF_GUEST_CODE_FILES ? XF_GUEST_CODE_FILES + number
	                                                              : 0;
}

/* Of a kernel @offset is the lower part of its address, of a file that in it. Return: 0 without
 * @code, or where the offset is too large. */
static inline uint64_t xf_guest_code_address(uint32_t code, uint64_t offset)
{
	if (!code || offset >> XF_GUEST_CODE_BITS)
		return 0;
	return (uint64_t)code << XF_GUEST_CODE_BITS | offset;
}

static inline uint32_t xf_guest_code_at(uint64_t address)
{
	return (uint32_t)(address >> XF_GUEST_CODE_BITS);
}

static inline uint64_t xf_guest_code_offset(uint64_t address)
{
	return address & ((1ull << XF_GUEST_CODE_BITS) - 1);
}

/* What the addresses of kernels have in their upper part. */
#define XF_GUEST_CODE_KERNEL_HALF (UINT64_MAX << XF_GUEST_CODE_BITS)

#endif
