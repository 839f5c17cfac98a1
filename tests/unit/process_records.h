// SPDX-License-Identifier: GPL-2.0-or-later
/* Records of one process of the control domain's, for xf_recording_write_processes. */
#ifndef XF_TEST_UNIT_PROCESS_RECORDS_H
#define XF_TEST_UNIT_PROCESS_RECORDS_H

#include "profile/format.h"
#include "unit/taken_bytes.h"

#define PID 4711u

static inline void add(struct bytes *records, enum xf_process_type type, uint32_t other,
                       const void *rest, size_t size)
{
	const struct xf_process_head head = {.type = (uint16_t)type,
	                                     .size = (uint16_t)size,
	                                     .pid = PID,
	                                     .time = 1,
	                                     .tid = PID,
	                                     .other = other};

	take(records, &head, sizeof(head));
	take(records, rest, size);
}

/* @size bytes of @file's code from @offset on, at @address. */
static inline void map(struct bytes *records, uint64_t address, uint64_t size, uint64_t offset,
                       uint32_t file)
{
	const uint64_t numbers[] = {address, size, offset};

	add(records, XF_PROCESS_MAP, file, numbers, sizeof(numbers));
}

#endif
