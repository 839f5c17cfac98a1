// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Linux's perf.data taken apart: which events there are, and their records in the order of time.
 * The file is somebody else's: nothing in it is believed. For src/profile/ alone.
 *
 * The layout is that of Linux's tools/perf/Documentation/perf.data-file-format.txt, of the records
 * that of the kernel's header linux/perf_event.h.
 */
#ifndef XF_PROFILE_PERF_FILE_H
#define XF_PROFILE_PERF_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "base/error.h"

#define XF_PERF_MAGIC "PERFILE2"

/* Types of records, as the kernel numbers them, that say something of a stack. */
enum xf_perf_type {
	XF_PERF_MMAP = 1,
	XF_PERF_COMM = 3,
	XF_PERF_FORK = 7,
	XF_PERF_SAMPLE = 9,
	XF_PERF_MMAP2 = 10,
	XF_PERF_KSYMBOL = 17,
};

/* Whose code was running: the lowest bits of a record's @misc. */
enum xf_perf_mode {
	XF_PERF_UNKNOWN_MODE = 0,
	XF_PERF_KERNEL = 1,
	XF_PERF_USER = 2,
	XF_PERF_HYPERVISOR = 3,
	XF_PERF_GUEST_KERNEL = 4,
	XF_PERF_GUEST_USER = 5,
};
#define XF_PERF_MODE_MASK 7u

/* What an event's records have in them. */
struct xf_perf_event {
	uint64_t sample_type; /* PERF_SAMPLE_* */
	uint64_t read_format; /* PERF_FORMAT_* */
	uint64_t frequency;   /* Hz; 0 where samples are so many events apart */
	bool samples;         /* false: it is there for other records */
	bool id_all;          /* records that are no samples have an identity, too */
};

struct xf_perf_record {
	uint64_t time;        /* 0: it has none */
	uint64_t place;       /* in the file */
	const uint8_t *bytes; /* behind the record's head */
	uint16_t size;
	uint16_t misc;
	uint32_t type;
	const struct xf_perf_event *event; /* that a sample is of */
};

struct xf_perf_build_id {
	const char *path;
	const uint8_t *bytes;
	uint8_t size;
};

struct xf_perf_file {
	struct xf_perf_event *events;
	size_t nr_events;
	struct xf_perf_record *records; /* in the order of time; those without one first */
	size_t nr_records;
	struct xf_perf_build_id *build_ids;
	size_t nr_build_ids;
	const char *host; /* NULL: not recorded */
	uint64_t lost;    /* records that the kernel had no room for */
	uint64_t damaged; /* records that cannot be what they say */
	bool cut;         /* there should be more */
	bool unfinished;  /* perf did not end as it should */
	/* Of the reader's own. */
	uint8_t *unpacked;
};

/* Return: 0; -EBADMSG, -ENOTSUP or -ENOMEM and @error. xf_perf_file_close is due in all cases.
 * @bytes must outlive @file. */
int xf_perf_file_open(const void *bytes, size_t size, struct xf_perf_file *file,
                      struct xf_error *error);
void xf_perf_file_close(struct xf_perf_file *file);

struct xf_perf_sample {
	uint64_t address;
	uint32_t pid;
	uint32_t tid;
	uint32_t cpu;
	bool has_chain;
	bool user_stack;        /* a copy of the stack is there in place of user's callers */
	struct xf_cursor chain; /* addresses from the innermost, and marks */
};

/* Return: whether @record, a sample, is whole. */
bool xf_perf_read_sample(const struct xf_perf_record *record, struct xf_perf_sample *sample);

#endif
