// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd/record_guest_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buffer.h"
#include "cmd/helper_output.h"
#include "profile/process_writer.h"
#include "xen/foreign.h"
#include "xen/guest_modules.h"

/* A pipe's room, for answers that come while nobody looks. */
#define PIPE_BYTES (1 << 20)

/* ---- In the process of its own, which ends with its requests --------------------------------- */

struct reader {
	const struct xf_guest_layouts *domains;
	size_t nr_domains;
	int requests;
	int answers;
	struct xf_foreign *foreign;
	struct xf_guest_memory *memory;
	struct xf_recording_writer *writer;
	struct xf_guest_file *files; /* the first has the number XF_GUEST_FILES */
	size_t nr_files, allocated;
};

static const struct xf_guest_layouts *find_layouts(const struct reader *reader, uint16_t domid)
{
	for (size_t i = 0; i < reader->nr_domains; i++)
		if (reader->domains[i].domid == domid)
			return &reader->domains[i];
	return NULL;
}

static bool is_same(const struct xf_guest_file *one, const struct xf_guest_file *other)
{
	return one->build_id_size == other->build_id_size && strcmp(one->path, other->path) == 0 &&
	       memcmp(one->build_id, other->build_id, one->build_id_size) == 0;
}

/* Takes over the file's path where it is a new one. Return: 0 and its number; as the writer. */
static int number_file(struct reader *reader, struct xf_guest_file *file, uint32_t *number)
{
	*number = XF_NO_FILE;
	if (!file->path)
		return 0;
	for (size_t i = 0; i < reader->nr_files; i++)
		if (is_same(&reader->files[i], file)) {
			*number = XF_GUEST_FILES + (uint32_t)i;
			return 0;
		}
	if (reader->nr_files >= XF_GUEST_FILES)
		return 0;
	if (!xf_make_room(&reader->files, reader->nr_files, &reader->allocated,
	                  sizeof(*reader->files)))
		return -ENOMEM;
	*number = XF_GUEST_FILES + (uint32_t)reader->nr_files;
	reader->files[reader->nr_files++] = *file;
	file->path = NULL;
	file = &reader->files[reader->nr_files - 1];
	return xf_recording_write_process_file(reader->writer, *number, file->path, file->build_id,
	                                       file->build_id_size);
}

static int write_maps(struct reader *reader, const struct xf_guest_reader_request *request,
                      const struct xf_guest_process *process, const uint32_t *numbers)
{
	const struct xf_guest_maps_head head = {.domid = request->domid,
	                                        .pid = request->process.pid,
	                                        .root = request->process.root,
	                                        .tsc = __builtin_ia32_rdtsc()};
	size_t nr = process->nr_mappings;
	struct xf_guest_map *maps = calloc(nr + 1, sizeof(*maps));
	int code = maps ? 0 : -ENOMEM;

	for (size_t i = 0; !code && i < nr; i++) {
		const struct xf_guest_mapping *mapping = &process->mappings[i];

		maps[i] = (struct xf_guest_map){.address = mapping->address,
		                                .size = mapping->size,
		                                .offset = mapping->offset,
		                                .file = mapping->file == XF_NO_GUEST_FILE
		                                                ? XF_NO_FILE
		                                                : numbers[mapping->file]};
	}
	if (!code)
		code = xf_recording_write_guest_maps(reader->writer, &head, maps, nr);
	free(maps);
	return code ? code : xf_recording_flush(reader->writer);
}

static int write_process(struct reader *reader, const struct xf_guest_reader_request *request,
                         struct xf_guest_process *process)
{
	uint32_t *numbers = calloc(process->nr_files + 1, sizeof(*numbers));
	int code = numbers ? 0 : -ENOMEM;

	for (size_t i = 0; !code && i < process->nr_files; i++)
		code = number_file(reader, &process->files[i], &numbers[i]);
	if (!code)
		code = write_maps(reader, request, process, numbers);
	free(numbers);
	return code;
}

/* Return: 0, also where the process could not be read: it may have ended. */
static int read_process(struct reader *reader, const struct xf_guest_layouts *layouts,
                        struct xf_foreign_domain *domain,
                        const struct xf_guest_reader_request *request)
{
	struct xf_guest_process process = {0};
	int code;

	xf_guest_memory_begin(reader->memory, xf_foreign_copy, domain, XF_GUEST_PROCESS_FRAMES);
	if (xf_guest_process_read(reader->memory, &layouts->task, &layouts->memory,
	                          &request->process, &process))
		return 0;
	code = write_process(reader, request, &process);
	xf_guest_process_free(&process);
	return code;
}

