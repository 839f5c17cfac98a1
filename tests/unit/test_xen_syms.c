// SPDX-License-Identifier: GPL-2.0-or-later
/* src/xen/syms.c on a small file made by hand; and damaged, since it comes from outside. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <elf.h>
#include <errno.h>

#include "xen/syms.h"

#define START 0xffff82d040200000ull

enum {
	TEXT = 1,
	DATA,
	SYMTAB,
	STRTAB,
	SHSTRTAB,
	NR_SECTIONS
};

enum {
	NR_SYMBOLS = 8
};

struct file {
	Elf64_Ehdr header;
	Elf64_Phdr segment;
	Elf64_Shdr sections[NR_SECTIONS];
	uint8_t code[64];
	uint8_t data[16];
	Elf64_Sym symbols[NR_SYMBOLS];
	char strings[128];
	char names[64];
};

static uint32_t add(char *strings, const char *name)
{
	uint32_t at = 1;

	while (strings[at])
		at += strlen(strings + at) + 1;
	strcpy(strings + at, name);
	return at;
}

static void add_symbol(struct file *file, size_t index, const char *name, unsigned char bind,
                       unsigned char type, uint16_t section, uint64_t value)
{
	file->symbols[index] = (Elf64_Sym){.st_name = add(file->strings, name),
	                                   .st_info = ELF64_ST_INFO(bind, type),
	                                   .st_shndx = section,
	                                   .st_value = value,
	                                   .st_size = type == STT_FUNC ? 8 : 0};
}

#define SECTION(index, type, flags, field)                                                         \
	file.sections[index] = (Elf64_Shdr)                                                        \
	{                                                                                          \
		.sh_name = add(file.names, #field), .sh_type = (type), .sh_flags = (flags),        \
		.sh_offset = offsetof(struct file, field), .sh_size = sizeof(file.field),          \
		.sh_addralign = 1                                                                  \
	}

static struct file make_file(void)
{
	struct file file = {
	        .header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
	                   .e_type = ET_EXEC,
	                   .e_machine = EM_X86_64,
	                   .e_version = EV_CURRENT,
	                   .e_ehsize = sizeof(Elf64_Ehdr),
	                   .e_phoff = offsetof(struct file, segment),
	                   .e_phentsize = sizeof(Elf64_Phdr),
	                   .e_phnum = 1,
	                   .e_shoff = offsetof(struct file, sections),
	                   .e_shentsize = sizeof(Elf64_Shdr),
	                   .e_shnum = NR_SECTIONS,
	                   .e_shstrndx = SHSTRTAB},
	        .segment = {.p_type = PT_LOAD,
	                    .p_offset = offsetof(struct file, code),
	                    .p_vaddr = START,
	                    .p_filesz = sizeof(file.code) + sizeof(file.data),
	                    .p_memsz = 4096}};

	SECTION(TEXT, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, code);
	SECTION(DATA, SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, data);
	SECTION(SYMTAB, SHT_SYMTAB, 0, symbols);
	SECTION(STRTAB, SHT_STRTAB, 0, strings);
	SECTION(SHSTRTAB, SHT_STRTAB, 0, names);
	file.sections[SYMTAB].sh_link = STRTAB;
	file.sections[SYMTAB].sh_entsize = sizeof(Elf64_Sym);
	for (size_t i = 0; i < sizeof(file.code); i++)
		file.code[i] = (uint8_t)i;
	add_symbol(&file, 1, "file.c", STB_LOCAL, STT_FILE, SHN_ABS, 0);
	add_symbol(&file, 2, "local", STB_LOCAL, STT_FUNC, TEXT, START + 16);
	add_symbol(&file, 3, "_stext", STB_GLOBAL, STT_NOTYPE, TEXT, START + 8);
	add_symbol(&file, 4, "_etext", STB_GLOBAL, STT_NOTYPE, TEXT, START + 48);
	add_symbol(&file, 5, "_end", STB_GLOBAL, STT_NOTYPE, DATA, START + 4096);
	add_symbol(&file, 6, "variable", STB_GLOBAL, STT_OBJECT, DATA, START + 64);
	add_symbol(&file, 7, "elsewhere", STB_GLOBAL, STT_FUNC, SHN_UNDEF, 0);
	return file;
}

/* Parses exactly @size bytes: a read beyond them is seen by ASan. */
static int parse(const struct file *file, size_t size)
{
	struct xf_symbols *symbols = NULL;
	struct xf_error error = {0};
	struct xf_code code;
	uint8_t *copy = malloc(size ? size : 1);
	int result;

	memcpy(copy, file, size);
	result = xf_syms_parse(copy, size, &code, &symbols, &error);
	if (result) {
		assert_int_equal(result, -EBADMSG);
		assert_int_equal(error.code, -EBADMSG);
		assert_true(error.text[0]);
		assert_null(symbols);
	} else {
		assert_true(code.bytes >= copy && code.size > 0 &&
		            code.bytes + code.size <= copy + size);
		assert_non_null(symbols);
	}
	xf_symbols_free(symbols);
	free(copy);
	return result;
}

