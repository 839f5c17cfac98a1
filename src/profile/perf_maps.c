// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/perf_maps.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "profile/foreign.h"

/* Bits of a record's misc. */
#define MISC_DATA      (1u << 13) /* of a map: it is no code */
#define MISC_FORK_EXEC (1u << 13) /* of a fork that perf made up: nothing is inherited */
#define MISC_BUILD_ID  (1u << 14) /* of a map: it has its file's build-id */

/* More than Linux lets a process have by default (vm.max_map_count): only what is made up has
 * more. */
#define MAPS_MAX 65536u

#define KERNEL_PID UINT32_MAX

/* The thread @tid, made if need be. Return: NULL without memory. */
static struct xf_perf_thread *take_thread(struct xf_perf_maps *maps, uint32_t tid)
{
	uint64_t hash = xf_hash_mix(0, tid);
	struct xf_index_probe probe = xf_index_probe(&maps->thread_index, hash);

	while (xf_index_next(&maps->thread_index, &probe)) {
		if (maps->threads[probe.id].tid == tid)
			return &maps->threads[probe.id];
	}
	if (!xf_make_room(&maps->threads, maps->nr_threads, &maps->allocated_threads,
	                  sizeof(*maps->threads)) ||
	    xf_index_add(&maps->thread_index, hash, (uint32_t)maps->nr_threads))
		return NULL;
	maps->threads[maps->nr_threads] = (struct xf_perf_thread){.tid = tid};
	return &maps->threads[maps->nr_threads++];
}

/* The same of a process. */
static struct xf_perf_process *take_process(struct xf_perf_maps *maps, uint32_t pid)
{
	uint64_t hash = xf_hash_mix(0, pid);
	struct xf_index_probe probe = xf_index_probe(&maps->process_index, hash);

	while (xf_index_next(&maps->process_index, &probe)) {
		if (maps->processes[probe.id].pid == pid)
			return &maps->processes[probe.id];
	}
	if (!xf_make_room(&maps->processes, maps->nr_processes, &maps->allocated_processes,
	                  sizeof(*maps->processes)) ||
	    xf_index_add(&maps->process_index, hash, (uint32_t)maps->nr_processes))
		return NULL;
	maps->processes[maps->nr_processes] = (struct xf_perf_process){.pid = pid};
	return &maps->processes[maps->nr_processes++];
}

/* ---- Build-ids ------------------------------------------------------------------------------- */

static uint64_t hash_text(const char *text, size_t size)
{
	uint64_t hash = 0;

	for (size_t i = 0; i < size; i++)
		hash = xf_hash_mix(hash, (uint8_t)text[i]);
	return hash;
}

static int index_build_ids(struct xf_perf_maps *maps)
{
	for (size_t i = 0; i < maps->file->nr_build_ids; i++) {
		const char *path = maps->file->build_ids[i].path;

		if (xf_index_add(&maps->build_id_index, hash_text(path, strlen(path)), (uint32_t)i))
			return -ENOMEM;
	}
	return 0;
}

/* The kernel's map has the name of a symbol behind its own: "[kernel.kallsyms]_text". */
static size_t size_of_name(const char *path)
{
	const char *end = path[0] == '[' ? strchr(path, ']') : NULL;

	return end ? (size_t)(end - path) + 1 : strlen(path);
}

static void find_build_id(const struct xf_perf_maps *maps, struct xf_perf_map *map)
{
	size_t size = size_of_name(map->path);
	struct xf_index_probe probe =
	        xf_index_probe(&maps->build_id_index, hash_text(map->path, size));

	while (xf_index_next(&maps->build_id_index, &probe)) {
		const struct xf_perf_build_id *build_id = &maps->file->build_ids[probe.id];

		if (strncmp(build_id->path, map->path, size) != 0 || build_id->path[size])
			continue;
		map->build_id = build_id->bytes;
		map->build_id_size = build_id->size;
		return;
	}
}

/* ---- Records --------------------------------------------------------------------------------- */

/* Behind the path of an older kind of map stands nothing; of a newer one its file's numbers, or its
 * build-id, and how it is mapped. */
static void read_file(const struct xf_perf_record *record, struct xf_cursor *cursor,
                      struct xf_perf_map *map)
{
	const uint8_t *identity;

	if (record->type != XF_PERF_MMAP2)
		return;
	identity = xf_cursor_take(cursor, 24);
	xf_cursor_take(cursor, 8);
	if (cursor->failed || !(record->misc & MISC_BUILD_ID) || identity[0] > 20)
		return;
	map->build_id_size = identity[0];
	map->build_id = identity + 4;
}

