// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "profile/profile.h"
#include "profile/recording.h"

struct bytes {
	uint8_t *at;
	size_t size;
	size_t limit; /* the disk is full there */
};

static int take(void *context, const void *bytes, size_t size)
{
	struct bytes *taken = context;
	size_t fits = taken->limit - taken->size < size ? taken->limit - taken->size : size;

	taken->at = realloc(taken->at, taken->size + fits + 1);
	memcpy(taken->at + taken->size, bytes, fits);
	taken->size += fits;
	return fits == size ? 0 : -ENOSPC;
}

static void add_sample(struct xf_recording_writer *writer, uint32_t sequence, unsigned int words)
{
	uint64_t storage[XF_SAMPLE_HEAD_BYTES / 8 + XF_MAX_WORDS] = {0};
	struct xf_sample *sample = (struct xf_sample *)storage;

	sample->sequence = sequence;
	sample->bytes = (uint16_t)(XF_SAMPLE_HEAD_BYTES + 8 * words);
	sample->tsc = 1000 + sequence;
	sample->domid = 1;
	sample->rip = 0x1001;
	sample->stack_end = 0x8000;
	sample->rsp = 0x7000;
	for (unsigned int i = 0; i < words; i++)
		sample->words[i] = XF_WORD(i, 0x1000 + i);
	assert_int_equal(xf_recording_write_sample(writer, sample), 0);
}

/* A kernel with all that there can be of one, and who runs it. */
static void write_kernel(struct xf_recording_writer *writer, const struct xf_symbols *symbols)
{
	static const uint16_t entries[2][3] = {{8, 0, 5 | 2 << 8}, {16, 0, 5 | 2 << 8}};
	static const int32_t places[2] = {-0x1000, -0x0ff0};
	static const uint8_t header[20] = {0xfe, 0x5d, 0x32, 0xbf, 0x58, 0x1b, 0xd6,
	                                   0x3b, 0x2c, 0xa9, 0xa5, 0xc6, 0x5b, 0xa5,
	                                   0xa6, 0x25, 0xea, 0xb3, 0xfe, 0x24};
	const struct xf_orc orc = {.places = places,
	                           .places_size = sizeof(places),
	                           .places_address = 0x2000,
	                           .entries = entries,
	                           .entries_size = sizeof(entries),
	                           .header = header,
	                           .header_size = sizeof(header)};
	const struct xf_code text = {.address = 0x1000, .size = 0x100};
	const struct xf_code module = {
	        .address = 0x4000, .bytes = (const uint8_t *)"\x90\xc3", .size = 2};
	const struct xf_recording_kernel_of of = {.domid = 1, .kernel = 4, .tsc = 5};

	xf_recording_write_kernel(writer, 4, "Linux");
	xf_recording_write_kernel_symbols(writer, 4, symbols);
	xf_recording_write_kernel_orc(writer, 4, &text, &orc);
	xf_recording_write_kernel_code(writer, 4, &module);
	xf_recording_write_kernel_of(writer, &of);
}

static void add_guest_stack(struct xf_recording_writer *writer, uint32_t sequence, uint8_t mode)
{
	uint64_t storage[XF_GUEST_HEAD_BYTES / 8 + 1] = {0};
	struct xf_guest_stack *stack = (struct xf_guest_stack *)storage;

	stack->sequence = sequence;
	stack->bytes = sizeof(storage);
	stack->mode = mode;
	stack->rip = 0x1011;
	stack->rsp = 0x7000;
	stack->end = 0x8000;
	stack->words[0] = XF_WORD(1, 0x1001);
	assert_int_equal(xf_recording_write_guest_stack(writer, stack), 0);
}

static void add_guest_task(struct xf_recording_writer *writer, uint32_t sequence)
{
	struct xf_guest_task task = {.sequence = sequence,
	                             .bytes = sizeof(task),
	                             .mode = XF_GUEST_TASK,
	                             .tgid = 4711,
	                             .comm = "worker"};

	assert_int_equal(xf_recording_write_guest_task(writer, &task), 0);
}

