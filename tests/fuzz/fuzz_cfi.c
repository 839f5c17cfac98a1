// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any bytes, read as an ELF file with call frame information: a table of it makes sense, and says
 * of each instruction what is said when it is asked for alone. tests/fuzz/run has how to build and
 * replay.
 */
#include <stdlib.h>

#include "check_rows.h"
#include "unwind/cfi.h"
#include "unwind/source.h"

/* Sections may lie far apart; what is laid over them says nothing new after a while. */
#define MOST_CODE    (1u << 20)
/* Instructions of a piece that are asked for alone. */
#define MOST_SINGLES 64

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void read_piece(const struct xf_elf *elf, const struct xf_code *code, enum xf_source source)
{
	struct xf_source_image image = {elf, code, elf->entries, elf->nr_entries};
	struct xf_source_used used;
	struct xf_unwind_table *table = NULL;
	struct xf_error error;

	if (xf_source_table(source, &image, &table, &used, &error) == 0)
		check_rows(table, code);
	xf_unwind_table_free(table);
}

static void expect(bool holds)
{
	if (!holds)
		abort();
}

static void check_single(const struct xf_unwind_row *row, const struct xf_unwind_row *of_table)
{
	expect(row->kind == of_table->kind && row->reason == of_table->reason);
	if (row->kind == XF_ROW_UNDEFINED)
		return;
	expect(row->base_rule == of_table->base_rule);
	expect(row->base_register == of_table->base_register);
	expect(row->base_offset == of_table->base_offset);
	expect(row->base_addend == of_table->base_addend);
	expect(row->rbp_rule == of_table->rbp_rule);
	expect(row->rbp_offset == of_table->rbp_offset);
}

static void check_singles(const struct xf_elf *elf, const struct xf_code *code,
                          enum xf_cfi_section which)
{
	struct xf_unwind_table *table = NULL;
	struct xf_cfi *cfi = NULL;
	struct xf_error error;
	size_t step = code->size / MOST_SINGLES + 1;

	if (xf_cfi_open(elf, which, &cfi) != 0)
		return;
	if (xf_cfi_table(elf, which, code, &table, &error) == 0)
		for (size_t i = 0; i < code->size; i += step) {
			struct xf_unwind_row row = xf_cfi_row(cfi, code->address + i);
			struct xf_unwind_row of_table =
			        xf_unwind_row_find(table, code->address + i);

			check_single(&row, &of_table);
		}
	xf_unwind_table_free(table);
	xf_cfi_close(cfi);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct xf_error error;
	struct xf_elf elf;

	if (xf_elf_open(bytes, size, &elf, &error) == 0)
		for (size_t i = 0; i < elf.nr_pieces; i++) {
			if (elf.pieces[i].code.size > MOST_CODE)
				continue;
			read_piece(&elf, &elf.pieces[i].code, XF_SOURCE_CFI);
			read_piece(&elf, &elf.pieces[i].code, XF_SOURCE_ORC);
			check_singles(&elf, &elf.pieces[i].code, XF_CFI_EH_FRAME);
			check_singles(&elf, &elf.pieces[i].code, XF_CFI_DEBUG_FRAME);
		}
	xf_elf_close(&elf);
	return 0;
}
