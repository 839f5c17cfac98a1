// SPDX-License-Identifier: GPL-2.0-or-later
/* The file that `record` writes, and what it holds of the host. */
#ifndef XF_CMD_RECORD_FILE_H
#define XF_CMD_RECORD_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "profile/recording.h"
#include "xen/domains.h"
#include "xen/host.h"
#include "xen/session.h"

struct xf_record_file {
	const char *path;
	int fd;
	bool kept_old; /* what was at the path before is at PATH.old now */
	struct xf_recording_writer *writer;
	struct xf_domain *domains; /* as last written */
	size_t nr_domains;
};

/*
 * Creates the file; one that is there already is kept as PATH.old, as perf does. Return: 0, or a
 * negative errno value and @error. Close with xf_record_file_close in either case.
 */
int xf_record_file_open(const char *path, struct xf_record_file *file, struct xf_error *error);
void xf_record_file_close(struct xf_record_file *file);

/* Takes the file away again, and puts back what was there before. */
void xf_record_file_withdraw(struct xf_record_file *file);

/* All that is needed to read the samples elsewhere: versions, clock, symbols, Xen's code. */
int xf_record_file_write_host(struct xf_record_file *file, const struct xf_host *host,
                              unsigned int frequency, struct xf_error *error);

/* The agent's own code, once it is known where it was loaded. */
int xf_record_file_write_agent(struct xf_record_file *file, const struct xf_host *host,
                               const struct xf_session *session, struct xf_error *error);

/* Domains that are new or have another name since the last call. */
int xf_record_file_write_domains(struct xf_record_file *file, struct xf_error *error);

/* The books of all pCPUs; @end says that they are the last and the recording is whole. */
int xf_record_file_write_books(struct xf_record_file *file, const struct xf_session *session,
                               bool end, struct xf_error *error);

#endif
