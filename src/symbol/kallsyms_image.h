// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The symbols that a Linux image carries in its read-only data for itself, and keeps when it is
 * stripped. scripts/kallsyms.c of Linux makes the tables when the kernel is linked:
 *
 *   up to 6.3   numbers, base, count, names, marks, [order of names, since 6.2], tokens, index
 *   since 6.4   count, names, marks, tokens, index, numbers, base, order of names
 *   since 7.0   the same without the base
 *
 * each of them at a multiple of 8, the count one of 64 bits; since 7.0 of 4, and of 32. A name is a
 * length and so many tokens, the first of which begins with the type; the index says where in the
 * tokens each one's text begins; the marks say where each 256th name does. A number is 32 bits
 * wide: from the base on, or, where the configuration has absolute symbols of CPUs' own data,
 * negated and less one, and absolute where it is not negative; since 7.0 from the number's own
 * place on.
 *
 * Nothing leads to the tables. They are found by what each says of another, and taken only where
 * all of that is so. Pure.
 */
#ifndef XF_SYMBOL_KALLSYMS_IMAGE_H
#define XF_SYMBOL_KALLSYMS_IMAGE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/*
 * Reads the tables in the @size bytes of .rodata, which lies at @address, of a kernel whose code
 * begins at @base. Return: 0 and *@text, *@text_size bytes, to be freed by the caller: what
 * /proc/kallsyms would say of the kernel itself (symbol/kallsyms.h); -ENOENT where there are no
 * such tables, -ENOMEM; and @error.
 */
int xf_kallsyms_of_image(const void *rodata, size_t size, uint64_t address, uint64_t base,
                         char **text, size_t *text_size, struct xf_error *error);

#endif