static int write_modules(struct reader *reader, const struct xf_guest_modules_wanted *wanted,
                         const struct xf_guest_modules *modules)
{
	int code =
	        xf_recording_write_kernel_symbols(reader->writer, wanted->kernel, modules->symbols);

	for (size_t i = 0; !code && i < modules->nr_code; i++)
		code = xf_recording_write_kernel_code(reader->writer, wanted->kernel,
		                                      &modules->code[i]);
	/* Last: whoever has this has all of it. */
	return code ? code
	            : xf_recording_write_kernel_upon(reader->writer, wanted->kernel, wanted->image,
	                                             wanted->name);
}

/* Return: 0, also where they could not be read. */
static int read_modules(struct reader *reader, const struct xf_guest_layouts *layouts,
                        struct xf_foreign_domain *domain,
                        const struct xf_guest_modules_wanted *wanted)
{
	struct xf_guest_modules modules = {0};
	int code;

	xf_guest_memory_begin(reader->memory, xf_foreign_copy, domain, XF_GUEST_MODULES_FRAMES);
	if (!layouts->has_modules || xf_guest_modules_read(reader->memory, &layouts->modules,
	                                                   wanted->root, wanted->slide, &modules))
		return 0;
	code = write_modules(reader, wanted, &modules);
	xf_guest_modules_free(&modules);
	return code;
}

static int answer(struct reader *reader, const struct xf_guest_reader_request *request)
{
	struct xf_foreign_domain domain = {.foreign = reader->foreign, .domid = request->domid};
	const struct xf_guest_layouts *layouts = find_layouts(reader, request->domid);

	if (!layouts)
		return 0;
	return request->of_modules ? read_modules(reader, layouts, &domain, &request->modules)
	                           : read_process(reader, layouts, &domain, request);
}

/* Requests come whole: they are smaller than a pipe's atomic writes. */
static int serve(struct reader *reader)
{
	struct xf_guest_reader_request request;
	int code = xf_foreign_open(&reader->foreign, NULL);

	reader->memory = calloc(1, sizeof(*reader->memory));
	if (!reader->memory)
		code = -ENOMEM;
	if (!code)
		code = xf_recording_writer_new(xf_sink_to(&reader->answers), &reader->writer, NULL);
	while (!code && read(reader->requests, &request, sizeof(request)) == sizeof(request))
		code = answer(reader, &request);
	return code;
}

/* Its memory goes with it. */
static void become_reader(const struct xf_guest_layouts *domains, size_t nr, int requests,
                          int answers)
{
	struct reader reader = {
	        .domains = domains, .nr_domains = nr, .requests = requests, .answers = answers};

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* What asks the recorder for its end does not end us before it. */
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	_exit(serve(&reader) ? 1 : 0);
}

/* ---- In the recorder ------------------------------------------------------------------------- */

static void close_pipe(const int ends[2])
{
	close(ends[0]);
	close(ends[1]);
}

/* Takes over both pipes. Return: 0 or a negative errno value. */
static int fork_reader(struct xf_guest_reader *reader, const struct xf_guest_layouts *domains,
                       size_t nr, const int requests[2], const int answers[2])
{
	reader->process = fork();
	if (reader->process < 0) {
		int code = -errno;

		close_pipe(requests);
		close_pipe(answers);
		return code;
	}
	if (reader->process == 0) {
		close(requests[1]);
		close(answers[0]);
		become_reader(domains, nr, requests[0], answers[1]);
	}
	close(requests[0]);
	close(answers[1]);
	reader->requests = requests[1];
	reader->answers = answers[0];
	fcntl(reader->requests, F_SETFL, O_NONBLOCK);
	fcntl(reader->answers, F_SETFL, O_NONBLOCK);
	fcntl(reader->answers, F_SETPIPE_SZ, PIPE_BYTES);
	return 0;
}

static int start(struct xf_guest_reader *reader, const struct xf_guest_layouts *domains, size_t nr)
{
	int requests[2] = {-1, -1}, answers[2] = {-1, -1};

	if (pipe2(requests, O_CLOEXEC) != 0)
		return -errno;
	if (pipe2(answers, O_CLOEXEC) != 0) {
		int code = -errno;

		close_pipe(requests);
		return code;
	}
	return fork_reader(reader, domains, nr, requests, answers);
}

int xf_guest_reader_start(struct xf_guest_reader *reader, const struct xf_guest_layouts *domains,
                          size_t nr, struct xf_error *error)
{
	int code = start(reader, domains, nr);

	return code ? xf_fail(error, code,
	                      "functions of other domains' processes will be without names: the "
	                      "process that would read what they have mapped can't be started: %s",
	                      strerror(-code))
	            : 0;
}

void xf_guest_reader_close_requests(struct xf_guest_reader *reader)
{
	if (reader->process > 0 && reader->requests >= 0)
		close(reader->requests);
	reader->requests = -1;
}

void xf_guest_reader_end(struct xf_guest_reader *reader)
{
	if (reader->process <= 0)
		return;
	xf_guest_reader_close_requests(reader);
	close(reader->answers);
	kill(reader->process, SIGKILL);
	waitpid(reader->process, NULL, 0);
	reader->process = 0;
}
