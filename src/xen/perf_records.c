// SPDX-License-Identifier: GPL-2.0-or-later
#include "xen/perf_records.h"

#include <stdio.h>
#include <string.h>

#include "base/cursor.h"

/* What the kernel's headers may be too old to have. */
#define MMAP_BUILD_ID (1u << 14) /* PERF_RECORD_MISC_MMAP_BUILD_ID */
#define BUILD_ID_MAX  20u

/* What stands at the end of every record: pid, tid, time. */
#define TRAILER_BYTES 16u

struct record {
	struct perf_event_header header;
	struct xf_cursor content;
	struct xf_gathered_who who; /* in whose context it happened */
};

static bool open_record(const void *bytes, size_t size, struct record *record)
{
	struct xf_cursor trailer;

	if (size < sizeof(record->header) + TRAILER_BYTES)
		return false;
	memcpy(&record->header, bytes, sizeof(record->header));
	record->content = xf_cursor_over((const uint8_t *)bytes + sizeof(record->header),
	                                 size - sizeof(record->header) - TRAILER_BYTES);
	trailer = xf_cursor_over((const uint8_t *)bytes + size - TRAILER_BYTES, TRAILER_BYTES);
	record->who.pid = xf_cursor_u32(&trailer);
	record->who.tid = xf_cursor_u32(&trailer);
	record->who.time = xf_cursor_u64(&trailer);
	return true;
}

static void take_comm(struct record *record, struct xf_gathered *gathered)
{
	struct xf_gathered_who who = {.time = record->who.time};
	const char *comm;

	who.pid = xf_cursor_u32(&record->content);
	who.tid = xf_cursor_u32(&record->content);
	comm = xf_cursor_string(&record->content);
	if (comm)
		xf_gather_comm(gathered, &who, record->header.misc & PERF_RECORD_MISC_COMM_EXEC,
		               comm);
}

static void take_task(struct record *record, struct xf_gathered *gathered)
{
	struct xf_gathered_who who = {.pid = xf_cursor_u32(&record->content)};
	uint32_t parent_pid = xf_cursor_u32(&record->content);
	uint32_t parent_tid;

	who.tid = xf_cursor_u32(&record->content);
	parent_tid = xf_cursor_u32(&record->content);
	who.time = record->who.time;
	if (record->content.failed)
		return;
	if (record->header.type == PERF_RECORD_FORK)
		xf_gather_fork(gathered, &who, parent_pid, parent_tid);
	else
		xf_gather_exit(gathered, &who);
}

/* A file by its build-id, which is told by the kernel, or else by its place on a disk. */
static uint32_t take_file(const struct record *record, struct xf_cursor *identity, const char *path,
                          struct xf_gathered *gathered)
{
	bool has_build_id = record->header.misc & MMAP_BUILD_ID;
	uint8_t size = has_build_id ? xf_cursor_u8(identity) : 0;
	char text[2 * BUILD_ID_MAX + 64] = "";
	const uint8_t *build_id = NULL;
	uint32_t number;

	if (has_build_id) {
		xf_cursor_take(identity, 3);
		size = size > BUILD_ID_MAX ? BUILD_ID_MAX : size;
		build_id = xf_cursor_take(identity, size);
		for (size_t i = 0; i < size; i++)
			snprintf(text + 2 * i, 3, "%02x", build_id[i]);
	} else {
		uint32_t major = xf_cursor_u32(identity);
		uint32_t minor = xf_cursor_u32(identity);

		snprintf(text, sizeof(text), "%x:%x:%llu", major, minor,
		         (unsigned long long)xf_cursor_u64(identity));
	}
	number = xf_gathered_file(gathered, path, text);
	return number != XF_NO_FILE ? number : xf_gather_file(gathered, path, text, build_id, size);
}

static void take_map(struct record *record, struct xf_gathered *gathered)
{
	struct xf_gathered_who who = {.time = record->who.time};
	struct xf_cursor identity;
	uint64_t address, size, offset;
	const char *path;

	who.pid = xf_cursor_u32(&record->content);
	who.tid = xf_cursor_u32(&record->content);
	address = xf_cursor_u64(&record->content);
	size = xf_cursor_u64(&record->content);
	offset = xf_cursor_u64(&record->content);
	identity = xf_cursor_sub(&record->content, 24);
	xf_cursor_u64(&record->content); /* protection and flags */
	path = xf_cursor_string(&record->content);
	if (!path || (record->header.misc & PERF_RECORD_MISC_CPUMODE_MASK) != PERF_RECORD_MISC_USER)
		return;
	xf_gather_map(gathered, &who, address, size, offset,
	              take_file(record, &identity, path, gathered));
}

static void take_switch(struct xf_perf_reader *reader, const struct record *record,
                        struct xf_gathered *gathered)
{
	struct xf_switch one = {
	        .time = record->who.time, .pid = record->who.pid, .tid = record->who.tid};
	bool out = record->header.misc & PERF_RECORD_MISC_SWITCH_OUT;

	/* The first one that goes has been there since before anybody looked. */
	if (out && reader->last)
		return;
	if (out)
		one.time = reader->opened;
	xf_gather_switch(gathered, reader->cpu, &one);
}

/* Some records before this one had no room. */
static void take_lost(struct xf_perf_reader *reader, struct record *record,
                      struct xf_gathered *gathered)
{
	const struct xf_switch unknown = {.time = reader->last ? reader->last + 1 : reader->opened,
	                                  .pid = XF_PID_UNKNOWN};

	xf_cursor_u64(&record->content);
	reader->lost += xf_cursor_u64(&record->content);
	if (reader->switches)
		xf_gather_switch(gathered, reader->cpu, &unknown);
	else if (!reader->lost_from)
		reader->lost_from = unknown.time;
}

void xf_perf_take_record(struct xf_perf_reader *reader, const void *bytes, size_t size,
                         struct xf_gathered *gathered)
{
	struct record record;

	if (!open_record(bytes, size, &record))
		return;
	switch (record.header.type) {
	case PERF_RECORD_COMM:
		take_comm(&record, gathered);
		break;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		take_task(&record, gathered);
		break;
	case PERF_RECORD_MMAP2:
		take_map(&record, gathered);
		break;
	case PERF_RECORD_SWITCH_CPU_WIDE:
		take_switch(reader, &record, gathered);
		break;
	case PERF_RECORD_LOST:
		take_lost(reader, &record, gathered);
		break;
	default:
		break;
	}
	if (record.who.time > reader->last)
		reader->last = record.who.time;
}
