// SPDX-License-Identifier: GPL-2.0-or-later
/* The code of an ELF file, as the benchmarks need it. Ends the program where something is wrong. */
#ifndef XF_BENCH_IMAGE_H
#define XF_BENCH_IMAGE_H

#include "unwind/unwind.h"

struct bench_image {
	struct xf_code code; /* .text */
	uint64_t *entries;   /* symbols in it */
	size_t nr_entries;
	size_t nr_orc; /* rows of the kernel's own unwind table that are about .text */
	uint8_t *file; /* mapped; NULL: there is none */
	size_t file_size;
	uint8_t *made; /* the code, where it is from no file */
};

/* Reads any file at all, without a look at what is in it. */
void bench_image_read(struct bench_image *image, const char *path);

/* Reads an ELF file. */
void bench_image_load(struct bench_image *image, const char *path);

/* Lays the code of @image twice in a row, with all of its entries. */
void bench_image_double(struct bench_image *twice, const struct bench_image *image);

/* Makes @size bytes of code at random, mostly of opcodes that matter to a stack, and some entries;
 * the same each time. */
void bench_image_draw(struct bench_image *image, size_t size);

/* Makes the code of @count functions, each of which calls several of those behind it, so that a
 * chain of calls may be long; the same each time. */
void bench_image_chain(struct bench_image *image, size_t count);

void bench_image_free(struct bench_image *image);

/* Builds the table of @image. */
struct xf_unwind_table *bench_table(const struct bench_image *image);

#endif
