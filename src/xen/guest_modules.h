// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The modules that a domain's Linux has loaded: their code and its names, out of the domain's
 * memory. The guest goes on meanwhile and may lie: the work is bounded; names are given to nothing
 * but the modules' own places, which no image has.
 */
#ifndef XF_XEN_GUEST_MODULES_H
#define XF_XEN_GUEST_MODULES_H

#include <stddef.h>
#include <stdint.h>

#include "symbol/btf.h"
#include "symbol/symbols.h"
#include "unwind/unwind.h"
#include "xen/guest_memory.h"

/* Frames that reading them may take: 256 MiB. */
#define XF_GUEST_MODULES_FRAMES 65536u

/* Starts zeroed; freed with xf_guest_modules_free. */
struct xf_guest_modules {
	struct xf_symbols *symbols; /* "FUNCTION [MODULE]"; finished */
	struct xf_code *code;       /* of each module, its own bytes */
	size_t nr_code;
};

/*
 * Reads them by the page tables of @root, of a kernel that lies @slide from where its image has it.
 * @memory has been begun. Return: 0, also where some of them could not be read, which are left out;
 * -EFAULT where the list can't be; -ENOMEM. But for 0 nothing has been found.
 */
int xf_guest_modules_read(struct xf_guest_memory *memory, const struct xf_module_layout *layout,
                          uint64_t root, uint64_t slide, struct xf_guest_modules *modules);
void xf_guest_modules_free(struct xf_guest_modules *modules);

#endif
