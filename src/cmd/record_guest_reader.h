// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A process that reads, for the recorder, what processes of other domains have mapped: neither that
 * work nor what is found there keeps the recorder from the agent's lease.
 */
#ifndef XF_CMD_RECORD_GUEST_READER_H
#define XF_CMD_RECORD_GUEST_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "symbol/btf.h"
#include "xen/guest_process.h"

/* A domain whose processes can be read, and its kernel's modules. */
struct xf_guest_layouts {
	uint16_t domid;
	struct xf_task_layout task;
	struct xf_memory_layout memory;
	bool has_modules;
	struct xf_module_layout modules;
};

/* The modules of a domain's kernel, which lies @slide from where its image has it. */
struct xf_guest_modules_wanted {
	uint64_t root; /* page tables that the kernel's memory is in */
	uint64_t slide;
	uint32_t kernel; /* the number that they, upon the image, get in the recording */
	uint32_t image;  /* and that of the image itself */
	char name[160];
};

/* What is to be read. Requests come whole: they are smaller than a pipe's atomic writes. */
struct xf_guest_reader_request {
	uint16_t domid;
	bool of_modules;
	union {
		struct xf_guest_process_wanted process;
		struct xf_guest_modules_wanted modules;
	};
};

/* Starts zeroed. */
struct xf_guest_reader {
	pid_t process; /* 0: there is none */
	int requests;  /* to it; writing never waits */
	/* From it: a recording with chunks of processes, what they have mapped and kernels, without
	   an end; likewise. */
	int answers;
};

/* Starts it, for @nr @domains, before the agent is there. Return: 0; a negative errno value and
 * @error. */
int xf_guest_reader_start(struct xf_guest_reader *reader, const struct xf_guest_layouts *domains,
                          size_t nr, struct xf_error *error);

/* There are no more: it ends once it has answered them, and so do its answers. */
void xf_guest_reader_close_requests(struct xf_guest_reader *reader);

/* Ends it at once. */
void xf_guest_reader_end(struct xf_guest_reader *reader);

#endif
