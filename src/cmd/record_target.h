// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where `record` writes to. A recording that is still to begin stands under a temporary name beside
 * its own, so that a start that fails leaves everything as it was; devices, pipes and standard
 * output are written in place.
 */
#ifndef XF_CMD_RECORD_TARGET_H
#define XF_CMD_RECORD_TARGET_H

#include <stdbool.h>

#include "base/error.h"

struct xf_record_target {
	const char *path; /* as messages tell it */
	int fd;           /* -1: not open */
	char *temporary; /* where the file stands until it is settled; NULL: in place, or settled */
	bool readable;   /* what has been written can be read at @path */
};

/* Return: 0, or a negative errno value and @error. Close with xf_record_target_close in either
 * case. */
int xf_record_target_open(const char *path, struct xf_record_target *target,
                          struct xf_error *error);

/*
 * Gives the file its name; one that has it already becomes PATH.old, as perf does. Return: 0, or a
 * negative errno value and @error, with all as it was.
 */
int xf_record_target_settle(struct xf_record_target *target, struct xf_error *error);

/* A file that was not settled is gone. */
void xf_record_target_close(struct xf_record_target *target);

#endif
