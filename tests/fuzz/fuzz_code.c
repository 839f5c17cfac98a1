// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any bytes, read as code, its entries and captured words: from bytes to a table, and walks with it
 * from many instructions. tests/fuzz/run has how to build and replay.
 *
 * Input: the number of entries and of words, a byte each; the entries' offsets, 16 bits each; the
 * words, 24 bits each (how many slots above the last one, and what it points to); the rest is code.
 */
#include <stdlib.h>

#include "base/cursor.h"
#include "check_rows.h"
#include "unwind/explain.h"
#include "unwind/unwind.h"
#include "xenflame/sample.h"

#define CODE        0xffff82d040200000ull
#define STACK       0xffff83009fff0000ull
#define STACK_SLOTS 512
#define FRAMES      64

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

struct input {
	uint64_t entries[256];
	size_t nr_entries;
	uint64_t words[256];
	size_t nr_words;
	struct xf_code code;
};

/* What a captured word may hold: hypervisor text, or this stack where the lowest bit is set. */
static uint64_t word_value(unsigned int bits)
{
	return bits & 1 ? STACK + bits / 2 % (STACK_SLOTS * 8) : CODE + bits / 2;
}

static void take_input(const uint8_t *bytes, size_t size, struct input *input)
{
	struct xf_cursor cursor = xf_cursor_over(bytes, size);
	unsigned int slot = 0;

	input->nr_entries = xf_cursor_u8(&cursor);
	input->nr_words = xf_cursor_u8(&cursor);
	for (size_t i = 0; i < input->nr_entries; i++)
		input->entries[i] = CODE + xf_cursor_u16(&cursor);
	for (size_t i = 0; i < input->nr_words; i++) {
		input->words[i] = XF_WORD(slot, word_value(xf_cursor_u16(&cursor)));
		slot += 1 + xf_cursor_u8(&cursor);
	}
	input->code = (struct xf_code){.address = CODE,
	                               .bytes = bytes + (size - xf_cursor_left(&cursor)),
	                               .size = xf_cursor_left(&cursor)};
}

/* Frames go up the stack, there are no more than fit, and a walk has its beginning. */
static void walk_from(const struct xf_unwind_table *table, const struct input *input, uint64_t rip)
{
	struct xf_walk_input walk = {.rip = rip,
	                             .rsp = STACK,
	                             .rbp = STACK + rip % STACK_SLOTS * 8,
	                             .stack_end = STACK + STACK_SLOTS * 8ull,
	                             .words = input->words,
	                             .nr_words = input->nr_words};
	enum xf_unwind_reason reason = (enum xf_unwind_reason) - 1;
	struct xf_frame frames[FRAMES];
	size_t nr = xf_unwind_walk(&table, 1, &walk, frames, FRAMES, &reason);

	if (nr == 0 || nr > FRAMES || frames[0].address != rip ||
	    xf_unwind_reason_name(reason) == NULL)
		abort();
}

static void check_table(const struct xf_unwind_table *table, const struct input *input)
{
	struct xf_coverage coverage;
	uint64_t counted = 0;

	check_rows(table, &input->code);
	xf_coverage_count(table, &coverage);
	for (size_t i = 0; i < sizeof(coverage.undefined) / sizeof(coverage.undefined[0]); i++)
		counted += coverage.undefined[i];
	if (counted + coverage.call + coverage.interrupt != coverage.bytes)
		abort();
	for (size_t at = 0; at < input->code.size; at += 1 + input->code.size / 64)
		walk_from(table, input, CODE + at);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct xf_unwind_table *table = NULL;
	struct xf_error error;
	struct input input;

	take_input(bytes, size, &input);
	if (xf_unwind_table_build(&input.code, input.entries, input.nr_entries, &table, &error) ==
	    0)
		check_table(table, &input);
	xf_unwind_table_free(table);
	return 0;
}
