// SPDX-License-Identifier: GPL-2.0-or-later
/* The processes that there are, from /proc: what perf events do not tell since it came before them.
 */
#ifndef XF_XEN_PROCFS_H
#define XF_XEN_PROCFS_H

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>

#include "xen/gathered.h"

/* A look at all of them, which may be spread over a time. */
struct xf_procfs {
	DIR *processes; /* NULL: none is under way */
	bool names;     /* alone are wanted, not what is mapped */
	uint64_t (*now)(void);
};

/* Begins to look, from the start if need be. Return: 0 or a negative errno value. */
int xf_procfs_begin(struct xf_procfs *procfs);

/* Looks at processes until there are no more or the clock shows @deadline. Return: whether all have
 * been looked at. */
bool xf_procfs_go_on(struct xf_procfs *procfs, uint64_t deadline, struct xf_gathered *gathered);

void xf_procfs_close(struct xf_procfs *procfs);

#endif
