// SPDX-License-Identifier: GPL-2.0-or-later
/* The running kernel's memory by its addresses, as Linux shows it in /proc/kcore: an ELF core file
 * whose segments say which addresses lie where. */
#ifndef XF_XEN_KCORE_H
#define XF_XEN_KCORE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct xf_kcore_segment {
	uint64_t address;
	uint64_t size;
	uint64_t offset; /* in the file */
};

struct xf_kcore {
	const char *path;
	int fd;
	struct xf_kcore_segment *segments;
	size_t nr;
};

/* Return: 0, and @path must outlive @kcore; a negative errno value and @error where it cannot be
 * read or is no such file. xf_kcore_close is due in both cases. */
int xf_kcore_open(const char *path, struct xf_kcore *kcore, struct xf_error *error);
void xf_kcore_close(struct xf_kcore *kcore);

/*
 * Reads @size bytes, at least one, from @address on. Return: 0 and *@bytes, to be freed by the
 * caller; -EFAULT where they are not all in one segment, or another negative errno value; @error.
 */
int xf_kcore_read(const struct xf_kcore *kcore, uint64_t address, size_t size, void **bytes,
                  struct xf_error *error);

#endif
