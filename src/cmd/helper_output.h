// SPDX-License-Identifier: GPL-2.0-or-later
/* What a process that helps the recorder hands it: a recording of its own, by a file or a pipe,
 * whose chunks go into the recorder's. */
#ifndef XF_CMD_HELPER_OUTPUT_H
#define XF_CMD_HELPER_OUTPUT_H

#include <stddef.h>
#include <stdint.h>

#include "profile/format.h"
#include "profile/recording.h"

/* Where a recording's first chunk begins. */
#define XF_FIRST_CHUNK 16u

/* Return: what writes to *@fd, which outlives it, as often as it takes. */
struct xf_recording_sink xf_sink_to(const int *fd);

/* Return: the size of the chunk at the beginning of @bytes, its head, in *@head, included; 0 where
 * it is not whole. */
size_t xf_whole_chunk(const uint8_t *bytes, size_t size, struct xf_chunk_head *head);

#endif
