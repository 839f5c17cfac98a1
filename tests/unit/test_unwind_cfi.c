// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Call frame information of hand-made ELF files: .eh_frame and .debug_frame with one function whose
 * rules are given as bytes of DWARF, and what becomes of them. And which source an image gets.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "unit/expect_row.h"
#include "unwind/cfi.h"
#include "unwind/decode.h"
#include "unwind/source.h"

#define CODE       0x401000ull
#define CODE_BYTES 64u
#define FRAMES     0x402000ull

/* DWARF's numbers of instructions and operations that the tests use (DWARF 5, 7.7.1 and 7.24). */
enum {
	ADVANCE = 0x40, /* by the low six bits */
	OFFSET = 0x80,  /* of the register in the low six bits; -8 * n from the CFA */
	RESTORE = 0xc0,
	SAME_VALUE = 0x08,
	UNDEFINED = 0x07,
	IN_REGISTER = 0x09,
	DEF_CFA = 0x0c,
	DEF_CFA_REGISTER = 0x0d,
	DEF_CFA_OFFSET = 0x0e,
	DEF_CFA_EXPRESSION = 0x0f,
	EXPRESSION = 0x10,
	VAL_OFFSET = 0x14,
	RBP = 6,
	RSP = 7,
	R10 = 10,
	RIP = 16,
};

enum {
	NOTHING,
	TEXT,
	RULES,
	NAMES,
	NR_SECTIONS
};

/* A file in the making. */
struct made {
	uint8_t bytes[4096];
	size_t size;
	uint8_t frames[512];
	size_t frames_size;
	uint64_t frames_flags; /* of the section */
	struct xf_elf elf;
};

static void put(struct made *made, const void *bytes, size_t size)
{
	assert_true(made->frames_size + size <= sizeof(made->frames));
	memcpy(made->frames + made->frames_size, bytes, size);
	made->frames_size += size;
}

static void put_u32(struct made *made, uint32_t value)
{
	put(made, &value, sizeof(value));
}

/* A CIE that says CFA = RSP + 8 and the return address at CFA - 8, in .debug_frame's form. */
static void put_cie(struct made *made)
{
	static const uint8_t rest[] = {
	        4,       0,    8,   0, /* version, no augmentation, sizes */
	        1,       0x78, RIP,    /* code 1, data -8, return address */
	        DEF_CFA, RSP,  8,   OFFSET | RIP,
	        1,       0,    0,   0,
	        0,
	};

	put_u32(made, 4 + sizeof(rest));
	put_u32(made, UINT32_MAX);
	put(made, rest, sizeof(rest));
}

/* The one function, all of the code, with these rules. */
static void put_fde(struct made *made, const uint8_t *rules, size_t size)
{
	uint64_t start = CODE, length = CODE_BYTES;
	size_t padding = -(size + 4) & 7;

	put_u32(made, 4 + 16 + size + padding);
	put_u32(made, 0);
	put(made, &start, sizeof(start));
	put(made, &length, sizeof(length));
	put(made, rules, size);
	put(made, (const uint8_t[8]){0}, padding);
}

static size_t add(struct made *made, const void *bytes, size_t size)
{
	size_t at = (made->size + 7) & ~(size_t)7;

	assert_true(at + size <= sizeof(made->bytes));
	memcpy(made->bytes + at, bytes, size);
	made->size = at + size;
	return at;
}

