// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One pCPU's trace buffer contents, turned back into the agent's samples and control records. Pure.
 * Whatever the bytes are, nothing is read outside them, and nothing is lost without being counted.
 */
#ifndef XF_XEN_STREAM_H
#define XF_XEN_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xenflame/sample.h"

#define XF_STREAM_MAX_SAMPLE (XF_SAMPLE_HEAD_BYTES + 8 * XF_MAX_WORDS)
#define XF_STREAM_MAX_GUEST  (XF_GUEST_HEAD_BYTES + 8 * XF_MAX_GUEST_WORDS)

/* What came of the guest with a sample. */
struct xf_sample_guest {
	const struct xf_guest_stack *stacks[XF_MAX_GUEST_STACKS]; /* from the innermost outwards */
	size_t nr;
	const struct xf_guest_task *task; /* NULL: not known */
};

struct xf_stream {
	uint32_t pcpu;
	/* The sample, or what of its guest, that is being put together. */
	_Alignas(8) uint8_t bytes[XF_STREAM_MAX_GUEST + XF_PART_BYTES];
	uint32_t kind; /* XF_TRACE_SAMPLE or XF_TRACE_GUEST */
	uint32_t filled;
	uint32_t next_part;
	uint32_t sequence; /* low six bits */
	bool open;
	bool given_up; /* what is of @kind and @sequence, already counted: further parts are skipped
	                */
	/* Stacks whose sample has not come yet. */
	_Alignas(8) uint8_t guests[XF_MAX_GUEST_STACKS][XF_STREAM_MAX_GUEST];
	size_t nr_guests;
	struct xf_guest_task task; /* likewise, where it is of the same sample */
	bool has_task;
	/* The books. */
	uint64_t delivered;       /* whole samples handed on */
	uint64_t broken;          /* samples of which a part was missing or made no sense */
	uint64_t broken_guests;   /* records of guests of which that is so, or whose sample is not
	                             there */
	uint64_t lost_records;    /* as Xen reports them: trace records, several to a sample */
	uint64_t foreign_records; /* of other trace classes */
	uint64_t damaged_bytes;   /* skipped because they can't be a record */
};

/* What a stream hands on. Pointers are valid during the call only. Any may be NULL. */
struct xf_stream_sink {
	void *context;
	void (*sample)(void *context, const struct xf_sample *sample,
	               const struct xf_sample_guest *guest);
	/* @words has @nr 32-bit words, at most 7. */
	void (*control)(void *context, enum xf_control kind, const uint32_t *words, size_t nr);
	/* A record that is not the agent's, of @size bytes; @tsc is 0 where it bears no time. */
	void (*foreign)(void *context, uint32_t event, uint64_t tsc, const uint8_t *bytes,
	                size_t size);
};

void xf_stream_init(struct xf_stream *stream, uint32_t pcpu);

/* Takes the @size bytes that have come since the last call; records do not straddle calls. */
void xf_stream_feed(struct xf_stream *stream, const uint8_t *bytes, size_t size,
                    const struct xf_stream_sink *sink);

#endif
