// SPDX-License-Identifier: GPL-2.0-or-later
#include "xen/guest_modules.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where Linux on x86-64 has its modules: Documentation/arch/x86/x86_64/mm.rst. */
#define MODULES     0xffffffffc0000000ull
#define MODULES_END 0xffffffffff000000ull

#define MODULE_NAME_BYTES 56u /* MODULE_NAME_LEN of linux/moduleparam.h of Linux */
#define SYMBOL_NAME_BYTES 128u

/* More than any host has. */
#define MOST_MODULES    1024u
#define MOST_CODE_BYTES (64u << 20) /* all together */
#define MOST_SYMBOLS    65536u      /* of one */

struct reader {
	struct xf_guest_memory *memory;
	const struct xf_module_layout *layout;
	uint64_t root;
	struct xf_guest_modules *modules;
	size_t bytes; /* of code, so far */
};

struct module {
	uint64_t at;
	char name[MODULE_NAME_BYTES];
	uint64_t text;
	uint32_t text_size;
};

static bool read_at(struct reader *reader, uint64_t address, void *to, size_t size)
{
	return xf_guest_memory_read_kernel(reader->memory, reader->root, address, to, size);
}

/* Return: whether it is a module whose code lies where modules do, behind that of no other. */
static bool read_module(struct reader *reader, struct module *module)
{
	const struct xf_module_layout *layout = reader->layout;
	const struct xf_guest_modules *modules = reader->modules;

	if (!read_at(reader, module->at + layout->module.name, module->name, MODULE_NAME_BYTES) ||
	    !memchr(module->name, '\0', MODULE_NAME_BYTES) || !module->name[0] ||
	    !read_at(reader, module->at + layout->module.text, &module->text,
	             sizeof(module->text)) ||
	    !read_at(reader, module->at + layout->module.text_size, &module->text_size,
	             sizeof(module->text_size)))
		return false;
	if (module->text < MODULES || module->text >= MODULES_END || !module->text_size ||
	    module->text_size > MOST_CODE_BYTES - reader->bytes ||
	    module->text_size > MODULES_END - module->text)
		return false;
	for (size_t i = 0; i < modules->nr_code; i++)
		if (module->text < modules->code[i].address + modules->code[i].size &&
		    modules->code[i].address < module->text + module->text_size)
			return false;
	return true;
}

/* Return: the bytes of the name at @address; 0 where there is none, or too long a one. What lies on
 * the page behind it need not be there. */
static size_t read_name(struct reader *reader, uint64_t address, char name[SYMBOL_NAME_BYTES])
{
	size_t first = XF_GUEST_PAGE - address % XF_GUEST_PAGE, size;

	if (first > SYMBOL_NAME_BYTES)
		first = SYMBOL_NAME_BYTES;
	if (!read_at(reader, address, name, first))
		return 0;
	size = strnlen(name, first);
	if (size < first)
		return size;
	if (!read_at(reader, address + first, name + first, SYMBOL_NAME_BYTES - first))
		return 0;
	size = strnlen(name, SYMBOL_NAME_BYTES);
	return size < SYMBOL_NAME_BYTES ? size : 0;
}

/* "NAME [MODULE]", where the name is one. Return: 0 or -ENOMEM. */
static int add_symbol(struct reader *reader, const struct module *module, const Elf64_Sym *symbol,
                      uint64_t names)
{
	char name[SYMBOL_NAME_BYTES + MODULE_NAME_BYTES + 4];
	size_t size = read_name(reader, names + symbol->st_name, name);

	/* What begins so is a mark of the assembler's or compiler's, no function. */
	if (!size || name[0] == '.' || name[0] == '$')
		return 0;
	snprintf(name + size, sizeof(name) - size, " [%s]", module->name);
	return xf_symbols_add(reader->modules->symbols, symbol->st_value, symbol->st_size, 't',
	                      name);
}

static int read_symbols(struct reader *reader, const struct module *module)
{
	const struct xf_module_layout *layout = reader->layout;
	uint64_t table, symbols, names;
	uint32_t nr;
	int code = 0;

	if (!read_at(reader, module->at + layout->module.symbols, &table, sizeof(table)) ||
	    !read_at(reader, table + layout->symbols, &symbols, sizeof(symbols)) ||
	    !read_at(reader, table + layout->nr_symbols, &nr, sizeof(nr)) ||
	    !read_at(reader, table + layout->names, &names, sizeof(names)))
		return 0;
	for (uint32_t i = 0; !code && i < nr && i < MOST_SYMBOLS; i++) {
		Elf64_Sym symbol;

		if (!read_at(reader, symbols + i * sizeof(symbol), &symbol, sizeof(symbol)))
			break;
		if (symbol.st_value - module->text < module->text_size)
			code = add_symbol(reader, module, &symbol, names);
	}
	/* Behind its code nothing is named by it. */
	return code ? code
	            : xf_symbols_add(reader->modules->symbols, module->text + module->text_size, 0,
	                             'd', "");
}

static int take_module(struct reader *reader, struct module *module)
{
	struct xf_guest_modules *modules = reader->modules;
	void *bytes;

	if (!read_module(reader, module))
		return 0;
	bytes = malloc(module->text_size);
	if (!bytes)
		return -ENOMEM;
	if (!read_at(reader, module->text, bytes, module->text_size)) {
		free(bytes);
		return 0;
	}
	modules->code[modules->nr_code++] = (struct xf_code){
	        .address = module->text, .bytes = bytes, .size = module->text_size};
	reader->bytes += module->text_size;
	return read_symbols(reader, module);
}

static int take_list(struct reader *reader, uint64_t list)
{
	struct module module;
	uint64_t at;
	int code = 0;

	if (!read_at(reader, list, &at, sizeof(at)))
		return -EFAULT;
	for (unsigned int i = 0; !code && at != list && i < MOST_MODULES; i++) {
		module.at = at - reader->layout->module.list;
		code = take_module(reader, &module);
		/* One that has been unloaded meanwhile leads nowhere. */
		if (!code && !read_at(reader, at, &at, sizeof(at)))
			break;
	}
	return code;
}

int xf_guest_modules_read(struct xf_guest_memory *memory, const struct xf_module_layout *layout,
                          uint64_t root, uint64_t slide, struct xf_guest_modules *modules)
{
	struct reader reader = {
	        .memory = memory, .layout = layout, .root = root, .modules = modules};
	int code = -ENOMEM;

	modules->symbols = xf_symbols_new();
	modules->code = calloc(MOST_MODULES, sizeof(*modules->code));
	if (modules->symbols && modules->code)
		code = take_list(&reader, layout->list + slide);
	if (code) {
		xf_guest_modules_free(modules);
		return code;
	}
	xf_symbols_finish(modules->symbols);
	return 0;
}

void xf_guest_modules_free(struct xf_guest_modules *modules)
{
	for (size_t i = 0; modules->code && i < modules->nr_code; i++)
		free((void *)modules->code[i].bytes);
	free(modules->code);
	xf_symbols_free(modules->symbols);
	*modules = (struct xf_guest_modules){0};
}
