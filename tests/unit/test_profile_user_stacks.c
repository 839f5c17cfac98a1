// SPDX-License-Identifier: GPL-2.0-or-later
/* Stacks of processes: from captured words and what is recorded of their files to named frames. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "output/script.h"
#include "profile/process_writer.h"
#include "profile/profile.h"
#include "profile/user_hits.h"
#include "unit/expect_folded.h"
#include "unit/process_records.h"

#define PROGRAM 0x555555554000ull /* mapped from offset 0x1000 on */
#define LIBRARY 0x7f0000000000ull
#define JITTED  0x7e0000000000ull
#define STACK   0x7ffc00001000ull
#define BYTES   256u

/* Offsets in the files. */
#define START   0x1010u
#define MAIN    0x1100u
#define WORK    0x1200u
#define STRANGE 0x1f00u
#define WAIT    0x40u

#define AT(offset) (PROGRAM + (offset)-0x1000u)

static void write_process(struct xf_recording_writer *writer)
{
	const struct xf_clock_pair pairs[] = {{1, 1, 1}, {1000000, 1000000, 1}};
	const struct xf_switch run = {.time = 1, .pid = PID, .tid = PID};
	struct bytes records = {0};

	add(&records, XF_PROCESS_FILE, 1, "/opt/prog (deleted)", 20);
	add(&records, XF_PROCESS_FILE, 2, "/lib/libwait.so", 16);
	add(&records, XF_PROCESS_FILE, 3, "//anon", 7);
	add(&records, XF_PROCESS_EXISTS, 0, "prog", 5);
	map(&records, PROGRAM, 0x2000, 0x1000, 1);
	map(&records, LIBRARY, 0x1000, 0, 2);
	map(&records, JITTED, 0x1000, 0, 3);
	assert_int_equal(xf_recording_write_clock(writer, pairs, 2), 0);
	assert_int_equal(xf_recording_write_processes(writer, records.at, records.size), 0);
	assert_int_equal(xf_recording_write_switches(writer, 0, &run, 1), 0);
	free(records.at);
}

static struct xf_unwind_row frame_of(int32_t offset)
{
	return (struct xf_unwind_row){.kind = XF_ROW_CALL,
	                              .base_register = 4,
	                              .rbp_rule = XF_RBP_SAME,
	                              .base_offset = offset};
}

/* A frame that is found through RBP, which it has saved below its return address. */
static struct xf_unwind_row frame_by_rbp(void)
{
	return (struct xf_unwind_row){.kind = XF_ROW_CALL,
	                              .base_register = 5,
	                              .rbp_rule = XF_RBP_AT_BASE,
	                              .base_offset = 16,
	                              .rbp_offset = -16};
}

static void write_code(struct xf_recording_writer *writer)
{
	const struct xf_unwind_row outermost = {.kind = XF_ROW_UNDEFINED, .reason = XF_UNWIND_END};
	const struct xf_unwind_row unknown = {.kind = XF_ROW_UNDEFINED,
	                                      .reason = XF_UNWIND_NOT_DESCRIBED};
	const struct xf_user_place program[] = {
	        {.offset = START + 4, .start = START, .row = outermost, .name = "_start"},
	        {.offset = MAIN + 9, .start = MAIN, .row = frame_by_rbp(), .name = "main"},
	        {.offset = WORK + 9, .start = WORK, .row = frame_of(24), .name = "work"},
	        {.offset = STRANGE + 9, .row = unknown, .name = ""},
	};
	const struct xf_user_place library[] = {
	        {.offset = WAIT + 2, .start = WAIT, .row = frame_of(8), .name = "wait_for_it"}};
	const struct xf_user_place jitted[] = {
	        {.offset = JITTED + 8, .start = JITTED, .row = unknown, .name = "~jitted"}};

	assert_int_equal(xf_recording_write_user_code(writer, 1, 0, program, 4), 0);
	assert_int_equal(xf_recording_write_user_code(writer, 2, 0, library, 1), 0);
	assert_int_equal(xf_recording_write_user_code(writer, XF_NO_FILE, PID, jitted, 1), 0);
}

