// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd/program.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Where execvp looks without PATH, in the C library that we know. */
#define USUAL_PATH "/bin:/usr/bin"

/* Return: 0 or a negative errno value. */
static int try_file(const char *file)
{
	struct stat status;

	if (stat(file, &status))
		return -errno;
	if (!S_ISREG(status.st_mode))
		return -EACCES;
	return access(file, X_OK) ? -errno : 0;
}

/* @directory has @size bytes; an empty one is the current one. */
static int try_directory(const char *directory, size_t size, const char *name)
{
	char *file;
	int result;

	if (asprintf(&file, "%.*s%s%s", (int)size, directory, size ? "/" : "", name) < 0)
		return -ENOMEM;
	result = try_file(file);
	free(file);
	return result;
}

static int try_path(const char *path, const char *name)
{
	int result = -ENOENT;

	for (;; path++) {
		size_t size = strcspn(path, ":");
		int found = try_directory(path, size, name);

		if (!found)
			return 0;
		/* One that may not be run is the better reason, should no other be found. */
		if (found == -EACCES)
			result = found;
		path += size;
		if (!*path)
			return result;
	}
}

int xf_program_find(const char *name, const char *path, struct xf_error *error)
{
	int result;

	if (!*name)
		result = -ENOENT;
	else if (strchr(name, '/'))
		result = try_file(name);
	else
		result = try_path(path ? path : USUAL_PATH, name);
	return result ? xf_fail(error, result, "cannot run %s: %s", *name ? name : "''",
	                        strerror(-result))
	              : 0;
}