static void finish(struct made *made, const char *name)
{
	char names[64] = "\0.text";
	uint8_t code[CODE_BYTES];
	Elf64_Shdr sections[NR_SECTIONS] = {0};
	Elf64_Ehdr header = {
	        .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
	                    EV_CURRENT},
	        .e_type = ET_EXEC,
	        .e_machine = EM_X86_64,
	        .e_version = EV_CURRENT,
	        .e_entry = CODE,
	        .e_ehsize = sizeof(header),
	        .e_shentsize = sizeof(sections[0]),
	        .e_shnum = NR_SECTIONS,
	        .e_shstrndx = NAMES,
	};
	struct xf_error error = {0};

	memset(code, 0x90, sizeof(code));
	code[CODE_BYTES - 1] = 0xc3;
	strcpy(names + 7, name);
	made->size = sizeof(header);
	sections[TEXT] = (Elf64_Shdr){.sh_name = 1,
	                              .sh_type = SHT_PROGBITS,
	                              .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
	                              .sh_addr = CODE,
	                              .sh_offset = add(made, code, sizeof(code)),
	                              .sh_size = sizeof(code)};
	sections[RULES] = (Elf64_Shdr){.sh_name = 7,
	                               .sh_type = SHT_PROGBITS,
	                               .sh_flags = made->frames_flags,
	                               .sh_addr = FRAMES,
	                               .sh_offset = add(made, made->frames, made->frames_size),
	                               .sh_size = made->frames_size};
	sections[NAMES] = (Elf64_Shdr){.sh_type = SHT_STRTAB,
	                               .sh_offset = add(made, names, sizeof(names)),
	                               .sh_size = sizeof(names)};
	header.e_shoff = add(made, sections, sizeof(sections));
	memcpy(made->bytes, &header, sizeof(header));
	if (xf_elf_open(made->bytes, made->size, &made->elf, &error) != 0)
		fail_msg("%s", error.text);
	assert_int_equal(made->elf.nr_pieces, 1);
}

static struct xf_unwind_table *build(struct made *made, const uint8_t *rules, size_t size)
{
	struct xf_unwind_table *table;
	struct xf_error error = {0};

	*made = (struct made){0};
	put_cie(made);
	put_fde(made, rules, size);
	finish(made, ".debug_frame");
	assert_true(xf_cfi_available(&made->elf, XF_CFI_DEBUG_FRAME));
	assert_false(xf_cfi_available(&made->elf, XF_CFI_EH_FRAME));
	if (xf_cfi_table(&made->elf, XF_CFI_DEBUG_FRAME, &made->elf.pieces[0].code, &table,
	                 &error) != 0)
		fail_msg("%s", error.text);
	return table;
}

#define BUILD(made, rules) build(made, rules, sizeof(rules))

static void end(struct made *made, struct xf_unwind_table *table)
{
	xf_unwind_table_free(table);
	xf_elf_close(&made->elf);
}

static void test_usual_rules(void **state)
{
	static const uint8_t rules[] = {
	        ADVANCE | 1,
	        DEF_CFA_OFFSET,
	        16,
	        OFFSET | RBP,
	        2,
	        ADVANCE | 3,
	        DEF_CFA_REGISTER,
	        RBP,
	        ADVANCE | 6,
	        DEF_CFA,
	        RSP,
	        8,
	        RESTORE | RBP,
	};
	struct made made;
	struct xf_unwind_table *table = BUILD(&made, rules);

	(void)state;
	expect_row(table, CODE + 0, XF_ROW_CALL, XF_BASE_REGISTER, XF_REG_RSP, 8, 0, XF_RBP_SAME,
	           0);
	expect_row(table, CODE + 1, XF_ROW_CALL, XF_BASE_REGISTER, XF_REG_RSP, 16, 0,
	           XF_RBP_AT_BASE, -16);
	expect_row(table, CODE + 4, XF_ROW_CALL, XF_BASE_REGISTER, XF_REG_RBP, 16, 0,
	           XF_RBP_AT_BASE, -16);
	expect_row(table, CODE + 9, XF_ROW_CALL, XF_BASE_REGISTER, XF_REG_RBP, 16, 0,
	           XF_RBP_AT_BASE, -16);
	expect_row(table, CODE + 10, XF_ROW_CALL, XF_BASE_REGISTER, XF_REG_RSP, 8, 0, XF_RBP_SAME,
	           0);
	expect_row(table, CODE + CODE_BYTES - 1, XF_ROW_CALL, XF_BASE_REGISTER, XF_REG_RSP, 8, 0,
	           XF_RBP_SAME, 0);
	end(&made, table);
}