/* A sample whose process was at @rip, with @words by their slots; 0 is not captured. */
static void write_sample(struct xf_recording_writer *writer, uint16_t domid, uint64_t rip,
                         const uint64_t *words, size_t nr)
{
	const struct xf_sample sample = {.bytes = XF_SAMPLE_HEAD_BYTES,
	                                 .flags = XF_SAMPLE_GUEST,
	                                 .domid = domid,
	                                 .tsc = 100,
	                                 .rip = rip};
	union {
		struct xf_guest_stack stack;
		uint64_t storage[XF_GUEST_HEAD_BYTES / 8 + XF_MAX_GUEST_WORDS];
	} user = {.stack = {.mode = XF_GUEST_USER,
	                    .bytes = XF_GUEST_HEAD_BYTES,
	                    .rip = rip,
	                    .rsp = STACK,
	                    .rbp = STACK + 0x60,
	                    .end = STACK + BYTES}};
	size_t taken = 0;

	for (size_t i = 0; i < nr; i++)
		if (words[i])
			user.storage[XF_GUEST_HEAD_BYTES / 8 + taken++] = XF_WORD(i, words[i]);
	user.stack.bytes += (uint16_t)(8 * taken);
	assert_int_equal(xf_recording_write_guest_stack(writer, &user.stack), 0);
	assert_int_equal(xf_recording_write_sample(writer, &sample), 0);
}

/* wait_for_it, called by work, called by main, called by _start. */
static const uint64_t whole_stack[] = {
        [0] = AT(WORK + 10), [1] = 0x1234567,      [2] = LIBRARY + 0x500,
        [3] = AT(MAIN + 10), [0xc] = STACK + 0x80, [0xd] = AT(START + 5)};
#define WORDS(array) (sizeof(array) / sizeof((array)[0]))

static struct xf_recording *open_recording(struct bytes *file,
                                           void (*write)(struct xf_recording_writer *writer))
{
	const struct xf_recording_sink sink = {.write = take, .context = file};
	struct xf_recording_writer *writer;
	struct xf_recording *recording;

	assert_int_equal(xf_recording_writer_new(sink, &writer, NULL), 0);
	write_process(writer);
	write_code(writer);
	write(writer);
	assert_int_equal(xf_recording_write_end(writer), 0);
	xf_recording_writer_free(writer);
	assert_int_equal(xf_recording_open(file->at, file->size, &recording, NULL), 0);
	assert_int_equal(xf_recording_state(recording).damaged, 0);
	return recording;
}

/* The recording that @write makes is @expected when it is folded. */
static void expect_written(void (*write)(struct xf_recording_writer *writer), const char *expected)
{
	struct bytes file = {0};
	struct xf_recording *recording = open_recording(&file, write);

	expect_folded(recording, expected);
	xf_recording_free(recording);
	free(file.at);
}

static void write_whole(struct xf_recording_writer *writer)
{
	write_sample(writer, 0, LIBRARY + WAIT + 2, whole_stack, WORDS(whole_stack));
}

static void a_stack_is_followed_from_file_to_file_to_its_start(void **state)
{
	(void)state;
	expect_written(write_whole, "Domain-0;prog;_start;main;work;wait_for_it 1\n");
}

static void write_deep(struct xf_recording_writer *writer)
{
	uint64_t words[WORDS(whole_stack)];

	memcpy(words, whole_stack, sizeof(words));
	words[0xd] = 0; /* what was to be there has not been captured */
	write_sample(writer, 0, LIBRARY + WAIT + 2, words, WORDS(words));
	words[0xd] = STACK; /* and no code is mapped here */
	write_sample(writer, 0, LIBRARY + WAIT + 2, words, WORDS(words));
}

static void what_is_missing_of_a_stack_is_told_and_no_word_is_taken_for_code(void **state)
{
	(void)state;
	expect_written(write_deep,
	               "Domain-0;prog;[user incomplete: not-text];main;work;wait_for_it 1\n"
	               "Domain-0;prog;[user incomplete: return-address-not-captured];main;work;"
	               "wait_for_it 1\n");
}

static void write_unnamed(struct xf_recording_writer *writer)
{
	write_sample(writer, 0, AT(STRANGE + 9), NULL, 0);    /* known, without a name */
	write_sample(writer, 0, LIBRARY + 0x777, NULL, 0);    /* the recorder had no file */
	write_sample(writer, 0, JITTED + 8, NULL, 0);         /* named by its process */
	write_sample(writer, 0, JITTED + 9, NULL, 0);         /* not so */
	write_sample(writer, 0, LIBRARY + 0x1000, NULL, 0);   /* nothing is mapped */
	write_sample(writer, 7, LIBRARY + WAIT + 2, NULL, 0); /* another domain's process */
}

