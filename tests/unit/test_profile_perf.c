// SPDX-License-Identifier: GPL-2.0-or-later
/* Profiles read from perf.data: files made up here record by record, odd and damaged ones. */
#include <errno.h>
#include <linux/perf_event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <zstd.h>

#include "output/folded.h"
#include "output/perf.h"
#include "profile/perf_input.h"
#include "profile/text_input.h"

static struct xf_error error;

/* ---- Files ----------------------------------------------------------------------------------- */

struct file {
	uint8_t bytes[65536];
	size_t size;
};

static void put(struct file *file, const void *bytes, size_t size)
{
	assert_true(file->size + size <= sizeof(file->bytes));
	if (size)
		memcpy(file->bytes + file->size, bytes, size);
	file->size += size;
}

static void put32(struct file *file, uint32_t value)
{
	put(file, &value, sizeof(value));
}

static void put64(struct file *file, uint64_t value)
{
	put(file, &value, sizeof(value));
}

/* With its NUL, and more of them up to a multiple of eight. */
static void put_string(struct file *file, const char *text)
{
	size_t size = strlen(text);

	put(file, text, size);
	put(file, "\0\0\0\0\0\0\0", 8 - size % 8);
}

/* A record's head; its size is filled in by end_record. Return: where it begins. */
static size_t begin_record(struct file *file, uint32_t type, uint16_t misc)
{
	struct perf_event_header head = {.type = type, .misc = misc};
	size_t start = file->size;

	put(file, &head, sizeof(head));
	return start;
}

static void end_record(struct file *file, size_t start)
{
	uint16_t size = (uint16_t)(file->size - start);

	memcpy(file->bytes + start + 6, &size, sizeof(size));
}

#define TYPE                                                                                       \
	(PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |                   \
	 PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN)

/* What stands at the end of the records that are no samples. */
static void put_identity(struct file *file, uint32_t pid, uint32_t tid, uint64_t time)
{
	put32(file, pid);
	put32(file, tid);
	put64(file, time);
	put64(file, 0);
}

static void put_comm(struct file *file, uint32_t pid, uint32_t tid, const char *name, uint64_t time)
{
	size_t start = begin_record(file, PERF_RECORD_COMM, 0);

	put32(file, pid);
	put32(file, tid);
	put_string(file, name);
	put_identity(file, pid, tid, time);
	end_record(file, start);
}

static void put_fork(struct file *file, uint32_t pid, uint32_t parent, uint64_t time)
{
	size_t start = begin_record(file, PERF_RECORD_FORK, 0);

	put32(file, pid);
	put32(file, parent);
	put32(file, pid);
	put32(file, parent);
	put64(file, time);
	put_identity(file, pid, pid, time);
	end_record(file, start);
}

static void put_map(struct file *file, uint32_t pid, uint64_t address, uint64_t size,
                    uint64_t offset, const char *path, uint64_t time)
{
	size_t start = begin_record(file, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER);

	put32(file, pid);
	put32(file, pid);
	put64(file, address);
	put64(file, size);
	put64(file, offset);
	put(file, (uint8_t[32]){0}, 32);
	put_string(file, path);
	put_identity(file, pid, pid, time);
	end_record(file, start);
}

static void put_symbol(struct file *file, uint64_t address, uint32_t size, const char *name)
{
	size_t start = begin_record(file, PERF_RECORD_KSYMBOL, 0);

	put64(file, address);
	put32(file, size);
	put32(file, PERF_RECORD_KSYMBOL_TYPE_OOL);
	put_string(file, name);
	put_identity(file, 0, 0, 0);
	end_record(file, start);
}

static void put_chain(struct file *file, uint32_t pid, uint64_t time, uint32_t cpu,
                      const uint64_t *chain, size_t nr)
{
	put64(file, nr ? chain[nr > 1] : 0x1234);
	put32(file, pid);
	put32(file, pid);
	put64(file, time);
	put64(file, cpu);
	put64(file, 1);
	put64(file, nr);
	put(file, chain, nr * sizeof(*chain));
}

static void put_sample(struct file *file, uint32_t pid, uint64_t time, uint32_t cpu,
                       const uint64_t *chain, size_t nr)
{
	size_t start = begin_record(file, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);

	put_chain(file, pid, time, cpu, chain, nr);
	end_record(file, start);
}

