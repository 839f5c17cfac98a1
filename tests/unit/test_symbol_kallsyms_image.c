// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A kernel's own tables of symbols: made up in each layout, and those of stock kernels, compared
 * with what each says of the symbols that it exports to modules, which the linker and not
 * scripts/kallsyms.c has written.
 *
 * XENFLAME_KERNEL and XENFLAME_KERNEL_6_12 name unpacked kernels (tests/run unpacks Debian's).
 * Skipped, loudly, where they are not set.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>

#include "read_file.h"
#include "symbol/kallsyms.h"
#include "symbol/kallsyms_image.h"
#include "symbol/symbols.h"
#include "unit/kallsyms_tables.h"
#include "unwind/elf.h"

static const struct tables_kind kinds[] = {
        {.absolute = true},
        {.absolute = false},
        {.order = true, .absolute = true},
        {.since_6_4 = true, .order = true, .absolute = true},
        {.since_6_4 = true, .order = true},
        {.since_6_4 = true, .order = true, .since_7_0 = true},
};

/* What comes before the tables: looks like much, and is nothing. */
static void put_noise(struct made_tables *made)
{
	uint64_t word = TABLES_BASE;

	for (int i = 0; i < 100; i++, word = word * 6364136223846793005ull + 1)
		put(made, &word, sizeof(word));
}

static void each_layout_is_read(void **state)
{
	(void)state;
	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		struct made_tables *made = calloc(1, sizeof(*made));
		char *text, *line, name[32], expected[64];
		struct xf_error error = {0};
		size_t size;

		put_noise(made);
		make_tables(made, kinds[k]);
		put_noise(made);
		if (xf_kallsyms_of_image(made->bytes, made->size, TABLES_DATA, TABLES_BASE, &text,
		                         &size, &error))
			fail_msg("kind %zu: %s", k, error.text);
		line = text;
		for (unsigned int i = 0; i < TABLES_NR; i++) {
			tables_name(i, name);
			sprintf(expected, "%016llx %c %s\n",
			        (unsigned long long)tables_address(i, kinds[k]), name[0], name + 1);
			assert_memory_equal(line, expected, strlen(expected));
			line += strlen(expected);
		}
		assert_true(line == text + size);
		free(text);
		free(made);
	}
}

static void another_base_is_another_kernels(void **state)
{
	(void)state;
	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		struct made_tables *made = calloc(1, sizeof(*made));
		struct xf_error error = {0};
		size_t size;
		char *text;

		make_tables(made, kinds[k]);
		assert_int_equal(xf_kallsyms_of_image(made->bytes, made->size, TABLES_DATA,
		                                      TABLES_BASE + 0x1000, &text, &size, &error),
		                 -ENOENT);
		assert_non_null(strstr(error.text, "no table"));
		free(made);
	}
}

/* Each cut, and each byte wrong in two ways: refused, or read to an end; and names stay names. */
static void damaged_tables_are_survived(void **state)
{
	static const uint8_t flips[] = {0xff, 0x80};

	(void)state;
	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		struct made_tables *made = calloc(1, sizeof(*made));
		size_t size;
		char *text;

		make_tables(made, kinds[k]);
		for (size_t at = 0; at < 2 * made->size; at++) {
			made->bytes[at / 2] ^= flips[at % 2];
			if (!xf_kallsyms_of_image(made->bytes, made->size, TABLES_DATA, TABLES_BASE,
			                          &text, &size, NULL)) {
				assert_null(memchr(text, '\0', size));
				free(text);
			}
			made->bytes[at / 2] ^= flips[at % 2];
		}
		for (size_t cut = 0; cut < made->size; cut++) {
			uint8_t *copy = malloc(cut + 1);

			memcpy(copy, made->bytes, cut);
			if (!xf_kallsyms_of_image(copy, cut, TABLES_DATA, TABLES_BASE, &text, &size,
			                          NULL))
				free(text);
			free(copy);
		}
		free(made);
	}
}

/* ---- Stock kernels --------------------------------------------------------------------------- */

struct kernel {
	struct xf_elf elf;
	void *bytes;
	struct xf_symbols *all; /* of code and of data */
};

