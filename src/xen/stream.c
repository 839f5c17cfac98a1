// SPDX-License-Identifier: GPL-2.0-or-later
#include "xen/stream.h"

#include <string.h>

#include "base/cursor.h"

/* Xen's public trace.h: the record's first word, and the two events that every reader must know. */
#define HEAD_CYCLES        0x80000000u
#define HEAD_EXTRA(head)   ((head) >> 28 & 7)
#define HEAD_EVENT(head)   ((head)&0x0fffffffu)
#define EVENT_LOST_RECORDS 0x0001f001u
#define EVENT_WRAP         0x0001f002u

#define MAX_SAMPLE_BYTES (XF_SAMPLE_HEAD_BYTES + 8 * XF_MAX_WORDS)

void xf_stream_init(struct xf_stream *stream, uint32_t pcpu)
{
	memset(stream, 0, sizeof(*stream));
	stream->pcpu = pcpu;
}

static void give_up(struct xf_stream *stream)
{
	if (stream->open) {
		stream->broken++;
		stream->given_up = true;
	}
	stream->open = false;
}

/* The sample is whole when it has as many bytes as its head says. */
static void finish_sample(struct xf_stream *stream, const struct xf_stream_sink *sink)
{
	const struct xf_sample *sample = (const struct xf_sample *)(const void *)stream->sample;

	if (stream->filled < XF_SAMPLE_HEAD_BYTES ||
	    (stream->filled < sample->bytes && sample->bytes <= MAX_SAMPLE_BYTES))
		return;
	if (stream->filled != sample->bytes || sample->bytes > MAX_SAMPLE_BYTES ||
	    (sample->bytes - XF_SAMPLE_HEAD_BYTES) % 8 != 0 || sample->pcpu != stream->pcpu) {
		give_up(stream);
		return;
	}
	stream->open = false;
	stream->delivered++;
	if (sink->sample)
		sink->sample(sink->context, sample);
}

static void take_part(struct xf_stream *stream, uint32_t event, const uint8_t *bytes, size_t size,
                      const struct xf_stream_sink *sink)
{
	uint32_t part = XF_PART_NUMBER(event);

	if (part == 0) {
		give_up(stream);
		stream->open = true;
		stream->given_up = false;
		stream->filled = 0;
		stream->next_part = 0;
		stream->sequence = XF_PART_SEQUENCE(event);
	}
	if (!stream->open) {
		/* The sample's first part is missing, or it has been given up already. */
		if (!stream->given_up || stream->sequence != XF_PART_SEQUENCE(event))
			stream->broken++;
		stream->given_up = true;
		stream->sequence = XF_PART_SEQUENCE(event);
		return;
	}
	if (part != stream->next_part || stream->sequence != XF_PART_SEQUENCE(event) ||
	    size > sizeof(stream->sample) - stream->filled) {
		give_up(stream);
		return;
	}
	memcpy(stream->sample + stream->filled, bytes, size);
	stream->filled += size;
	stream->next_part++;
	finish_sample(stream, sink);
}

static void take_control(uint32_t event, const uint8_t *bytes, size_t size,
                         const struct xf_stream_sink *sink)
{
	uint32_t words[7];

	memcpy(words, bytes, size);
	if (sink->control && size)
		sink->control(sink->context, event & 0xfff, words, size / 4);
}

static void take_record(struct xf_stream *stream, uint32_t event, const uint8_t *bytes, size_t size,
                        const struct xf_stream_sink *sink)
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
		take_part(stream, event, bytes, size, sink);
		break;
	case XF_TRACE_CONTROL:
		take_control(event, bytes, size, sink);
		break;
	default:
		stream->foreign_records++;
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
		const uint8_t *content;

		if (head & HEAD_CYCLES)
			xf_cursor_take(&cursor, 8);
		content = xf_cursor_take(&cursor, extra);
		if (cursor.failed) {
			stream->damaged_bytes += before;
			give_up(stream);
			return;
		}
		take_record(stream, HEAD_EVENT(head), content, extra, sink);
	}
}
