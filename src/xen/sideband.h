// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which process runs on which CPU of this domain, from Linux's own perf events; and what its clock
 * shows, by the TSC.
 */
#ifndef XF_XEN_SIDEBAND_H
#define XF_XEN_SIDEBAND_H

#include <stdint.h>

#include "base/error.h"
#include "xen/gathered.h"

struct xf_sideband;

enum xf_sideband_wish {
	XF_SIDEBAND_CODE,  /* what is mapped in processes, too */
	XF_SIDEBAND_NAMES, /* who they are, and which runs where */
};

/*
 * Begins to watch, with the processes that there are. Return: 0 and *@sideband, to be closed with
 * xf_sideband_close; otherwise a negative errno value and @error, which says what to do.
 */
int xf_sideband_open(enum xf_sideband_wish wish, struct xf_sideband **sideband,
                     struct xf_error *error);
void xf_sideband_close(struct xf_sideband *sideband);

/* Takes in what has come: to be called twenty times a second. Takes some ten milliseconds at most,
 * plus what the events need. */
void xf_sideband_poll(struct xf_sideband *sideband);

/* What has come. Written, it is to be forgotten with xf_gathered_written. */
struct xf_gathered *xf_sideband_gathered(struct xf_sideband *sideband);

/* Since @from what had come was left out (xf_gathered_leave_out): tells so, and has all processes
 * looked at anew. */
void xf_sideband_go_on(struct xf_sideband *sideband, uint64_t from);

/* Return: events that this domain's kernel had no room for. */
uint64_t xf_sideband_lost(const struct xf_sideband *sideband);

/* Reads both clocks at once. */
void xf_sideband_read_clocks(struct xf_clock_pair *pair);

#endif
