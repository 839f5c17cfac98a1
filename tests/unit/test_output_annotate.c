// SPDX-License-Identifier: GPL-2.0-or-later
/* Instructions with their samples: what is shown, what is left out, and that both add up. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "output/annotate.h"
#include "unit/taken_bytes.h"

#define TEXT 0xffff82d040200000ull

/* push %rbx; call second; (no instruction); pop %rbx; ret; int3 ... */
static const uint8_t first[0x10] = {0x53, 0xe8, 0x0a, 0,    0,    0,    0x06, 0x5b,
                                    0xc3, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc};
/* nop; mov 0x10(%rip), %rax; int3 ... */
static const uint8_t second[0x10] = {0x90, 0x48, 0x8b, 0x05, 0x10, 0,    0,    0,
                                     0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc};

/* Where samples are: offset and how many. One is inside the call, two are not Xen's. */
static const struct {
	uint64_t rip;
	uint16_t flags;
	unsigned int count;
} hits[] = {
        {TEXT + 1, 0, 5},    {TEXT + 3, 0, 1},
        {TEXT + 7, 0, 13},   {TEXT + 8, 0, 1},
        {TEXT + 0x1f, 0, 2}, {TEXT + 7, XF_SAMPLE_GUEST | XF_SAMPLE_AFTER_STGI, 40},
        {TEXT + 0x20, 0, 3}, {TEXT - 1, 0, 3},
        {UINT64_MAX, 0, 1},
};

static void write_samples(struct xf_recording_writer *writer)
{
	for (size_t i = 0; i < sizeof(hits) / sizeof(hits[0]); i++) {
		for (unsigned int n = 0; n < hits[i].count; n++) {
			struct xf_sample sample = {.bytes = XF_SAMPLE_HEAD_BYTES,
			                           .domid = n ? 1 : 2,
			                           .flags = hits[i].flags,
			                           .rip = hits[i].rip,
			                           .rsp = 0xffff83007fe07fa0,
			                           .stack_end = 0xffff83007fe07fa8};

			assert_int_equal(xf_recording_write_sample(writer, &sample), 0);
		}
	}
}

static struct xf_recording *make_recording(struct bytes *bytes)
{
	struct xf_recording_sink sink = {.write = take, .context = bytes};
	struct xf_symbols *symbols = xf_symbols_new();
	struct xf_recording_writer *writer;
	struct xf_recording *recording;
	uint8_t code[sizeof(first) + sizeof(second)];

	memcpy(code, first, sizeof(first));
	memcpy(code + sizeof(first), second, sizeof(second));
	assert_int_equal(xf_recording_writer_new(sink, &writer, NULL), 0);
	xf_symbols_add(symbols, TEXT, 0, 't', "a.c#first");
	/* It says to be larger than all code. */
	xf_symbols_add(symbols, TEXT + 0x10, UINT64_MAX, 't', "second");
	xf_symbols_add(symbols, 0x1000, 0, 't', "elsewhere");
	xf_symbols_finish(symbols);
	xf_recording_write_symbols(writer, symbols);
	xf_recording_write_code(writer, TEXT, code, sizeof(code));
	write_samples(writer);
	xf_recording_write_end(writer);
	xf_recording_writer_free(writer);
	xf_symbols_free(symbols);
	assert_int_equal(xf_recording_open(bytes->at, bytes->size, &recording, NULL), 0);
	return recording;
}

/* Return: 0 and what is written about @name behind the heads of the columns, or the error. */
static int annotate(const char *name, const char *domain, double limit, char **text)
{
	struct xf_profile_options selection = XF_PROFILE_DEFAULTS;
	struct xf_annotate_options options = {.percent_limit = limit};
	struct bytes bytes = {0};
	struct xf_recording *recording = make_recording(&bytes);
	struct xf_profile *profile;
	struct xf_error error = {0};
	char *all = NULL;
	size_t size;
	FILE *out = open_memstream(&all, &size);
	int code;

	selection.domain = domain;
	assert_int_equal(xf_profile_build(recording, &selection, &profile, NULL), 0);
	code = xf_annotate_write(out, recording, profile, &selection, name, &options, &error);
	fclose(out);
	*text = NULL;
	if (!code)
		*text = strdup(strchr(strstr(all, " Percent"), '\n') + 1);
	else
		assert_string_equal(all, "");
	free(all);
	xf_profile_free(profile);
	xf_recording_free(recording);
	free(bytes.at);
	return code;
}

static void assert_annotated(const char *name, const char *domain, double limit,
                             const char *expected)
{
	char *text;

	assert_int_equal(annotate(name, domain, limit, &text), 0);
	assert_string_equal(text, expected);
	free(text);
}

#define CODE "  ffff82d0402000"
#define NONE "       -           -"

static void instructions_stand_with_their_samples(void **state)
{
	(void)state;
	assert_annotated("first", NULL, 0,
	                 NONE CODE "00     +0x0  push %rbx\n"
	                           "  30.00%           6" CODE
	                           "01     +0x1  call 0xffff82d040200010  <second>\n" NONE CODE
	                           "06     +0x6  (bad)\n"
	                           "  65.00%          13" CODE "07     +0x7  pop %rbx\n"
	                           "   5.00%           1" CODE "08     +0x8  ret\n"
	                           " 100.00%          20  total\n");
}

static void what_is_left_out_is_counted_where_it_stood(void **state)
{
	(void)state;
	assert_annotated("a.c#first", NULL, 50,
	                 "  30.00%           6  (3 instructions)\n"
	                 "  65.00%          13" CODE "07     +0x7  pop %rbx\n"
	                 "   5.00%           1  (1 instruction)\n"
	                 " 100.00%          20  total\n");
}

static void a_domain_has_its_own_samples_alone(void **state)
{
	(void)state;
	assert_annotated("first", "2", 25,
	                 NONE "  (1 instruction)\n"
	                      "  50.00%           2" CODE
	                      "01     +0x1  call 0xffff82d040200010  <second>\n" NONE
	                      "  (1 instruction)\n"
	                      "  25.00%           1" CODE "07     +0x7  pop %rbx\n"
	                      "  25.00%           1" CODE "08     +0x8  ret\n"
	                      " 100.00%           4  total\n");
}

static void filler_is_left_out_but_where_it_was_interrupted(void **state)
{
	char *text;

	(void)state;
	assert_int_equal(annotate("second", NULL, 0.1, &text), 0);
	assert_string_equal(text, NONE "  (9 instructions)\n"
	                               " 100.00%           2" CODE "1f     +0xf  int3\n"
	                               " 100.00%           2  total\n");
	free(text);
}

static void what_cannot_be_shown_is_refused(void **state)
{
	char *text;

	(void)state;
	assert_int_equal(annotate("third", NULL, 0, &text), -ENOENT);
	assert_int_equal(annotate("elsewhere", NULL, 0, &text), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(instructions_stand_with_their_samples),
	        cmocka_unit_test(what_is_left_out_is_counted_where_it_stood),
	        cmocka_unit_test(a_domain_has_its_own_samples_alone),
	        cmocka_unit_test(filler_is_left_out_but_where_it_was_interrupted),
	        cmocka_unit_test(what_cannot_be_shown_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
