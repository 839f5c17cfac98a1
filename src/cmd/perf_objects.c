// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * perf's own layout (tools/perf/util/build-id.c): NAME/BUILD-ID/elf, and to NAME/BUILD-ID a
 * symbolic link, .build-id/ with the first two digits of the id as a directory and the others as
 * its name.
 */
#include "cmd/perf_objects.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/commands.h"
#include "cmd/options.h"

/* For what has a name that is no path to trust. */
#define ANY_NAME "xenflame"

#define LONGEST_NAME 1024u

/* Room for the longest name, and what stands around it. */
#define LONGEST_LINK (LONGEST_NAME + 2 * XF_PERF_BUILD_ID_BYTES + 16)

static int complain(const char *what, const char *path)
{
	return xf_complain(XF_EXIT_OUTPUT,
	                   "cannot make the %s %s for perf: %s; name another with --objects DIR",
	                   what, path, strerror(errno));
}

/* Makes @path, and what it lies in from its byte @from on. */
static int make_directories(char *path, size_t from)
{
	for (char *slash = path + from;; slash++) {
		bool last;

		slash = strchrnul(slash, '/');
		last = !*slash;
		*slash = 0;
		if (mkdir(path, 0777) && errno != EEXIST)
			return complain("directory", path);
		if (last)
			return XF_EXIT_OK;
		*slash = '/';
	}
}

static int write_object(const char *path, const struct xf_perf_image *image)
{
	struct xf_output output;
	int status = xf_output_open(path, &output);

	if (status)
		return status;
	if (!xf_perf_object_write(output.stream, image))
		return xf_output_close(&output);
	xf_output_abandon(&output);
	return xf_complain(XF_EXIT_FAILURE, "no memory for the object %s", path);
}

/* A link that leads elsewhere is another file's, of which nobody knows what names it has. */
static int link_object(const char *path, const char *target)
{
	char there[LONGEST_LINK + 1];
	ssize_t size = readlink(path, there, sizeof(there));

	if (size == (ssize_t)strlen(target) && memcmp(there, target, (size_t)size) == 0)
		return XF_EXIT_OK;
	if (symlink(target, path) == 0)
		return XF_EXIT_OK;
	return complain("link", path);
}

/* The directory's name for an image: its own where that is a path like any other. A recording may
 * say what it likes. */
static const char *directory_name(const char *name)
{
	const char *path = name[0] == '/' ? name + 1 : name;
	size_t size = strlen(path);

	if (!size || size > LONGEST_NAME || path[size - 1] == '/' || path[0] == '.' ||
	    strstr(path, "/.") || strstr(path, "//"))
		return ANY_NAME;
	for (size_t i = 0; i < size; i++) {
		if (path[i] < ' ' || path[i] > '~' || path[i] == '\\')
			return ANY_NAME;
	}
	return path;
}

static int write_one(const char *directory, const struct xf_perf_image *image)
{
	const char *name = directory_name(image->name);
	char path[PATH_MAX + LONGEST_LINK];
	char target[LONGEST_LINK];
	char id[2 * XF_PERF_BUILD_ID_BYTES + 1];
	int status;

	xf_perf_build_id_text(image, id);
	snprintf(path, sizeof(path), "%s/%s/%s", directory, name, id);
	status = make_directories(path, strlen(directory) + 1);
	if (status)
		return status;
	snprintf(path, sizeof(path), "%s/%s/%s/elf", directory, name, id);
	status = write_object(path, image);
	if (status)
		return status;
	snprintf(path, sizeof(path), "%s/.build-id/%.2s", directory, id);
	status = make_directories(path, strlen(directory) + 1);
	if (status)
		return status;
	snprintf(path, sizeof(path), "%s/.build-id/%.2s/%s", directory, id, id + 2);
	snprintf(target, sizeof(target), "../../%s/%s", name, id);
	return link_object(path, target);
}

int xf_perf_objects_write(const char *directory, const struct xf_perf_images *images)
{
	char path[PATH_MAX];
	int status;

	if (strlen(directory) >= sizeof(path)) {
		errno = ENAMETOOLONG;
		return complain("directory", directory);
	}
	snprintf(path, sizeof(path), "%s", directory);
	status = make_directories(path, strlen(path));
	for (size_t i = 0; !status && i < images->nr; i++) {
		if (images->images[i].size)
			status = write_one(directory, &images->images[i]);
	}
	return status;
}