static void code_and_symbols_are_found(void **state)
{
	struct file file = make_file();
	struct xf_symbols *symbols;
	struct xf_error error;
	struct xf_code code;
	const struct xf_symbol *local;

	(void)state;
	assert_true(xf_syms_recognize(&file, sizeof(file)));
	assert_int_equal(xf_syms_parse(&file, sizeof(file), &code, &symbols, &error), 0);
	assert_int_equal(code.address, START + 8);
	assert_int_equal(code.size, 40);
	assert_ptr_equal(code.bytes, file.code + 8);
	local = xf_symbols_by_name(symbols, "local");
	assert_non_null(local);
	assert_int_equal(local->address, START + 16);
	assert_int_equal(local->size, 8);
	assert_int_equal(local->type, 't');
	assert_int_equal(xf_symbols_by_name(symbols, "_stext")->type, 'T');
	assert_int_equal(xf_symbols_by_name(symbols, "variable")->type, 'd');
	assert_null(xf_symbols_by_name(symbols, "file.c"));
	assert_null(xf_symbols_by_name(symbols, "elsewhere"));
	xf_symbols_free(symbols);
}

static void other_files_are_told_from_it(void **state)
{
	struct file file = make_file();

	(void)state;
	assert_false(xf_syms_recognize(&file, EI_CLASS));
	file.header.e_ident[EI_CLASS] = ELFCLASS32;
	assert_false(xf_syms_recognize(&file, sizeof(file)));
	file = make_file();
	file.header.e_ident[0] = 0x1f;
	assert_false(xf_syms_recognize(&file, sizeof(file)));
}

static void what_is_not_whole_is_refused(void **state)
{
	struct file file = make_file();

	(void)state;
	assert_int_equal(parse(&file, sizeof(file)), 0);
	file.sections[SYMTAB].sh_type = SHT_PROGBITS;
	assert_int_equal(parse(&file, sizeof(file)), -EBADMSG);
	file = make_file();
	file.strings[file.symbols[4].st_name] = 'x'; /* no _etext */
	assert_int_equal(parse(&file, sizeof(file)), -EBADMSG);
	file = make_file();
	file.symbols[4].st_value = START + 4096; /* beyond what is loaded */
	assert_int_equal(parse(&file, sizeof(file)), -EBADMSG);
	file = make_file();
	file.symbols[4].st_value = START; /* before the start */
	assert_int_equal(parse(&file, sizeof(file)), -EBADMSG);
	file = make_file();
	file.segment.p_filesz = UINT64_MAX - 8;
	assert_int_equal(parse(&file, sizeof(file)), -EBADMSG);
}

static void any_damage_is_survived(void **state)
{
	struct file good = make_file();

	(void)state;
	for (size_t size = 0; size < sizeof(good); size++)
		parse(&good, size);
	for (size_t at = 0; at < sizeof(good); at++) {
		for (unsigned int value = 0; value < 256; value += 17) {
			struct file file = good;

			((uint8_t *)&file)[at] = (uint8_t)value;
			parse(&file, sizeof(file));
		}
	}
}

/* Their names would come to many times the file. */
static void symbols_that_share_a_long_name_are_no_more_than_the_file(void **state)
{
	enum {
		SYMBOLS = 40,
		NAME = 800
	};
	static struct {
		Elf64_Ehdr header;
		Elf64_Shdr sections[4];
		Elf64_Sym symbols[SYMBOLS];
		char strings[NAME];
	} many;
	struct xf_symbols *symbols = NULL;

	(void)state;
	many.header = (Elf64_Ehdr){
	        .e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
	        .e_type = ET_DYN,
	        .e_machine = EM_X86_64,
	        .e_version = EV_CURRENT,
	        .e_ehsize = sizeof(many.header),
	        .e_shoff = offsetof(typeof(many), sections),
	        .e_shentsize = sizeof(Elf64_Shdr),
	        .e_shnum = 4,
	};
	many.sections[1] = (Elf64_Shdr){.sh_type = SHT_PROGBITS, .sh_flags = SHF_EXECINSTR};
	many.sections[2] = (Elf64_Shdr){.sh_type = SHT_SYMTAB,
	                                .sh_offset = offsetof(typeof(many), symbols),
	                                .sh_size = sizeof(many.symbols),
	                                .sh_link = 3,
	                                .sh_entsize = sizeof(Elf64_Sym)};
	many.sections[3] = (Elf64_Shdr){.sh_type = SHT_STRTAB,
	                                .sh_offset = offsetof(typeof(many), strings),
	                                .sh_size = sizeof(many.strings)};
	memset(many.strings + 1, 'n', NAME - 2);
	for (size_t i = 0; i < SYMBOLS; i++)
		many.symbols[i] = (Elf64_Sym){.st_name = 1,
		                              .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
		                              .st_shndx = 1,
		                              .st_value = START + i};
	assert_int_equal(xf_syms_read(&many, sizeof(many), &symbols, NULL), 0);
	assert_in_range(xf_symbols_count(symbols), 1, sizeof(many) / NAME);
	xf_symbols_free(symbols);
}

static void names_without_an_end_are_not_read(void **state)
{
	struct file file = make_file();
	struct xf_symbols *symbols = NULL;

	(void)state;
	file.strings[sizeof(file.strings) - 1] = 'n';
	assert_int_equal(xf_syms_read(&file, sizeof(file), &symbols, NULL), 0);
	assert_int_equal(xf_symbols_count(symbols), 0);
	xf_symbols_free(symbols);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(code_and_symbols_are_found),
	        cmocka_unit_test(other_files_are_told_from_it),
	        cmocka_unit_test(what_is_not_whole_is_refused),
	        cmocka_unit_test(any_damage_is_survived),
	        cmocka_unit_test(names_without_an_end_are_not_read),
	        cmocka_unit_test(symbols_that_share_a_long_name_are_no_more_than_the_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