#define SAMPLE(file, pid, time, cpu, ...)                                                          \
	put_sample(file, pid, time, cpu, (const uint64_t[]){__VA_ARGS__},                          \
	           sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

#define USER   ((uint64_t)PERF_CONTEXT_USER)
#define KERNEL ((uint64_t)PERF_CONTEXT_KERNEL)

static struct perf_event_attr attributes(uint64_t type)
{
	return (struct perf_event_attr){.type = PERF_TYPE_SOFTWARE,
	                                .size = PERF_ATTR_SIZE_VER0,
	                                .sample_freq = 99,
	                                .freq = 1,
	                                .sample_id_all = 1,
	                                .sample_type = type};
}

/* @data as a file with @nr events; each has its number, from 1, as its id. */
static void wrap(struct file *file, const struct file *data, const struct perf_event_attr *attrs,
                 size_t nr)
{
	size_t attrs_size = nr * (PERF_ATTR_SIZE_VER0 + 16);
	size_t start = 104 + attrs_size + nr * 8;

	*file = (struct file){0};
	put(file, "PERFILE2", 8);
	put64(file, 104);
	put64(file, PERF_ATTR_SIZE_VER0 + 16);
	put64(file, 104);
	put64(file, attrs_size);
	put64(file, start);
	put64(file, data->size);
	put(file, (uint64_t[6]){0, 0, 1u << 2 | 1u << 3}, 48);
	for (size_t i = 0; i < nr; i++) {
		put(file, &attrs[i], PERF_ATTR_SIZE_VER0);
		put64(file, 104 + attrs_size + i * 8);
		put64(file, 8);
	}
	for (size_t i = 0; i < nr; i++)
		put64(file, i + 1);
	put(file, data->bytes, data->size);
	start = file->size;
	/* Build-ids, and the host's name. */
	put64(file, start + 32);
	put64(file, 8 + 4 + 24 + 16);
	put64(file, start + 32 + 8 + 4 + 24 + 16);
	put64(file, 4 + 8);
	start = begin_record(file, 0, PERF_RECORD_MISC_USER);
	put32(file, 0);
	put(file, "\xab\xcd\xef", 3);
	put(file, (uint8_t[21]){0}, 21);
	put_string(file, "/bin/known");
	end_record(file, start);
	put32(file, 8);
	put_string(file, "host-1");
}

/* ---- Reading them ---------------------------------------------------------------------------- */

/* "f<OFFSET>" in the file that has a build-id, and nothing else. */
static const char *find_name(void *context, const struct xf_perf_place *place)
{
	static char name[32];

	(void)context;
	if (place->kernel || place->build_id_size != 20 ||
	    memcmp(place->build_id, "\xab\xcd\xef", 3) != 0)
		return NULL;
	snprintf(name, sizeof(name), "f%llx", (unsigned long long)place->offset);
	return name;
}

static const struct xf_perf_names names = {.find = find_name};

static struct xf_profile *read_with(const void *bytes, size_t size,
                                    struct xf_profile_options options)
{
	struct xf_profile *profile = NULL;

	error = (struct xf_error){0};
	if (xf_perf_profile(bytes, size, &options, &names, &profile, &error))
		assert_null(profile);
	return profile;
}

static struct xf_profile *read_file(const struct file *file)
{
	return read_with(file->bytes, file->size, XF_PROFILE_DEFAULTS);
}

static struct xf_profile *read_data(const struct file *data)
{
	const struct perf_event_attr attr = attributes(TYPE);
	struct xf_profile *profile;
	struct file *file = malloc(sizeof(*file));

	wrap(file, data, &attr, 1);
	profile = read_file(file);
	/* The host's name is the file's own. */
	if (profile)
		profile->host = "host-1";
	free(file);
	return profile;
}

static char *fold(struct xf_profile *profile)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!profile)
		fail_msg("%s", error.text);
	assert_int_equal(xf_folded_write(out, profile), 0);
	fclose(out);
	xf_profile_free(profile);
	return text;
}

static void assert_folds(struct xf_profile *profile, const char *expected)
{
	char *folded = fold(profile);

	assert_string_equal(folded, expected);
	free(folded);
}

static void assert_refused(const struct file *file, const char *why)
{
	assert_null(read_file(file));
	if (!strstr(error.text, why))
		fail_msg("'%s' is not in '%s'", why, error.text);
}

/* ---- What they say --------------------------------------------------------------------------- */

