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

/* Lays one place, of @size bytes with its name, at @to. */
static void lay_place(const struct xf_user_place *place, uint8_t *to, size_t size)
{
	const struct xf_user_code code = {.offset = place->offset,
	                                  .start = place->start,
	                                  .kind = place->row.kind,
	                                  .reason = place->row.reason,
	                                  .base_rule = place->row.base_rule,
	                                  .base_register = place->row.base_register,
	                                  .rbp_rule = place->row.rbp_rule,
	                                  .base_offset = place->row.base_offset,
	                                  .base_addend = place->row.base_addend,
	                                  .rbp_offset = place->row.rbp_offset};

	memcpy(to, &code, XF_USER_CODE_BYTES);
	memcpy(to + XF_USER_CODE_BYTES, place->name, size - XF_USER_CODE_BYTES);
}

int xf_recording_write_user_code(struct xf_recording_writer *writer, uint32_t file, uint32_t pid,
                                 const struct xf_user_place *places, size_t nr)
{
	const uint32_t head[2] = {file, pid};
	size_t size = sizeof(head);
	uint8_t *content;
	int code;

	for (size_t i = 0; i < nr; i++)
		size += XF_USER_CODE_BYTES + strlen(places[i].name) + 1;
	content = malloc(size);
	if (!content)
		return -ENOMEM;
	memcpy(content, head, sizeof(head));
	size = sizeof(head);
	for (size_t i = 0; i < nr; i++) {
		size_t bytes = XF_USER_CODE_BYTES + strlen(places[i].name) + 1;

		lay_place(&places[i], content + size, bytes);
		size += bytes;
	}
	code = nr ? xf_recording_write_bytes(writer, XF_CHUNK_USER_CODE, content, size) : 0;
	free(content);
	return code;
}
