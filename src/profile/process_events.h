// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a recording says of the control domain's processes, as it came: events, which CPU ran whom,
 * readings of its clock. profile/processes.h makes sense of it.
 */
#ifndef XF_PROFILE_PROCESS_EVENTS_H
#define XF_PROFILE_PROCESS_EVENTS_H

#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "profile/format.h"

/* CPUs of a domain: more than Xen gives one. */
#define XF_MAX_CPUS 8192u

/* All pointers are borrowed from the recording. */
struct xf_process_event {
	enum xf_process_type type; /* any but XF_PROCESS_FILE */
	uint32_t pid;
	uint32_t tid;
	uint32_t other; /* as in struct xf_process_head */
	uint64_t time;
	size_t order; /* in the file */
	union {
		const char *comm;    /* EXISTS, COMM */
		uint32_t parent_tid; /* FORK */
		uint64_t until;      /* LOST */
		struct {
			uint64_t address;
			uint64_t size;
			uint64_t offset;
		} map; /* MAP */
	};
};

struct xf_process_file {
	uint32_t number;
	const char *path;
	const uint8_t *build_id;
	size_t build_id_size; /* 0: it is not known */
};

/* What one of its CPUs ran. */
struct xf_process_cpu {
	struct xf_switch *switches; /* once finished: by time */
	size_t nr;
	size_t allocated;
};

/* Starts zeroed; freed with xf_process_events_free. */
struct xf_process_events {
	struct xf_process_event *events; /* once finished: by time */
	size_t nr;
	struct xf_process_file *files; /* once finished: by number, each number once */
	size_t nr_files;
	struct xf_process_cpu
	        *cpus; /* its element of a CPU's number; of some there may be nothing */
	size_t nr_cpus;
	struct xf_clock_pair *pairs;
	size_t nr_pairs;
};

/*
 * Takes in the content of a chunk of @type, one of those for processes; @content must outlive
 * @events. Return: 0; -EBADMSG where it makes no sense from some byte on (what came before is
 * kept); -ENOMEM.
 */
int xf_process_events_read(struct xf_process_events *events, enum xf_chunk_type type,
                           struct xf_cursor content);

/* After the last chunk. */
void xf_process_events_finish(struct xf_process_events *events);
void xf_process_events_free(struct xf_process_events *events);

/* Return: the file with that number, NULL where there is none. */
const struct xf_process_file *xf_process_events_file(const struct xf_process_events *events,
                                                     uint32_t number);

#endif
