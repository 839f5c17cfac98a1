// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How this Xen is laid out, found out from its machine code and symbols: no table of versions.
 * Pure.
 */
#ifndef XF_XEN_DISCOVER_H
#define XF_XEN_DISCOVER_H

#include "base/error.h"
#include "symbol/symbols.h"
#include "unwind/unwind.h"
#include "xenflame/agent.h"

/* Xen's text as its symbols say. */
struct xf_text_range {
	uint64_t image_start; /* _start: the first byte of the image */
	uint64_t start;       /* _stext */
	uint64_t end;         /* _etext */
	uint64_t image_end;   /* _end: live patches are loaded above it */
};

/* Return: 0; -EOPNOTSUPP and @error naming the symbol that is missing. */
int xf_discover_text(const struct xf_symbols *symbols, struct xf_text_range *range,
                     struct xf_error *error);

/*
 * Fills the offsets and addresses of @config that depend on Xen (see xenflame/agent.h); the others
 * are left as they are. What is found by votes needs a clear majority.
 * Return: 0; -EOPNOTSUPP and @error that says what could not be found.
 */
int xf_discover_layout(const struct xf_code *code, const struct xf_symbols *symbols,
                       struct xf_agent_config *config, struct xf_error *error);

#endif
