// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * ORC: hand-made sections of each layout, and what is inferred from a stock kernel's code against
 * the ORC that objtool made for it.
 *
 * XENFLAME_KERNEL names an unpacked kernel (tests/run unpacks Debian's). Skipped, loudly, where it
 * is not set. XENFLAME_UNWIND_DIFFERENCES=1 lists every difference.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elf/agree.h"
#include "elf/kallsyms.h"
#include "read_file.h"
#include "unit/expect_row.h"
#include "unwind/decode.h"
#include "unwind/elf.h"
#include "unwind/source.h"

#define CODE   0xffffffff81000000ull
#define PLACES 0xffffffff82000000ull
#define MOST   16

/* Sections in the making. */
struct made {
	int32_t places[MOST];
	uint16_t entries[MOST][3];
	size_t nr;
	struct xf_orc orc;
	struct xf_code code;
};

/* The registers' numbers as ORC has them. */
enum {
	UNDEFINED,
	PREVIOUS_SP,
	DX,
	DI,
	BP,
	SP,
	R10,
	R13,
	BP_INDIRECT,
	SP_INDIRECT
};

/* From @offset into the code on: sp_offset from @sp, bp_offset from @bp, and the topmost @bits. */
static void add(struct made *made, uint32_t offset, unsigned int sp, int sp_offset, unsigned int bp,
                int bp_offset, unsigned int bits)
{
	size_t i = made->nr++;

	made->places[i] = (int32_t)(CODE + offset - (PLACES + i * 4));
	made->entries[i][0] = (uint16_t)sp_offset;
	made->entries[i][1] = (uint16_t)bp_offset;
	made->entries[i][2] = (uint16_t)(sp | bp << 4 | bits << 8);
	made->code = (struct xf_code){.address = CODE, .size = 4096};
	made->orc = (struct xf_orc){.places = made->places,
	                            .places_size = made->nr * sizeof(made->places[0]),
	                            .places_address = PLACES,
	                            .entries = made->entries,
	                            .entries_size = made->nr * sizeof(made->entries[0])};
}

static struct xf_unwind_table *build(const struct made *made)
{
	struct xf_unwind_table *table;
	struct xf_error error = {0};

	if (xf_orc_table(&made->orc, &made->code, &table, &error) != 0)
		fail_msg("%s", error.text);
	return table;
}

static void expect_layout(const struct made *made, enum xf_orc_layout layout)
{
	enum xf_orc_layout found;
	struct xf_error error = {0};

	if (xf_orc_find_layout(&made->orc, &found, &error) != 0)
		fail_msg("%s", error.text);
	assert_int_equal(found, layout);
}

static void expect_refused(const struct made *made, const char *why)
{
	struct xf_unwind_table *table;
	struct xf_error error = {0};

	assert_int_equal(xf_orc_table(&made->orc, &made->code, &table, &error), -EBADMSG);
	assert_null(table);
	assert_non_null(strstr(error.text, why));
}

/* What the topmost bits are in a layout. */
struct bits {
	unsigned int undefined, end, call, regs, partial;
};

static const struct bits layouts[] = {
        [XF_ORC_BEFORE_6_3] = {0, 4, 0, 1, 2},
        [XF_ORC_6_3] = {0, 8, 0, 1 | 4, 2 | 4},
        [XF_ORC_SINCE_6_4] = {0, 1, 2, 3 | 8, 4 | 8},
};

static void test_rows(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++) {
		const struct bits *bits = &layouts[i];
		struct made made = {0};
		struct xf_unwind_table *table;

		add(&made, 0, SP, 8, UNDEFINED, 0, bits->call);
		add(&made, 1, SP, 16, PREVIOUS_SP, -16, bits->call);
		add(&made, 4, BP, 16, PREVIOUS_SP, -16, bits->call);
		add(&made, 300, BP_INDIRECT, -8, BP, 0, bits->call);
		add(&made, 310, SP_INDIRECT, 8, UNDEFINED, 0, bits->call);
		add(&made, 320, R10, 0, UNDEFINED, 0, bits->call);
		add(&made, 400, SP, 0, UNDEFINED, 0, bits->regs);
		add(&made, 410, SP, 8, UNDEFINED, 0, bits->partial);
		add(&made, 420, UNDEFINED, 0, UNDEFINED, 0, bits->end);
		add(&made, 430, UNDEFINED, 0, UNDEFINED, 0, bits->undefined);
		expect_layout(&made, (enum xf_orc_layout)i);
		table = build(&made);
		expect_row(table, CODE + 0, XF_ROW_CALL, XF_BASE_REGISTER, XF_REG_RSP, 8, 0,
		           XF_RBP_SAME, 0);
		expect_row(table, CODE + 3, XF_ROW_CALL, XF_BASE_REGISTER, XF_REG_RSP, 16, 0,
		           XF_RBP_AT_BASE, -16);
		expect_row(table, CODE + 299, XF_ROW_CALL, XF_BASE_REGISTER, XF_REG_RBP, 16, 0,
		           XF_RBP_AT_BASE, -16);
		expect_row(table, CODE + 300, XF_ROW_CALL, XF_BASE_WORD, XF_REG_RBP, -8, 0,
		           XF_RBP_AT_RBP, 0);
		expect_row(table, CODE + 310, XF_ROW_CALL, XF_BASE_WORD, XF_REG_RSP, 0, 8,
		           XF_RBP_SAME, 0);
		expect_row(table, CODE + 320, XF_ROW_CALL, XF_BASE_REGISTER, XF_REG_R10, 0, 0,
		           XF_RBP_SAME, 0);
		/* The interrupted RIP is the seventeenth word of the saved registers, RBP the
		 * fifth. */
		expect_row(table, CODE + 400, XF_ROW_INTERRUPT, XF_BASE_REGISTER, XF_REG_RSP, 128,
		           0, XF_RBP_AT_BASE, -96);
		expect_row(table, CODE + 410, XF_ROW_INTERRUPT, XF_BASE_REGISTER, XF_REG_RSP, 8, 0,
		           XF_RBP_SAME, 0);
		expect_undefined_row(table, CODE + 420, XF_UNWIND_END);
		expect_undefined_row(table, CODE + 430, XF_UNWIND_NOT_DESCRIBED);
		expect_undefined_row(table, CODE + 4095, XF_UNWIND_NOT_DESCRIBED);
		xf_unwind_table_free(table);
	}
}