/* A bit of everything. Return: 0 or what the sink said. */
static int write_all(struct bytes *bytes)
{
	struct xf_recording_sink sink = {.write = take, .context = bytes};
	struct xf_recording_domain domain = {
	        .domid = 1, .type = XF_DOMAIN_PVH, .tsc = 5, .name = "guest", .uuid = "u-1"};
	struct xf_recording_livepatch livepatch = {.address = 0x9000, .size = 16, .name = "fix"};
	struct xf_idle_record idle = {.tsc = 2000, .pcpu = 1, .count = 7};
	struct xf_pcpu_statistics books[2] = {{.pcpu = 0, .delivered = 3}, {.pcpu = 1, .idle = 7}};
	struct xf_runstate_span spans[2] = {
	        {.domid = 1, .from = 1000, .to = 1100, .ticks = {60, 30}},
	        {.domid = 1, .from = 900, .to = 1000, .ticks = {0, 0, 100}}};
	struct xf_symbols *symbols = xf_symbols_new();
	struct xf_recording_writer *writer = NULL;
	struct xf_error error;
	int code = xf_recording_writer_new(sink, &writer, &error);

	if (!code) {
		xf_symbols_add(symbols, 0x1000, 0, 'T', "function");
		xf_symbols_add(symbols, 0x1100, 0, 't', "");
		xf_symbols_finish(symbols);
		xf_recording_write_info(writer, "host", "%s", "a\nb=c");
		xf_recording_write_info(writer, "pcpus", "%d", 2);
		xf_recording_write_info(writer, "tsc.hz", "0x%x", 0x10);
		xf_recording_write_info(writer, "pcpus", "%d", 3);
		xf_recording_write_symbols(writer, symbols);
		xf_recording_write_code(writer, 0x1000, "\x90\x90\xc3", 3);
		xf_recording_write_livepatch(writer, &livepatch);
		write_kernel(writer, symbols);
		xf_recording_write_domain(writer, &domain);
		domain.tsc = 1002;
		domain.name = "renamed";
		xf_recording_write_domain(writer, &domain);
		if (!bytes->limit || bytes->limit == SIZE_MAX) {
			add_guest_task(writer, 0);
			add_guest_stack(writer, 0, XF_GUEST_KERNEL);
			add_guest_stack(writer, 0, XF_GUEST_USER);
			add_sample(writer, 0, 2);
			add_sample(writer, 1, 0);
		}
		xf_recording_write_idle(writer, &idle);
		xf_recording_flush(writer);
		if (!bytes->limit || bytes->limit == SIZE_MAX)
			add_sample(writer, 2, XF_MAX_WORDS);
		xf_recording_write_statistics(writer, books, 2);
		xf_recording_write_runstates(writer, spans, 2);
		code = xf_recording_write_end(writer);
		if (!code)
			assert_int_equal(xf_recording_written(writer), bytes->size);
	}
	xf_recording_writer_free(writer);
	xf_symbols_free(symbols);
	return code;
}

static void expect_kernel(const struct xf_recording *recording)
{
	const struct xf_kernels *kernels = xf_recording_kernels(recording);
	const struct xf_recording_kernel *kernel;
	struct xf_symbols *symbols;
	uint64_t slide;

	assert_null(xf_kernels_of(kernels, 0, 5, &slide));
	assert_null(xf_kernels_of(kernels, 1, 4, &slide));
	kernel = xf_kernels_of(kernels, 1, 5, &slide);
	assert_non_null(kernel);
	assert_string_equal(kernel->name, "Linux");
	assert_int_equal(kernel->nr_code, 1);
	assert_memory_equal(kernel->code->bytes, "\x90\xc3", 2);
	assert_int_equal(kernel->orc.places_size, 8);
	assert_int_equal(kernel->orc.entries_size, 12);
	assert_int_equal(kernel->orc.header_size, 20);
	assert_int_equal(((const uint8_t *)kernel->orc.header)[19], 0x24);
	assert_true(kernel->orc.places_address == 0x2000 && kernel->orc_code.address == 0x1000);
	symbols = xf_kernels_symbols(kernel);
	assert_string_equal(xf_symbols_find(symbols, 0x1001)->name, "function");
	xf_symbols_free(symbols);
}

