// SPDX-License-Identifier: GPL-2.0-or-later
/* At the end of a recording: what is needed to read the stacks of processes elsewhere. */
#ifndef XF_CMD_RECORD_USER_CODE_H
#define XF_CMD_RECORD_USER_CODE_H

#include "cmd/record_file.h"
#include "cmd/record_guest_roots.h"

/*
 * Looks up the code that the samples in @file show, in the files that processes had mapped, those
 * of other domains as @roots say, and adds names and frames to the recording. One that goes to a
 * pipe cannot be looked into, and is without. *@why_not tells why they are missing otherwise, or
 * may not be all; NULL: they are there. Return: 0, or what writing has failed with.
 */
int xf_record_user_code(struct xf_record_file *file, const struct xf_guest_roots *roots,
                        const char **why_not);

#endif
