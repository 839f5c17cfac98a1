// SPDX-License-Identifier: GPL-2.0-or-later
/* What unwinding wants of an x86-64 ELF file in memory: its code, its functions, its sections. */
#ifndef XF_UNWIND_ELF_H
#define XF_UNWIND_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/unwind.h"

/* Sections of code that lie close together, as one piece. */
struct xf_elf_piece {
	struct xf_code code;
	uint8_t *copy; /* where the piece is put together from several sections; NULL: borrowed */
};

struct xf_elf {
	const void *file; /* borrowed */
	size_t file_size;
	void *elf; /* libelf's */
	struct xf_elf_piece *pieces;
	size_t nr_pieces;
	uint64_t *entries; /* addresses of symbols of code, and of the entry point */
	size_t nr_entries;
};

struct xf_elf_section {
	const void *bytes; /* borrowed: the file's own, or libelf's where they were compressed */
	size_t size;
	uint64_t address;
};

/*
 * Opens the ELF file in @bytes. Return: 0, or -EBADMSG or -ENOMEM and @error; xf_elf_close is due
 * in all cases.
 */
int xf_elf_open(const void *bytes, size_t size, struct xf_elf *elf, struct xf_error *error);
void xf_elf_close(struct xf_elf *elf);

/* Return: whether there is a section @name with content, in *@section; one that is compressed is
 * decompressed. Its bytes live as long as @elf. */
bool xf_elf_section(const struct xf_elf *elf, const char *name, struct xf_elf_section *section);

/*
 * Return: whether @section of libelf's @elf is a table of symbols that may be gone through, and the
 * number of the section with their names in *@strings. Any number of headers may name the same
 * bytes as their symbols: *@left are those that there may be yet. Names that do not end with their
 * section are no names: libelf looks through all that is left of them for each.
 */
bool xf_elf_take_symbols(void *elf, void *section, uint64_t *left, size_t *strings);

#endif
