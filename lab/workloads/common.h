/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the workloads share. */
#ifndef LAB_WORKLOADS_COMMON_H
#define LAB_WORKLOADS_COMMON_H

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* A call that must not fail; its result. */
static inline long must(long result, const char *what)
{
	if (result < 0) {
		perror(what);
		exit(1);
	}
	return result;
}

static inline int open_device(const char *path)
{
	return (int)must(open(path, O_RDWR | O_CLOEXEC), path);
}

#endif
