// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd/record_target.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* /dev/stdout leads to whatever our output is; a file that it leads to must not be renamed. */
static bool is_standard_output(const struct stat *status)
{
	struct stat own;

	return fstat(STDOUT_FILENO, &own) == 0 && own.st_dev == status->st_dev &&
	       own.st_ino == status->st_ino;
}

static char *old_path(const char *path)
{
	char *old;

	return asprintf(&old, "%s.old", path) < 0 ? NULL : old;
}

/* Return: a negative errno value where settling is sure to fail, which is to be found before
 * anything is loaded. */
static int check_old(const char *path, struct xf_error *error)
{
	char *old = old_path(path);
	struct stat status;
	int result = 0;

	if (!old)
		return xf_fail(error, -ENOMEM, "out of memory");
	if (stat(old, &status) == 0 && S_ISDIR(status.st_mode))
		result = xf_fail(error, -EISDIR, "cannot keep the old %s as %s: %s", path, old,
		                 strerror(EISDIR));
	free(old);
	return result;
}

/* For its owner alone, as perf's recordings are: it tells where the hypervisor and guests have
 * what. */
static int open_beside(struct xf_record_target *target)
{
	int fd;

	if (asprintf(&target->temporary, "%s.XXXXXX", target->path) < 0) {
		target->temporary = NULL;
		return -1;
	}
	fd = mkostemp(target->temporary, O_CLOEXEC);
	if (fd >= 0)
		return fd;
	free(target->temporary);
	target->temporary = NULL;
	return -1;
}

int xf_record_target_open(const char *path, struct xf_record_target *target, struct xf_error *error)
{
	struct stat status;
	bool exists = stat(path, &status) == 0;
	int result;

	*target = (struct xf_record_target){.path = path, .fd = -1};
	if (strcmp(path, "-") == 0)
		target->path = "standard output";
	if (strcmp(path, "-") == 0 || (exists && is_standard_output(&status))) {
		target->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	} else if (exists && !S_ISREG(status.st_mode)) {
		target->fd = open(path, O_WRONLY | O_CLOEXEC);
	} else {
		result = exists ? check_old(path, error) : 0;
		if (result)
			return result;
		target->fd = open_beside(target);
	}
	if (target->fd < 0)
		return xf_fail(error, -errno, "cannot write %s: %s", target->path, strerror(errno));
	return 0;
}

/* The first of the two renames may find nothing to keep. */
static int rename_both(const struct xf_record_target *target, const char *old,
                       struct xf_error *error)
{
	bool kept = rename(target->path, old) == 0;
	int result;

	if (!kept && errno != ENOENT)
		return xf_fail(error, -errno, "cannot keep the old %s as %s: %s", target->path, old,
		               strerror(errno));
	if (rename(target->temporary, target->path) == 0)
		return 0;
	result = xf_fail(error, -errno, "cannot write %s: %s", target->path, strerror(errno));
	if (kept)
		rename(old, target->path);
	return result;
}

int xf_record_target_settle(struct xf_record_target *target, struct xf_error *error)
{
	char *old;
	int result;

	if (!target->temporary)
		return 0;
	old = old_path(target->path);
	result = old ? rename_both(target, old, error) : xf_fail(error, -ENOMEM, "out of memory");
	free(old);
	if (result)
		return result;
	free(target->temporary);
	target->temporary = NULL;
	target->readable = true;
	return 0;
}

void xf_record_target_close(struct xf_record_target *target)
{
	if (target->fd >= 0)
		close(target->fd);
	if (target->temporary)
		unlink(target->temporary);
	free(target->temporary);
	target->temporary = NULL;
	target->fd = -1;
}
