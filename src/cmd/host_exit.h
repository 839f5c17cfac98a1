// SPDX-License-Identifier: GPL-2.0-or-later
/* Shared by the subcommands that touch the host. */
#ifndef XF_CMD_HOST_EXIT_H
#define XF_CMD_HOST_EXIT_H

#include "base/error.h"
#include "cmd/commands.h"

/* Return: the exit status for a failure that src/xen returned as @error. */
enum xf_exit xf_host_exit(const struct xf_error *error);

#endif
