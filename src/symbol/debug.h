// SPDX-License-Identifier: GPL-2.0-or-later
/* Debug info (DWARF) of an ELF file: from addresses to lines of the source. */
#ifndef XF_SYMBOL_DEBUG_H
#define XF_SYMBOL_DEBUG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct xf_debug;

/*
 * Reads @size bytes at @bytes, an ELF file, which must outlive the result unchanged.
 * Return: 0 and *@debug, to be freed with xf_debug_close; -EBADMSG where it is no ELF file,
 * -ENODATA where it has no debug info, -ENOMEM; @error tells, without the file's name.
 */
int xf_debug_open(const void *bytes, size_t size, struct xf_debug **debug, struct xf_error *error);
void xf_debug_close(struct xf_debug *debug);

/* Return: the file's build-id as hexadecimal digits; "" where it has none. */
const char *xf_debug_build_id(const struct xf_debug *debug);

/* Return: whether it is known where the instruction at @address comes from: *@file, which is the
 * debug info's until it is closed, and *@line. */
bool xf_debug_line(struct xf_debug *debug, uint64_t address, const char **file, int *line);

#endif
