// SPDX-License-Identifier: GPL-2.0-or-later
#include "xen/syms.h"

#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <string.h>

#include "unwind/elf.h"
#include "xen/discover.h"

bool xf_syms_recognize(const void *bytes, size_t size)
{
	const uint8_t *identification = bytes;

	return size > EI_CLASS && memcmp(identification, ELFMAG, SELFMAG) == 0 &&
	       identification[EI_CLASS] == ELFCLASS64;
}

static bool is_code(Elf *elf, size_t index)
{
	Elf_Scn *section = elf_getscn(elf, index);
	GElf_Shdr header;

	return section && gelf_getshdr(section, &header) && header.sh_flags & SHF_EXECINSTR;
}

/* Any number of symbols may have the same bytes as their names: @names are left for those. */
static int take_symbol(Elf *elf, size_t strings, const GElf_Sym *entry, size_t *names,
                       struct xf_symbols *symbols)
{
	const char *name = elf_strptr(elf, strings, entry->st_name);
	unsigned char type = GELF_ST_TYPE(entry->st_info);
	bool global = GELF_ST_BIND(entry->st_info) == STB_GLOBAL;
	size_t size = name ? strnlen(name, *names) : 0;
	char letter = 'd';

	if (size == *names)
		return 0;
	*names -= size;
	if (!name || !name[0] || type == STT_FILE || type == STT_SECTION ||
	    entry->st_shndx == SHN_UNDEF || entry->st_shndx >= SHN_LORESERVE)
		return 0;
	if (is_code(elf, entry->st_shndx))
		letter = global ? 'T' : 't';
	return xf_symbols_add(symbols, entry->st_value, entry->st_size, letter, name);
}

static int read_table(Elf *elf, Elf_Scn *section, size_t strings, size_t *names,
                      struct xf_symbols *symbols)
{
	Elf_Data *data = elf_getdata(section, NULL);
	GElf_Sym entry;
	int result = 0;

	for (int i = 0; !result && data && gelf_getsym(data, i, &entry); i++)
		result = take_symbol(elf, strings, &entry, names, symbols);
	return result;
}

/* All tables together, and all names, are no more than the @size bytes of the file. */
static int read_symbols(Elf *elf, size_t size, struct xf_symbols *symbols)
{
	size_t names = size, strings;
	Elf_Scn *section = NULL;
	uint64_t left = size;
	int result = 0;

	while (!result && (section = elf_nextscn(elf, section)) != NULL)
		if (xf_elf_take_symbols(elf, section, &left, &strings))
			result = read_table(elf, section, strings, &names, symbols);
	xf_symbols_finish(symbols);
	return result;
}

/* The bytes that are loaded at [@text->start, @text->end). */
static int find_code(Elf *elf, const uint8_t *bytes, size_t size, const struct xf_text_range *text,
                     struct xf_code *code, struct xf_error *error)
{
	GElf_Phdr header;
	size_t nr;

	if (elf_getphdrnum(elf, &nr) != 0)
		nr = 0;
	for (size_t i = 0; i < nr && gelf_getphdr(elf, (int)i, &header); i++) {
		uint64_t offset = text->start - header.p_vaddr;

		if (header.p_type != PT_LOAD || text->start < header.p_vaddr ||
		    text->end <= text->start || header.p_offset > size ||
		    header.p_filesz > size - header.p_offset || offset > header.p_filesz ||
		    text->end - text->start > header.p_filesz - offset)
			continue;
		*code = (struct xf_code){.address = text->start,
		                         .bytes = bytes + header.p_offset + offset,
		                         .size = text->end - text->start};
		return 0;
	}
	return xf_fail(error, -EBADMSG, "the code that its symbols tell of is not in it");
}

int xf_syms_parse(const void *bytes, size_t size, struct xf_code *code, struct xf_symbols **symbols,
                  struct xf_error *error)
{
	struct xf_symbols *found = xf_symbols_new();
	struct xf_text_range text;
	Elf *elf;
	int result;

	if (!found)
		return xf_fail(error, -ENOMEM, "out of memory");
	elf_version(EV_CURRENT);
	elf = elf_memory((char *)bytes, size);
	if (elf && read_symbols(elf, size, found) != 0)
		result = xf_fail(error, -ENOMEM, "out of memory");
	else if (!elf || !xf_symbols_count(found))
		result = xf_fail(error, -EBADMSG, "an ELF file without symbols, or damaged");
	else if (xf_discover_text(found, &text, error) != 0)
		result = xf_fail(error, -EBADMSG, "its symbols are not Xen's");
	else
		result = find_code(elf, bytes, size, &text, code, error);
	elf_end(elf);
	if (result) {
		xf_symbols_free(found);
		return result;
	}
	*symbols = found;
	return 0;
}

int xf_syms_read(const void *bytes, size_t size, struct xf_symbols **symbols,
                 struct xf_error *error)
{
	struct xf_symbols *found = xf_symbols_new();
	Elf *elf;
	int result;

	elf_version(EV_CURRENT);
	elf = elf_memory((char *)bytes, size);
	result = found != NULL && elf != NULL ? read_symbols(elf, size, found) : -ENOMEM;
	elf_end(elf);
	if (result) {
		xf_symbols_free(found);
		return xf_fail(error, -ENOMEM, "out of memory");
	}
	*symbols = found;
	return 0;
}
