// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/elf.h"

#include <endian.h>
#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>

/*
 * Sections jump to each other, and the inference follows jumps within one piece alone. In a kernel
 * there are tens of MiB of data between them. So much of it, and no more, is put into pieces.
 */
#define MOST_BETWEEN (64u << 20)

/*
 * Each piece is gone through together with all of the file's unwind information. Programs have one,
 * kernels two or three.
 */
#define MOST_PIECES 64u

/* So many times the file's size may a section have that was compressed: debug information comes to
 * a third or a quarter, and zlib can make a thousandth of what says nothing. */
#define MOST_EXPANSION 16u

/* What no instruction leads over: int3. */
#define FILLER 0xcc

/* Return: whether @header is of code that lies within the file. */
static bool is_code(const struct xf_elf *elf, const GElf_Shdr *header)
{
	return header->sh_type == SHT_PROGBITS && header->sh_flags & SHF_EXECINSTR &&
	       header->sh_flags & SHF_ALLOC && header->sh_size != 0 &&
	       header->sh_offset <= elf->file_size &&
	       header->sh_size <= elf->file_size - header->sh_offset &&
	       header->sh_addr + header->sh_size > header->sh_addr;
}

static int order(const void *a, const void *b)
{
	const struct xf_elf_piece *one = a, *other = b;

	return one->code.address < other->code.address ? -1
	                                               : one->code.address > other->code.address;
}

/* Each section of code is a piece, for now. Return: 0 or -ENOMEM. */
static int find_sections(struct xf_elf *elf)
{
	const uint8_t *file = elf->file;
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	size_t nr = 0;

	if (elf_getshdrnum(elf->elf, &nr) != 0)
		nr = 0;
	elf->pieces = calloc(nr + 1, sizeof(*elf->pieces));
	if (elf->pieces == NULL)
		return -ENOMEM;
	while (elf->nr_pieces < nr && (section = elf_nextscn(elf->elf, section)) != NULL)
		if (gelf_getshdr(section, &header) && is_code(elf, &header))
			elf->pieces[elf->nr_pieces++].code =
			        (struct xf_code){.address = header.sh_addr,
			                         .bytes = file + header.sh_offset,
			                         .size = header.sh_size};
	qsort(elf->pieces, elf->nr_pieces, sizeof(*elf->pieces), order);
	return 0;
}

/* Makes one piece of @nr sections, in order and free of overlaps. */
static int join(const struct xf_elf_piece *sections, size_t nr, struct xf_elf_piece *piece)
{
	uint64_t start = sections[0].code.address;
	uint64_t end = sections[nr - 1].code.address + sections[nr - 1].code.size;
	uint8_t *copy;

	if (nr == 1) {
		*piece = sections[0];
		return 0;
	}
	copy = malloc(end - start);
	if (copy == NULL)
		return -ENOMEM;
	memset(copy, FILLER, end - start);
	for (size_t i = 0; i < nr; i++)
		memcpy(copy + (sections[i].code.address - start), sections[i].code.bytes,
		       sections[i].code.size);
	*piece = (struct xf_elf_piece){{start, copy, end - start}, copy};
	return 0;
}

/* What lies between a section and the next one. */
static uint64_t distance(const struct xf_code *section, const struct xf_code *next)
{
	return next->address - section->address - section->size;
}

static int join_sections(struct xf_elf *elf)
{
	struct xf_elf_piece *all = elf->pieces;
	size_t nr = elf->nr_pieces, made = 0, first = 0;
	uint64_t left = MOST_BETWEEN;

	for (size_t i = 1; i <= nr; i++) {
		uint64_t between = i < nr ? distance(&all[i - 1].code, &all[i].code) : UINT64_MAX;

		if (between <= left) {
			left -= between;
			continue;
		}
		if (join(all + first, i - first, &all[made]) != 0)
			return -ENOMEM;
		/* What stands between here and @made is borrowed, or has been given to it. */
		elf->nr_pieces = ++made;
		first = i;
	}
	return 0;
}

