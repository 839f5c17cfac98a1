// SPDX-License-Identifier: GPL-2.0-or-later
/* The ELF file of a kernel, made up, for tests: code with calls in it, Linux's own tables of
 * symbols or the linker's, ORC of 6.4, and its types. */
#ifndef XF_TEST_UNIT_MADE_IMAGE_H
#define XF_TEST_UNIT_MADE_IMAGE_H

#include <elf.h>
#include <stdlib.h>

#include "unit/kallsyms_tables.h"
#include "unit/made_btf.h"

#define IMAGE_BYTES  (64u << 10)
#define IMAGE_ORC    (TABLES_BASE + 0x300000)
#define IMAGE_BANNER "Linux version 9.9.9-made (somebody@somewhere)\n"

enum {
	SECTION_NONE,
	SECTION_TEXT,
	SECTION_RODATA,
	SECTION_PLACES,
	SECTION_ENTRIES,
	SECTION_HEADER,
	SECTION_TYPES,
	SECTION_SYMBOLS,
	SECTION_STRINGS,
	SECTION_NAMES,
	NR_SECTIONS
};

struct made_image {
	uint8_t bytes[IMAGE_BYTES];
	size_t size;
	Elf64_Shdr sections[NR_SECTIONS];
};

static void image_section(struct made_image *image, int number, const void *bytes, size_t size,
                          uint64_t address, uint32_t type)
{
	image->size = (image->size + 15) & ~(size_t)15;
	memcpy(image->bytes + image->size, bytes, size);
	image->sections[number] = (Elf64_Shdr){.sh_type = type,
	                                       .sh_flags = address ? SHF_ALLOC : 0,
	                                       .sh_addr = address,
	                                       .sh_offset = image->size,
	                                       .sh_size = size,
	                                       .sh_addralign = 1};
	image->size += size;
}

/* Moves of seven bytes with calls of functions between them, another each @seed. */
static void image_text(struct made_image *image, uint64_t seed)
{
	static const uint8_t move[7] = {0x48, 0x8b, 0x05, 1, 2, 3, 0};
	uint8_t text[TABLES_TEXT];

	memset(text, 0xcc, sizeof(text));
	for (size_t at = 0; at + 7 <= sizeof(text);) {
		int32_t distance;

		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		if (at % 64 > 57) {
			at = (at | 63) + 1;
		} else if (seed >> 60 > 2) {
			memcpy(text + at, move, 7);
			at += 7;
		} else {
			distance = (int32_t)((seed >> 32) % (TABLES_NR - 5) * 64) - (int32_t)at - 5;
			text[at] = 0xe8;
			memcpy(text + at + 1, &distance, 4);
			at += 5;
		}
	}
	image_section(image, SECTION_TEXT, text, sizeof(text), TABLES_BASE, SHT_PROGBITS);
	image->sections[SECTION_TEXT].sh_flags |= SHF_EXECINSTR;
}

static void image_rodata(struct made_image *image, bool tables)
{
	static const struct tables_kind kind = {.since_6_4 = true, .order = true, .absolute = true};
	struct made_tables *made = calloc(1, sizeof(*made));

	put(made, IMAGE_BANNER, sizeof(IMAGE_BANNER));
	if (tables)
		make_tables(made, kind);
	image_section(image, SECTION_RODATA, made->bytes, made->size, TABLES_DATA, SHT_PROGBITS);
	free(made);
}

static void image_orc(struct made_image *image)
{
	static const uint16_t entries[2][3] = {{8, 0, 5 | 2 << 8}, {16, 0, 5 | 2 << 8}};
	static const uint8_t hash[20] = {0xfe, 0x5d, 0x32, 0xbf, 0x58, 0x1b, 0xd6,
	                                 0x3b, 0x2c, 0xa9, 0xa5, 0xc6, 0x5b, 0xa5,
	                                 0xa6, 0x25, 0xea, 0xb3, 0xfe, 0x24};
	const int32_t places[2] = {(int32_t)(TABLES_BASE - IMAGE_ORC),
	                           (int32_t)(TABLES_BASE + 0x40 - IMAGE_ORC - 4)};

	image_section(image, SECTION_PLACES, places, sizeof(places), IMAGE_ORC, SHT_PROGBITS);
	image_section(image, SECTION_ENTRIES, entries, sizeof(entries), IMAGE_ORC + 0x100,
	              SHT_PROGBITS);
	image_section(image, SECTION_HEADER, hash, sizeof(hash), IMAGE_ORC + 0x200, SHT_PROGBITS);
}

static void image_types(struct made_image *image)
{
	size_t size;
	uint8_t *bytes = make_btf(&size);

	image_section(image, SECTION_TYPES, bytes, size, IMAGE_ORC + 0x300, SHT_PROGBITS);
	free(bytes);
}

