// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * From addresses to lines of the source and inlined calls, by DWARF. What a unit of compilation
 * says is worked out when the first address in it is asked for, and kept. For src/symbol/ alone.
 */
#ifndef XF_SYMBOL_LINES_H
#define XF_SYMBOL_LINES_H

#include <elfutils/libdw.h>

#include "symbol/debug.h"

struct xf_units;

/* Return: the units of @dwarf, which must outlive them; NULL without memory. Free with
 * xf_units_free. */
struct xf_units *xf_units_new(Dwarf *dwarf);
void xf_units_free(struct xf_units *units);

/* As xf_debug_calls. */
size_t xf_units_calls(struct xf_units *units, uint64_t address, struct xf_call *calls, size_t max);

/* As xf_debug_definition, of an address for which there were calls. */
bool xf_units_definition(const struct xf_units *units, uint64_t address, size_t nth,
                         const char **file, int *line);

#endif