/* Together they cannot be more than the file, where each byte is loaded once. */
static int check_sections(const struct xf_elf *elf, struct xf_error *error)
{
	uint64_t total = 0;

	for (size_t i = 0; i < elf->nr_pieces; i++) {
		const struct xf_code *code = &elf->pieces[i].code;

		total += code->size;
		if (total > elf->file_size ||
		    (i != 0 && elf->pieces[i - 1].code.address + elf->pieces[i - 1].code.size >
		                       code->address))
			return xf_fail(error, -EBADMSG,
			               "its sections of code lie over each other, at %#llx",
			               (unsigned long long)code->address);
	}
	return 0;
}

/* Bytes of a symbol's name that are looked at: many may share one long string. */
#define MOST_NAME 4096u

/* The compiler puts what it thinks unlikely apart, as NAME.cold: that is jumped to, with NAME's
 * frame, and is no function. */
static bool is_cold(const char *name)
{
	size_t size = name != NULL ? strnlen(name, MOST_NAME) : 0;

	return size != 0 && memmem(name, size, ".cold", strlen(".cold")) != NULL;
}

static bool is_entry(const struct xf_elf *elf, const GElf_Sym *symbol)
{
	unsigned int type = GELF_ST_TYPE(symbol->st_info);
	GElf_Shdr header;
	Elf_Scn *section;

	if ((type != STT_FUNC && type != STT_NOTYPE && type != STT_GNU_IFUNC) ||
	    symbol->st_shndx == SHN_UNDEF || symbol->st_shndx >= SHN_LORESERVE)
		return false;
	section = elf_getscn(elf->elf, symbol->st_shndx);
	return section != NULL && gelf_getshdr(section, &header) && header.sh_flags & SHF_EXECINSTR;
}

/* Return: whether section number @section ends as a table of strings does. */
static bool strings_end(Elf *elf, size_t section)
{
	const Elf_Data *data = elf_rawdata(elf_getscn(elf, section), NULL);

	return data == NULL || data->d_buf == NULL || data->d_size == 0 ||
	       ((const char *)data->d_buf)[data->d_size - 1] == '\0';
}

bool xf_elf_take_symbols(void *elf, void *section, uint64_t *left, size_t *strings)
{
	GElf_Shdr header;

	if (!gelf_getshdr(section, &header) ||
	    (header.sh_type != SHT_SYMTAB && header.sh_type != SHT_DYNSYM) ||
	    header.sh_size > *left || !strings_end(elf, header.sh_link))
		return false;
	*left -= header.sh_size;
	*strings = header.sh_link;
	return true;
}

static int add_symbols(struct xf_elf *elf, Elf_Scn *section, size_t strings, size_t *room)
{
	Elf_Data *data = elf_getdata(section, NULL);
	GElf_Sym symbol;

	for (int i = 0; data != NULL && gelf_getsym(data, i, &symbol); i++) {
		if (!is_entry(elf, &symbol) ||
		    is_cold(elf_strptr(elf->elf, strings, symbol.st_name)))
			continue;
		if (elf->nr_entries == *room) {
			uint64_t *entries = reallocarray(elf->entries, *room * 2, sizeof(*entries));

			if (entries == NULL)
				return -ENOMEM;
			elf->entries = entries;
			*room *= 2;
		}
		elf->entries[elf->nr_entries++] = symbol.st_value;
	}
	return 0;
}

static int find_entries(struct xf_elf *elf)
{
	Elf_Scn *section = NULL;
	uint64_t left = elf->file_size;
	size_t room = 256, strings;
	GElf_Ehdr head;
	int result = 0;

	elf->entries = calloc(room, sizeof(*elf->entries));
	if (elf->entries == NULL)
		return -ENOMEM;
	if (gelf_getehdr(elf->elf, &head) && head.e_entry != 0)
		elf->entries[elf->nr_entries++] = head.e_entry;
	while (!result && (section = elf_nextscn(elf->elf, section)) != NULL)
		if (xf_elf_take_symbols(elf->elf, section, &left, &strings))
			result = add_symbols(elf, section, strings, &room);
	return result;
}

static int check_kind(const struct xf_elf *elf, struct xf_error *error)
{
	GElf_Ehdr head;

	if (elf->elf == NULL || elf_kind(elf->elf) != ELF_K_ELF || !gelf_getehdr(elf->elf, &head))
		return xf_fail(error, -EBADMSG, "no ELF file, or damaged");
	if (head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_machine != EM_X86_64 ||
	    (head.e_type != ET_EXEC && head.e_type != ET_DYN))
		return xf_fail(error, -EBADMSG,
		               "an ELF file, but no program or library for x86-64 (class %u, "
		               "machine %u, type %u)",
		               head.e_ident[EI_CLASS], head.e_machine, head.e_type);
	return 0;
}