static int take_map(struct xf_perf_maps *maps, const struct xf_perf_record *record)
{
	struct xf_cursor cursor = xf_cursor_over(record->bytes, record->size);
	uint32_t pid = xf_cursor_u32(&cursor);
	struct xf_perf_process *process = NULL;
	struct xf_perf_map map = {0};
	uint32_t *newest = &maps->kernel;
	uint64_t size;

	xf_cursor_u32(&cursor);
	map.start = xf_cursor_u64(&cursor);
	size = xf_cursor_u64(&cursor);
	map.offset = xf_cursor_u64(&cursor);
	read_file(record, &cursor, &map);
	map.path = xf_cursor_string(&cursor);
	if (cursor.failed)
		return -EBADMSG;
	if (record->misc & MISC_DATA)
		return 0;
	map.end = size < UINT64_MAX - map.start ? map.start + size : UINT64_MAX;
	if (!map.build_id_size)
		find_build_id(maps, &map);
	if (pid != KERNEL_PID) {
		process = take_process(maps, pid);
		newest = process ? &process->newest : NULL;
	}
	if (!newest ||
	    !xf_make_room(&maps->maps, maps->nr_maps, &maps->allocated_maps, sizeof(*maps->maps)))
		return -ENOMEM;
	map.older = *newest;
	maps->maps[maps->nr_maps++] = map;
	*newest = (uint32_t)maps->nr_maps;
	return 0;
}

static int take_command(struct xf_perf_maps *maps, const struct xf_perf_record *record)
{
	struct xf_cursor cursor = xf_cursor_over(record->bytes, record->size);
	struct xf_perf_thread *thread;
	const char *command;
	uint32_t tid;

	xf_cursor_u32(&cursor);
	tid = xf_cursor_u32(&cursor);
	command = xf_cursor_string(&cursor);
	if (cursor.failed)
		return -EBADMSG;
	thread = take_thread(maps, tid);
	if (!thread)
		return -ENOMEM;
	thread->command = command;
	return 0;
}

static int take_fork(struct xf_perf_maps *maps, const struct xf_perf_record *record)
{
	struct xf_cursor cursor = xf_cursor_over(record->bytes, record->size);
	uint32_t pid = xf_cursor_u32(&cursor);
	uint32_t parent_pid = xf_cursor_u32(&cursor);
	uint32_t tid = xf_cursor_u32(&cursor);
	const char *command = xf_perf_command(maps, xf_cursor_u32(&cursor));
	struct xf_perf_process *process;
	struct xf_perf_thread *thread;
	uint32_t newest = 0;

	if (cursor.failed)
		return -EBADMSG;
	thread = take_thread(maps, tid);
	if (!thread)
		return -ENOMEM;
	thread->command = command;
	if (pid == parent_pid)
		return 0;
	process = take_process(maps, parent_pid);
	if (process && !(record->misc & MISC_FORK_EXEC))
		newest = process->newest;
	process = process ? take_process(maps, pid) : NULL;
	if (!process)
		return -ENOMEM;
	process->newest = newest;
	return 0;
}

int xf_perf_maps_take(struct xf_perf_maps *maps, const struct xf_perf_record *record)
{
	switch (record->type) {
	case XF_PERF_MMAP:
	case XF_PERF_MMAP2:
		return take_map(maps, record);
	case XF_PERF_COMM:
		return take_command(maps, record);
	case XF_PERF_FORK:
		return take_fork(maps, record);
	default:
		return 0; /* symbols are known from the start */
	}
}

const char *xf_perf_command(const struct xf_perf_maps *maps, uint32_t tid)
{
	struct xf_index_probe probe = xf_index_probe(&maps->thread_index, xf_hash_mix(0, tid));

	while (xf_index_next(&maps->thread_index, &probe)) {
		if (maps->threads[probe.id].tid == tid)
			return maps->threads[probe.id].command;
	}
	return NULL;
}

/* ---- Names ----------------------------------------------------------------------------------- */

static uint32_t newest_of(const struct xf_perf_maps *maps, uint32_t pid, enum xf_perf_mode mode)
{
	struct xf_index_probe probe = xf_index_probe(&maps->process_index, xf_hash_mix(0, pid));

	if (mode != XF_PERF_USER)
		return maps->kernel;
	while (xf_index_next(&maps->process_index, &probe)) {
		if (maps->processes[probe.id].pid == pid)
			return maps->processes[probe.id].newest;
	}
	return 0;
}

static const struct xf_perf_map *map_at(const struct xf_perf_maps *maps, uint32_t newest,
                                        uint64_t address)
{
	for (uint32_t steps = 0; newest && steps < MAPS_MAX; steps++) {
		const struct xf_perf_map *map = &maps->maps[newest - 1];

		if (address >= map->start && address < map->end)
			return map;
		newest = map->older;
	}
	return NULL;
}

/* "FILE+0xOFFSET", or "[kernel]+0xOFFSET". Return: NULL without memory. */
static char *name_place(const struct xf_perf_place *place)
{
	const char *slash = strrchr(place->path, '/');
	const char *name = slash && slash[1] ? slash + 1 : place->path;
	char *text;
	int size;

	if (place->kernel && strncmp(place->path, "[kernel.kallsyms]", 17) == 0)
		name = "[kernel]";
	else if (strcmp(place->path, "//anon") == 0)
		name = "[anon]";
	size = asprintf(&text, "%.200s+0x%" PRIx64, name, place->offset);
	return size < 0 ? NULL : text;
}

