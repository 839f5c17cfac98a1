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

/* Writes a chunk of the two parts, of which the second may be empty. */
static int write_parts(struct xf_recording_writer *writer, enum xf_chunk_type type,
                       const void *head, size_t head_size, const void *rest, size_t rest_size)
{
	uint8_t *content = malloc(head_size + rest_size);
	int code;

	if (!content)
		return -ENOMEM;
	memcpy(content, head, head_size);
	if (rest_size)
		memcpy(content + head_size, rest, rest_size);
	code = xf_recording_write_bytes(writer, type, content, head_size + rest_size);
	free(content);
	return code;
}

int xf_recording_write_process_file(struct xf_recording_writer *writer, uint32_t number,
                                    const char *path, const uint8_t *build_id, size_t build_id_size)
{
	size_t path_size = strlen(path) + 1, size = path_size + build_id_size;
	const struct xf_process_head head = {
	        .type = XF_PROCESS_FILE, .size = (uint16_t)size, .other = number};
	uint8_t *rest;
	int code;

	if (size > UINT16_MAX)
		return -EINVAL;
	rest = malloc(size);
	if (!rest)
		return -ENOMEM;
	memcpy(rest, path, path_size);
	if (build_id_size)
		memcpy(rest + path_size, build_id, build_id_size);
	code = write_parts(writer, XF_CHUNK_PROCESSES, &head, sizeof(head), rest, size);
	free(rest);
	return code;
}

int xf_recording_write_guest_maps(struct xf_recording_writer *writer,
                                  const struct xf_guest_maps_head *head,
                                  const struct xf_guest_map *maps, size_t nr)
{
	return write_parts(writer, XF_CHUNK_GUEST_MAPS, head, sizeof(*head), maps,
	                   nr * sizeof(*maps));
}

int xf_recording_write_switches(struct xf_recording_writer *writer, uint32_t cpu,
                                const struct xf_switch *switches, size_t nr)
{
	const uint32_t head[2] = {cpu, 0};

	return nr ? write_parts(writer, XF_CHUNK_SWITCHES, head, sizeof(head), switches,
	                        nr * sizeof(*switches))
	          : 0;
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