int xf_elf_open(const void *bytes, size_t size, struct xf_elf *elf, struct xf_error *error)
{
	int result;

	*elf = (struct xf_elf){.file = bytes, .file_size = size};
	elf_version(EV_CURRENT);
	/* libelf takes the bytes as its own to change, and only reads them when asked to read. */
	elf->elf = elf_memory((char *)bytes, size);
	result = check_kind(elf, error);
	if (result)
		return result;
	if (find_sections(elf) != 0)
		return xf_fail(error, -ENOMEM, "out of memory");
	if (elf->nr_pieces == 0)
		return xf_fail(error, -EBADMSG, "an ELF file without sections of code");
	result = check_sections(elf, error);
	if (!result && (join_sections(elf) != 0 || find_entries(elf) != 0))
		result = xf_fail(error, -ENOMEM, "out of memory");
	if (!result && elf->nr_pieces > MOST_PIECES)
		result = xf_fail(error, -EBADMSG,
		                 "its code lies in %zu places far apart: at most %u make sense",
		                 elf->nr_pieces, MOST_PIECES);
	return result;
}

void xf_elf_close(struct xf_elf *elf)
{
	for (size_t i = 0; i < elf->nr_pieces; i++)
		free(elf->pieces[i].copy);
	free(elf->pieces);
	free(elf->entries);
	elf_end(elf->elf);
	*elf = (struct xf_elf){0};
}

/* Return: the size that @section says it has when decompressed, as GNU's tools wrote it before
 * there was a flag: "ZLIB" and eight bytes, the highest first. 0: it is not so. */
static uint64_t old_size(Elf_Scn *section)
{
	const Elf_Data *data = elf_rawdata(section, NULL);
	uint64_t size;

	if (data == NULL || data->d_buf == NULL || data->d_size < 4 + sizeof(size) ||
	    memcmp(data->d_buf, "ZLIB", 4) != 0)
		return 0;
	memcpy(&size, (const uint8_t *)data->d_buf + 4, sizeof(size));
	return be64toh(size);
}

/* Return: whether @section can be read as it is, or could be decompressed. */
static bool decompress(const struct xf_elf *elf, Elf_Scn *section, const GElf_Shdr *header,
                       const char *name)
{
	GElf_Chdr how;

	if (header->sh_flags & SHF_COMPRESSED)
		return gelf_getchdr(section, &how) != NULL &&
		       how.ch_size / MOST_EXPANSION <= elf->file_size &&
		       elf_compress(section, 0, 0) >= 0;
	return strncmp(name, ".zdebug", 7) != 0 ||
	       (old_size(section) / MOST_EXPANSION <= elf->file_size &&
	        elf_compress_gnu(section, 0, 0) >= 0);
}

static bool read_section(const struct xf_elf *elf, Elf_Scn *found, const char *name,
                         struct xf_elf_section *section)
{
	GElf_Shdr header;
	Elf_Data *data;

	if (!gelf_getshdr(found, &header) || header.sh_type == SHT_NOBITS ||
	    !decompress(elf, found, &header, name))
		return false;
	data = elf_rawdata(found, NULL);
	if (data == NULL || data->d_buf == NULL || data->d_size == 0)
		return false;
	*section = (struct xf_elf_section){data->d_buf, data->d_size, header.sh_addr};
	return true;
}

bool xf_elf_section(const struct xf_elf *elf, const char *name, struct xf_elf_section *section)
{
	Elf_Scn *found = NULL;
	GElf_Shdr header;
	size_t names;

	if (elf_getshdrstrndx(elf->elf, &names) != 0)
		return false;
	while ((found = elf_nextscn(elf->elf, found)) != NULL) {
		const char *its = NULL;

		if (gelf_getshdr(found, &header))
			its = elf_strptr(elf->elf, names, header.sh_name);
		/* The first one decides: each that fails may have been decompressed for nothing. */
		if (its != NULL && strcmp(its, name) == 0)
			return read_section(elf, found, name, section);
	}
	return false;
}
