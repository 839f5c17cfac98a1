// SPDX-License-Identifier: GPL-2.0-or-later
#include "xen/procfs.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "xen/user_file.h"

#define PATH_BYTES 96

int xf_procfs_begin(struct xf_procfs *procfs)
{
	xf_procfs_close(procfs);
	procfs->processes = opendir("/proc");
	return procfs->processes ? 0 : -errno;
}

void xf_procfs_close(struct xf_procfs *procfs)
{
	if (procfs->processes)
		closedir(procfs->processes);
	procfs->processes = NULL;
}

/* Return: the number that a directory's name is, 0 where it is none. */
static uint32_t number_of(const char *name)
{
	unsigned long number;
	char *end;

	if (name[0] < '1' || name[0] > '9')
		return 0;
	number = strtoul(name, &end, 10);
	return *end || number >= UINT32_MAX ? 0 : (uint32_t)number;
}

/* Of a kernel's worker /proc tells what it last worked on, too, which is not its name. */
static void cut_work(char *comm)
{
	static const char worker[] = "kworker/";
	char *number = comm + strlen(worker);

	if (strncmp(comm, worker, strlen(worker)) == 0 && strncmp(number, "R-", 2) != 0)
		number[strcspn(number, "+-")] = '\0';
}

/* Return: whether the thread still was there to tell its name. */
static bool read_comm(uint32_t pid, uint32_t tid, char comm[64])
{
	char path[PATH_BYTES];
	FILE *file;
	size_t size;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/task/%" PRIu32 "/comm", pid, tid);
	file = fopen(path, "re");
	if (!file)
		return false;
	size = fread(comm, 1, 63, file);
	fclose(file);
	if (size && comm[size - 1] == '\n')
		size--;
	comm[size] = '\0';
	cut_work(comm);
	return size > 0;
}

/* ---- What is mapped -------------------------------------------------------------------------- */

/* A line of /proc/PID/maps. */
struct line {
	uint64_t start;
	uint64_t end;
	uint64_t offset;
	unsigned int major;
	unsigned int minor;
	uint64_t inode;
	bool executable;
	const char *path;
};

static bool parse_line(char *text, struct line *line)
{
	char protection[5];
	int used = 0;

	text[strcspn(text, "\n")] = '\0';
	if (sscanf(text, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %n",
	           &line->start, &line->end, protection, &line->offset, &line->major, &line->minor,
	           &line->inode, &used) < 7)
		return false;
	line->executable = protection[2] == 'x';
	line->path = text + used;
	return line->end > line->start;
}

/* The kernel leads to the very file that is mapped, whatever its path leads to by now. */
static size_t read_build_id(uint32_t pid, const struct line *line,
                            uint8_t build_id[XF_BUILD_ID_MAX])
{
	char path[PATH_BYTES];
	size_t size;
	int fd;

	if (line->path[0] != '/')
		return 0;
	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/map_files/%" PRIx64 "-%" PRIx64, pid,
	         line->start, line->end);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return 0;
	size = xf_user_file_build_id(fd, build_id);
	close(fd);
	return size;
}

static uint32_t number_of_file(uint32_t pid, const struct line *line, struct xf_gathered *gathered)
{
	uint8_t build_id[XF_BUILD_ID_MAX];
	const char *path = line->path[0] ? line->path : "//anon"; /* as perf events have it */
	char identity[64];
	uint32_t number;

	snprintf(identity, sizeof(identity), "%x:%x:%" PRIu64, line->major, line->minor,
	         line->inode);
	number = xf_gathered_file(gathered, path, identity);
	if (number != XF_NO_FILE)
		return number;
	return xf_gather_file(gathered, path, identity, build_id,
	                      read_build_id(pid, line, build_id));
}

static void look_at_maps(const struct xf_gathered_who *who, struct xf_gathered *gathered)
{
	char path[PATH_BYTES];
	char *text = NULL;
	size_t size = 0;
	struct line line;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/maps", who->pid);
	file = fopen(path, "re");
	while (file && getline(&text, &size, file) > 0)
		if (parse_line(text, &line) && line.executable)
			xf_gather_map(gathered, who, line.start, line.end - line.start, line.offset,
			              number_of_file(who->pid, &line, gathered));
	free(text);
	if (file)
		fclose(file);
}

/* ---- Processes ------------------------------------------------------------------------------- */

/* What happens while it is looked at will be told by events that are later than @procfs->now. */
static void look_at_process(const struct xf_procfs *procfs, uint32_t pid,
                            struct xf_gathered *gathered)
{
	struct xf_gathered_who who = {.time = procfs->now(), .pid = pid, .tid = pid};
	char path[PATH_BYTES], comm[64];
	struct dirent *entry;
	DIR *threads;

	if (!read_comm(pid, pid, comm))
		return;
	xf_gather_exists(gathered, &who, comm);
	if (!procfs->names)
		look_at_maps(&who, gathered);
	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/task", pid);
	threads = opendir(path);
	while (threads && (entry = readdir(threads))) {
		who.tid = number_of(entry->d_name);
		who.time = procfs->now();
		if (who.tid && who.tid != pid && read_comm(pid, who.tid, comm))
			xf_gather_exists(gathered, &who, comm);
	}
	if (threads)
		closedir(threads);
}

bool xf_procfs_go_on(struct xf_procfs *procfs, uint64_t deadline, struct xf_gathered *gathered)
{
	struct dirent *entry;

	while (procfs->processes) {
		uint32_t pid;

		if (procfs->now() >= deadline)
			return false;
		entry = readdir(procfs->processes);
		if (!entry)
			break;
		pid = number_of(entry->d_name);
		if (pid)
			look_at_process(procfs, pid, gathered);
	}
	xf_procfs_close(procfs);
	return true;
}