static void take_all(struct kernel *kernel)
{
	struct xf_elf_section rodata, text;
	struct xf_kallsyms_line line;
	struct xf_error error = {0};
	const char *next;
	char *lines, name[600];
	size_t size;

	assert_true(xf_elf_section(&kernel->elf, ".rodata", &rodata));
	assert_true(xf_elf_section(&kernel->elf, ".text", &text));
	if (xf_kallsyms_of_image(rodata.bytes, rodata.size, rodata.address, text.address, &lines,
	                         &size, &error))
		fail_msg("%s", error.text);
	kernel->all = xf_symbols_new();
	for (next = lines; xf_kallsyms_next(&next, lines + size, &line);) {
		snprintf(name, sizeof(name), "%.*s", (int)line.name_size, line.name);
		xf_symbols_add(kernel->all, line.address, 0, line.type, name);
	}
	xf_symbols_finish(kernel->all);
	free(lines);
}

/* Return: whether some symbol @name is at @address: several may share one. */
static bool is_at(const struct xf_symbols *symbols, const char *name, uint64_t address)
{
	for (size_t i = xf_symbols_first(symbols, address);
	     i < xf_symbols_count(symbols) && xf_symbols_at(symbols, i)->address == address; i++)
		if (strcmp(xf_symbols_at(symbols, i)->name, name) == 0)
			return true;
	return false;
}

/* struct kernel_symbol with CONFIG_HAVE_ARCH_PREL32_RELOCATIONS: where the symbol, its name, and
 * its namespace are, each from the number itself on. */
static size_t compare_exports(const struct kernel *kernel, const char *section)
{
	struct xf_elf_section table, names;
	size_t nr = 0;

	assert_true(xf_elf_section(&kernel->elf, section, &table));
	assert_true(xf_elf_section(&kernel->elf, "__ksymtab_strings", &names));
	for (size_t at = 0; at + 12 <= table.size; at += 12, nr++) {
		int32_t numbers[3];
		uint64_t address, name;
		const char *text;

		memcpy(numbers, (const char *)table.bytes + at, sizeof(numbers));
		address = table.address + at + (uint64_t)(int64_t)numbers[0];
		name = table.address + at + 4 + (uint64_t)(int64_t)numbers[1] - names.address;
		assert_true(name < names.size);
		text = (const char *)names.bytes + name;
		/* Of CPUs' own data the table has offsets, of which distances are none. */
		if (address > TABLES_BASE && !is_at(kernel->all, text, address))
			fail_msg("%s: %s is not at %llx", section, text,
			         (unsigned long long)address);
	}
	return nr;
}

static void compare_kernel(const char *variable)
{
	const char *path = getenv(variable);
	struct xf_error error = {0};
	struct kernel kernel = {0};
	size_t size;

	if (!path) {
		print_message("SKIPPED: %s names no unpacked kernel\n", variable);
		skip();
	}
	kernel.bytes = read_file(path, &size);
	assert_non_null(kernel.bytes);
	assert_int_equal(xf_elf_open(kernel.bytes, size, &kernel.elf, &error), 0);
	take_all(&kernel);
	assert_true(xf_symbols_count(kernel.all) > 50000);
	assert_true(compare_exports(&kernel, "__ksymtab") > 1000);
	assert_true(compare_exports(&kernel, "__ksymtab_gpl") > 1000);
	xf_symbols_free(kernel.all);
	xf_elf_close(&kernel.elf);
	free(kernel.bytes);
}

static void what_a_kernel_exports_is_where_its_table_says(void **state)
{
	(void)state;
	compare_kernel("XENFLAME_KERNEL");
}

static void what_a_kernel_since_6_4_exports_is_where_its_table_says(void **state)
{
	(void)state;
	compare_kernel("XENFLAME_KERNEL_6_12");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(each_layout_is_read),
	        cmocka_unit_test(another_base_is_another_kernels),
	        cmocka_unit_test(damaged_tables_are_survived),
	        cmocka_unit_test(what_a_kernel_exports_is_where_its_table_says),
	        cmocka_unit_test(what_a_kernel_since_6_4_exports_is_where_its_table_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
