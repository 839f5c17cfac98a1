// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Stacks of a stock kernel, walked by its own table: made up by the rules of randomly chosen rows,
 * they must come out as they were made.
 *
 * XENFLAME_KERNEL names an unpacked kernel (tests/run unpacks Debian's). Skipped, loudly, where it
 * is not set.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "profile/guest_stacks.h"
#include "read_file.h"
#include "unwind/decode.h"
#include "unwind/elf.h"
#include "unwind/source.h"

#define NR_STACKS  4000u
#define MOST       24u /* frames of one */
#define TASK_END   0xffffc90000104000ull
#define REGS_RIP   40u /* below the end */
#define LOCALS     64u /* below RBP, in a function that finds its frame through that */
#define WORDS_MOST 128u

static uint64_t seed = 20261130;

static uint64_t draw(uint64_t below)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (seed >> 33) % below;
}

struct made {
	uint64_t frames[MOST]; /* outermost first */
	size_t nr;
	uint64_t rsp, rbp;
	bool rbp_wanted;      /* by a frame further out */
	uint64_t words[1024]; /* by 8 bytes below the stack's end; 0: not captured */
	size_t by_rbp;        /* frames that were found so */
};

static void put(struct made *made, uint64_t address, uint64_t value)
{
	made->words[(TASK_END - address) / 8] = value;
}

static uint64_t draw_address(const struct xf_code *code)
{
	return code->address + 1 + draw(code->size - 1);
}

/* Where registers have been saved, as system calls and interrupts do. */
static void begin(struct made *made, const struct xf_unwind_table *table,
                  const struct xf_code *code)
{
	struct xf_unwind_row row;
	uint64_t address;

	*made = (struct made){0};
	do {
		address = draw_address(code);
		row = xf_unwind_row_find(table, address - 1);
	} while (row.kind != XF_ROW_INTERRUPT || row.base_rule != XF_BASE_REGISTER ||
	         row.base_register != XF_REG_RSP || row.base_offset < 0 || row.base_offset > 200);
	made->frames[made->nr++] = address;
	made->rsp = TASK_END - REGS_RIP - (uint64_t)row.base_offset;
}

/* Return: whether a frame by @row can stand below the ones made so far. */
static bool fits(const struct made *made, const struct xf_unwind_row *row)
{
	int64_t room = row->base_register == XF_REG_RBP ? row->base_offset + (int64_t)LOCALS
	                                                : row->base_offset;

	if (row->kind != XF_ROW_CALL || row->base_rule != XF_BASE_REGISTER || row->filler ||
	    row->base_offset < 8 || row->base_offset > 400 || row->base_offset % 8 != 0)
		return false;
	if (row->base_register != XF_REG_RSP && row->base_register != XF_REG_RBP)
		return false;
	if (row->rbp_rule == XF_RBP_AT_BASE)
		return row->rbp_offset % 8 == 0 && row->rbp_offset <= -16 &&
		       -(int64_t)row->rbp_offset <= room;
	/* One whose own RBP is found through a frame cannot leave that of its caller in it. */
	return row->rbp_rule == XF_RBP_SAME &&
	       (row->base_register == XF_REG_RSP || !made->rbp_wanted);
}

/* The innermost function calls another one, that stands at @address. */
static void add(struct made *made, const struct xf_unwind_row *row, uint64_t address)
{
	uint64_t base = made->rsp;

	put(made, base - 8, made->frames[made->nr - 1]);
	if (row->rbp_rule == XF_RBP_AT_BASE && made->rbp_wanted) {
		put(made, base + (int64_t)row->rbp_offset, made->rbp);
		made->rbp_wanted = false;
	}
	made->rsp = base - (uint64_t)row->base_offset;
	if (row->base_register == XF_REG_RBP) {
		made->rbp = made->rsp;
		made->rbp_wanted = true;
		made->rsp -= LOCALS;
		made->by_rbp++;
	}
	made->frames[made->nr++] = address;
}

/* The innermost frame was interrupted, and its row is that of its address; others were returned to.
 */
static void make(struct made *made, const struct xf_unwind_table *table, const struct xf_code *code)
{
	size_t nr = 2 + draw(MOST - 2);

	begin(made, table, code);
	while (made->nr < nr) {
		uint64_t address = draw_address(code);
		bool innermost = made->nr + 1 == nr;
		struct xf_unwind_row row = xf_unwind_row_find(table, address - !innermost);

		if (fits(made, &row))
			add(made, &row, address);
	}
}

