// SPDX-License-Identifier: GPL-2.0-or-later
/* Trace records as the agent writes them, and what a stream makes of them. Included after cmocka.
 */
#ifndef XF_TEST_UNIT_TRACE_RECORDS_H
#define XF_TEST_UNIT_TRACE_RECORDS_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "xen/stream.h"

#define PCPU        3u
#define LOST_EVENT  0x0001f001u
#define WRAP_EVENT  0x0001f002u
#define MAX_RECORDS 4096u

/* A record as it lies in the buffer. */
struct record {
	uint8_t bytes[4 + 8 + 28];
	size_t size;
};

static struct record records[MAX_RECORDS];
static size_t nr_records;

/* What came out. */
static uint64_t nr_samples, nr_controls;
static size_t nr_guests; /* of the last sample, and their words */
static unsigned int guest_words[XF_MAX_GUEST_STACKS];
static uint32_t tgid; /* of the last sample's task; 0: it came without */
static uint32_t last_sequence;
static enum xf_control last_kind;
static uint32_t last_words[7];
static size_t last_nr;
static bool checking; /* that the samples are those that add_sample() made */

static uint64_t random_state;

static inline uint64_t random_value(void)
{
	uint64_t value = random_state += 0x9e3779b97f4a7c15ull;

	value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ull;
	value = (value ^ (value >> 27)) * 0x94d049bb133111ebull;
	return value ^ (value >> 31);
}

static inline int set_up(void **state)
{
	const char *seed = getenv("XF_SEED");

	(void)state;
	random_state = seed ? strtoull(seed, NULL, 0) : 1;
	nr_records = 0;
	nr_samples = nr_controls = 0;
	checking = true;
	return 0;
}

static inline void add_record(uint32_t event, bool cycles, const void *data, size_t size)
{
	struct record *record = &records[nr_records++];
	uint32_t head = (event & 0x0fffffff) | (uint32_t)(size / 4) << 28 | (uint32_t)cycles << 31;

	assert_true(nr_records < MAX_RECORDS);
	memcpy(record->bytes, &head, 4);
	record->size = 4;
	if (cycles) {
		memset(record->bytes + 4, 0xcc, 8);
		record->size += 8;
	}
	if (size)
		memcpy(record->bytes + record->size, data, size);
	record->size += size;
}

static inline uint64_t word_of(uint32_t sequence, unsigned int i)
{
	return XF_WORD(i * 2, 0x1000ull * sequence + i);
}

/* As the agent cuts them. Return: how many records. */
static inline size_t add_sample(uint32_t sequence, unsigned int words)
{
	uint64_t storage[XF_SAMPLE_HEAD_BYTES / 8 + XF_MAX_WORDS + 8] = {0};
	struct xf_sample *sample = (struct xf_sample *)(void *)storage;
	const uint8_t *bytes = (const uint8_t *)storage;
	size_t before = nr_records;
	size_t left;
	unsigned int i;

	sample->sequence = sequence;
	sample->bytes = XF_SAMPLE_HEAD_BYTES + 8 * words;
	sample->pcpu = PCPU;
	sample->rip = ~(uint64_t)sequence;
	for (i = 0; i < words; i++)
		sample->words[i] = word_of(sequence, i);
	for (i = 0, left = sample->bytes; left; i++) {
		size_t size = left < XF_PART_BYTES ? left : XF_PART_BYTES;

		add_record(XF_PART_EVENT(XF_TRACE_SAMPLE, sequence, i), false, bytes, size);
		bytes += size;
		left -= size;
	}
	return nr_records - before;
}

static inline void add_guest_parts(uint32_t sequence, const void *content, size_t left)
{
	const uint8_t *bytes = content;

	for (unsigned int i = 0; left; i++) {
		size_t size = left < XF_PART_BYTES ? left : XF_PART_BYTES;

		add_record(XF_PART_EVENT(XF_TRACE_GUEST, sequence, i), false, bytes, size);
		bytes += size;
		left -= size;
	}
}

static inline void add_task(uint32_t sequence, uint32_t tgid_there)
{
	struct xf_guest_task task = {.sequence = sequence,
	                             .bytes = sizeof(task),
	                             .mode = XF_GUEST_TASK,
	                             .pcpu = PCPU,
	                             .tgid = tgid_there};

	add_guest_parts(sequence, &task, sizeof(task));
}

/* As the agent cuts a stack of the guest of sample @sequence. */
static inline void add_guest(uint32_t sequence, unsigned int words)
{
	uint64_t storage[XF_STREAM_MAX_GUEST / 8] = {0};
	struct xf_guest_stack *guest = (struct xf_guest_stack *)(void *)storage;

	guest->sequence = sequence;
	guest->bytes = XF_GUEST_HEAD_BYTES + 8 * words;
	guest->pcpu = PCPU;
	guest->mode = XF_GUEST_KERNEL;
	guest->rsp = words;
	add_guest_parts(sequence, guest, guest->bytes);
}

static inline void take_sample(void *context, const struct xf_sample *sample,
                               const struct xf_sample_guest *guest)
{
	unsigned int i;

	assert_ptr_equal(context, &nr_samples);
	nr_guests = guest->nr;
	for (i = 0; i < guest->nr; i++) {
		assert_int_equal(guest->stacks[i]->sequence, sample->sequence);
		guest_words[i] = (unsigned int)guest->stacks[i]->rsp;
	}
	tgid = guest->task ? guest->task->tgid : 0;
	assert_true(!guest->task || guest->task->sequence == sample->sequence);
	nr_samples++;
	last_sequence = sample->sequence;
	assert_true(sample->bytes >= XF_SAMPLE_HEAD_BYTES);
	assert_int_equal(sample->pcpu, PCPU);
	if (!checking)
		return;
	assert_int_equal(sample->rip, ~(uint64_t)sample->sequence);
	for (i = 0; i < (sample->bytes - XF_SAMPLE_HEAD_BYTES) / 8; i++)
		assert_int_equal(sample->words[i], word_of(sample->sequence, i));
}

static inline void take_control(void *context, enum xf_control kind, const uint32_t *words,
                                size_t nr)
{
	assert_ptr_equal(context, &nr_samples);
	assert_true(nr >= 1 && nr <= 7);
	nr_controls++;
	last_kind = kind;
	last_nr = nr;
	memcpy(last_words, words, nr * 4);
}

static const struct xf_stream_sink sink = {
        .context = &nr_samples, .sample = take_sample, .control = take_control};

/* Feeds the exact bytes, so that ASan sees a read beyond them. */
static inline void feed_bytes(struct xf_stream *stream, const uint8_t *bytes, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1);

	memcpy(copy, bytes, size);
	xf_stream_feed(stream, size ? copy : NULL, size, &sink);
	free(copy);
}

/* Feeds records from @first to @last, not included, in one call. */
static inline void feed(struct xf_stream *stream, size_t first, size_t last)
{
	size_t size = 0, i;
	uint8_t *bytes;

	for (i = first; i < last; i++)
		size += records[i].size;
	bytes = malloc(size ? size : 1);
	for (i = first, size = 0; i < last; size += records[i++].size)
		memcpy(bytes + size, records[i].bytes, records[i].size);
	xf_stream_feed(stream, bytes, size, &sink);
	free(bytes);
}

static inline struct xf_stream new_stream(void)
{
	struct xf_stream stream;

	xf_stream_init(&stream, PCPU);
	nr_samples = nr_controls = 0;
	return stream;
}

#endif