static void code_without_a_name_is_told_by_its_file(void **state)
{
	(void)state;
	expect_written(
	        write_unnamed,
	        "Domain-0;prog;[user incomplete: no-row];[anonymous memory]+0x7e0000000009 1\n"
	        "Domain-0;prog;[user incomplete: no-row];[libwait.so]+0x777 1\n"
	        "Domain-0;prog;[user incomplete: not-described];[prog]+0x1f09 1\n"
	        "Domain-0;prog;[user incomplete: not-described];~jitted 1\n"
	        "Domain-0;prog;[user] 1\n"
	        "d7;[user] 1\n");
}

static void script_tells_offsets_and_paths(void **state)
{
	const struct xf_profile_options options = XF_PROFILE_DEFAULTS;
	struct bytes file = {0};
	struct xf_recording *recording = open_recording(&file, write_whole);
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	assert_int_equal(xf_script_write(out, recording, &options, NULL), 0);
	fclose(out);
	assert_non_null(strstr(text,
	                       "\t    7f0000000042 wait_for_it+0x2 (/lib/libwait.so)\n"
	                       "\t    55555555420a work+0xa (/opt/prog \\x28deleted\\x29)\n"));
	assert_non_null(strstr(text, " _start+0x5 ("));
	free(text);
	xf_recording_free(recording);
	free(file.at);
}

/* What the recorder looks up is what the walk will want. */
static void hits_are_all_that_a_walk_looks_at(void **state)
{
	static const struct {
		uint32_t file;
		uint64_t offset;
	} expected[] = {{1, START + 4}, {1, MAIN + 9}, {1, WORK + 9}, {2, WAIT + 2}, {2, 0x4ff}};
	struct bytes file = {0};
	struct xf_recording *recording = open_recording(&file, write_whole);
	struct xf_processes *processes;
	struct xf_user_hit *hits;
	size_t nr;

	(void)state;
	assert_int_equal(
	        xf_processes_make(xf_recording_processes(recording), 1000000000, &processes), 0);
	assert_int_equal(xf_user_hits_collect(recording, processes, &hits, &nr), 0);
	assert_int_equal(nr, WORDS(expected));
	for (size_t i = 0; i < nr; i++) {
		assert_int_equal(hits[i].file, expected[i].file);
		assert_int_equal(hits[i].offset, expected[i].offset);
		assert_int_equal(hits[i].mapped_in, PID);
	}
	free(hits);
	xf_processes_free(processes);
	xf_recording_free(recording);
	free(file.at);
}

/* Rows that lead nowhere else than up, whatever they say, end the walk. */
static void rows_that_make_no_sense_are_refused(void **state)
{
	struct xf_user_code code = {.kind = XF_ROW_CALL};
	uint8_t content[8 + XF_USER_CODE_BYTES + 2] = {0};

	(void)state;
	for (unsigned int wrong = 0; wrong < 4; wrong++) {
		struct xf_user_places places = {0};

		code.kind = wrong == 1 ? XF_ROW_INTERRUPT : XF_ROW_CALL;
		code.base_rule = wrong == 2 ? XF_BASE_WORD + 1 : XF_BASE_WORD;
		code.rbp_rule = wrong == 3 ? XF_RBP_AT_RSP + 1 : XF_RBP_AT_RSP;
		memcpy(content + 8, &code, XF_USER_CODE_BYTES);
		content[sizeof(content) - 2] = 'f';
		assert_int_equal(
		        xf_user_code_read(&places, xf_cursor_over(content, sizeof(content))),
		        wrong ? -EBADMSG : 0);
		assert_int_equal(places.nr, !wrong);
		for (size_t size = 0; size < sizeof(content); size++)
			assert_int_equal(xf_user_code_read(&places, xf_cursor_over(content, size)),
			                 size == 8 ? 0 : -EBADMSG);
		xf_user_code_free(&places);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(a_stack_is_followed_from_file_to_file_to_its_start),
	        cmocka_unit_test(what_is_missing_of_a_stack_is_told_and_no_word_is_taken_for_code),
	        cmocka_unit_test(code_without_a_name_is_told_by_its_file),
	        cmocka_unit_test(script_tells_offsets_and_paths),
	        cmocka_unit_test(hits_are_all_that_a_walk_looks_at),
	        cmocka_unit_test(rows_that_make_no_sense_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
