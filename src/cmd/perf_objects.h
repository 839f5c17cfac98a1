// SPDX-License-Identifier: GPL-2.0-or-later
/* A directory that perf takes for its cache of files by build-id, `perf --buildid-dir DIR`. */
#ifndef XF_CMD_PERF_OBJECTS_H
#define XF_CMD_PERF_OBJECTS_H

#include "output/perf_images.h"

/* Writes an object of each of @images to @directory, made if need be; others in it stay. Return: an
 * exit status; what went wrong has been told. */
int xf_perf_objects_write(const char *directory, const struct xf_perf_images *images);

#endif
