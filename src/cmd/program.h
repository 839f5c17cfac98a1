// SPDX-License-Identifier: GPL-2.0-or-later
/* The command that a recording lasts as long as. */
#ifndef XF_CMD_PROGRAM_H
#define XF_CMD_PROGRAM_H

#include "base/error.h"

/*
 * Looks for what execvp would run as @name, given @path, the value of PATH (NULL: it is not set).
 * Return: 0; otherwise -ENOENT or -EACCES, and @error.
 */
int xf_program_find(const char *name, const char *path, struct xf_error *error);

#endif