/* As compilers write it for a realigned frame: through R10, then through a word below RBP. */
static void test_realigned_frame(void **state)
{
	static const uint8_t rules[] = {
	        ADVANCE | 5,        DEF_CFA, R10,  0,    ADVANCE | 5, EXPRESSION, RBP, 2, 0x76, 0,
	        DEF_CFA_EXPRESSION, 3,       0x76, 0x78, 0x06,
	};
	struct made made;
	struct xf_unwind_table *table = BUILD(&made, rules);

	(void)state;
	expect_row(table, CODE + 5, XF_ROW_CALL, XF_BASE_REGISTER, XF_REG_R10, 0, 0, XF_RBP_SAME,
	           0);
	expect_row(table, CODE + 10, XF_ROW_CALL, XF_BASE_WORD, XF_REG_RBP, -8, 0, XF_RBP_AT_RBP,
	           0);
	end(&made, table);
}

/* As linkers write it for their stubs: RSP + 8, and 8 more from the 11th byte of 16 on. */
static void test_rule_by_address(void **state)
{
	static const uint8_t rules[] = {
	        DEF_CFA_EXPRESSION, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22,
	};
	struct made made;
	struct xf_unwind_table *table = BUILD(&made, rules);

	(void)state;
	for (uint32_t i = 0; i < CODE_BYTES; i++)
		expect_row(table, CODE + i, XF_ROW_CALL, XF_BASE_REGISTER, XF_REG_RSP,
		           i % 16 >= 11 ? 16 : 8, 0, XF_RBP_SAME, 0);
	end(&made, table);
}

/* The same of where RBP lies. */
static void test_saved_rbp_by_address(void **state)
{
	static const uint8_t rules[] = {
	        EXPRESSION, RBP, 9, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22,
	};
	struct made made;
	struct xf_unwind_table *table = BUILD(&made, rules);

	(void)state;
	for (uint32_t i = 0; i < CODE_BYTES; i++)
		expect_row(table, CODE + i, XF_ROW_CALL, XF_BASE_REGISTER, XF_REG_RSP, 8, 0,
		           XF_RBP_AT_BASE, i % 16 >= 11 ? 8 : 0);
	end(&made, table);
}

static void test_ends(void **state)
{
	static const uint8_t rules[] = {UNDEFINED, RIP};
	struct made made;
	struct xf_unwind_table *table = BUILD(&made, rules);

	(void)state;
	expect_undefined_row(table, CODE + 0, XF_UNWIND_END);
	end(&made, table);
}

/* Each from its own address on: what a row has no room for is undefined, or loses RBP. */
static void test_what_a_row_cannot_hold(void **state)
{
	static const uint8_t rules[] = {
	        ADVANCE | 1,
	        UNDEFINED,
	        RBP,
	        ADVANCE | 1,
	        IN_REGISTER,
	        RBP,
	        R10,
	        ADVANCE | 1,
	        SAME_VALUE,
	        RBP,
	        OFFSET | RIP,
	        2, /* not just below the CFA */
	        ADVANCE | 1,
	        OFFSET | RIP,
	        1,
	        VAL_OFFSET,
	        RSP,
	        1, /* RSP is not the CFA */
	        ADVANCE | 1,
	        VAL_OFFSET,
	        RSP,
	        0,
	        DEF_CFA,
	        33,
	        8, /* an SSE register */
	        ADVANCE | 1,
	        DEF_CFA_EXPRESSION,
	        2,
	        0x32,
	        0x1e, /* a product of nothing */
	        ADVANCE | 1,
	        DEF_CFA_EXPRESSION,
	        1,
	        0x32, /* a constant */
	        ADVANCE | 1,
	        DEF_CFA_EXPRESSION,
	        4,
	        0x77,
	        0,
	        6,
	        6, /* a word's word */
	        ADVANCE | 1,
	        DEF_CFA,
	        RSP,
	        0xff,
	        0xff,
	        0xff,
	        0xff,
	        15, /* far away */
	        ADVANCE | 1,
	        DEF_CFA,
	        RSP,
	        8,
	};
	struct made made;
	struct xf_unwind_table *table = BUILD(&made, rules);

	(void)state;
	expect_row(table, CODE + 1, XF_ROW_CALL, XF_BASE_REGISTER, XF_REG_RSP, 8, 0, XF_RBP_UNKNOWN,
	           0);
	expect_row(table, CODE + 2, XF_ROW_CALL, XF_BASE_REGISTER, XF_REG_RSP, 8, 0, XF_RBP_UNKNOWN,
	           0);
	for (uint32_t i = 3; i < 10; i++)
		expect_undefined_row(table, CODE + i, XF_UNWIND_INEXPRESSIBLE);
	expect_row(table, CODE + 10, XF_ROW_CALL, XF_BASE_REGISTER, XF_REG_RSP, 8, 0, XF_RBP_SAME,
	           0);
	end(&made, table);
}