static void image_symbols(struct made_image *image)
{
	static const char strings[] = "\0_text\0_stext\0_etext\0main_function\0with blank\0"
	                              "current_task\0__per_cpu_offset";
	const Elf64_Sym symbols[] = {
	        {0},
	        {1, ELF64_ST_INFO(STB_GLOBAL, STT_NOTYPE), 0, SECTION_TEXT, TABLES_BASE, 0},
	        {7, ELF64_ST_INFO(STB_GLOBAL, STT_NOTYPE), 0, SECTION_TEXT, TABLES_BASE, 0},
	        {14, ELF64_ST_INFO(STB_GLOBAL, STT_NOTYPE), 0, SECTION_TEXT,
	         TABLES_BASE + TABLES_TEXT, 0},
	        {21, ELF64_ST_INFO(STB_LOCAL, STT_FUNC), 0, SECTION_TEXT, TABLES_BASE + 64, 64},
	        {35, ELF64_ST_INFO(STB_LOCAL, STT_FUNC), 0, SECTION_TEXT, TABLES_BASE + 128, 64},
	        {35, ELF64_ST_INFO(STB_LOCAL, STT_FUNC), 0, 999, TABLES_BASE + 128, 64},
	        {46, ELF64_ST_INFO(STB_LOCAL, STT_OBJECT), 0, SECTION_RODATA, TABLES_DATA, 8},
	        {46, ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT), 0, SECTION_RODATA, TABLES_DATA + 8, 8},
	        {59, ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT), 0, SECTION_RODATA, TABLES_DATA + 16,
	         8}};

	image_section(image, SECTION_SYMBOLS, symbols, sizeof(symbols), 0, SHT_SYMTAB);
	image->sections[SECTION_SYMBOLS].sh_link = SECTION_STRINGS;
	image->sections[SECTION_SYMBOLS].sh_entsize = sizeof(symbols[0]);
	image_section(image, SECTION_STRINGS, strings, sizeof(strings), 0, SHT_STRTAB);
}

static void image_names(struct made_image *image)
{
	static const char *const names[NR_SECTIONS] = {
	        "",     ".text",   ".rodata", ".orc_unwind_ip", ".orc_unwind", ".orc_header",
	        ".BTF", ".symtab", ".strtab", ".shstrtab"};
	char strings[128] = "";
	size_t used = 1;

	for (int i = 1; i < NR_SECTIONS; i++)
		used += (size_t)sprintf(strings + used, "%s", names[i]) + 1;
	image_section(image, SECTION_NAMES, strings, used, 0, SHT_STRTAB);
	for (int i = 1, at = 1; i < NR_SECTIONS; at += (int)strlen(names[i]) + 1, i++)
		image->sections[i].sh_name = (uint32_t)at;
}

/* Return: one with Linux's own @tables, or else with .symtab; to be freed. */
static struct made_image *make_image(uint64_t seed, bool tables)
{
	struct made_image *image = calloc(1, sizeof(*image));
	Elf64_Ehdr header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
	                                 ELFDATA2LSB, EV_CURRENT},
	                     .e_type = ET_EXEC,
	                     .e_machine = EM_X86_64,
	                     .e_version = EV_CURRENT,
	                     .e_ehsize = sizeof(header),
	                     .e_phentsize = sizeof(Elf64_Phdr),
	                     .e_phnum = 1,
	                     .e_phoff = sizeof(header),
	                     .e_shentsize = sizeof(Elf64_Shdr),
	                     .e_shnum = NR_SECTIONS,
	                     .e_shstrndx = SECTION_NAMES};
	Elf64_Phdr segment = {.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_align = 1};

	image->size = sizeof(header) + sizeof(segment);
	image_text(image, seed);
	image_rodata(image, tables);
	image_orc(image);
	image_types(image);
	if (!tables)
		image_symbols(image);
	image_names(image);
	segment.p_offset = image->sections[SECTION_TEXT].sh_offset;
	segment.p_vaddr = segment.p_paddr = TABLES_BASE;
	segment.p_filesz = segment.p_memsz = image->sections[SECTION_TEXT].sh_size;
	image->size = (image->size + 15) & ~(size_t)15;
	header.e_shoff = image->size;
	memcpy(image->bytes + image->size, image->sections, sizeof(image->sections));
	image->size += sizeof(image->sections);
	memcpy(image->bytes, &header, sizeof(header));
	memcpy(image->bytes + sizeof(header), &segment, sizeof(segment));
	return image;
}

static void write_image(const char *path, const void *bytes, size_t size)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, size, file), size);
	assert_int_equal(fclose(file), 0);
}

#endif
