// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd/follow.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profile/recording.h"

#define MAGIC_BYTES 16u
#define PAGE_BYTES  4096u
/* A pipe holds little: whoever writes to it gets a moment to write on. */
#define PIPE_MS     20

static int failed(const struct xf_follow *follow, int code, struct xf_error *error)
{
	return xf_fail(error, code, "cannot read %s: %s", follow->path, strerror(-code));
}

/* ---- Reading --------------------------------------------------------------------------------- */

/* Return: bytes read, 0 where none are there now, or a negative errno value. */
static ssize_t read_some(struct xf_follow *follow, void *bytes, size_t size)
{
	struct pollfd waiting = {.fd = follow->fd, .events = POLLIN};
	ssize_t got;

	if (!follow->seekable && poll(&waiting, 1, PIPE_MS) <= 0)
		return 0;
	do {
		got = follow->seekable ? pread(follow->fd, bytes, size, (off_t)follow->at)
		                       : read(follow->fd, bytes, size);
	} while (got < 0 && errno == EINTR);
	if (got < 0)
		return errno == EAGAIN ? 0 : -errno;
	if (!got && !follow->seekable)
		follow->closed = true;
	return got;
}

static int make_room(struct xf_follow *follow, size_t size)
{
	uint8_t *grown;

	if (size <= follow->allocated)
		return 0;
	grown = realloc(follow->bytes, size);
	if (!grown)
		return -ENOMEM;
	follow->bytes = grown;
	follow->allocated = size;
	return 0;
}

/* Return: 1 once @size bytes are there, 0 while they are not, or a negative errno value. */
static int gather(struct xf_follow *follow, size_t size, struct xf_error *error)
{
	if (make_room(follow, size))
		return xf_fail(error, -ENOMEM, "no memory for %s", follow->path);
	while (follow->have < size) {
		ssize_t got = read_some(follow, follow->bytes + follow->have, size - follow->have);

		if (got < 0)
			return failed(follow, (int)got, error);
		if (!got)
			return 0;
		follow->have += (size_t)got;
		follow->at += (uint64_t)got;
	}
	return 1;
}

/* ---- Chunks ---------------------------------------------------------------------------------- */

static struct xf_chunk_head head_of(const struct xf_follow *follow)
{
	struct xf_chunk_head head;

	memcpy(&head, follow->bytes, sizeof(head));
	return (struct xf_chunk_head){.type = le32toh(head.type),
	                              .flags = le32toh(head.flags),
	                              .size = le64toh(head.size)};
}

/* The first bytes. Return: as gather. */
static int begin(struct xf_follow *follow, struct xf_error *error)
{
	int result = gather(follow, MAGIC_BYTES, error);
	/* A file gets its name once there is something in it. */
	bool is_all = result > 0 || (!follow->consume && (follow->closed || follow->seekable));

	if (result < 0)
		return result;
	if (is_all && xf_recording_recognize(follow->bytes, follow->have, error))
		return xf_fail_prefix(error, "%s", follow->path);
	if (result > 0) {
		follow->begun = true;
		follow->have = 0;
	}
	return result;
}

/* Gives back the memory of whole pages that have been read. */
static void give_back(struct xf_follow *follow)
{
	uint64_t whole = follow->at / PAGE_BYTES * PAGE_BYTES;

	if (!follow->consume || whole <= follow->given)
		return;
	if (fallocate(follow->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)follow->given,
	              (off_t)(whole - follow->given)) == 0)
		follow->given = whole;
}

/* Samples that were there before us are passed over. Return: whether that was done. */
static bool pass_over(struct xf_follow *follow, struct xf_chunk_head head)
{
	uint64_t begin = follow->at - sizeof(head);

	if (head.type != XF_CHUNK_SAMPLES || begin >= follow->past ||
	    head.size > follow->past - begin)
		return false;
	follow->at += head.size;
	follow->have = 0;
	xf_live_skip(follow->live, head.size);
	return true;
}

/* One chunk. Return: as gather. */
static int take_chunk(struct xf_follow *follow, struct xf_error *error)
{
	int result = gather(follow, sizeof(struct xf_chunk_head), error);
	struct xf_chunk_head head;

	if (result <= 0)
		return result;
	head = head_of(follow);
	if (follow->have == sizeof(head) && pass_over(follow, head))
		return 1;
	if (head.size > XF_LIVE_CHUNK_MAX)
		return xf_fail(error, -EBADMSG, "%s: the recording is damaged at byte %llu",
		               follow->path, (unsigned long long)(follow->at - follow->have));
	result = gather(follow, sizeof(head) + head.size, error);
	if (result <= 0)
		return result;
	follow->have = 0;
	if (xf_live_take(follow->live, head, follow->bytes + sizeof(head)))
		return xf_fail(error, -ENOMEM, "no memory for %s", follow->path);
	return 1;
}

int xf_follow_more(struct xf_follow *follow, struct xf_error *error)
{
	uint64_t books = xf_live_books(follow->live);
	int result = follow->begun ? 1 : begin(follow, error);

	while (result > 0) {
		/* Those of before are history. */
		if (follow->seekable && follow->past && follow->at >= follow->past &&
		    !follow->have) {
			follow->past = 0;
			xf_live_forget(follow->live);
			books = xf_live_books(follow->live);
		}
		result = take_chunk(follow, error);
		if (result > 0 && !follow->past && xf_live_books(follow->live) != books) {
			give_back(follow);
			return XF_FOLLOWED_BOOKS;
		}
	}
	give_back(follow);
	if (result < 0)
		return result;
	return follow->closed || xf_live_ended(follow->live) ? XF_FOLLOWED_END : XF_FOLLOWED_ALL;
}

/* ---- Beginning and end ----------------------------------------------------------------------- */

/* Return: 0, or a negative errno value and @error. */
static int start(struct xf_follow *follow, struct xf_error *error)
{
	struct stat status;

	follow->live = xf_live_new();
	if (!follow->live)
		return xf_fail(error, -ENOMEM, "no memory for %s", follow->path);
	if (fstat(follow->fd, &status) != 0)
		return failed(follow, -errno, error);
	if (S_ISDIR(status.st_mode))
		return failed(follow, -EISDIR, error);
	follow->seekable = S_ISREG(status.st_mode);
	follow->past = follow->seekable ? (uint64_t)status.st_size : 0;
	return 0;
}

int xf_follow_open(const char *path, struct xf_follow *follow, struct xf_error *error)
{
	bool standard = strcmp(path, "-") == 0;

	*follow = (struct xf_follow){.path = standard ? "standard input" : path};
	follow->fd = standard ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)
	                      : open(path, O_RDONLY | O_CLOEXEC);
	if (follow->fd < 0)
		return xf_fail(error, -errno, "cannot open %s: %s", follow->path, strerror(errno));
	return start(follow, error);
}

int xf_follow_memory(int fd, struct xf_follow *follow, struct xf_error *error)
{
	int result;

	*follow = (struct xf_follow){.path = "the recording", .fd = fd, .consume = true};
	result = start(follow, error);
	follow->past = 0;
	return result;
}

void xf_follow_close(struct xf_follow *follow)
{
	xf_live_free(follow->live);
	free(follow->bytes);
	if (follow->fd >= 0)
		close(follow->fd);
	*follow = (struct xf_follow){.fd = -1};
}
