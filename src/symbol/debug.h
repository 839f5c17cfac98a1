// SPDX-License-Identifier: GPL-2.0-or-later
/* Debug info (DWARF) of an ELF file: from addresses to lines of the source and inlined calls. */
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

/* A place in the source, in a function. All names are the debug info's until it is closed. */
struct xf_call {
	const char *function; /* NULL: not known */
	const char *file;     /* of the place; NULL: not known */
	int line;             /* 0: not known */
	bool inlined;         /* its caller is the next one */
};

/* What an instruction of xf_debug_calls can have at most. */
#define XF_CALLS_MAX 64u

/*
 * Where the instruction at @address comes from: in calls[0], and if the function there has been
 * inlined, where that is called, and so on, the last one being the function that was compiled as
 * such. Return: how many are known, at most @max; 0 where nothing is.
 */
size_t xf_debug_calls(struct xf_debug *debug, uint64_t address, struct xf_call *calls, size_t max);

/* Return: whether it is known where the function of calls[@nth] of @address is defined. */
bool xf_debug_definition(struct xf_debug *debug, uint64_t address, size_t nth, const char **file,
                         int *line);

#endif
