// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any bytes, read as an ELF file with call frame information. tests/fuzz/run has how to build and
 * replay. What libdw does wrong shows here as well.
 */
#include "check_rows.h"
#include "unwind/cfi.h"
#include "unwind/source.h"

/* Sections may lie far apart; what is laid over them says nothing new after a while. */
#define MOST_CODE (1u << 20)

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
		}
	xf_elf_close(&elf);
	return 0;
}
