// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The files that a profile's frames lie in, for perf: where perf.data says that they are mapped,
 * and an ELF object of each that has the names, and of Xen the code that was recorded. Whoever has
 * perf look there needs no other file.
 */
#ifndef XF_OUTPUT_PERF_IMAGES_H
#define XF_OUTPUT_PERF_IMAGES_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "profile/profile.h"

#define XF_PERF_BUILD_ID_BYTES 20u

struct xf_perf_symbol {
	uint64_t start; /* as perf.data has it */
	uint64_t end;
	const char *name; /* borrowed */
	uint32_t image;
};

struct xf_perf_image {
	char *name;
	uint8_t build_id[XF_PERF_BUILD_ID_BYTES]; /* made up where the recording has none */
	size_t build_id_size;
	uint64_t start;      /* as perf.data has it */
	uint64_t size;       /* 0: it is not used */
	uint64_t address;    /* the same place as the object has it ... */
	uint64_t offset;     /* ... and where in the object it is */
	const uint8_t *code; /* from there on; NULL: not recorded */
	size_t code_size;
	const struct xf_perf_symbol *symbols; /* by address; none reaches into the next */
	size_t nr_symbols;
	uint32_t guest_code; /* 0: it is Xen's, or made up */
};

struct xf_perf_images {
	struct xf_perf_image *images;
	size_t nr;
	uint64_t *addresses; /* of each frame, as perf.data has it */
	struct xf_perf_symbol *symbols;
	size_t nr_symbols;
};

/* Where the last frame is said to be of a stack that is too deep for perf. */
#define XF_PERF_TOO_DEEP      0xffffff0000000000ull
#define XF_PERF_TOO_DEEP_NAME "[incomplete: too-deep-for-perf]"

/* Those of @profile, which is of @recording and has addresses, of guests too; both outlive them.
 * Return: 0 or -ENOMEM; to be freed in either case. */
int xf_perf_images_make(const struct xf_recording *recording, const struct xf_profile *profile,
                        struct xf_perf_images *images);
void xf_perf_images_free(struct xf_perf_images *images);

/* Hexadecimal. Return: @text. */
const char *xf_perf_build_id_text(const struct xf_perf_image *image,
                                  char text[2 * XF_PERF_BUILD_ID_BYTES + 1]);

/* The ELF object of @image. Return: 0 or -ENOMEM; the caller looks at ferror(@out). */
int xf_perf_object_write(FILE *out, const struct xf_perf_image *image);

#endif