static void expect_guest(const struct xf_record *record)
{
	struct xf_guest_piece piece;
	struct xf_guest_task task;

	assert_true(xf_guest_pieces_task(&record->guest, &task));
	assert_int_equal(task.tgid, 4711);
	assert_string_equal(task.comm, "worker");

	assert_int_equal(record->guest.nr, 2);
	xf_guest_pieces_read(&record->guest, 1, &piece);
	assert_int_equal(piece.stack.mode, XF_GUEST_USER);
	assert_int_equal(piece.nr_words, 1);
	assert_true(XF_WORD_VALUE(piece.stack.words[0]) == 0x1001);
}

static void what_is_written_is_read(void **state)
{
	struct bytes bytes = {.limit = SIZE_MAX};
	struct xf_record_iterator iterator = {0};
	struct xf_recording *recording;
	struct xf_record record;
	struct xf_error error;
	size_t nr;

	(void)state;
	assert_int_equal(write_all(&bytes), 0);
	assert_int_equal(xf_recording_open(bytes.at, bytes.size, &recording, &error), 0);
	assert_true(xf_recording_state(recording).closed);
	assert_false(xf_recording_state(recording).truncated);
	assert_int_equal(xf_recording_state(recording).damaged, 0);
	assert_string_equal(xf_recording_info(recording, "host"), "a b=c");
	assert_int_equal(xf_recording_info_number(recording, "pcpus", 9), 3);
	assert_int_equal(xf_recording_info_number(recording, "tsc.hz", 9), 16);
	assert_int_equal(xf_recording_info_number(recording, "host", 9), 9);
	assert_null(xf_recording_info(recording, "absent"));
	assert_string_equal(xf_symbols_find(xf_recording_symbols(recording), 0x1001)->name,
	                    "function");
	assert_null(xf_symbols_find(xf_recording_symbols(recording), 0x1100));
	assert_memory_equal(xf_recording_code(recording, &nr)->bytes, "\x90\x90\xc3", 3);
	assert_int_equal(nr, 1);
	assert_int_equal(xf_recording_code(recording, &nr)->address, 0x1000);
	assert_string_equal(xf_recording_livepatches(recording, &nr)->name, "fix");
	expect_kernel(recording);
	assert_string_equal(xf_recording_domain(recording, 1, 0)->name, "guest");
	assert_string_equal(xf_recording_domain(recording, 1, 1001)->name, "guest");
	assert_string_equal(xf_recording_domain(recording, 1, 1002)->name, "renamed");
	assert_null(xf_recording_domain(recording, 0, 1002));
	assert_null(xf_recording_domain(recording, 2, 1002));
	assert_int_equal(xf_recording_statistics(recording, &nr)[1].idle, 7);
	assert_int_equal(nr, 2);
	assert_int_equal(xf_recording_runstates(recording)->nr, 2);
	assert_int_equal(xf_recording_runstates(recording)->spans[0].ticks[XF_RUNSTATE_BLOCKED],
	                 100);
	assert_true(xf_recording_next(recording, &iterator, &record));
	assert_int_equal(record.nr_words, 2);
	assert_true(XF_WORD_VALUE(record.sample.words[1]) == 0x1001);
	expect_guest(&record);
	assert_true(xf_recording_next(recording, &iterator, &record));
	assert_int_equal(record.sample.sequence, 1);
	assert_int_equal(record.guest.nr, 0);
	assert_null(record.guest.task);
	assert_true(xf_recording_next(recording, &iterator, &record));
	assert_int_equal(record.type, XF_RECORD_IDLE);
	assert_int_equal(record.idle.count, 7);
	assert_true(xf_recording_next(recording, &iterator, &record));
	assert_int_equal(record.nr_words, XF_MAX_WORDS);
	assert_false(xf_recording_next(recording, &iterator, &record));
	assert_int_equal(xf_recording_time(recording, 32), 2000000000);
	xf_recording_free(recording);
	free(bytes.at);
}

static size_t count_records(const struct xf_recording *recording)
{
	struct xf_record_iterator iterator = {0};
	struct xf_record record;
	size_t nr = 0;

	while (xf_recording_next(recording, &iterator, &record))
		nr++;
	return nr;
}