static char *name_map(const struct xf_perf_maps *maps, const struct xf_perf_map *map,
                      struct xf_perf_frame *frame)
{
	struct xf_perf_place place = {.kernel = frame->mode == XF_PERF_KERNEL,
	                              .path = map->path,
	                              .build_id = map->build_id,
	                              .build_id_size = map->build_id_size,
	                              .offset = frame->address - map->start};
	const char *found;

	if (!place.kernel)
		place.offset += map->offset;
	found = maps->names->find(maps->names->context, &place);
	if (!found) {
		frame->kind = XF_FRAME_UNKNOWN;
		return name_place(&place);
	}
	frame->kind = XF_FRAME_FUNCTION;
	return strdup(found);
}

/* Return: the name of what is at @frame's address, NULL without memory. */
static char *name_frame(const struct xf_perf_maps *maps, struct xf_perf_frame *frame)
{
	const struct xf_symbol *symbol = NULL;
	const struct xf_perf_map *map;
	const char *name = "[unknown]";

	if (frame->mode == XF_PERF_KERNEL)
		symbol = xf_symbols_find(maps->symbols, frame->address);
	map = symbol ? NULL : map_at(maps, frame->newest, frame->address);
	if (map && (frame->mode == XF_PERF_KERNEL || frame->mode == XF_PERF_USER))
		return name_map(maps, map, frame);
	if (symbol)
		name = symbol->name;
	else if (frame->mode == XF_PERF_GUEST_KERNEL)
		name = "[guest kernel]";
	else if (frame->mode == XF_PERF_GUEST_USER)
		name = "[guest user]";
	frame->kind = xf_foreign_kind(name);
	return strdup(name);
}

static bool is_frame(const struct xf_perf_frame *frame, const struct xf_perf_frame *wanted)
{
	return frame->address == wanted->address && frame->newest == wanted->newest &&
	       frame->mode == wanted->mode;
}

const struct xf_perf_frame *xf_perf_find(struct xf_perf_maps *maps, uint32_t pid,
                                         enum xf_perf_mode mode, uint64_t address)
{
	struct xf_perf_frame frame = {
	        .address = address, .newest = newest_of(maps, pid, mode), .mode = mode};
	uint64_t hash = xf_hash_mix(xf_hash_mix(frame.newest, address), mode);
	struct xf_index_probe probe = xf_index_probe(&maps->frame_index, hash);

	while (xf_index_next(&maps->frame_index, &probe)) {
		if (is_frame(&maps->frames[probe.id], &frame))
			return &maps->frames[probe.id];
	}
	if (!xf_make_room(&maps->frames, maps->nr_frames, &maps->allocated_frames,
	                  sizeof(*maps->frames)))
		return NULL;
	frame.name = name_frame(maps, &frame);
	if (!frame.name)
		return NULL;
	maps->frames[maps->nr_frames] = frame;
	if (xf_index_add(&maps->frame_index, hash, (uint32_t)maps->nr_frames++))
		return NULL;
	return &maps->frames[maps->nr_frames - 1];
}

/* ---- The whole ------------------------------------------------------------------------------- */

/* { address u64; size u32; type u16; flags u16; name }. One that goes again is known all the same:
 * its address stays its own. */
static int take_symbol(struct xf_perf_maps *maps, const struct xf_perf_record *record)
{
	struct xf_cursor cursor = xf_cursor_over(record->bytes, record->size);
	uint64_t address = xf_cursor_u64(&cursor);
	uint32_t size = xf_cursor_u32(&cursor);
	const char *name;

	xf_cursor_u32(&cursor);
	name = xf_cursor_string(&cursor);
	if (cursor.failed || !size)
		return 0;
	return xf_symbols_add(maps->symbols, address, size, 't', name);
}

int xf_perf_maps_open(struct xf_perf_maps *maps)
{
	int code = 0;

	maps->symbols = xf_symbols_new();
	if (!maps->symbols || index_build_ids(maps))
		return -ENOMEM;
	for (size_t i = 0; !code && i < maps->file->nr_records; i++) {
		if (maps->file->records[i].type == XF_PERF_KSYMBOL)
			code = take_symbol(maps, &maps->file->records[i]);
	}
	xf_symbols_finish(maps->symbols);
	return code;
}

void xf_perf_maps_close(struct xf_perf_maps *maps)
{
	for (size_t i = 0; i < maps->nr_frames; i++)
		free(maps->frames[i].name);
	free(maps->frames);
	free(maps->maps);
	free(maps->threads);
	free(maps->processes);
	xf_index_free(&maps->frame_index);
	xf_index_free(&maps->thread_index);
	xf_index_free(&maps->process_index);
	xf_index_free(&maps->build_id_index);
	xf_symbols_free(maps->symbols);
}