/* Of two entries at one address the one that says something counts, whatever their order; entries
 * need not be in order; before the first one nothing is known. */
static void test_order(void **state)
{
	struct xf_unwind_table *table;
	struct made made = {0};

	(void)state;
	add(&made, 200, SP, 24, UNDEFINED, 0, 0);
	add(&made, 100, SP, 8, UNDEFINED, 0, 0);
	add(&made, 100, UNDEFINED, 0, UNDEFINED, 0, 0);
	add(&made, 5000, SP, 99, UNDEFINED, 0, 0);
	table = build(&made);
	expect_undefined_row(table, CODE + 99, XF_UNWIND_NOT_DESCRIBED);
	expect_row(table, CODE + 100, XF_ROW_CALL, XF_BASE_REGISTER, XF_REG_RSP, 8, 0, XF_RBP_SAME,
	           0);
	expect_row(table, CODE + 4095, XF_ROW_CALL, XF_BASE_REGISTER, XF_REG_RSP, 24, 0,
	           XF_RBP_SAME, 0);
	xf_unwind_table_free(table);
}

/* Rows that began before the code hold at its start. */
static void test_part_of_the_code(void **state)
{
	struct xf_unwind_table *table;
	struct made made = {0};

	(void)state;
	add(&made, 0, SP, 8, UNDEFINED, 0, 2);
	add(&made, 64, SP, 16, UNDEFINED, 0, 2);
	add(&made, 256, SP, 24, UNDEFINED, 0, 2);
	made.code = (struct xf_code){.address = CODE + 128, .size = 64};
	table = build(&made);
	expect_row(table, CODE + 128, XF_ROW_CALL, XF_BASE_REGISTER, XF_REG_RSP, 16, 0, XF_RBP_SAME,
	           0);
	expect_row(table, CODE + 191, XF_ROW_CALL, XF_BASE_REGISTER, XF_REG_RSP, 16, 0, XF_RBP_SAME,
	           0);
	expect_undefined_row(table, CODE + 192, XF_UNWIND_NO_ROW);
	xf_unwind_table_free(table);
}

static void test_registers_that_are_not_known(void **state)
{
	struct xf_unwind_table *table;
	struct made made = {0};

	(void)state;
	add(&made, 0, SP, 8, UNDEFINED, 0, 2);
	add(&made, 10, 12, 8, UNDEFINED, 0, 2);
	add(&made, 20, SP, 8, R13, 0, 2);
	table = build(&made);
	expect_undefined_row(table, CODE + 10, XF_UNWIND_INEXPRESSIBLE);
	expect_row(table, CODE + 20, XF_ROW_CALL, XF_BASE_REGISTER, XF_REG_RSP, 8, 0,
	           XF_RBP_UNKNOWN, 0);
	xf_unwind_table_free(table);
}

/* Bits that no known layout has. */
static void test_layouts_that_are_not_known(void **state)
{
	struct made made = {0};

	(void)state;
	add(&made, 0, SP, 8, UNDEFINED, 0, 0);
	add(&made, 1, SP, 8, UNDEFINED, 0, 2);
	add(&made, 2, UNDEFINED, 0, UNDEFINED, 0, 1);
	expect_refused(&made, "not known");
	/* Every entry an interrupt's: they are calls of 6.4, which they cannot all be here. */
	made = (struct made){0};
	add(&made, 0, SP, 8, UNDEFINED, 0, 7);
	expect_refused(&made, "not known");
	made = (struct made){0};
	add(&made, 0, SP, 8, UNDEFINED, 0, 16);
	expect_refused(&made, "not known");
	made = (struct made){0};
	add(&made, 0, SP, 8, UNDEFINED, 0, 0);
	made.orc.places_size--;
	expect_refused(&made, "do not go together");
	made.orc.places_size = made.orc.entries_size = 0;
	expect_refused(&made, "do not go together");
}