/* Whatever is cut off or wrong: no crash, and nothing that was not there. */
static void test_damage(void **state)
{
	static const uint8_t rules[] = {ADVANCE | 1, DEF_CFA_OFFSET, 16};
	struct made made;

	(void)state;
	end(&made, BUILD(&made, rules));
	for (size_t i = 0; i < made.size; i++) {
		uint8_t *copy = malloc(made.size);
		struct xf_error error;
		struct xf_unwind_table *table = NULL;
		struct xf_elf elf;

		assert_non_null(copy);
		memcpy(copy, made.bytes, made.size);
		copy[i] ^= 0xff;
		if (xf_elf_open(copy, made.size, &elf, &error) == 0 &&
		    elf.pieces[0].code.size < 4096)
			xf_cfi_table(&elf, XF_CFI_DEBUG_FRAME, &elf.pieces[0].code, &table, &error);
		xf_unwind_table_free(table);
		xf_elf_close(&elf);
		if (xf_elf_open(made.bytes, i, &elf, &error) == 0)
			assert_true(elf.nr_pieces == 1);
		xf_elf_close(&elf);
		free(copy);
	}
}

/* As debug packages have it; it is read twice. */
static void test_compressed_rules(void **state)
{
	static const uint8_t rules[] = {ADVANCE | 1, DEF_CFA_OFFSET, 16};
	struct made made = {0}, packed = {0};
	Elf64_Chdr header = {.ch_type = ELFCOMPRESS_ZLIB, .ch_addralign = 1};
	uLongf size = sizeof(packed.frames) - sizeof(header);
	struct xf_unwind_table *table;
	struct xf_error error;

	(void)state;
	put_cie(&made);
	put_fde(&made, rules, sizeof(rules));
	header.ch_size = made.frames_size;
	memcpy(packed.frames, &header, sizeof(header));
	assert_int_equal(
	        compress(packed.frames + sizeof(header), &size, made.frames, made.frames_size),
	        Z_OK);
	packed.frames_size = sizeof(header) + size;
	packed.frames_flags = SHF_COMPRESSED;
	finish(&packed, ".debug_frame");
	for (int i = 0; i < 2; i++) {
		assert_int_equal(xf_cfi_table(&packed.elf, XF_CFI_DEBUG_FRAME,
		                              &packed.elf.pieces[0].code, &table, &error),
		                 0);
		expect_row(table, CODE + 1, XF_ROW_CALL, XF_BASE_REGISTER, XF_REG_RSP, 16, 0,
		           XF_RBP_SAME, 0);
		xf_unwind_table_free(table);
	}
	xf_elf_close(&packed.elf);
}

/* What a file of a hundred bytes says it becomes decides nothing. */
static void test_section_that_grows_out_of_proportion(void **state)
{
	struct made packed = {0};
	const size_t size = 300000;
	Elf64_Chdr header = {.ch_type = ELFCOMPRESS_ZLIB, .ch_addralign = 1, .ch_size = size};
	uLongf room = sizeof(packed.frames) - sizeof(header);
	uint8_t *zeros = calloc(1, size);

	(void)state;
	assert_non_null(zeros);
	memcpy(packed.frames, &header, sizeof(header));
	assert_int_equal(compress(packed.frames + sizeof(header), &room, zeros, size), Z_OK);
	free(zeros);
	packed.frames_size = sizeof(header) + room;
	packed.frames_flags = SHF_COMPRESSED;
	finish(&packed, ".debug_frame");
	assert_false(xf_cfi_available(&packed.elf, XF_CFI_DEBUG_FRAME));
	xf_elf_close(&packed.elf);
}

