// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A process that reads, for the recorder, what processes of other domains have mapped: neither that
 * work nor what is found there keeps the recorder from the agent's lease.
 */
#ifndef XF_CMD_RECORD_GUEST_READER_H
#define XF_CMD_RECORD_GUEST_READER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "symbol/btf.h"
#include "xen/guest_process.h"

/* A domain whose processes can be read. */
struct xf_guest_layouts {
	uint16_t domid;
	struct xf_task_layout task;
	struct xf_memory_layout memory;
};

/* One that is to be. Requests come whole: they are smaller than a pipe's atomic writes. */
struct xf_guest_reader_request {
	struct xf_guest_process_wanted wanted;
	uint16_t domid;
};

/* Starts zeroed. */
struct xf_guest_reader {
	pid_t process; /* 0: there is none */
	int requests;  /* to it; writing never waits */
	/* From it: a recording with chunks XF_CHUNK_PROCESSES and XF_CHUNK_GUEST_MAPS, without an
	   end; likewise. */
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
