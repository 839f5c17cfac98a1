// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What has been seen of this domain's processes and is still to be written, in the recording's own
 * layout (profile/format.h). Files that are mapped are told once, by a number.
 */
#ifndef XF_XEN_GATHERED_H
#define XF_XEN_GATHERED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/format.h"

struct xf_gathered_cpu {
	struct xf_switch *switches;
	size_t nr;
	size_t allocated;
};

/* Starts zeroed; freed with xf_gathered_free. Without memory nothing more is taken in. */
struct xf_gathered {
	uint8_t *records; /* each a struct xf_process_head and what follows it */
	size_t size;
	size_t allocated;
	struct xf_gathered_cpu *cpus; /* by number */
	size_t nr_cpus;
	char **files; /* what tells them apart, by number */
	uint32_t nr_files;
	uint32_t *slots; /* a hash table of numbers + 1; 0: free */
	bool failed;
};

/* Who an event is of, and when. */
struct xf_gathered_who {
	uint64_t time;
	uint32_t pid;
	uint32_t tid;
};

void xf_gather_exists(struct xf_gathered *gathered, const struct xf_gathered_who *who,
                      const char *comm);
void xf_gather_comm(struct xf_gathered *gathered, const struct xf_gathered_who *who, bool exec,
                    const char *comm);
void xf_gather_fork(struct xf_gathered *gathered, const struct xf_gathered_who *who,
                    uint32_t parent_pid, uint32_t parent_tid);
void xf_gather_exit(struct xf_gathered *gathered, const struct xf_gathered_who *who);
void xf_gather_map(struct xf_gathered *gathered, const struct xf_gathered_who *who,
                   uint64_t address, uint64_t size, uint64_t offset, uint32_t file);
void xf_gather_lost(struct xf_gathered *gathered, uint64_t from, uint64_t until);
void xf_gather_switch(struct xf_gathered *gathered, uint32_t cpu, const struct xf_switch *one);

/* Return: the number of a file that has been told of: of that path and of that @identity, which
 * tells it from another of its path; XF_NO_FILE where there is none. */
uint32_t xf_gathered_file(const struct xf_gathered *gathered, const char *path,
                          const char *identity);

/* Tells of a file that xf_gathered_file did not find; @build_id may be of no bytes. Return: its
 * number; XF_NO_FILE where there are too many. */
uint32_t xf_gather_file(struct xf_gathered *gathered, const char *path, const char *identity,
                        const uint8_t *build_id, size_t build_id_size);

/* What has been gathered is in the file: forgets it, but not the files' numbers. */
void xf_gathered_written(struct xf_gathered *gathered);
/* The same where it is not to be in the file: of what each CPU ran no more is told than since when
 * it is not known. */
void xf_gathered_leave_out(struct xf_gathered *gathered);
void xf_gathered_free(struct xf_gathered *gathered);

#endif
