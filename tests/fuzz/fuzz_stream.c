// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any bytes, read as a pCPU's trace buffer in pieces, and what comes of them written as a
 * recording. Each piece is preceded by its size in 32-bit words (a byte). tests/fuzz/run has how to
 * build and replay.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "profile/recording.h"
#include "xen/stream.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

struct taken {
	struct xf_recording_writer *writer;
	uint64_t samples;
};

static void take_sample(void *context, const struct xf_sample *sample,
                        const struct xf_sample_guest *guest)
{
	struct taken *taken = context;

	if (sample->bytes < XF_SAMPLE_HEAD_BYTES ||
	    sample->bytes > XF_SAMPLE_HEAD_BYTES + 8 * XF_MAX_WORDS ||
	    (sample->bytes - XF_SAMPLE_HEAD_BYTES) % 8 != 0 || sample->pcpu != 0)
		abort();
	taken->samples++;
	if (guest->nr > XF_MAX_GUEST_STACKS)
		abort();
	if (guest->task && (guest->task->sequence != sample->sequence || guest->task->pcpu != 0 ||
	                    xf_recording_write_guest_task(taken->writer, guest->task) != 0))
		abort();
	for (size_t i = 0; i < guest->nr; i++)
		if (guest->stacks[i]->sequence != sample->sequence || guest->stacks[i]->pcpu != 0 ||
		    xf_recording_write_guest_stack(taken->writer, guest->stacks[i]) != 0)
			abort();
	if (xf_recording_write_sample(taken->writer, sample) != 0)
		abort();
}

static void take_control(void *context, enum xf_control kind, const uint32_t *words, size_t nr)
{
	(void)context;
	(void)kind;
	if (nr < 1 || nr > 7)
		abort();
	/* All of them can be read. */
	while (nr--)
		(void)((volatile const uint32_t *)words)[nr];
}

static int write_nowhere(void *context, const void *bytes, size_t size)
{
	(void)context;
	(void)bytes;
	(void)size;
	return 0;
}

/* A copy of its own for each piece: ASan sees a read beyond it. */
static void feed(struct xf_stream *stream, const uint8_t *bytes, size_t size,
                 const struct xf_stream_sink *sink)
{
	uint8_t *copy = malloc(size ? size : 1);

	if (!copy)
		return;
	memcpy(copy, bytes, size);
	xf_stream_feed(stream, copy, size, sink);
	free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct taken taken = {0};
	struct xf_stream_sink sink = {
	        .context = &taken, .sample = take_sample, .control = take_control};
	static struct xf_stream stream;

	if (xf_recording_writer_new((struct xf_recording_sink){write_nowhere, NULL}, &taken.writer,
	                            NULL) != 0)
		return 0;
	xf_stream_init(&stream, 0);
	while (size) {
		size_t piece = 4 * (size_t)bytes[0];

		bytes++;
		size--;
		if (piece > size)
			piece = size;
		feed(&stream, bytes, piece, &sink);
		bytes += piece;
		size -= piece;
	}
	if (taken.samples != stream.delivered)
		abort();
	xf_recording_writer_free(taken.writer);
	return 0;
}
