// SPDX-License-Identifier: GPL-2.0-or-later
/* The file that `record` writes, and what it holds of the host. */
#ifndef XF_CMD_RECORD_FILE_H
#define XF_CMD_RECORD_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "cmd/record_target.h"
#include "profile/recording.h"
#include "xen/domains.h"
#include "xen/host.h"
#include "xen/kernel.h"
#include "xen/session.h"

/* By which the parts of dom0's kernel in the recording know each other; others come behind it. */
#define XF_DOM0_KERNEL 0u

struct xf_record_file {
	struct xf_record_target target;
	struct xf_recording_writer *writer;
	struct xf_domain *domains; /* as last written */
	size_t nr_domains;
};

/*
 * Begins to write, see xf_record_target_open. Return: 0, or a negative errno value and @error.
 * Close with xf_record_file_close in either case.
 */
int xf_record_file_open(const char *path, struct xf_record_file *file, struct xf_error *error);
void xf_record_file_close(struct xf_record_file *file);

/* Fills @error for a write that failed with @code. Return: @code. */
int xf_record_file_failed(const struct xf_record_file *file, int code, struct xf_error *error);

/* All that is needed to read the samples elsewhere: versions, clock, symbols, Xen's code. */
int xf_record_file_write_host(struct xf_record_file *file, const struct xf_host *host,
                              unsigned int frequency, struct xf_error *error);

/* Whose stacks are read. */
int xf_record_file_write_guests(struct xf_record_file *file, const struct xf_agent_config *config,
                                struct xf_error *error);

/* Of which domains the agent tells which task runs. */
int xf_record_file_write_tasks(struct xf_record_file *file, const struct xf_agent_config *config,
                               struct xf_error *error);

/* Dom0's kernel, which runs until further notice. */
int xf_record_file_write_kernel(struct xf_record_file *file, const struct xf_kernel *kernel,
                                struct xf_error *error);

/* The agent's own code, once it is known where it was loaded, and since when it samples. */
int xf_record_file_write_agent(struct xf_record_file *file, const struct xf_host *host,
                               const struct xf_session *session, uint64_t start_tsc,
                               struct xf_error *error);

/* Domains that are new or have another name since the last call. */
int xf_record_file_write_domains(struct xf_record_file *file, struct xf_error *error);

/* Until when the agent has sampled. Buffered; a failure shows in what is written next. */
void xf_record_file_note_end(struct xf_record_file *file, uint64_t end_tsc);

/* The books of all pCPUs. */
int xf_record_file_write_books(struct xf_record_file *file, const struct xf_session *session,
                               struct xf_error *error);

/* The recording is whole. */
int xf_record_file_write_end(struct xf_record_file *file, struct xf_error *error);

#endif
