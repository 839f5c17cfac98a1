// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * xen-syms: Xen's image as its build leaves it, a 64-bit ELF file with all symbols, as packages for
 * debugging bring it. Pure.
 */
#ifndef XF_XEN_SYMS_H
#define XF_XEN_SYMS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "symbol/symbols.h"
#include "unwind/unwind.h"

/* Return: whether @bytes are a 64-bit ELF file, as images that boot are not. */
bool xf_syms_recognize(const void *bytes, size_t size);

/*
 * Reads Xen's text and the symbols of all. Return: 0, @code, borrowed from @bytes, and *@symbols,
 * to be freed by the caller; -EBADMSG and @error where they are not there or make no sense,
 * -ENOMEM.
 */
int xf_syms_parse(const void *bytes, size_t size, struct xf_code *code, struct xf_symbols **symbols,
                  struct xf_error *error);

/*
 * Reads the symbols of any 64-bit ELF file, those for the dynamic linker too. Return: 0 and
 * *@symbols, to be freed by the caller; -ENOMEM and @error.
 */
int xf_syms_read(const void *bytes, size_t size, struct xf_symbols **symbols,
                 struct xf_error *error);

#endif
