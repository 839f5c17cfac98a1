// SPDX-License-Identifier: GPL-2.0-or-later
#include "xen/stream.h"

#include <stddef.h>
#include <string.h>

#include "base/cursor.h"

/* Xen's public trace.h: the record's first word, and the two events that every reader must know. */
#define HEAD_CYCLES        0x80000000u
#define HEAD_EXTRA(head)   ((head) >> 28 & 7)
#define HEAD_EVENT(head)   ((head)&0x0fffffffu)
#define EVENT_LOST_RECORDS 0x0001f001u
#define EVENT_WRAP         0x0001f002u

void xf_stream_init(struct xf_stream *stream, uint32_t pcpu)
{
	memset(stream, 0, sizeof(*stream));
	stream->pcpu = pcpu;
}

/* One more that can't be put together. */
static void count_broken(struct xf_stream *stream, uint32_t kind)
{
	if (kind == XF_TRACE_GUEST)
		stream->broken_guests++;
	else
		stream->broken++;
}

static void give_up(struct xf_stream *stream)
{
	if (stream->open) {
		count_broken(stream, stream->kind);
		stream->given_up = true;
	}
	stream->open = false;
}

static void drop_guest(struct xf_stream *stream)
{
	stream->broken_guests += stream->nr_guests + stream->has_task;
	stream->nr_guests = 0;
	stream->has_task = false;
}

static const struct xf_guest_stack *stack_at(const struct xf_stream *stream, size_t index)
{
	return (const struct xf_guest_stack *)(const void *)stream->guests[index];
}

/* What waits for another sample than that of @sequence waits in vain. */
static void keep_only(struct xf_stream *stream, uint32_t sequence)
{
	if ((stream->nr_guests && stack_at(stream, 0)->sequence != sequence) ||
	    (stream->has_task && stream->task.sequence != sequence))
		drop_guest(stream);
}

/* Whether what has been put together has @bytes bytes, @head of them and whole words, and is this
 * pCPU's. */
static bool is_sound(const struct xf_stream *stream, uint32_t bytes, uint32_t head, uint32_t pcpu)
{
	return stream->filled == bytes && (bytes - head) % 8 == 0 && pcpu == stream->pcpu;
}

static void keep_stack(struct xf_stream *stream, const struct xf_guest_stack *stack)
{
	if (stream->nr_guests == XF_MAX_GUEST_STACKS)
		stream->broken_guests++;
	else
		memcpy(stream->guests[stream->nr_guests++], stack, stack->bytes);
}

static void keep_task(struct xf_stream *stream)
{
	if (stream->has_task)
		stream->broken_guests++;
	memcpy(&stream->task, stream->bytes, sizeof(stream->task));
	stream->has_task = true;
}

static void keep_guest(struct xf_stream *stream)
{
	/* What tells the two apart they have at the same places. */
	const struct xf_guest_stack *guest =
	        (const struct xf_guest_stack *)(const void *)stream->bytes;
	bool is_task = guest->mode == XF_GUEST_TASK && guest->bytes == XF_GUEST_TASK_BYTES;
	bool is_stack = guest->mode == XF_GUEST_KERNEL || guest->mode == XF_GUEST_USER;

	if (!is_sound(stream, guest->bytes, XF_GUEST_HEAD_BYTES, guest->pcpu) ||
	    (!is_task && !is_stack)) {
		give_up(stream);
		return;
	}
	stream->open = false;
	keep_only(stream, guest->sequence);
	if (is_task)
		keep_task(stream);
	else
		keep_stack(stream, guest);
}

static void hand_on(struct xf_stream *stream, const struct xf_stream_sink *sink)
{
	const struct xf_sample *sample = (const struct xf_sample *)(const void *)stream->bytes;
	struct xf_sample_guest guest = {0};

	if (!is_sound(stream, sample->bytes, XF_SAMPLE_HEAD_BYTES, sample->pcpu)) {
		give_up(stream);
		return;
	}
	stream->open = false;
	stream->delivered++;
	keep_only(stream, sample->sequence);
	for (; guest.nr < stream->nr_guests; guest.nr++)
		guest.stacks[guest.nr] = stack_at(stream, guest.nr);
	guest.task = stream->has_task ? &stream->task : NULL;
	if (sink->sample)
		sink->sample(sink->context, sample, &guest);
	stream->nr_guests = 0;
	stream->has_task = false;
}