/* Cut off at every byte, in memory of exactly that size: everything before is read, and said. */
static void every_beginning_can_be_read(void **state)
{
	struct bytes bytes = {.limit = SIZE_MAX};
	size_t records = 0;

	(void)state;
	assert_int_equal(write_all(&bytes), 0);
	for (size_t size = 0; size <= bytes.size; size++) {
		uint8_t *copy = malloc(size ? size : 1);
		struct xf_profile_options options = XF_PROFILE_DEFAULTS;
		struct xf_profile *profile;
		struct xf_recording *recording;
		struct xf_error error = {0};

		memcpy(copy, bytes.at, size);
		if (size < 16) {
			assert_int_equal(xf_recording_open(copy, size, &recording, &error),
			                 -EBADMSG);
			assert_true(error.text[0]);
			free(copy);
			continue;
		}
		assert_int_equal(xf_recording_open(copy, size, &recording, &error), 0);
		assert_int_equal(xf_recording_state(recording).closed, size == bytes.size);
		assert_int_equal(xf_recording_state(recording).damaged, 0);
		assert_true(count_records(recording) >= records);
		records = count_records(recording);
		assert_int_equal(xf_profile_build(recording, &options, &profile, &error),
		                 records ? 0 : -ENODATA);
		if (records)
			xf_profile_free(profile);
		xf_recording_free(recording);
		free(copy);
	}
	assert_int_equal(records, 4);
	free(bytes.at);
}

/* A full disk at every byte: the error comes out, nothing is written after it. */
static void a_full_disk_is_told(void **state)
{
	struct bytes whole = {.limit = 1 << 20};

	(void)state;
	assert_int_equal(write_all(&whole), 0);
	for (size_t limit = 1; limit < whole.size; limit++) {
		struct bytes bytes = {.limit = limit};

		assert_int_equal(write_all(&bytes), -ENOSPC);
		assert_int_equal(bytes.size, limit);
		assert_memory_equal(bytes.at, whole.at, limit);
		free(bytes.at);
	}
	free(whole.at);
}

static int open_patched(const struct bytes *bytes, size_t offset, uint8_t value,
                        struct xf_error *error)
{
	uint8_t *copy = malloc(bytes->size);
	struct xf_recording *recording = NULL;
	int code;

	memcpy(copy, bytes->at, bytes->size);
	copy[offset] = value;
	code = xf_recording_open(copy, bytes->size, &recording, error);
	xf_recording_free(recording);
	free(copy);
	return code;
}

static void strangers_are_refused(void **state)
{
	struct bytes bytes = {.limit = SIZE_MAX};
	struct xf_error error;

	(void)state;
	assert_int_equal(write_all(&bytes), 0);
	assert_int_equal(open_patched(&bytes, 0, 'Y', &error), -EBADMSG);
	assert_non_null(strstr(error.text, "not a recording"));
	assert_int_equal(open_patched(&bytes, 8, 2, &error), -EPROTONOSUPPORT);
	assert_non_null(strstr(error.text, "version 2"));
	free(bytes.at);
}

/* Any byte set to anything: no crash, no endless loop, whatever it means. */
static void damage_is_survived(void **state)
{
	struct bytes bytes = {.limit = SIZE_MAX};
	unsigned int seed = 20261130;

	(void)state;
	print_message("seed %u\n", seed);
	srand(seed);
	assert_int_equal(write_all(&bytes), 0);
	for (int round = 0; round < 3000; round++) {
		struct xf_profile_options options = XF_PROFILE_DEFAULTS;
		struct xf_profile *profile = NULL;
		struct xf_recording *recording = NULL;
		uint8_t *copy = malloc(bytes.size);

		memcpy(copy, bytes.at, bytes.size);
		for (int i = 0; i < 1 + round % 3; i++)
			copy[16 + (size_t)rand() % (bytes.size - 16)] = (uint8_t)rand();
		if (!xf_recording_open(copy, bytes.size, &recording, NULL))
			xf_profile_build(recording, &options, &profile, NULL);
		xf_profile_free(profile);
		xf_recording_free(recording);
		free(copy);
	}
	free(bytes.at);
}

