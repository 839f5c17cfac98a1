// SPDX-License-Identifier: GPL-2.0-or-later
/* The file in /boot that the running Xen was booted from, found by its build-id. */
#ifndef XF_XEN_BOOT_H
#define XF_XEN_BOOT_H

#include "base/error.h"
#include "xen/hypercall.h"
#include "xen/image.h"

struct xf_boot_image {
	char path[512];
	uint8_t *bytes; /* decompressed; owned */
	size_t size;
	struct xf_image image; /* borrows from @bytes */
};

/*
 * Looks through the files of @directory whose name starts with "xen". Return: 0 and *@found, whose
 * memory xf_boot_image_free gives back; -EOPNOTSUPP and @error where none has @build_id, with what
 * was looked at.
 */
int xf_boot_image_find(const char *directory, const struct xf_xen_build_id *build_id,
                       struct xf_boot_image *found, struct xf_error *error);

/* Takes the file at @path. Return: 0 and *@found, as above; -EBADMSG and @error where it does not
 * have
 * @build_id. */
int xf_boot_image_open(const char *path, const struct xf_xen_build_id *build_id,
                       struct xf_boot_image *found, struct xf_error *error);

void xf_boot_image_free(struct xf_boot_image *image);

#endif
