// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How long each vCPU ran, waited for a pCPU, was blocked or offline: out of the records that Xen's
 * scheduler writes into the trace buffers whenever a vCPU's run state changes. Pure.
 *
 * A vCPU's records come through the buffers of all pCPUs, which are read one after another, so they
 * are put in order of time first, and looked at when the next read has shown that none can be
 * missing. Each one tells the state before and the state after it, so that what was before the
 * first one is known, and a missing one shows. Where records have been lost nothing is claimed
 * of any vCPU: the first record from then on may be of anybody.
 */
#ifndef XF_XEN_RUNSTATES_H
#define XF_XEN_RUNSTATES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/format.h"

struct xf_runstates;

/*
 * A span is finished when it has become as long as @span_ticks. Return: NULL without memory; to be
 * freed with xf_runstates_free, which takes NULL.
 */
struct xf_runstates *xf_runstates_new(uint64_t span_ticks);
void xf_runstates_free(struct xf_runstates *states);

/* From @tsc on all records come; nothing is known of what is before. To be called once. */
void xf_runstates_begin(struct xf_runstates *states, uint64_t tsc);

/* A trace record as xf_stream_feed hands it on; what is not of run states, or has no time, is left
 * alone. */
void xf_runstates_take(struct xf_runstates *states, uint32_t event, uint64_t tsc,
                       const uint8_t *bytes, size_t size);

/*
 * All buffers have been read; @tsc is from right before that. @gap: since the read before records
 * may have been lost, or have not been asked for.
 */
void xf_runstates_turn(struct xf_runstates *states, uint64_t tsc, bool gap);

/*
 * The vCPU is in that state now. Believed where its records say nothing: it has been in it as long
 * as they have.
 */
void xf_runstates_tell(struct xf_runstates *states, uint16_t domid, uint16_t vcpu,
                       enum xf_runstate state);

/* Nothing comes any more: what is known up to the last turn becomes spans. */
void xf_runstates_end(struct xf_runstates *states);

/* The spans that have been finished since they were last forgotten. Return: how many. */
size_t xf_runstates_spans(const struct xf_runstates *states, const struct xf_runstate_span **spans);
void xf_runstates_forget(struct xf_runstates *states);

struct xf_runstates_books {
	uint64_t records; /* of run states */
	uint64_t gaps;    /* turns with a gap */
	uint64_t broken;  /* records that do not go with the one before */
	bool failed;      /* memory has run out: spans are missing */
};
struct xf_runstates_books xf_runstates_books(const struct xf_runstates *states);

#endif