static void stacks_are_named_by_files_and_by_the_kernels_symbols(void **state)
{
	static struct file data;
	size_t start;

	(void)state;
	data = (struct file){0};
	start = begin_record(&data, PERF_RECORD_MMAP, PERF_RECORD_MISC_KERNEL);
	put32(&data, UINT32_MAX);
	put32(&data, 0);
	put64(&data, 0xffffffff81000000);
	put64(&data, 0x1000000);
	put64(&data, 0xffffffff81000000);
	put_string(&data, "[kernel.kallsyms]_text");
	put_identity(&data, 0, 0, 0);
	end_record(&data, start);
	put_symbol(&data, 0xffffffffa0000000, 0x100, "bpf_prog_x");
	put_comm(&data, 7, 7, "known one", 0);
	put_map(&data, 7, 0x400000, 0x1000, 0x2000, "/bin/known", 0);
	put_map(&data, 7, 0x500000, 0x1000, 0, "/lib/unknown.so", 0);
	SAMPLE(&data, 7, 100, 3, KERNEL, 0xffffffffa00000ff, 0xffffffff81000123, USER, 0x400010,
	       0x500020, 0x600000);
	SAMPLE(&data, 8, 200, 1, USER, 0x400010);
	put_sample(&data, 7, 300, 0, NULL, 0);
	assert_folds(read_data(&data),
	             ":8;[unknown] 1\n"
	             "known one;[unknown] 1\n"
	             "known one;[unknown];unknown.so+0x20;f2010;[kernel]+0x123;bpf_prog_x 1\n");
}

static void times_threads_cpus_and_losses_are_known(void **state)
{
	static struct file data;
	struct xf_profile_options options = XF_PROFILE_DEFAULTS;
	const struct perf_event_attr attr = attributes(TYPE);
	struct xf_profile *profile;
	static struct file file;
	size_t start;

	(void)state;
	data = (struct file){0};
	put_comm(&data, 7, 7, "a", 0);
	SAMPLE(&data, 7, 2000, 3, USER, 1);
	SAMPLE(&data, 7, 1000, 5, USER, 2);
	start = begin_record(&data, PERF_RECORD_LOST, 0);
	put64(&data, 1);
	put64(&data, 41);
	end_record(&data, start);
	start = begin_record(&data, PERF_RECORD_LOST_SAMPLES, 0);
	put64(&data, 1);
	end_record(&data, start);
	wrap(&file, &data, &attr, 1);
	options.timeline = XF_TIMELINE_NEEDED;
	profile = read_with(file.bytes, file.size, options);
	assert_non_null(profile);
	assert_int_equal(profile->samples, 2);
	assert_int_equal(profile->timeline.nr, 2);
	assert_int_equal(profile->timeline.events[0].time, 0);
	assert_int_equal(profile->groups[profile->timeline.events[0].group].pcpu, 5);
	assert_int_equal(profile->timeline.events[1].time, 1000);
	assert_int_equal(profile->groups[profile->timeline.events[1].group].vcpu, 7);
	assert_int_equal(profile->duration, 1000);
	assert_int_equal(profile->lost, 42);
	assert_int_equal(profile->frequency, 99);
	assert_string_equal(profile->host, "host-1");
	xf_profile_free(profile);
}

static void what_happened_is_told_by_time_not_by_place(void **state)
{
	static struct file data;

	(void)state;
	data = (struct file){0};
	/* The sample stands before the map and the name that were there when it was taken. */
	SAMPLE(&data, 7, 300, 0, USER, 0x400000);
	SAMPLE(&data, 9, 700, 0, USER, 0x400000);
	SAMPLE(&data, 7, 900, 0, USER, 0x400000);
	put_comm(&data, 7, 7, "before", 100);
	put_map(&data, 7, 0x400000, 0x1000, 0, "/bin/known", 200);
	put_fork(&data, 9, 7, 400);
	put_comm(&data, 7, 7, "after", 500);
	put_map(&data, 7, 0x400000, 0x1000, 0, "/bin/other", 600);
	assert_folds(read_data(&data), "after;other+0x0 1\nbefore;f0 2\n");
}

