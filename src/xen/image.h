// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Xen's image as it lies in /boot, decompressed: the machine code and the build-id. Pure.
 */
#ifndef XF_XEN_IMAGE_H
#define XF_XEN_IMAGE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "unwind/unwind.h"

struct xf_image {
	const uint8_t *bytes; /* the segment that is loaded; borrowed from the parsed file */
	size_t size;
	uint64_t physical; /* where it is linked to be loaded; the first byte is Xen's _start */
	const uint8_t *build_id; /* borrowed; NULL where there is none */
	size_t build_id_size;
};

/*
 * Parses the file in @bytes: the 32-bit ELF that multiboot loaders take (xen.gz, gunzipped).
 * Return: 0; -EINVAL and @error where it is something else, or damaged.
 */
int xf_image_parse(const void *bytes, size_t size, struct xf_image *image, struct xf_error *error);

/*
 * The code in [@start, @end), given where the image's first byte lies in memory (_start, or _stext
 * which is the same). Return: 0 and @code, borrowed; -EINVAL where it is not within the image.
 */
int xf_image_code(const struct xf_image *image, uint64_t image_start, uint64_t start, uint64_t end,
                  struct xf_code *code, struct xf_error *error);

#endif
