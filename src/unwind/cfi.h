// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Call frame information: what the compiler, or whoever wrote the assembly, says of the frames in
 * an ELF file, in .eh_frame or .debug_frame. Pure.
 */
#ifndef XF_UNWIND_CFI_H
#define XF_UNWIND_CFI_H

#include "unwind/elf.h"
#include "unwind/unwind.h"

enum xf_cfi_section {
	XF_CFI_EH_FRAME,    /* exceptions are thrown by it, so that all of the code is in it */
	XF_CFI_DEBUG_FRAME, /* for debuggers */
};

/* Return: whether @elf has @which at all. */
bool xf_cfi_available(const struct xf_elf *elf, enum xf_cfi_section which);

/*
 * The table of @code, whose addresses are those of the file and whose bytes are not looked at.
 * Where the file says that there is no caller the row is undefined with the reason XF_UNWIND_END.
 * Return: 0 and *@table, to be freed with xf_unwind_table_free; -ENODATA, -EINVAL or -ENOMEM and
 * @error.
 */
int xf_cfi_table(const struct xf_elf *elf, enum xf_cfi_section which, const struct xf_code *code,
                 struct xf_unwind_table **table, struct xf_error *error);

/* The same of single instructions, without all of the table. */
struct xf_cfi;

/* Return: 0 and *@cfi, of @elf, which outlives it, to be freed with xf_cfi_close; -ENODATA,
 * -ENOMEM. */
int xf_cfi_open(const struct xf_elf *elf, enum xf_cfi_section which, struct xf_cfi **cfi);
void xf_cfi_close(struct xf_cfi *cfi);

/* The row for the instruction at @address; where the file says nothing of it, an undefined one. */
struct xf_unwind_row xf_cfi_row(const struct xf_cfi *cfi, uint64_t address);

#endif
