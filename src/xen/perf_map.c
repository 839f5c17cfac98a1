// SPDX-License-Identifier: GPL-2.0-or-later
#include "xen/perf_map.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_BYTES 96
#define LINES_MAX  1000000u
#define MAP_MAX    ((off_t)256 << 20)

/* Who a process is in its own container, and by whose right. Return: whether it is there. */
static bool read_status(uint32_t pid, uint32_t *own_pid, uid_t *owner)
{
	char path[PATH_BYTES], line[256];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/status", pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	*own_pid = pid;
	*owner = 0;
	while (fgets(line, sizeof(line), file)) {
		const char *last = strrchr(line, '\t');

		if (strncmp(line, "Uid:", 4) == 0)
			*owner = (uid_t)strtoul(line + 4, NULL, 10);
		else if (strncmp(line, "NSpid:", 6) == 0 && last)
			*own_pid = (uint32_t)strtoul(last, NULL, 10);
	}
	fclose(file);
	return true;
}

/* Return: -1 where there is no map, or one of somebody else's. */
static int open_map(uint32_t pid, bool has_ended)
{
	char path[PATH_BYTES];
	uint32_t own_pid = pid;
	struct stat status;
	uid_t owner = 0;
	int fd;

	if (!has_ended && !read_status(pid, &own_pid, &owner))
		return -1;
	if (has_ended)
		snprintf(path, sizeof(path), "/tmp/perf-%" PRIu32 ".map", pid);
	else
		snprintf(path, sizeof(path), "/proc/%" PRIu32 "/root/tmp/perf-%" PRIu32 ".map", pid,
		         own_pid);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW);
	if (fd >= 0 && (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) ||
	                status.st_size > MAP_MAX || (status.st_uid && status.st_uid != owner))) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Adds "START SIZE name", in hexadecimal. Return: false without memory. */
static bool add_line(struct xf_symbols *symbols, char *line)
{
	unsigned long long start, size;
	int used = 0;

	line[strcspn(line, "\n")] = '\0';
	if (sscanf(line, "%llx %llx %n", &start, &size, &used) < 2 || !used || !line[used] ||
	    !size || start + size < start)
		return true;
	return xf_symbols_add(symbols, start, size, 't', line + used) == 0;
}

struct xf_symbols *xf_perf_map_read(uint32_t pid, bool has_ended)
{
	int fd = open_map(pid, has_ended);
	FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
	struct xf_symbols *symbols = file ? xf_symbols_new() : NULL;
	char *line = NULL;
	size_t room = 0;
	bool good = true;

	for (unsigned int i = 0; symbols && good && i < LINES_MAX; i++) {
		if (getline(&line, &room, file) <= 0)
			break;
		good = add_line(symbols, line);
	}
	if (symbols)
		xf_symbols_finish(symbols);
	free(line);
	if (file)
		fclose(file);
	else if (fd >= 0)
		close(fd);
	return symbols;
}
