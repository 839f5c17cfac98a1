// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd/record_user_code.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/helper_output.h"
#include "cmd/recorder.h"
#include "profile/process_writer.h"
#include "profile/user_hits.h"
#include "xen/perf_map.h"
#include "xen/user_file.h"

/* More than this is not worth waiting for. */
#define PATIENCE_MS 20000

#define TRIES_MAX 32u

/* ---- In a process of its own: files are as somebody else made them --------------------------- */

/* What is gone by; all of it outlives the work. */
struct sources {
	const struct xf_process_events *events;
	const struct xf_guest_roots *roots;
};

/* Opens the file that @hit is in. Return: NULL where it is not to be had. */
static struct xf_user_file *open_file(const struct sources *sources, const struct xf_user_hit *hit)
{
	const struct xf_process_file *file = xf_process_events_file(sources->events, hit->file);
	struct xf_user_file_wanted wanted = {
	        .in_guest = hit->domid != XF_DOMID_CONTROL,
	        .root = xf_guest_roots_find(sources->roots, hit->domid),
	        .pid = hit->mapped_in,
	        .map_address = hit->map_address,
	        .map_size = hit->map_size};

	if (!file)
		return NULL;
	wanted.path = file->path;
	wanted.build_id = file->build_id;
	wanted.build_id_size = file->build_id_size;
	return xf_user_file_open(&wanted);
}

/* Return: whether looking for the file would be the same for @hit as for the one before it. */
static bool is_same_try(const struct sources *sources, const struct xf_user_hit *hit)
{
	const struct xf_user_hit *before = hit - 1;

	if (hit->domid == XF_DOMID_CONTROL || before->domid == XF_DOMID_CONTROL)
		return hit->domid == before->domid && hit->mapped_in == before->mapped_in;
	return xf_guest_roots_find(sources->roots, hit->domid) ==
	       xf_guest_roots_find(sources->roots, before->domid);
}

/* Several processes may have had the file mapped, of which some may be gone; or several domains, of
 * which dom0 has not everyone's files. */
static struct xf_user_file *open_any(const struct sources *sources, const struct xf_user_hit *hits,
                                     size_t nr)
{
	struct xf_user_file *file = NULL;
	unsigned int tries = 0;

	for (size_t i = 0; !file && i < nr && tries < TRIES_MAX; i++) {
		if (i && is_same_try(sources, &hits[i]))
			continue;
		file = open_file(sources, &hits[i]);
		tries++;
	}
	return file;
}

/* Writes what is known of @nr hits in one file. Return: 0 or a negative errno value. */
static int write_places(struct xf_recording_writer *writer, const struct xf_user_file *file,
                        const struct xf_user_hit *hits, size_t nr)
{
	struct xf_user_place *places = calloc(nr, sizeof(*places));
	size_t looked_up = 0;
	int code;

	if (!places)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++) {
		struct xf_user_file_place found;

		if (looked_up && places[looked_up - 1].offset == hits[i].offset)
			continue;
		xf_user_file_find(file, hits[i].offset, &found);
		places[looked_up++] = (struct xf_user_place){.offset = hits[i].offset,
		                                             .start = found.start,
		                                             .row = found.row,
		                                             .name = found.name};
	}
	code = xf_recording_write_user_code(writer, hits->file, hits->pid, places, looked_up);
	free(places);
	return code;
}

/* What becomes of a process in the recording. */
struct fate {
	bool ended;
	unsigned int born; /* so many times: its number may have been another's */
};

static struct fate fate_of(const struct xf_process_events *events, uint32_t pid)
{
	struct fate fate = {0};

	for (size_t i = 0; i < events->nr; i++) {
		const struct xf_process_event *event = &events->events[i];

		if (event->pid != pid || event->tid != pid)
			continue;
		fate.ended = fate.ended || event->type == XF_PROCESS_EXIT;
		fate.born += event->type == XF_PROCESS_FORK;
	}
	return fate;
}

/* @hits are in the memory of one process. */
static int look_up_map(struct xf_recording_writer *writer, const struct xf_process_events *events,
                       const struct xf_user_hit *hits, size_t nr)
{
	struct fate fate = fate_of(events, hits->pid);
	struct xf_symbols *symbols = fate.born < 2 ? xf_perf_map_read(hits->pid, fate.ended) : NULL;
	struct xf_user_place *places = symbols ? calloc(nr, sizeof(*places)) : NULL;
	size_t named = 0;
	int code = 0;

	for (size_t i = 0; places && i < nr; i++) {
		const struct xf_symbol *symbol = xf_symbols_find(symbols, hits[i].offset);

		if (symbol)
			places[named++] = (struct xf_user_place){
			        .offset = hits[i].offset,
			        .start = symbol->address,
			        .row = {.kind = XF_ROW_UNDEFINED, .reason = XF_UNWIND_NO_ROW},
			        .name = symbol->name};
	}
	if (places)
		code = xf_recording_write_user_code(writer, XF_NO_FILE, hits->pid, places, named);
	free(places);
	xf_symbols_free(symbols);
	return code;
}

