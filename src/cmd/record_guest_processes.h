// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Of which processes of other domains it is to be read what they have mapped as code, by the
 * samples that show them; and what has been read, on its way into the recording. Whoever reads it
 * is at the other ends of two pipes (cmd/record_guest_reader.h). Without it recording goes on.
 */
#ifndef XF_CMD_RECORD_GUEST_PROCESSES_H
#define XF_CMD_RECORD_GUEST_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "cmd/record_guest_reader.h"
#include "profile/recording.h"
#include "xen/stream.h"

/* Processes that are kept in mind. */
#define XF_GUEST_PROCESSES 4096u

/* One that samples have shown. */
struct xf_guest_process_seen {
	uint16_t domid;
	uint32_t pid; /* 0: there is none here */
	uint64_t root;
	uint64_t task; /* of the last sample */
	int64_t asked; /* when it was last to be read, ms */
	int64_t pause; /* until it may be again, ms */
	bool ran_since_asked;
};

/* Starts zeroed; freed with xf_record_guest_processes_free. */
struct xf_record_guest_processes {
	struct xf_guest_layouts *domains;
	uint64_t *kernel_roots; /* of each: page tables that its kernel's memory was last seen in */
	size_t nr_domains;
	struct xf_guest_process_seen *seen; /* NULL: it has not begun */
	int requests, answers;
	struct xf_buffer received;
	bool begun;       /* what comes before the first chunk has come */
	bool broken;      /* there was no memory for what has come */
	uint64_t kernels; /* with modules that have come: bit N of those that are number N */
	uint64_t missed;  /* requests, since whoever reads had too many */
};

/* Before the start: a domain whose processes are to be read. Return: 0 or -ENOMEM. */
int xf_record_guest_processes_add(struct xf_record_guest_processes *processes,
                                  const struct xf_guest_layouts *layouts);

/* Begins, with the pipes of a struct xf_guest_reader, which stay the caller's. Return: 0 or
 * -ENOMEM.
 */
int xf_record_guest_processes_start(struct xf_record_guest_processes *processes, int requests,
                                    int answers);

/* A sample has come, at @now by a clock in ms that only goes forward. */
void xf_record_guest_processes_saw(struct xf_record_guest_processes *processes,
                                   const struct xf_sample *sample,
                                   const struct xf_sample_guest *guest, int64_t now);

/* There are no more samples: asks for the processes that have run since they were last read. */
void xf_record_guest_processes_ask_last(struct xf_record_guest_processes *processes);

/* Asks for the modules of @domid's kernel, @wanted but for its root. */
void xf_record_guest_processes_ask_modules(struct xf_record_guest_processes *processes,
                                           uint16_t domid, struct xf_guest_modules_wanted wanted);

/* Takes in what has come: to be called twenty times a second. Return: false where nothing more
 * will.
 */
bool xf_record_guest_processes_poll(struct xf_record_guest_processes *processes);

/* Writes what has come. Return: as xf_recording_write_guest_maps. */
int xf_record_guest_processes_write(struct xf_record_guest_processes *processes,
                                    struct xf_recording_writer *writer);

/* What has not been written is gone. */
void xf_record_guest_processes_free(struct xf_record_guest_processes *processes);

#endif