static void test_headers(void **state)
{
	static const uint8_t since_6_4[] = {0xfe, 0x5d, 0x32, 0xbf, 0x58, 0x1b, 0xd6,
	                                    0x3b, 0x2c, 0xa9, 0xa5, 0xc6, 0x5b, 0xa5,
	                                    0xa6, 0x25, 0xea, 0xb3, 0xfe, 0x24};
	static const uint8_t of_6_3[] = {0xdb, 0x84, 0xae, 0xd4, 0x10, 0x3b, 0x31,
	                                 0xdd, 0x51, 0xe0, 0x17, 0xf8, 0xf7, 0x97,
	                                 0x83, 0xca, 0x98, 0x5c, 0x2c, 0x51};
	static const uint8_t nobodys[20] = {1, 2, 3};
	struct made made = {0}, older = {0};

	(void)state;
	add(&made, 0, SP, 8, UNDEFINED, 0, 2);
	made.orc.header_size = 20;
	made.orc.header = since_6_4;
	expect_layout(&made, XF_ORC_SINCE_6_4);
	made.orc.header = of_6_3;
	expect_refused(&made, ".orc_header");
	made.orc.header = nobodys;
	expect_refused(&made, ".orc_header");
	made.orc.header = since_6_4;
	made.orc.header_size = 19;
	expect_refused(&made, ".orc_header");
	/* Without interrupts and ends the two older layouts are the same. */
	add(&older, 0, SP, 8, UNDEFINED, 0, 0);
	expect_layout(&older, XF_ORC_BEFORE_6_3);
	older.orc.header = of_6_3;
	older.orc.header_size = 20;
	expect_layout(&older, XF_ORC_6_3);
}

/* ---- A stock kernel -------------------------------------------------------------------------- */

/* Return: the addresses of the kernel's functions, *@nr of them, to be freed by the caller. */
static uint64_t *find_functions(const struct xf_elf *elf, size_t *nr)
{
	struct xf_elf_section section;
	uint64_t *found;

	assert_true(xf_elf_section(elf, ".rodata", &section));
	found = kallsyms_functions(section.bytes, section.size, elf->pieces[0].code.address, nr);
	assert_non_null(found);
	return found;
}

static void compare_kernel(const struct xf_elf *elf, struct agreement *agreement)
{
	enum xf_orc_layout layout;
	struct xf_error error = {0};
	struct xf_orc orc;
	size_t nr;
	uint64_t *entries = find_functions(elf, &nr);

	assert_true(xf_source_orc(elf, &orc));
	assert_int_equal(xf_orc_find_layout(&orc, &layout, &error), 0);
	print_message("ORC of the layout %s; %zu functions\n", xf_orc_layout_name(layout), nr);
	for (size_t i = 0; i < elf->nr_pieces; i++) {
		const struct xf_code *code = &elf->pieces[i].code;
		struct xf_unwind_table *table;

		if (xf_orc_table(&orc, code, &table, &error) != 0)
			fail_msg("%s", error.text);
		assert_int_equal(agree(code, entries, nr, table, agreement), 0);
		xf_unwind_table_free(table);
	}
	free(entries);
}

static void test_against_objtool(void **state)
{
	const char *path = getenv("XENFLAME_KERNEL");
	struct agreement agreement = {0};
	struct xf_error error = {0};
	struct xf_elf elf;
	size_t size;
	void *bytes;

	(void)state;
	if (path == NULL) {
		print_message("SKIPPED: XENFLAME_KERNEL names no unpacked kernel\n");
		skip();
	}
	if (getenv("XENFLAME_UNWIND_DIFFERENCES") != NULL)
		agreement.list = stdout;
	bytes = read_file(path, &size);
	assert_non_null(bytes);
	if (xf_elf_open(bytes, size, &elf, &error) != 0)
		fail_msg("%s", error.text);
	compare_kernel(&elf, &agreement);
	agree_report(&agreement, stdout);
	xf_elf_close(&elf);
	free(bytes);
	assert_true(agreement.all > 1000000);
	assert_true(agreement.equal >= agreement.all * 0.995);
	assert_int_equal(agreement.rbp_different, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_rows),
	        cmocka_unit_test(test_order),
	        cmocka_unit_test(test_part_of_the_code),
	        cmocka_unit_test(test_registers_that_are_not_known),
	        cmocka_unit_test(test_layouts_that_are_not_known),
	        cmocka_unit_test(test_headers),
	        cmocka_unit_test(test_against_objtool),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