/* Of a library with @nr sections, whose headers are at @offset. */
static Elf64_Ehdr library_header(size_t offset, uint16_t nr)
{
	return (Elf64_Ehdr){
	        .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
	                    EV_CURRENT},
	        .e_type = ET_DYN,
	        .e_machine = EM_X86_64,
	        .e_version = EV_CURRENT,
	        .e_ehsize = sizeof(Elf64_Ehdr),
	        .e_shoff = offset,
	        .e_shentsize = sizeof(Elf64_Shdr),
	        .e_shnum = nr,
	};
}

/* A file's bytes as the symbols of many sections. */
static void test_symbols_of_many_sections(void **state)
{
	enum {
		TABLES = 20,
		SYMBOLS = 40
	};
	static struct {
		Elf64_Ehdr header;
		Elf64_Shdr sections[2 + TABLES];
		Elf64_Sym symbols[SYMBOLS];
	} file;
	struct xf_elf elf;

	(void)state;
	file.header = library_header(offsetof(typeof(file), sections), 2 + TABLES);
	file.sections[1] = (Elf64_Shdr){.sh_type = SHT_PROGBITS,
	                                .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
	                                .sh_addr = CODE,
	                                .sh_size = CODE_BYTES};
	for (size_t i = 0; i < TABLES; i++)
		file.sections[2 + i] = (Elf64_Shdr){.sh_type = SHT_SYMTAB,
		                                    .sh_offset = offsetof(typeof(file), symbols),
		                                    .sh_size = sizeof(file.symbols),
		                                    .sh_entsize = sizeof(file.symbols[0])};
	for (size_t i = 0; i < SYMBOLS; i++)
		file.symbols[i] = (Elf64_Sym){.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
		                              .st_shndx = 1,
		                              .st_value = CODE};
	assert_int_equal(xf_elf_open(&file, sizeof(file), &elf, NULL), 0);
	assert_in_range(elf.nr_entries, SYMBOLS, sizeof(file) / sizeof(Elf64_Sym));
	xf_elf_close(&elf);
}

/* Each piece of code would be gone through together with all rules. */
static void test_code_in_many_places(void **state)
{
	enum {
		PLACES = 65
	};
	static struct {
		Elf64_Ehdr header;
		Elf64_Shdr sections[1 + PLACES];
	} file;
	struct xf_error error = {0};
	struct xf_elf elf;

	(void)state;
	file.header = library_header(offsetof(typeof(file), sections), 1 + PLACES);
	for (size_t i = 0; i < PLACES; i++)
		file.sections[1 + i] = (Elf64_Shdr){.sh_type = SHT_PROGBITS,
		                                    .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
		                                    .sh_addr = CODE + (i << 30),
		                                    .sh_size = CODE_BYTES};
	assert_int_equal(xf_elf_open(&file, sizeof(file), &elf, &error), -EBADMSG);
	assert_non_null(strstr(error.text, "far apart"));
	xf_elf_close(&elf);
}

static void test_no_rules(void **state)
{
	struct xf_unwind_table *table;
	struct xf_error error = {0};
	struct made made = {0};

	(void)state;
	put_u32(&made, 0);
	finish(&made, ".other");
	assert_int_equal(xf_cfi_table(&made.elf, XF_CFI_DEBUG_FRAME, &made.elf.pieces[0].code,
	                              &table, &error),
	                 -ENODATA);
	assert_null(table);
	assert_non_null(strstr(error.text, ".debug_frame"));
	xf_elf_close(&made.elf);
}

/* ---- Which source ---------------------------------------------------------------------------- */