static void unknown_chunks_are_skipped(void **state)
{
	struct bytes bytes = {.limit = SIZE_MAX};
	struct xf_chunk_head head = {.type = 77, .size = 3};
	struct xf_recording *recording;

	(void)state;
	assert_int_equal(write_all(&bytes), 0);
	take(&bytes, &head, sizeof(head));
	take(&bytes, "xyz", 3);
	head = (struct xf_chunk_head){.type = XF_CHUNK_INFO, .size = 4};
	take(&bytes, &head, sizeof(head));
	take(&bytes, "k=v\n", 4);
	assert_int_equal(xf_recording_open(bytes.at, bytes.size, &recording, NULL), 0);
	assert_int_equal(xf_recording_state(recording).unknown_chunks, 1);
	assert_string_equal(xf_recording_info(recording, "k"), "v");
	xf_recording_free(recording);
	free(bytes.at);
}

static void nonsense_is_not_written(void **state)
{
	struct bytes bytes = {.limit = SIZE_MAX};
	struct xf_recording_sink sink = {.write = take, .context = &bytes};
	struct xf_sample sample = {.bytes = XF_SAMPLE_HEAD_BYTES + 4};
	struct xf_guest_stack stack = {.bytes = XF_GUEST_HEAD_BYTES};
	struct xf_guest_task task = {.bytes = sizeof(task), .mode = XF_GUEST_KERNEL};
	struct xf_recording_writer *writer;

	(void)state;
	assert_int_equal(xf_recording_writer_new(sink, &writer, NULL), 0);
	assert_int_equal(xf_recording_write_sample(writer, &sample), -EINVAL);
	sample.bytes = 8;
	assert_int_equal(xf_recording_write_sample(writer, &sample), -EINVAL);
	assert_int_equal(xf_recording_write_guest_stack(writer, &stack), -EINVAL);
	stack.bytes = XF_GUEST_HEAD_BYTES + 4;
	assert_int_equal(xf_recording_write_guest_stack(writer, &stack), -EINVAL);
	stack.bytes = 0;
	assert_int_equal(xf_recording_write_guest_stack(writer, &stack), -EINVAL);
	assert_int_equal(xf_recording_write_guest_task(writer, &task), -EINVAL);
	task.mode = XF_GUEST_TASK;
	task.bytes -= 8;
	assert_int_equal(xf_recording_write_guest_task(writer, &task), -EINVAL);
	assert_int_equal(xf_recording_write_kernel(writer, XF_NO_KERNEL, "none"), -EINVAL);
	assert_int_equal(xf_recording_write_info(writer, "a=b", "c"), -EINVAL);
	assert_int_equal(xf_recording_write_info(writer, "", "c"), -EINVAL);
	xf_recording_writer_free(writer);
	free(bytes.at);
}

/* Of tables the last one that is whole counts; times are those of sampling where they are told. */
static void sampling_has_its_own_times_and_books(void **state)
{
	const struct xf_pcpu_skipped early[] = {{.pcpu = 0, .ticks = 1}, {.pcpu = 1}};
	const struct xf_pcpu_skipped late[] = {{.pcpu = 0, .ticks = 5}, {.pcpu = 1, .ticks = 7}};
	const struct xf_pcpu_skipped none[] = {{.pcpu = 0}, {.pcpu = 1}};
	struct bytes bytes = {.limit = SIZE_MAX};
	struct xf_recording_sink sink = {.write = take, .context = &bytes};
	const struct xf_pcpu_skipped *skipped;
	struct xf_recording_writer *writer;
	struct xf_recording *recording;
	size_t nr;

	(void)state;
	assert_int_equal(xf_recording_writer_new(sink, &writer, NULL), 0);
	xf_recording_write_info(writer, "tsc.hz", "1000");
	xf_recording_write_info(writer, "start.tsc", "5000");
	xf_recording_write_info(writer, "start.time", "1000000000");
	assert_int_equal(xf_recording_write_skipped(writer, none, 2), 0);
	assert_int_equal(xf_recording_flush(writer), 0);
	assert_int_equal(xf_recording_open(bytes.at, bytes.size, &recording, NULL), 0);
	assert_int_equal(xf_recording_start_time(recording), 1000000000);
	assert_int_equal(xf_recording_time(recording, 5250), 250000000);
	xf_recording_skipped(recording, &nr);
	assert_int_equal(nr, 0);
	xf_recording_free(recording);

	xf_recording_write_info(writer, "sampling.start.tsc", "7000");
	assert_int_equal(xf_recording_write_skipped(writer, early, 2), 0);
	assert_int_equal(xf_recording_write_skipped(writer, late, 2), 0);
	assert_int_equal(xf_recording_open(bytes.at, bytes.size, &recording, NULL), 0);
	assert_int_equal(xf_recording_start_time(recording), 3000000000);
	assert_int_equal(xf_recording_time(recording, 7250), 250000000);
	assert_int_equal(xf_recording_time(recording, 6999), 0);
	skipped = xf_recording_skipped(recording, &nr);
	assert_int_equal(nr, 2);
	assert_int_equal(skipped[1].ticks, 7);
	xf_recording_free(recording);
	xf_recording_writer_free(writer);
	free(bytes.at);
}