static void write_made(struct xf_recording_writer *writer, const struct made *made,
                       uint32_t sequence)
{
	struct xf_guest_piece piece = {.stack = {.sequence = sequence,
	                                         .mode = XF_GUEST_KERNEL,
	                                         .rip = made->frames[made->nr - 1],
	                                         .rsp = made->rsp,
	                                         .rbp = made->rbp,
	                                         .end = TASK_END}};
	const struct xf_sample sample = {.sequence = sequence,
	                                 .bytes = XF_SAMPLE_HEAD_BYTES,
	                                 .flags = XF_SAMPLE_GUEST,
	                                 .tsc = 1000,
	                                 .rip = piece.stack.rip};

	for (uint64_t i = (TASK_END - made->rsp) / 8; i > 0; i--) {
		uint64_t slot = (TASK_END - made->rsp) / 8 - i;

		if (made->words[i])
			piece.stack.words[piece.nr_words++] = XF_WORD(slot, made->words[i]);
	}
	assert_true(piece.nr_words <= WORDS_MOST);
	piece.stack.bytes = (uint16_t)(XF_GUEST_HEAD_BYTES + 8 * piece.nr_words);
	assert_int_equal(xf_recording_write_guest_stack(writer, &piece.stack), 0);
	assert_int_equal(xf_recording_write_sample(writer, &sample), 0);
}

struct bytes {
	uint8_t *at;
	size_t size, room;
};

static int take(void *context, const void *bytes, size_t size)
{
	struct bytes *taken = context;

	while (taken->room - taken->size < size)
		taken->at = realloc(taken->at, taken->room = taken->room * 2 + (1 << 20));
	memcpy(taken->at + taken->size, bytes, size);
	taken->size += size;
	return 0;
}

static void write_stacks(struct bytes *bytes, const struct xf_orc *orc, const struct xf_code *code,
                         struct made *made)
{
	struct xf_recording_sink sink = {.write = take, .context = bytes};
	const struct xf_recording_kernel_of of = {.kernel = 0, .tsc = 0};
	struct xf_recording_writer *writer;
	struct xf_unwind_table *table;
	size_t by_rbp = 0, frames = 0;

	assert_int_equal(xf_orc_table(orc, code, &table, NULL), 0);
	assert_int_equal(xf_recording_writer_new(sink, &writer, NULL), 0);
	xf_recording_write_kernel(writer, 0, "Linux");
	assert_int_equal(xf_recording_write_kernel_orc(writer, 0, code, orc), 0);
	xf_recording_write_kernel_of(writer, &of);
	for (uint32_t i = 0; i < NR_STACKS; i++) {
		make(&made[i], table, code);
		write_made(writer, &made[i], i);
		by_rbp += made[i].by_rbp;
		frames += made[i].nr;
	}
	print_message("%u stacks of %zu frames, %zu of them found through RBP; seed %u\n",
	              NR_STACKS, frames, by_rbp, 20261130u);
	assert_true(by_rbp > 100);
	assert_int_equal(xf_recording_write_end(writer), 0);
	xf_recording_writer_free(writer);
	xf_unwind_table_free(table);
}

static void expect_made(const struct made *made, const struct xf_guest_trace *trace)
{
	if (trace->incomplete)
		fail_msg("%s after %zu of %zu frames", trace->incomplete, trace->nr, made->nr);
	assert_true(trace->user);
	assert_int_equal(trace->nr, made->nr);
	for (size_t i = 0; i < made->nr; i++)
		assert_true(trace->frames[i].address == made->frames[made->nr - 1 - i]);
}

static void read_stacks(const struct bytes *bytes, const struct made *made)
{
	struct xf_record_iterator iterator = {0};
	struct xf_recording *recording;
	struct xf_guest_stacks *stacks;
	struct xf_record record;
	size_t nr = 0;

	assert_int_equal(xf_recording_open(bytes->at, bytes->size, &recording, NULL), 0);
	assert_int_equal(xf_recording_state(recording).damaged, 0);
	stacks = xf_guest_stacks_new(recording);
	assert_non_null(stacks);
	while (xf_recording_next(recording, &iterator, &record)) {
		struct xf_guest_trace trace;

		assert_int_equal(xf_guest_stacks_walk(stacks, &record, &trace), 0);
		expect_made(&made[nr++], &trace);
	}
	assert_int_equal(nr, NR_STACKS);
	xf_guest_stacks_free(stacks);
	xf_recording_free(recording);
}

static void stacks_come_out_as_they_were_made(void **state)
{
	const char *path = getenv("XENFLAME_KERNEL");
	struct made *made = calloc(NR_STACKS, sizeof(*made));
	struct bytes bytes = {0};
	struct xf_error error = {0};
	struct xf_elf elf;
	struct xf_orc orc;
	size_t size;
	void *file;

	(void)state;
	if (!path) {
		free(made);
		print_message("SKIPPED: XENFLAME_KERNEL names no unpacked kernel\n");
		skip();
	}
	file = read_file(path, &size);
	assert_non_null(file);
	assert_int_equal(xf_elf_open(file, size, &elf, &error), 0);
	assert_true(xf_source_orc(&elf, &orc));
	write_stacks(&bytes, &orc, &elf.pieces[0].code, made);
	read_stacks(&bytes, made);
	xf_elf_close(&elf);
	free(bytes.at);
	free(file);
	free(made);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(stacks_come_out_as_they_were_made),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