/* It is whole when it has as many bytes as its head says. */
static void finish(struct xf_stream *stream, const struct xf_stream_sink *sink)
{
	bool is_guest = stream->kind == XF_TRACE_GUEST;
	uint32_t head = is_guest ? XF_GUEST_HEAD_BYTES : XF_SAMPLE_HEAD_BYTES;
	uint32_t most = is_guest ? XF_STREAM_MAX_GUEST : XF_STREAM_MAX_SAMPLE;
	uint16_t bytes;

	_Static_assert(offsetof(struct xf_sample, bytes) == offsetof(struct xf_guest_stack, bytes),
	               "both have it at the same place");
	_Static_assert(offsetof(struct xf_guest_task, mode) ==
	                               offsetof(struct xf_guest_stack, mode) &&
	                       offsetof(struct xf_guest_task, pcpu) ==
	                               offsetof(struct xf_guest_stack, pcpu),
	               "so do these");
	if (stream->filled < head)
		return;
	memcpy(&bytes, stream->bytes + offsetof(struct xf_sample, bytes), sizeof(bytes));
	if (bytes < head || bytes > most)
		give_up(stream);
	else if (stream->filled >= bytes && is_guest)
		keep_guest(stream);
	else if (stream->filled >= bytes)
		hand_on(stream, sink);
}

static bool is_of(const struct xf_stream *stream, uint32_t kind, uint32_t sequence)
{
	return stream->kind == kind && stream->sequence == sequence;
}

static void begin(struct xf_stream *stream, uint32_t kind, uint32_t sequence)
{
	give_up(stream);
	stream->kind = kind;
	stream->sequence = sequence;
	stream->open = true;
	stream->given_up = false;
	stream->filled = 0;
	stream->next_part = 0;
}

/* A part of what has no first part, or has been given up already: counted once. */
static void skip(struct xf_stream *stream, uint32_t kind, uint32_t sequence)
{
	if (!stream->given_up || !is_of(stream, kind, sequence))
		count_broken(stream, kind);
	stream->kind = kind;
	stream->sequence = sequence;
	stream->given_up = true;
}

static void take_part(struct xf_stream *stream, uint32_t event, const uint8_t *bytes, size_t size,
                      const struct xf_stream_sink *sink)
{
	uint32_t part = XF_PART_NUMBER(event), sequence = XF_PART_SEQUENCE(event);
	uint32_t kind = event & XF_TRACE_KIND_MASK;

	if (part == 0) {
		begin(stream, kind, sequence);
	} else if (!stream->open) {
		skip(stream, kind, sequence);
		return;
	}
	if (part != stream->next_part || !is_of(stream, kind, sequence) ||
	    size > sizeof(stream->bytes) - stream->filled) {
		give_up(stream);
		return;
	}
	memcpy(stream->bytes + stream->filled, bytes, size);
	stream->filled += size;
	stream->next_part++;
	finish(stream, sink);
}

static void take_control(uint32_t event, const uint8_t *bytes, size_t size,
                         const struct xf_stream_sink *sink)
{
	uint32_t words[7];

	memcpy(words, bytes, size);
	if (sink->control && size)
		sink->control(sink->context, event & 0xfff, words, size / 4);
}

static void take_record(struct xf_stream *stream, uint32_t event, uint64_t tsc,
                        const uint8_t *bytes, size_t size, const struct xf_stream_sink *sink)
{
	uint32_t lost;

	if (event == EVENT_WRAP)
		return;
	if (event == EVENT_LOST_RECORDS) {
		give_up(stream);
		if (size >= 4) {
			memcpy(&lost, bytes, 4);
			stream->lost_records += lost;
		}
		return;
	}
	switch (event & XF_TRACE_KIND_MASK) {
	case XF_TRACE_SAMPLE:
	case XF_TRACE_GUEST:
		take_part(stream, event, bytes, size, sink);
		break;
	case XF_TRACE_CONTROL:
		take_control(event, bytes, size, sink);
		break;
	default:
		stream->foreign_records++;
		if (sink->foreign)
			sink->foreign(sink->context, event, tsc, bytes, size);
	}
}

void xf_stream_feed(struct xf_stream *stream, const uint8_t *bytes, size_t size,
                    const struct xf_stream_sink *sink)
{
	struct xf_cursor cursor = xf_cursor_over(bytes, size);

	while (xf_cursor_left(&cursor)) {
		size_t before = xf_cursor_left(&cursor);
		uint32_t head = xf_cursor_u32(&cursor);
		size_t extra = 4 * (size_t)HEAD_EXTRA(head);
		uint64_t tsc = head & HEAD_CYCLES ? xf_cursor_u64(&cursor) : 0;
		const uint8_t *content;

		content = xf_cursor_take(&cursor, extra);
		if (cursor.failed) {
			stream->damaged_bytes += before;
			give_up(stream);
			return;
		}
		take_record(stream, HEAD_EVENT(head), tsc, content, extra, sink);
	}
}
