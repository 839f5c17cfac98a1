// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd/perf_names.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbol/kallsyms.h"
#include "symbol/symbols.h"
#include "xen/user_file.h"

#define KERNEL       "[kernel.kallsyms]"
#define KERNEL_START "_text"
#define NOTES_MAX    4096u
#define FILES_MAX    4096u /* open at a time: address space, not descriptors */

struct known_file {
	const char *path; /* the recording's own */
	const uint8_t *build_id;
	struct xf_user_file *file; /* NULL: it is not to be had */
};

struct xf_known_files {
	struct known_file files[FILES_MAX];
	size_t nr;
	bool looked_for_kernel;
	uint8_t kernel_build_id[XF_BUILD_ID_MAX];
	size_t kernel_build_id_size;
	struct xf_symbols *kernel; /* NULL: not known */
	uint64_t kernel_start;
};

/* ---- Files ----------------------------------------------------------------------------------- */

/* To open what is no file may do things: a watchdog starts, a tape is wound. */
static bool is_file(const char *path)
{
	struct stat status;

	return path[0] == '/' && stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

static struct known_file *find_file(struct xf_known_files *files, const struct xf_perf_place *place)
{
	struct xf_user_file_wanted wanted = {.path = place->path,
	                                     .build_id = place->build_id,
	                                     .build_id_size = place->build_id_size};
	struct known_file *file;

	for (size_t i = 0; i < files->nr; i++) {
		file = &files->files[i];
		if (file->build_id == place->build_id && strcmp(file->path, place->path) == 0)
			return file;
	}
	if (files->nr == FILES_MAX)
		return NULL;
	file = &files->files[files->nr++];
	*file = (struct known_file){.path = place->path, .build_id = place->build_id};
	if (is_file(place->path))
		file->file = xf_user_file_open(&wanted);
	return file;
}

static const char *name_in_file(struct xf_known_files *files, const struct xf_perf_place *place)
{
	const struct known_file *file = place->build_id_size ? find_file(files, place) : NULL;
	struct xf_user_file_place found;

	if (!file || !file->file)
		return NULL;
	xf_user_file_find(file->file, place->offset, &found);
	return found.name[0] ? found.name : NULL;
}

/* ---- The kernel that runs -------------------------------------------------------------------- */

static void read_kernel_build_id(struct xf_known_files *files)
{
	uint8_t notes[NOTES_MAX];
	FILE *file = fopen("/sys/kernel/notes", "re");
	size_t size = file ? fread(notes, 1, sizeof(notes), file) : 0;

	files->kernel_build_id_size = xf_notes_build_id(notes, size, files->kernel_build_id);
	if (file)
		fclose(file);
}

/* Where the kernel's code begins; symbols that mark that are not among those of functions. */
static uint64_t find_kernel_start(const char *text, size_t size)
{
	const char *at = text;
	struct xf_kallsyms_line line;

	while (xf_kallsyms_next(&at, text + size, &line)) {
		if (xf_kallsyms_is(&line, KERNEL_START))
			return line.address;
	}
	return 0;
}

/* Return: all that is in the file, to be freed by the caller; NULL where it cannot be had. */
static char *read_text(const char *path, size_t *size)
{
	FILE *file = fopen(path, "re");
	char *text = NULL;

	/* There is no NUL in it. */
	ssize_t got = file ? getdelim(&text, size, 0, file) : -1;

	if (file)
		fclose(file);
	*size = got < 0 ? 0 : (size_t)got;
	return text;
}

static void read_kernel(struct xf_known_files *files)
{
	size_t size = 0;
	char *text;

	files->looked_for_kernel = true;
	read_kernel_build_id(files);
	text = files->kernel_build_id_size ? read_text("/proc/kallsyms", &size) : NULL;
	if (text && xf_kallsyms_parse(text, size, &files->kernel, NULL) == 0) {
		xf_symbols_finish(files->kernel);
		files->kernel_start = find_kernel_start(text, size);
	}
	free(text);
}

/* The kernel may lie elsewhere now; how far an address is from its start stays. */
static const char *name_in_kernel(struct xf_known_files *files, const struct xf_perf_place *place)
{
	const struct xf_symbol *symbol;

	if (strcmp(place->path, KERNEL KERNEL_START) != 0 || !place->build_id_size)
		return NULL;
	if (!files->looked_for_kernel)
		read_kernel(files);
	if (!files->kernel || !files->kernel_start ||
	    files->kernel_build_id_size != place->build_id_size ||
	    memcmp(files->kernel_build_id, place->build_id, place->build_id_size) != 0)
		return NULL;
	symbol = xf_symbols_find(files->kernel, files->kernel_start + place->offset);
	return symbol ? symbol->name : NULL;
}

/* ---- The whole ------------------------------------------------------------------------------- */

static const char *find_name(void *context, const struct xf_perf_place *place)
{
	return place->kernel ? name_in_kernel(context, place) : name_in_file(context, place);
}

struct xf_known_files *xf_known_files_new(struct xf_perf_names *names)
{
	struct xf_known_files *files = calloc(1, sizeof(*files));

	*names = (struct xf_perf_names){find_name, files};
	return files;
}

void xf_known_files_free(struct xf_known_files *files)
{
	for (size_t i = 0; i < files->nr; i++)
		xf_user_file_close(files->files[i].file);
	xf_symbols_free(files->kernel);
	free(files);
}
