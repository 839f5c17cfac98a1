// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd/source_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd/options.h"

#define FILES_MAX  256u
#define BYTES_MAX  (64u << 20)
#define PATH_BYTES 4200u

struct source_file {
	const char *name; /* the debug info's own */
	struct xf_input input;
	bool there;
};

struct xf_source_files {
	const char *directory;
	struct source_file files[FILES_MAX];
	size_t nr;
};

static int take_anything(const void *bytes, size_t size, struct xf_error *error)
{
	(void)bytes;
	(void)size;
	(void)error;
	return 0;
}

/* What the debug info names is somebody else's choice: it stays below the directory. */
static bool leads_out(const char *name)
{
	for (const char *at = name; (at = strstr(at, "..")); at += 2) {
		if ((at == name || at[-1] == '/') && (!at[2] || at[2] == '/'))
			return true;
	}
	return false;
}

static void open_file(const struct xf_source_files *files, struct source_file *file)
{
	char path[PATH_BYTES];
	struct stat status;
	int size = snprintf(path, sizeof(path), "%s/%s", files->directory, file->name);

	file->there = size > 0 && (size_t)size < sizeof(path) && !leads_out(file->name) &&
	              stat(path, &status) == 0 && S_ISREG(status.st_mode) &&
	              xf_input_read(path, take_anything, BYTES_MAX, &file->input) == XF_EXIT_OK;
}

static struct source_file *find_file(struct xf_source_files *files, const char *name)
{
	struct source_file *file;

	for (size_t i = 0; i < files->nr; i++) {
		if (strcmp(files->files[i].name, name) == 0)
			return &files->files[i];
	}
	if (files->nr == FILES_MAX)
		return NULL;
	file = &files->files[files->nr++];
	file->name = name;
	open_file(files, file);
	return file;
}

static const char *find_line(void *context, const char *name, int line, size_t *size)
{
	const struct source_file *file = find_file(context, name);
	const char *at = file && file->there ? file->input.bytes : NULL;
	const char *end = at ? at + file->input.size : NULL;

	while (at && --line > 0) {
		at = memchr(at, '\n', (size_t)(end - at));
		at = at ? at + 1 : NULL;
	}
	if (!at || at >= end)
		return NULL;
	end = memchr(at, '\n', (size_t)(end - at)) ?: end;
	*size = (size_t)(end - at);
	return at;
}

struct xf_source_files *xf_source_files_new(const char *directory, struct xf_source_text *text)
{
	struct xf_source_files *files = calloc(1, sizeof(*files));

	if (files)
		files->directory = directory;
	*text = (struct xf_source_text){find_line, files};
	return files;
}

void xf_source_files_free(struct xf_source_files *files)
{
	for (size_t i = 0; files && i < files->nr; i++)
		xf_input_close(&files->files[i].input);
	free(files);
}
