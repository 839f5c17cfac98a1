// SPDX-License-Identifier: GPL-2.0-or-later
/* A kernel's image as it lies in /boot: unpacked, and its own unwind table. */
#ifndef XF_XEN_VMLINUZ_H
#define XF_XEN_VMLINUZ_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "unwind/orc.h"

/* What is to be done with the ELF file in @bytes. Return: 0, or a negative errno value and @error.
 */
typedef int xf_vmlinuz_use_t(void *context, const void *bytes, size_t size, struct xf_error *error);

/* Unpacks the image at @path, where it is packed, and has @use look at it. Return: as @use does; a
 * negative errno value and @error where it is no such image, or none that can be read. */
int xf_vmlinuz_unpack(const char *path, xf_vmlinuz_use_t *use, void *context,
                      struct xf_error *error);

struct xf_vmlinuz {
	uint64_t text_address; /* that the kernel is linked to begin at */
	struct xf_orc orc;
	void *owned[3]; /* what @orc borrows from: the caller frees each */
};

/*
 * Reads the image at @path, packed or not. @notes is a file of the running kernel's ELF notes, by
 * whose build-id the image must be that kernel's.
 * Return: 0 and @image; a negative errno value and @error, and nothing to free.
 */
int xf_vmlinuz_open(const char *path, const char *notes, struct xf_vmlinuz *image,
                    struct xf_error *error);

#endif