static enum xf_source source_of(struct made *made, enum xf_source wanted, bool with_file)
{
	struct xf_source_image image = {
	        .elf = with_file ? &made->elf : NULL,
	        .code = &made->elf.pieces[0].code,
	        .entries = made->elf.entries,
	        .nr_entries = made->elf.nr_entries,
	};
	struct xf_unwind_table *table;
	struct xf_source_used used;
	struct xf_error error = {0};
	int result = xf_source_table(wanted, &image, &table, &used, &error);

	xf_unwind_table_free(table);
	if (result) {
		assert_int_equal(result, -ENODATA);
		return XF_SOURCE_AUTO;
	}
	return used.source;
}

static void test_choice(void **state)
{
	static const uint8_t rules[] = {ADVANCE | 1, DEF_CFA_OFFSET, 16};
	struct made made;

	(void)state;
	xf_unwind_table_free(BUILD(&made, rules));
	/* A debugger's rules are not taken by themselves. */
	assert_int_equal(source_of(&made, XF_SOURCE_AUTO, true), XF_SOURCE_CODE);
	assert_int_equal(source_of(&made, XF_SOURCE_CFI, true), XF_SOURCE_CFI);
	assert_int_equal(source_of(&made, XF_SOURCE_ORC, true), XF_SOURCE_AUTO);
	assert_int_equal(source_of(&made, XF_SOURCE_CODE, true), XF_SOURCE_CODE);
	assert_int_equal(source_of(&made, XF_SOURCE_FRAME_POINTERS, true),
	                 XF_SOURCE_FRAME_POINTERS);
	assert_int_equal(source_of(&made, XF_SOURCE_AUTO, false), XF_SOURCE_CODE);
	assert_int_equal(source_of(&made, XF_SOURCE_CFI, false), XF_SOURCE_AUTO);
	xf_elf_close(&made.elf);
}

static void test_frame_pointers_are_marked(void **state)
{
	static const uint8_t bytes[16];
	const struct xf_code code = {CODE, bytes, sizeof(bytes)};
	struct xf_source_image image = {.code = &code};
	struct xf_unwind_table *table;
	struct xf_source_used used;
	struct xf_error error = {0};
	struct xf_unwind_row row;

	(void)state;
	assert_int_equal(xf_source_table(XF_SOURCE_FRAME_POINTERS, &image, &table, &used, &error),
	                 0);
	row = xf_unwind_row_find(table, CODE + 15);
	assert_int_equal(row.reason, XF_UNWIND_ASSUMED);
	expect_row(table, CODE + 0, XF_ROW_CALL, XF_BASE_REGISTER, XF_REG_RBP, 16, 0, XF_RBP_AT_RBP,
	           0);
	xf_unwind_table_free(table);
}

static void test_names(void **state)
{
	enum xf_source source = XF_SOURCE_CODE;

	(void)state;
	assert_true(xf_source_by_name("orc", &source));
	assert_int_equal(source, XF_SOURCE_ORC);
	assert_true(xf_source_by_name("frame-pointers", &source));
	assert_int_equal(source, XF_SOURCE_FRAME_POINTERS);
	assert_false(xf_source_by_name("", &source));
	assert_false(xf_source_by_name("ORC", &source));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_usual_rules),
	        cmocka_unit_test(test_realigned_frame),
	        cmocka_unit_test(test_rule_by_address),
	        cmocka_unit_test(test_saved_rbp_by_address),
	        cmocka_unit_test(test_ends),
	        cmocka_unit_test(test_what_a_row_cannot_hold),
	        cmocka_unit_test(test_damage),
	        cmocka_unit_test(test_compressed_rules),
	        cmocka_unit_test(test_section_that_grows_out_of_proportion),
	        cmocka_unit_test(test_symbols_of_many_sections),
	        cmocka_unit_test(test_code_in_many_places),
	        cmocka_unit_test(test_no_rules),
	        cmocka_unit_test(test_choice),
	        cmocka_unit_test(test_frame_pointers_are_marked),
	        cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
