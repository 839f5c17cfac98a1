// SPDX-License-Identifier: GPL-2.0-or-later
/* A recording that is being written, followed: a file that grows, memory, or a pipe. */
#ifndef XF_CMD_FOLLOW_H
#define XF_CMD_FOLLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "profile/live.h"

struct xf_follow {
	const char *path; /* as messages tell it */
	struct xf_live *live;
	int fd;
	bool seekable;  /* a file or memory, read from wherever we are */
	bool consume;   /* gives back the memory of what has been read */
	bool begun;     /* the first bytes were a recording's */
	bool closed;    /* nothing more will come */
	uint64_t at;    /* bytes read or passed over */
	uint64_t given; /* of those, given back */
	uint64_t past;  /* where samples begin that are wanted */
	uint8_t *bytes; /* of what is being read: a head, or a head and its content */
	size_t have;
	size_t allocated;
};

/*
 * Follows the file at @path ("-": standard input) from where it ends now: of what it holds already
 * only what naming needs is read. A pipe is read from its beginning. Return: 0, or a negative errno
 * value and @error. Close in either case.
 */
int xf_follow_open(const char *path, struct xf_follow *follow, struct xf_error *error);

/* The same from the beginning of the memory behind @fd, which becomes ours, as does what has been
 * read. */
int xf_follow_memory(int fd, struct xf_follow *follow, struct xf_error *error);

enum xf_followed {
	XF_FOLLOWED_ALL,   /* nothing more is there for now */
	XF_FOLLOWED_BOOKS, /* up to where the recorder closed its books: more may be there */
	XF_FOLLOWED_END,   /* all, and nothing more will come */
};

/* Reads on; waits for no more than a moment. Return: enum xf_followed, or a negative errno value
 * and @error. */
int xf_follow_more(struct xf_follow *follow, struct xf_error *error);

void xf_follow_close(struct xf_follow *follow);

#endif
