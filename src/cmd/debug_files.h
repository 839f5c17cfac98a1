// SPDX-License-Identifier: GPL-2.0-or-later
/* Xen's debug info: the file that is named, or that of the recording's build-id, where Debian and
 * others put it, or from a debuginfod server. */
#ifndef XF_CMD_DEBUG_FILES_H
#define XF_CMD_DEBUG_FILES_H

#include "cmd/options.h"
#include "symbol/debug.h"

struct xf_debug_file {
	struct xf_input input;
	struct xf_debug *debug; /* NULL: there is none */
};

/* Opens the debug info in the file at @path. Return: XF_EXIT_OK; otherwise the exit status, and it
 * has been told. Close in either case. */
int xf_debug_file_open(const char *path, const struct xf_input *recording,
                       struct xf_debug_file *file);

/* Looks for that of @recording; servers are asked only if $DEBUGINFOD_URLS names some and @ask is
 * set. That there is none is no failure, and not told. */
void xf_debug_file_find(const struct xf_input *recording, bool ask, struct xf_debug_file *file);

void xf_debug_file_close(struct xf_debug_file *file);

/* Tells that there is none of @recording, and what to do. Return: XF_EXIT_INPUT. */
int xf_debug_file_refuse(const struct xf_input *recording);

#endif
