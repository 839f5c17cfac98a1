// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/process_writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "recordings are little-endian; records are copied as they lie in memory"
#endif

int xf_recording_write_clock(struct xf_recording_writer *writer, const struct xf_clock_pair *pairs,
                             size_t nr)
{
	return nr ? xf_recording_write_bytes(writer, XF_CHUNK_CLOCK, pairs, nr * sizeof(*pairs))
	          : 0;
}

int xf_recording_write_processes(struct xf_recording_writer *writer, const void *records,
                                 size_t size)
{
	return size ? xf_recording_write_bytes(writer, XF_CHUNK_PROCESSES, records, size) : 0;
}

int xf_recording_write_switches(struct xf_recording_writer *writer, uint32_t cpu,
                                const struct xf_switch *switches, size_t nr)
{
	uint8_t head[8] = {0};
	uint8_t *content;
	int code;

	if (!nr)
		return 0;
	content = malloc(sizeof(head) + nr * sizeof(*switches));
	if (!content)
		return -ENOMEM;
	memcpy(head, &cpu, sizeof(cpu));
	memcpy(content, head, sizeof(head));
	memcpy(content + sizeof(head), switches, nr * sizeof(*switches));
	code = xf_recording_write_bytes(writer, XF_CHUNK_SWITCHES, content,
	                                sizeof(head) + nr * sizeof(*switches));
	free(content);
	return code;
}
