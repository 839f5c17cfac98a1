// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd/helper_output.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static int write_all(void *context, const void *bytes, size_t size)
{
	const int *fd = context;
	const uint8_t *next = bytes;

	while (size > 0) {
		ssize_t written = write(*fd, next, size);

		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return -errno;
		next += written;
		size -= (size_t)written;
	}
	return 0;
}

struct xf_recording_sink xf_sink_to(const int *fd)
{
	return (struct xf_recording_sink){.write = write_all, .context = (void *)fd};
}

size_t xf_whole_chunk(const uint8_t *bytes, size_t size, struct xf_chunk_head *head)
{
	if (size < sizeof(*head))
		return 0;
	memcpy(head, bytes, sizeof(*head));
	return head->size <= size - sizeof(*head) ? sizeof(*head) + (size_t)head->size : 0;
}
