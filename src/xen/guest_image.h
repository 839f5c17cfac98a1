// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The kernel of another domain, from its image alone: a vmlinux, or a vmlinuz that is one packed.
 * What is made at run time, and modules, no image has.
 */
#ifndef XF_XEN_GUEST_IMAGE_H
#define XF_XEN_GUEST_IMAGE_H

#include "base/error.h"
#include "unwind/slide.h"
#include "xen/kernel.h"

struct xf_guest_image {
	struct xf_kernel kernel;     /* at the addresses that it is linked for */
	struct xf_slide_image slide; /* to find where a domain has it */
	uint8_t *text;               /* what @slide borrows from */
	uint64_t *entries;
};

/*
 * Reads the image at @path. Return: 0, and @image, to be freed with xf_guest_image_free; a negative
 * errno value and @error where it is no image of Linux with symbols, from its own tables or from
 * .symtab. An image without ORC has a notice in @image->kernel. Where its task layout slides,
 * that holds at the addresses that it is linked for (symbol/btf.h).
 */
int xf_guest_image_read(const char *path, struct xf_guest_image *image, struct xf_error *error);
void xf_guest_image_free(struct xf_guest_image *image);

#endif
