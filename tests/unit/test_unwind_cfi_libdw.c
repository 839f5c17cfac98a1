// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Call frame information as this project reads it against elfutils' libdw, of every program and
 * library that this test runs with: whatever compilers and assembly of the machine have written.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "read_file.h"
#include "unwind/cfi.h"
#include "unwind/expression.h"

/* Registers' x86-64 encoding by their DWARF numbers (System V ABI, AMD64 supplement, figure 3.36).
 */
static const uint8_t encodings[16] = {0, 2, 1, 3, 6, 7, 5, 4, 8, 9, 10, 11, 12, 13, 14, 15};

struct counts {
	unsigned long files, ranges, described, by_expression;
};

/* What libdw says of a register in the caller, as far as it is said without an expression. */
enum fate {
	SAME,
	LOST,
	IN_WORD, /* at the CFA + offset */
	OTHER,
};

static enum fate fate_of(Dwarf_Frame *frame, int reg, int64_t *offset)
{
	Dwarf_Op room[3], *ops = NULL;
	size_t nr = 0;

	assert_int_equal(dwarf_frame_register(frame, reg, room, &ops, &nr), 0);
	*offset = 0;
	if (nr == 0)
		return ops == NULL ? SAME : LOST;
	if (ops[0].atom != DW_OP_call_frame_cfa || nr > 2)
		return OTHER;
	if (nr == 2 && ops[1].atom != DW_OP_plus_uconst)
		return OTHER;
	*offset = nr == 2 ? (int64_t)ops[1].number : 0;
	return IN_WORD;
}

/* Return: whether the CFA is a register and an offset. */
static bool cfa_of(Dwarf_Frame *frame, unsigned int *reg, int64_t *offset)
{
	Dwarf_Op *ops = NULL;
	size_t nr = 0;

	if (dwarf_frame_cfa(frame, &ops, &nr) != 0 || nr != 1 || ops[0].atom != DW_OP_bregx ||
	    ops[0].number >= sizeof(encodings))
		return false;
	*reg = encodings[ops[0].number];
	*offset = (int64_t)ops[0].number2;
	return true;
}

static void check_rbp(Dwarf_Frame *frame, const struct xf_unwind_row *row)
{
	int64_t offset;

	switch (fate_of(frame, XF_DWARF_RBP, &offset)) {
	case SAME:
		assert_int_equal(row->rbp_rule, XF_RBP_SAME);
		break;
	case LOST:
		assert_int_equal(row->rbp_rule, XF_RBP_UNKNOWN);
		break;
	case IN_WORD:
		assert_int_equal(row->rbp_rule, XF_RBP_AT_BASE);
		assert_int_equal(row->rbp_offset, offset);
		break;
	case OTHER:
		break;
	}
}

static void check_row(Dwarf_Frame *frame, const struct xf_unwind_row *row, struct counts *counts)
{
	unsigned int reg;
	int64_t offset, address;
	enum fate fate = fate_of(frame, XF_DWARF_RIP, &address);

	if (fate == LOST) {
		assert_int_equal(row->kind, XF_ROW_UNDEFINED);
		assert_int_equal(row->reason, XF_UNWIND_END);
	} else if (fate != IN_WORD || !cfa_of(frame, &reg, &offset)) {
		counts->by_expression++;
		assert_int_not_equal(row->reason, XF_UNWIND_NOT_DESCRIBED);
	} else if (address != -8) { /* as in setcontext(3), which takes them out of its argument */
		assert_int_equal(row->reason, XF_UNWIND_INEXPRESSIBLE);
	} else {
		assert_int_equal(row->kind, XF_ROW_CALL);
		assert_int_equal(row->base_rule, XF_BASE_REGISTER);
		assert_int_equal(row->base_register, reg);
		assert_int_equal(row->base_offset, offset);
		check_rbp(frame, row);
	}
}

/* Return: the first address after those that have the same rules as @address. */
static uint64_t check_at(Dwarf_CFI *libdw, const struct xf_cfi *cfi,
                         const struct xf_unwind_table *table, uint64_t address,
                         struct counts *counts)
{
	struct xf_unwind_row row = xf_cfi_row(cfi, address);
	struct xf_unwind_row of_table = xf_unwind_row_find(table, address);
	Dwarf_Addr start = 0, end = 0;
	Dwarf_Frame *frame = NULL;

	counts->ranges++;
	assert_int_equal(row.kind, of_table.kind);
	assert_int_equal(row.reason, of_table.reason);
	if (row.kind != XF_ROW_UNDEFINED) {
		assert_int_equal(row.base_offset, of_table.base_offset);
		assert_int_equal(row.rbp_offset, of_table.rbp_offset);
	}
	if (dwarf_cfi_addrframe(libdw, address, &frame) != 0) {
		assert_int_equal(row.reason, XF_UNWIND_NOT_DESCRIBED);
		return address + 1;
	}
	counts->described++;
	dwarf_frame_info(frame, &start, &end, NULL);
	check_row(frame, &row, counts);
	free(frame);
	return end > address ? end : address + 1;
}

static void check_image(const struct xf_elf *elf, Dwarf_CFI *libdw, struct counts *counts)
{
	struct xf_cfi *cfi;

	assert_int_equal(xf_cfi_open(elf, XF_CFI_EH_FRAME, &cfi), 0);
	for (size_t i = 0; i < elf->nr_pieces; i++) {
		const struct xf_code *code = &elf->pieces[i].code;
		struct xf_unwind_table *table;
		struct xf_error error;

		assert_int_equal(xf_cfi_table(elf, XF_CFI_EH_FRAME, code, &table, &error), 0);
		for (uint64_t address = code->address; address < code->address + code->size;)
			address = check_at(libdw, cfi, table, address, counts);
		xf_unwind_table_free(table);
	}
	xf_cfi_close(cfi);
}

static void check_file(const char *path, struct counts *counts)
{
	size_t size = 0;
	void *bytes = read_file(path, &size);
	struct xf_error error;
	struct xf_elf elf;
	Dwarf_CFI *libdw;

	assert_non_null(bytes);
	assert_int_equal(xf_elf_open(bytes, size, &elf, &error), 0);
	libdw = dwarf_getcfi_elf(elf.elf);
	assert_non_null(libdw);
	check_image(&elf, libdw, counts);
	counts->files++;
	dwarf_cfi_end(libdw);
	xf_elf_close(&elf);
	free(bytes);
}

static int check_loaded(struct dl_phdr_info *info, size_t size, void *context)
{
	(void)size;
	/* The program itself has no name here; the vDSO has no file. */
	if (info->dlpi_name[0] == '/')
		check_file(info->dlpi_name, context);
	return 0;
}

static void test_every_loaded_library_has_libdws_rules(void **state)
{
	struct counts counts = {0};

	(void)state;
	check_file("/proc/self/exe", &counts);
	dl_iterate_phdr(check_loaded, &counts);
	print_message("%lu files, %lu ranges, %lu described, %lu by expressions\n", counts.files,
	              counts.ranges, counts.described, counts.by_expression);
	assert_true(counts.files > 3);
	assert_true(counts.described > 10000);
	assert_true(counts.by_expression > 0 && counts.by_expression < counts.described / 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_every_loaded_library_has_libdws_rules),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