/* Chunks of kernels that make no sense: left out and counted, each by itself. */
static void nonsense_about_kernels_is_left_out(void **state)
{
	static const struct {
		uint32_t type;
		uint32_t size;
		uint32_t words[12];
	} chunks[] = {
	        {XF_CHUNK_KERNEL, 3, {0}},
	        {XF_CHUNK_KERNEL, 8, {0, 0}},                /* no name */
	        {XF_CHUNK_KERNEL, 12, {XF_NO_KERNEL, 0, 0}}, /* nobody's number */
	        {XF_CHUNK_KERNEL_SYMBOLS, 6, {0}},
	        {XF_CHUNK_KERNEL_SYMBOLS, 22, {0, 0, 1, 0, 0, 0x4141}}, /* no end */
	        {XF_CHUNK_KERNEL_CODE, 16, {0}},                        /* no bytes */
	        {XF_CHUNK_KERNEL_CODE, 24, {0, 0, ~0u, ~0u, 0, 0}},     /* around the end */
	        {XF_CHUNK_KERNEL_ORC, 40, {0}},
	        {XF_CHUNK_KERNEL_ORC,
	         48,
	         {0, 0, 0, 0, 8, 0, 0, 0, 9, 0}}, /* more places than bytes */
	        {XF_CHUNK_KERNEL_ORC, 48, {0, 9, 0, 0, 8, 0, 0, 0, 4, 0}}, /* longer header */
	        {XF_CHUNK_KERNEL_ORC, 48, {0, 0, 1, 0, 0, 1, 0, 0, 4, 0}}, /* more code than any */
	        {XF_CHUNK_KERNEL_ORC, 48, {0, 0, 0, 0, 8, 0, 0, 0, 8, 0}}, /* no entries */
	        {XF_CHUNK_KERNEL_OF, 23, {0}},
	};
	const size_t nr = sizeof(chunks) / sizeof(chunks[0]);
	struct bytes bytes = {.limit = SIZE_MAX};
	struct xf_recording *recording;
	uint64_t slide;

	(void)state;
	assert_int_equal(write_all(&bytes), 0);
	for (size_t i = 0; i < nr; i++) {
		struct xf_chunk_head head = {.type = chunks[i].type, .size = chunks[i].size};

		take(&bytes, &head, sizeof(head));
		take(&bytes, chunks[i].words, chunks[i].size);
	}
	assert_int_equal(xf_recording_open(bytes.at, bytes.size, &recording, NULL), 0);
	assert_int_equal(xf_recording_state(recording).damaged, nr);
	assert_string_equal(xf_kernels_of(xf_recording_kernels(recording), 1, 5, &slide)->name,
	                    "Linux");
	xf_recording_free(recording);
	free(bytes.at);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(what_is_written_is_read),
	        cmocka_unit_test(every_beginning_can_be_read),
	        cmocka_unit_test(a_full_disk_is_told),
	        cmocka_unit_test(strangers_are_refused),
	        cmocka_unit_test(damage_is_survived),
	        cmocka_unit_test(unknown_chunks_are_skipped),
	        cmocka_unit_test(sampling_has_its_own_times_and_books),
	        cmocka_unit_test(nonsense_is_not_written),
	        cmocka_unit_test(nonsense_about_kernels_is_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
