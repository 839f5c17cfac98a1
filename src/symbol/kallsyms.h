// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The symbols of a running Linux as it tells them in /proc/kallsyms: a line "ADDRESS TYPE NAME" for
 * each, and "\t[MODULE]" behind those of modules and of code that is made at run time. Pure.
 */
#ifndef XF_SYMBOL_KALLSYMS_H
#define XF_SYMBOL_KALLSYMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "symbol/symbols.h"

/* What comes from code that is made at run time, one symbol each, is not told the size of: no more
 * than so much of it is named. */
#define XF_KALLSYMS_MADE_BYTES 4096u

struct xf_kallsyms_line {
	uint64_t address;
	char type;
	const char *name; /* borrowed, not terminated */
	size_t name_size;
	const char *module; /* the same; NULL: the kernel itself */
	size_t module_size;
};

/* Reads the line at *@text of @end, and moves there past it, and past lines that are none. Return:
 * false where there is no more. */
bool xf_kallsyms_next(const char **text, const char *end, struct xf_kallsyms_line *line);

/* Return: whether it is of code. */
bool xf_kallsyms_is_code(const struct xf_kallsyms_line *line);

/* Return: whether it is of code that is made at run time, and of no module. */
bool xf_kallsyms_is_made(const struct xf_kallsyms_line *line);

/* Return: whether it is @name, of the kernel itself. */
bool xf_kallsyms_is(const struct xf_kallsyms_line *line, const char *name);

/*
 * Takes the symbols of code in the @size bytes at @text, without those that mark sections; those of
 * modules become "NAME [MODULE]", and where the kernel's own code ends an end is marked
 * (symbol/symbols.h). Return: 0 and *@symbols, not yet finished, so that more can be added; to be
 * freed by the caller. -EACCES where all addresses are hidden, -EBADMSG where there are no symbols
 * of code, -ENOMEM; and
 * @error.
 */
int xf_kallsyms_parse(const char *text, size_t size, struct xf_symbols **symbols,
                      struct xf_error *error);

#endif
