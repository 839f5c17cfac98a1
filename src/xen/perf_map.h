// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Names of code that a process has made in its memory, from the file that compilers at run time
 * write for Linux's perf: /tmp/perf-PID.map.
 */
#ifndef XF_XEN_PERF_MAP_H
#define XF_XEN_PERF_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "symbol/symbols.h"

/*
 * Reads the map of process @pid: while it lives the one that it sees, and that it has written
 * itself; once it @has_ended, ours, which root must have written, since it may be anybody's.
 * Return: its names, to be freed with xf_symbols_free; NULL where there are none to be believed.
 */
struct xf_symbols *xf_perf_map_read(uint32_t pid, bool has_ended);

#endif
