// SPDX-License-Identifier: GPL-2.0-or-later
/* The code of processes: files that they have mapped, as they have them, with names and frames. */
#ifndef XF_XEN_USER_FILE_H
#define XF_XEN_USER_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/unwind.h"
#include "xen/build_id.h"

/* Return: the bytes of the build-id in the ELF file open as @fd, copied to @build_id; 0 where it
 * has none. */
size_t xf_user_file_build_id(int fd, uint8_t build_id[XF_BUILD_ID_MAX]);

/* What is known of a file, and where an instance of it is, or was, mapped. */
struct xf_user_file_wanted {
	const char *path; /* as the process sees it; "[vdso]" is the kernel's own */
	const uint8_t *build_id;
	size_t build_id_size; /* 0: it has none, or it is not known */
	/* Of another domain's process: it is looked for by its build-id alone, at its path in
	   @root, a directory or NULL, and at that of dom0's own. Nothing below is looked at. */
	bool in_guest;
	const char *root;
	/* Of dom0's: */
	uint32_t pid;
	uint64_t map_address;
	uint64_t map_size;
};

struct xf_user_file;

/* Opens the file that is wanted, and no other. To be done in a process that may die of it: the file
 * may change while it is read. Return: NULL where it cannot be had. */
struct xf_user_file *xf_user_file_open(const struct xf_user_file_wanted *wanted);
void xf_user_file_close(struct xf_user_file *file);

/* An instruction of it. */
struct xf_user_file_place {
	const char *name; /* of its function, owned by @file; "": it has none */
	uint64_t start;   /* where that begins: an offset in the file */
	struct xf_unwind_row row;
};

/* Looks up the instruction at @offset in the file. */
void xf_user_file_find(const struct xf_user_file *file, uint64_t offset,
                       struct xf_user_file_place *place);

#endif
