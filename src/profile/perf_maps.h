// SPDX-License-Identifier: GPL-2.0-or-later
/* Who was running, and what was mapped where, as perf.data's records tell it one after another. For
 * src/profile/ alone. */
#ifndef XF_PROFILE_PERF_MAPS_H
#define XF_PROFILE_PERF_MAPS_H

#include "profile/calltree.h"
#include "profile/index.h"
#include "profile/perf_file.h"
#include "profile/perf_input.h"
#include "symbol/symbols.h"

/* What is mapped; the newest hides what it lies on. A process that is born has what its parent had
 * then: lists share their ends. */
struct xf_perf_map {
	uint64_t start;
	uint64_t end;
	uint64_t offset; /* in the file */
	const char *path;
	const uint8_t *build_id;
	size_t build_id_size;
	uint32_t older; /* by its number and one; 0: none */
};

struct xf_perf_thread {
	uint32_t tid;
	const char *command; /* NULL: not known */
};

struct xf_perf_process {
	uint32_t pid;
	uint32_t newest; /* map, by its number and one */
};

/* An address that has been looked up. */
struct xf_perf_frame {
	uint64_t address;
	uint32_t newest; /* of the maps in which it was */
	enum xf_perf_mode mode;
	enum xf_frame_kind kind;
	char *name;
};

/* Starts zeroed, with @file and @names. */
struct xf_perf_maps {
	const struct xf_perf_file *file;
	const struct xf_perf_names *names;
	struct xf_symbols *symbols; /* that the kernel made at run time */
	struct xf_perf_map *maps;
	size_t nr_maps;
	size_t allocated_maps;
	uint32_t kernel; /* its newest map */
	struct xf_perf_thread *threads;
	size_t nr_threads;
	size_t allocated_threads;
	struct xf_index thread_index;
	struct xf_perf_process *processes;
	size_t nr_processes;
	size_t allocated_processes;
	struct xf_index process_index;
	struct xf_perf_frame *frames;
	size_t nr_frames;
	size_t allocated_frames;
	struct xf_index frame_index;
	struct xf_index build_id_index;
};

/* Return: 0 or -ENOMEM; xf_perf_maps_close is due in all cases. */
int xf_perf_maps_open(struct xf_perf_maps *maps);
void xf_perf_maps_close(struct xf_perf_maps *maps);

/* Takes in what @record, which is no sample, says. Return: 0, -EBADMSG where it is damaged,
 * -ENOMEM.
 */
int xf_perf_maps_take(struct xf_perf_maps *maps, const struct xf_perf_record *record);

/* Return: the command of a thread, NULL where it is not known. */
const char *xf_perf_command(const struct xf_perf_maps *maps, uint32_t tid);

/* What is at @address in that process now. Return: NULL without memory; valid until the next call.
 */
const struct xf_perf_frame *xf_perf_find(struct xf_perf_maps *maps, uint32_t pid,
                                         enum xf_perf_mode mode, uint64_t address);

#endif