/* @hits are of one file, or in the memory of one process. */
static int look_up(struct xf_recording_writer *writer, const struct sources *sources,
                   const struct xf_user_hit *hits, size_t nr)
{
	struct xf_user_file *file;
	int code;

	if (hits->file == XF_NO_FILE)
		return look_up_map(writer, sources->events, hits, nr);
	file = open_any(sources, hits, nr);
	code = file ? write_places(writer, file, hits, nr) : 0;

	xf_user_file_close(file);
	return code;
}

static int look_up_all(struct xf_recording_writer *writer, const struct xf_recording *recording,
                       const struct xf_guest_roots *roots)
{
	const struct sources sources = {.events = xf_recording_processes(recording),
	                                .roots = roots};
	struct xf_processes *processes;
	struct xf_user_hit *hits;
	size_t nr = 0, next;
	int code = xf_processes_make(sources.events, xf_recording_tsc_hz(recording), &processes);

	if (code)
		return code;
	code = xf_user_hits_collect(recording, processes, &hits, &nr);
	for (size_t i = 0; !code && i < nr; i = next) {
		for (next = i;
		     next < nr && hits[next].file == hits[i].file && hits[next].pid == hits[i].pid;)
			next++;
		code = look_up(writer, &sources, &hits[i], next - i);
		if (!code)
			code = xf_recording_flush(writer);
	}
	if (nr)
		free(hits);
	xf_processes_free(processes);
	return code;
}

/* Reads the recording of @size bytes in @file, and writes one of what it needs beside to @output.
 */
static int work(int file, size_t size, const struct xf_guest_roots *roots, int output)
{
	void *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, file, 0);
	struct xf_recording_writer *writer;
	struct xf_recording *recording;

	xf_recorder_be_urgent(false);
	if (bytes == MAP_FAILED || xf_recording_open(bytes, size, &recording, NULL) != 0 ||
	    xf_recording_writer_new(xf_sink_to(&output), &writer, NULL) != 0)
		return 1;
	return look_up_all(writer, recording, roots) != 0;
}

/* ---- In the recorder ------------------------------------------------------------------------- */

/* Waits for the helper to end; after some time it has to. Return: why it may not have written all;
 * NULL: it has. */
static const char *wait_for(pid_t helper)
{
	int64_t end = xf_recorder_now_ms() + PATIENCE_MS;
	int status = 0;
	pid_t ended;

	do {
		ended = waitpid(helper, &status, WNOHANG);
		if (ended == 0)
			usleep(10000);
	} while (ended == 0 && xf_recorder_now_ms() < end);
	if (ended != 0)
		return status ? "a file has changed meanwhile, or memory ran out" : NULL;
	kill(helper, SIGKILL);
	waitpid(helper, NULL, 0);
	return "it took too long";
}

/* Adds the chunks that the helper has written whole. */
static int add_chunks(struct xf_recording_writer *writer, const uint8_t *bytes, size_t size)
{
	struct xf_chunk_head head;
	size_t at = XF_FIRST_CHUNK, whole;
	int code = 0;

	for (; !code && at < size; at += whole) {
		whole = xf_whole_chunk(bytes + at, size - at, &head);
		if (!whole || head.type != XF_CHUNK_USER_CODE)
			break;
		code = xf_recording_write_as_it_is(writer, &head, bytes + at + sizeof(head));
	}
	return code;
}

static int take_output(struct xf_recording_writer *writer, int output)
{
	struct stat status;
	void *bytes;
	int code;

	if (fstat(output, &status) != 0 || status.st_size <= 0)
		return 0;
	bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, output, 0);
	if (bytes == MAP_FAILED)
		return 0;
	code = add_chunks(writer, bytes, (size_t)status.st_size);
	munmap(bytes, (size_t)status.st_size);
	return code;
}

int xf_record_user_code(struct xf_record_file *file, const struct xf_guest_roots *roots,
                        const char **why_not)
{
	int code = xf_recording_flush(file->writer);
	struct stat status;
	pid_t helper;
	int output;

	*why_not = NULL;
	if (code || fstat(file->target.fd, &status) != 0 || !S_ISREG(status.st_mode) ||
	    status.st_size <= 0)
		return code;
	*why_not = "no memory or processes are left";
	output = memfd_create("xenflame-user-code", MFD_CLOEXEC);
	helper = output < 0 ? -1 : fork();
	if (helper == 0)
		_exit(work(file->target.fd, (size_t)status.st_size, roots, output));
	if (helper > 0) {
		*why_not = wait_for(helper);
		code = take_output(file->writer, output);
	}
	if (output >= 0)
		close(output);
	return code;
}
