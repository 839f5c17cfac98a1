// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Xen's per-pCPU trace buffers, mapped into the tool, of which it is the only consumer.
 */
#ifndef XF_XEN_TRACEBUFFER_H
#define XF_XEN_TRACEBUFFER_H

#include "base/error.h"
#include "xen/hypercall.h"
#include "xen/stream.h"

/*
 * The right to consume Xen's trace buffers: the event of which there is one (VIRQ_TBUF), as Xen's
 * own xentrace takes it. Return: 0 and *@claim, to be given back with xf_trace_release, which takes
 * NULL; -EBUSY where another program has it.
 */
struct xf_trace_claim;
int xf_trace_claim(struct xf_trace_claim **claim, struct xf_error *error);
void xf_trace_release(struct xf_trace_claim *claim);

/*
 * Where a killed recorder has left tracing on and the agent's event mask set: off, and the mask as
 * Xen boots with. To be called with the claim held. Return: 0 or a negative errno value.
 */
int xf_trace_reset(struct xf_xen *xen, struct xf_error *error);

struct xf_tracebuffers;

/*
 * Allocates the buffers, unless that was done since boot (Xen can do it once), and maps them.
 * Tracing is off afterwards and the buffers are empty. Return: 0 and *@buffers, to be closed with
 * xf_tracebuffers_close (NULL allowed), which switches tracing off and puts the event mask back;
 * -ENOBUFS where Xen has no memory for even small buffers, or another negative errno value.
 */
int xf_tracebuffers_open(struct xf_xen *xen, unsigned int max_pcpu,
                         struct xf_tracebuffers **buffers, struct xf_error *error);
void xf_tracebuffers_close(struct xf_tracebuffers *buffers);

/* Bytes of one pCPU's buffer. */
size_t xf_tracebuffers_size(const struct xf_tracebuffers *buffers);

/* Lets records through, all pCPUs': @mask is XF_TRACE_MASK or XF_TRACE_MASK_SCHED, with the lease
 * in the bits that are free. */
int xf_tracebuffers_enable(struct xf_tracebuffers *buffers, uint32_t mask, struct xf_error *error);

/* Another sign of life for the agent. */
int xf_tracebuffers_renew(struct xf_tracebuffers *buffers, uint32_t mask, struct xf_error *error);

/*
 * Hands all that has come since the last call to @sink, pCPU by pCPU, and makes room in the
 * buffers. Return: 0; -EIO where a buffer's indices make no sense (it is not read any more).
 */
int xf_tracebuffers_read(struct xf_tracebuffers *buffers, const struct xf_stream_sink *sink,
                         struct xf_error *error);

/* What the last read has shown of all buffers together. */
struct xf_tracebuffers_load {
	bool gaps;    /* records are missing, or may be: a buffer was full */
	bool crowded; /* one was half full */
};
struct xf_tracebuffers_load xf_tracebuffers_load(const struct xf_tracebuffers *buffers);

/* Whether @pcpu has a buffer: it was online when Xen allocated them. */
bool xf_tracebuffers_has(const struct xf_tracebuffers *buffers, unsigned int pcpu);

/* The books of @pcpu's stream; NULL beyond the highest pCPU. */
const struct xf_stream *xf_tracebuffers_stream(const struct xf_tracebuffers *buffers,
                                               unsigned int pcpu);

#endif