static void events_are_told_apart_by_their_ids(void **state)
{
	const struct perf_event_attr attrs[2] = {
	        attributes(TYPE | PERF_SAMPLE_IDENTIFIER),
	        attributes(TYPE | PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_ADDR | PERF_SAMPLE_READ)};
	static struct file data, file;
	static const uint64_t chain[] = {USER, 0x11};
	size_t start;

	(void)state;
	data = (struct file){0};
	start = begin_record(&data, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
	put64(&data, 1);
	put_chain(&data, 7, 100, 2, chain, 2);
	end_record(&data, start);
	start = begin_record(&data, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
	put64(&data, 2);
	put64(&data, 0x11);
	put32(&data, 7);
	put32(&data, 7);
	put64(&data, 200);
	put64(&data, 0xdead); /* the address of data */
	put64(&data, 4);
	put64(&data, 1);
	put64(&data, 77); /* the counter's value */
	put64(&data, 2);
	put(&data, chain, sizeof(chain));
	end_record(&data, start);
	wrap(&file, &data, attrs, 2);
	assert_folds(read_file(&file), ":7;[unknown] 2\n");
	assert_int_equal(error.code, 0);
	{
		const struct perf_event_attr without[2] = {attributes(TYPE),
		                                           attributes(TYPE | PERF_SAMPLE_ADDR)};

		wrap(&file, &data, without, 2);
		assert_refused(&file, "do not say which event");
	}
}

static void guests_and_stacks_that_were_only_copied_are_told(void **state)
{
	const struct perf_event_attr attr = attributes(TYPE | PERF_SAMPLE_STACK_USER);
	static struct file data, file;

	(void)state;
	data = (struct file){0};
	SAMPLE(&data, 7, 1, 0, (uint64_t)PERF_CONTEXT_GUEST_KERNEL, 1, 2, 3);
	wrap(&file, &data, &attr, 1);
	assert_folds(read_file(&file),
	             ":7;[incomplete: user-stack-not-unwound];[guest kernel] 1\n");
}

static void packed_records_and_those_of_a_pipe_are_read(void **state)
{
	static struct file data, packed, file;
	struct perf_event_attr attr = attributes(TYPE);
	uint8_t bytes[4096];
	size_t start, size;

	(void)state;
	data = packed = file = (struct file){0};
	put_comm(&data, 7, 7, "packed", 0);
	SAMPLE(&data, 7, 1, 0, USER, 1);
	size = ZSTD_compress(bytes, sizeof(bytes), data.bytes, data.size, 1);
	assert_false(ZSTD_isError(size));
	/* One stream in two records, cut anywhere. */
	start = begin_record(&packed, 81, 0);
	put(&packed, bytes, 5);
	end_record(&packed, start);
	start = begin_record(&packed, 83, 0);
	put64(&packed, size - 5);
	put(&packed, bytes + 5, size - 5);
	put(&packed, "padding", 7);
	end_record(&packed, start);
	wrap(&file, &packed, &attr, 1);
	assert_folds(read_file(&file), "packed;[unknown] 1\n");
	bytes[0] ^= 1;
	memcpy(packed.bytes + 8, bytes, 1);
	wrap(&file, &packed, &attr, 1);
	assert_refused(&file, "cannot be unpacked");

	file = (struct file){0};
	put(&file, "PERFILE2", 8);
	put64(&file, 16);
	start = begin_record(&file, 64, 0);
	put(&file, &attr, PERF_ATTR_SIZE_VER0);
	put64(&file, 1);
	end_record(&file, start);
	put(&file, data.bytes, data.size);
	assert_folds(read_file(&file), "packed;[unknown] 1\n");
}

/* A kilobyte that unpacks to a gigabyte fills no memory. */
static void packing_beyond_reason_is_refused(void **state)
{
	const struct perf_event_attr attr = attributes(TYPE);
	size_t size = (size_t)64 << 20;
	uint8_t *zeroes = calloc(1, size);
	static uint8_t bytes[60000];
	static struct file data, file;
	size_t start, packed = ZSTD_compress(bytes, sizeof(bytes), zeroes, size, 19);

	(void)state;
	free(zeroes);
	assert_false(ZSTD_isError(packed));
	data = (struct file){0};
	start = begin_record(&data, 81, 0);
	put(&data, bytes, packed);
	end_record(&data, start);
	wrap(&file, &data, &attr, 1);
	assert_refused(&file, "a thousand times");
}

/* ---- What is not right ----------------------------------------------------------------------- */

static void what_is_not_read_is_refused(void **state)
{
	struct xf_profile_options options = XF_PROFILE_DEFAULTS;
	struct perf_event_attr attr = attributes(TYPE & ~(uint64_t)PERF_SAMPLE_TIME);
	static struct file data, file;
	size_t start;

	(void)state;
	data = (struct file){0};
	wrap(&file, &data, &attr, 1);
	assert_refused(&file, "no samples");
	wrap(&file, &data, &attr, 0);
	assert_refused(&file, "lists no event");
	memcpy(file.bytes, "2ELIFREP", 8);
	assert_refused(&file, "the other order");
	file.size = 50;
	memcpy(file.bytes, "PERFILE2", 8);
	assert_refused(&file, "within its header");
	assert_true(xf_perf_begins(file.bytes, file.size));
	assert_false(xf_perf_begins("PERFILE", 7));

	start = begin_record(&data, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
	put64(&data, 1);
	put64(&data, 0x700000007);
	put64(&data, 0);
	put64(&data, 1);
	put64(&data, 0);
	end_record(&data, start);
	wrap(&file, &data, &attr, 1);
	assert_folds(read_file(&file), ":7;[unknown] 1\n");
	options.timeline = XF_TIMELINE_NEEDED;
	assert_null(read_with(file.bytes, file.size, options));
	assert_non_null(strstr(error.text, "no times"));
}

static void what_is_missing_or_wrong_is_told(void **state)
{
	const struct perf_event_attr attr = attributes(TYPE);
	static struct file data, file;
	struct xf_profile *profile;
	uint64_t none = 0;

	(void)state;
	data = (struct file){0};
	SAMPLE(&data, 7, 1, 0, USER, 1);
	/* More frames than there are bytes. */
	SAMPLE(&data, 7, 2, 0, USER, 1);
	memcpy(data.bytes + data.size - 24, &(uint64_t){1ull << 61}, 8);
	wrap(&file, &data, &attr, 1);
	profile = read_file(&file);
	assert_non_null(profile);
	assert_int_equal(profile->samples, 1);
	assert_int_equal(profile->state.damaged, 1);
	assert_true(profile->state.closed);
	assert_false(profile->state.truncated);
	xf_profile_free(profile);
	/* What is cut off stands behind the data: the list of it, or its end. */
	for (size_t left = 104 + 80 + 8 + data.size; left < file.size; left += 4) {
		struct file cut = file;

		cut.size = left;
		profile = read_file(&cut);
		assert_non_null(profile);
		assert_true(profile->state.truncated);
		xf_profile_free(profile);
	}
	/* perf was killed: the size of the data is 0. */
	memcpy(file.bytes + 48, &none, sizeof(none));
	profile = read_file(&file);
	assert_non_null(profile);
	assert_false(profile->state.closed);
	xf_profile_free(profile);
	/* The file is cut off. */
	wrap(&file, &data, &attr, 1);
	file.size = 104 + 80 + 8 + data.size - 3;
	profile = read_file(&file);
	assert_non_null(profile);
	assert_true(profile->state.truncated);
	xf_profile_free(profile);
}

/* Whatever is changed in a file, it is read or refused; the sanitizers look on. */
static void damage_is_survived(void **state)
{
	const struct perf_event_attr attrs[2] = {
	        attributes(TYPE | PERF_SAMPLE_IDENTIFIER),
	        attributes(TYPE | PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_READ)};
	static struct file data, file;

	(void)state;
	srand(1);
	data = (struct file){0};
	put_comm(&data, 7, 7, "a", 1);
	put_map(&data, 7, 0x400000, 0x1000, 0, "/bin/known", 2);
	put_fork(&data, 9, 7, 3);
	put_symbol(&data, 0xffffffffa0000000, 0x100, "k");
	for (uint64_t i = 0; i < 8; i++) {
		size_t start = begin_record(&data, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);

		put64(&data, 1);
		put_chain(&data, 7, 4 + i, 1, (const uint64_t[]){USER, 0x400000 + i}, 2);
		end_record(&data, start);
	}
	wrap(&file, &data, attrs, 2);
	for (int i = 0; i < 20000; i++) {
		size_t size = file.size - (i % 3 ? 0 : (size_t)rand() % file.size);
		uint8_t *exact = malloc(size); /* the sanitizer sees what is read behind it */
		struct xf_profile *profile;

		memcpy(exact, file.bytes, size);
		for (int n = rand() % 6; n >= 0 && size > 9; n--)
			exact[8 + (size_t)rand() % (size - 8)] =
			        (uint8_t)(rand() % 2 ? rand() : rand() % 12);
		profile = read_with(exact, size, XF_PROFILE_DEFAULTS);
		if (profile)
			free(fold(profile));
		else
			assert_true(error.text[0]);
		free(exact);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(stacks_are_named_by_files_and_by_the_kernels_symbols),
	        cmocka_unit_test(times_threads_cpus_and_losses_are_known),
	        cmocka_unit_test(what_happened_is_told_by_time_not_by_place),
	        cmocka_unit_test(events_are_told_apart_by_their_ids),
	        cmocka_unit_test(guests_and_stacks_that_were_only_copied_are_told),
	        cmocka_unit_test(packed_records_and_those_of_a_pipe_are_read),
	        cmocka_unit_test(packing_beyond_reason_is_refused),
	        cmocka_unit_test(what_is_not_read_is_refused),
	        cmocka_unit_test(what_is_missing_or_wrong_is_told),
	        cmocka_unit_test(damage_is_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
