// SPDX-License-Identifier: GPL-2.0-or-later
/* The modules of another domain's kernel, in made-up memory. */
#ifndef XF_TEST_UNIT_MADE_MODULES_H
#define XF_TEST_UNIT_MADE_MODULES_H

#include <elf.h>
#include <string.h>

#include "unit/made_memory.h"
#include "xen/guest_modules.h"

#define SLIDE       0x1e00000ull
#define LIST        0xffffffff82b29000ull /* as the image has it */
#define MODULES     0xffffffffc0200000ull
#define MODULE_CODE (2 * XF_GUEST_PAGE)

/* Offsets as no kernel has them. */
static const struct xf_module_layout module_layout = {
        .list = LIST,
        .module = {.list = 16, .name = 64, .text = 136, .text_size = 148, .symbols = 160},
        .symbols = 32,
        .nr_symbols = 40,
        .names = 48};

#define MODULES_MADE 3u
static struct {
	uint64_t list;
	uint64_t modules[MODULES_MADE]; /* the struct module of each */
	struct xf_guest_memory memory;
	struct xf_guest_modules found;
} made_modules;

static void put(uint64_t address, const void *bytes, size_t size)
{
	memcpy(word(address & ~7ull), bytes, size);
}

/* Its table: a function, one that is a mark, and one of elsewhere; names at the very end of a page.
 */
static uint64_t make_symbols(uint64_t text, const char *function)
{
	uint64_t table = make_object(), symbols = make_object(), names = make_object();
	const uint32_t nr = 3;
	const Elf64_Sym made_symbols[] = {
	        {.st_name = 2048, .st_value = text + 0x10, .st_size = 0x20},
	        {.st_name = 2056, .st_value = text + 0x40},
	        {.st_name = XF_GUEST_PAGE - 8,
	         .st_value = text + MODULE_CODE - 0x10,
	         .st_size = 0x10}};
	char last[8] = "";

	memcpy(last, function, strlen(function));
	put(symbols, made_symbols, sizeof(made_symbols));
	put(names + 2048, "open", 5);
	put(names + 2056, ".L42", 5);
	put(names + XF_GUEST_PAGE - 8, last, 8);
	*word(table + module_layout.symbols) = symbols;
	put(table + module_layout.nr_symbols, &nr, 4);
	*word(table + module_layout.names) = names;
	return table;
}

static void make_module(size_t i)
{
	static const char *const names[MODULES_MADE] = {"xen_evtchn", "ext4", "nf_nat"};
	static const char *const functions[MODULES_MADE] = {"ioctl", "read", "hook"};
	uint64_t at = make_object(), text = MODULES + i * 0x10000;
	uint32_t size = MODULE_CODE;

	made_modules.modules[i] = at;
	put(at + module_layout.module.name, names[i], strlen(names[i]) + 1);
	*word(at + module_layout.module.text) = text;
	memcpy((char *)word(at) + module_layout.module.text_size, &size, 4);
	*word(at + module_layout.module.symbols) = make_symbols(text, functions[i]);
	for (size_t page = 0; page < 2; page++) {
		uint32_t index = take_frame();

		memset(made_memory.frames[index], (int)(0x10 * (i + 1) + page), XF_GUEST_PAGE);
		map_page(KERNEL_ROOT, text + page * XF_GUEST_PAGE, index);
	}
}

static int make_modules(void **state)
{
	uint32_t index;

	(void)state;
	memset(&made_modules, 0, sizeof(made_modules));
	memset(&made_memory, 0, sizeof(made_memory));
	made_memory.nr = 1;
	index = take_frame();
	map_page(KERNEL_ROOT, LIST + SLIDE, index);
	made_modules.list = DIRECT + index * XF_GUEST_PAGE;
	for (size_t i = 0; i < MODULES_MADE; i++)
		make_module(i);
	*word(made_modules.list) = made_modules.modules[0] + module_layout.module.list;
	for (size_t i = 0; i < MODULES_MADE; i++)
		*word(made_modules.modules[i] + module_layout.module.list) =
		        i + 1 < MODULES_MADE
		                ? made_modules.modules[i + 1] + module_layout.module.list
		                : LIST + SLIDE;
	return 0;
}

#endif
