// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a recording says of the kernels that its domains ran. Nothing of it is unfolded here: the
 * symbols and tables of a kernel are only made where a sample needs them.
 */
#ifndef XF_PROFILE_KERNELS_H
#define XF_PROFILE_KERNELS_H

#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "profile/format.h"
#include "symbol/symbols.h"
#include "unwind/orc.h"

/* A recording with more than these is not an honest one. */
#define XF_MAX_KERNELS      64u
#define XF_MAX_KERNEL_CODE  4096u        /* pieces of one kernel's code: modules */
#define XF_MAX_KERNEL_BYTES (128u << 20) /* of the code that one unwind table is for */

struct xf_kernel_symbols {
	const uint8_t *bytes; /* whole symbols and nothing else */
	size_t size;
};

/* All of it is borrowed from the recording. */
struct xf_recording_kernel {
	uint32_t number;
	const char *name; /* never NULL */
	struct xf_kernel_symbols *symbols;
	size_t nr_symbols; /* pieces */
	struct xf_code *code;
	size_t nr_code;
	struct xf_orc orc;       /* entries NULL: there is none */
	struct xf_code orc_code; /* that it is for, without its bytes */
	uint32_t base_after;     /* the number, and 1, of the kernel ... */
	/* ... of which it has all, too: an image, beside the modules that one domain has loaded;
	   once finished. NULL: none. */
	const struct xf_recording_kernel *base;
};

/* From @tsc on @domid ran a kernel. */
struct xf_recording_kernel_of {
	uint16_t domid;
	uint32_t kernel; /* XF_NO_KERNEL: one that is not known */
	uint64_t tsc;
	uint64_t slide; /* what to add to the kernel's addresses to have the domain's */
	size_t order;   /* in the file: of several entries for one moment the last one holds */
};

struct xf_kernels {
	struct xf_recording_kernel *kernels;
	size_t nr;
	struct xf_recording_kernel_of *of; /* once finished: by domid, then by time */
	size_t nr_of;
};

/*
 * Takes in the content of a chunk of @type, one of those for kernels; @content must outlive
 * @kernels, which starts zeroed. Return: 0; -EBADMSG where it makes no sense from some byte on
 * (what came before is kept); -ENOMEM.
 */
int xf_kernels_read(struct xf_kernels *kernels, enum xf_chunk_type type, struct xf_cursor content);

/* After the last chunk. */
void xf_kernels_finish(struct xf_kernels *kernels);
void xf_kernels_free(struct xf_kernels *kernels);

/*
 * Return: the kernel that @domid ran at @tsc and *@slide; NULL where it is not known: another
 * kernel's names would be wrong ones, so that, other than with domains' names, the first entry does
 * not count for what was before it.
 */
const struct xf_recording_kernel *xf_kernels_of(const struct xf_kernels *kernels, uint16_t domid,
                                                uint64_t tsc, uint64_t *slide);

/* Return: what is said of that: the number of the kernel, XF_NO_KERNEL among them, and its slide;
 * NULL where nothing is. */
const struct xf_recording_kernel_of *xf_kernels_said_of(const struct xf_kernels *kernels,
                                                        uint16_t domid, uint64_t tsc);

/* Return: the kernel with that number, NULL where there is none. */
struct xf_recording_kernel *xf_kernels_find(const struct xf_kernels *kernels, uint32_t number);

/* Return: the next symbol of @cursor in the layout of XF_CHUNK_SYMBOLS; failed where it is cut. */
struct xf_symbol xf_kernels_symbol(struct xf_cursor *cursor);

/* Return: all symbols of @kernel and its base, finished, to be freed by the caller; NULL without
 * memory. */
struct xf_symbols *xf_kernels_symbols(const struct xf_recording_kernel *kernel);

#endif
