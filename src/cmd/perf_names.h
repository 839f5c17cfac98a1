// SPDX-License-Identifier: GPL-2.0-or-later
/* Names for the addresses in a perf.data, from files of this machine that have the build-ids which
 * it tells: programs and libraries, those for debuggers, and the kernel that runs. */
#ifndef XF_CMD_PERF_NAMES_H
#define XF_CMD_PERF_NAMES_H

#include "profile/perf_input.h"

struct xf_known_files;

/* Return: what finds @names, NULL without memory. Free with xf_known_files_free. */
struct xf_known_files *xf_known_files_new(struct xf_perf_names *names);
void xf_known_files_free(struct xf_known_files *files);

#endif
