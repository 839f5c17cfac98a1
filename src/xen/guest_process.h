// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a process of another domain's has mapped as code: out of the domain's memory, by what its
 * Linux says of its own structures. The guest goes on meanwhile and may lie: the work is bounded,
 * and what is found is a process's that had, before and after, the page tables of the sample.
 */
#ifndef XF_XEN_GUEST_PROCESS_H
#define XF_XEN_GUEST_PROCESS_H

#include <stddef.h>
#include <stdint.h>

#include "symbol/btf.h"
#include "xen/build_id.h"
#include "xen/guest_memory.h"

/* Frames that reading one process may take. */
#define XF_GUEST_PROCESS_FRAMES 8192u

#define XF_NO_GUEST_FILE UINT32_MAX

struct xf_guest_mapping {
	uint64_t address;
	uint64_t size;
	uint64_t offset; /* in the file, of what is at @address */
	uint32_t file;   /* index; XF_NO_GUEST_FILE: it has none, or none with a path */
};

struct xf_guest_file {
	char *path; /* as the process sees it */
	uint8_t build_id[XF_BUILD_ID_MAX];
	size_t build_id_size; /* 0: it has none, or it is not in memory */
};

/* Starts zeroed; freed with xf_guest_process_free. */
struct xf_guest_process {
	struct xf_guest_mapping *mappings; /* of code, by address */
	size_t nr_mappings;
	struct xf_guest_file *files;
	size_t nr_files;
};

/* What a sample says of it. */
struct xf_guest_process_wanted {
	uint64_t root;        /* its page tables, in CR3's form */
	uint64_t kernel_root; /* of whatever process, where the kernel's memory is in them */
	uint64_t task;        /* of one of its threads: the address of its struct task_struct */
	uint32_t pid;
};

/*
 * Reads what the process that is @wanted has mapped. @memory has been begun, and is not to be read
 * by afterwards without that. Return: 0; -ESRCH where it is not there any more; -EAGAIN where it
 * has changed meanwhile, or makes no sense; -EFAULT where its memory can't be read; -ENOMEM. But
 * for 0 nothing has been found.
 */
int xf_guest_process_read(struct xf_guest_memory *memory, const struct xf_task_layout *task,
                          const struct xf_memory_layout *layout,
                          const struct xf_guest_process_wanted *wanted,
                          struct xf_guest_process *process);
void xf_guest_process_free(struct xf_guest_process *process);

#endif
