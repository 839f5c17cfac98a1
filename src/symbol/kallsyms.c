// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/kallsyms.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/hex.h"

/* Linux's own limit is 512 with the terminator (KSYM_NAME_LEN since 6.1, 128 before), and for a
 * module's name 56 (MODULE_NAME_LEN). */
#define NAME_MAX_BYTES 640u

/* Return: false where there is no hexadecimal number of 64 bits and a blank after it. */
static bool take_address(const char **at, const char *end, uint64_t *address)
{
	const char *start = *at;

	*address = 0;
	while (*at < end && xf_hex_digit(**at) >= 0)
		*address = *address << 4 | (uint64_t)xf_hex_digit(*(*at)++);
	if (*at == start || *at - start > 16 || *at == end || **at != ' ')
		return false;
	(*at)++;
	return true;
}

/* "[MODULE]" */
static void take_module(const char *at, const char *end, struct xf_kallsyms_line *line)
{
	if (end - at < 3 || at[0] != '[' || end[-1] != ']')
		return;
	line->module = at + 1;
	line->module_size = (size_t)(end - at) - 2;
}

static bool take_line(const char *at, const char *end, struct xf_kallsyms_line *line)
{
	const char *tab;

	*line = (struct xf_kallsyms_line){0};
	if (!take_address(&at, end, &line->address) || end - at < 3 || at[1] != ' ')
		return false;
	line->type = at[0];
	line->name = at + 2;
	tab = memchr(line->name, '\t', (size_t)(end - line->name));
	line->name_size = (size_t)((tab ? tab : end) - line->name);
	if (tab)
		take_module(tab + 1, end, line);
	return line->name_size > 0;
}

bool xf_kallsyms_next(const char **text, const char *end, struct xf_kallsyms_line *line)
{
	while (*text < end) {
		const char *start = *text;
		const char *stop = memchr(start, '\n', (size_t)(end - start));

		if (!stop)
			stop = end;
		*text = stop < end ? stop + 1 : end;
		if (take_line(start, stop, line))
			return true;
	}
	return false;
}

bool xf_kallsyms_is_code(const struct xf_kallsyms_line *line)
{
	return line->type == 't' || line->type == 'T' || line->type == 'w' || line->type == 'W';
}

/* Linux writes the makers where modules have their names: "bpf", "__builtin__ftrace",
 * "__builtin__kprobes". */
bool xf_kallsyms_is_made(const struct xf_kallsyms_line *line)
{
	static const char builtin[] = "__builtin__";
	size_t size = sizeof(builtin) - 1;

	return line->module &&
	       ((line->module_size == 3 && memcmp(line->module, "bpf", 3) == 0) ||
	        (line->module_size > size && memcmp(line->module, builtin, size) == 0));
}

bool xf_kallsyms_is(const struct xf_kallsyms_line *line, const char *name)
{
	return !line->module && strlen(name) == line->name_size &&
	       memcmp(line->name, name, line->name_size) == 0;
}

static bool ends_in(const struct xf_kallsyms_line *line, const char *end)
{
	size_t size = strlen(end);

	return line->name_size >= size &&
	       memcmp(line->name + line->name_size - size, end, size) == 0;
}

/* The linker marks where sections begin and end (asm-generic/sections.h): these are no
 * names of the functions that stand there. */
static bool is_mark(const struct xf_kallsyms_line *line)
{
	static const char *const ends[] = {"_text_start", "_text_end", "_thunk_start",
	                                   "_thunk_end"};

	if (xf_kallsyms_is(line, "_text") || xf_kallsyms_is(line, "_stext") ||
	    xf_kallsyms_is(line, "_sinittext"))
		return true;
	for (size_t i = 0; !line->module && i < sizeof(ends) / sizeof(ends[0]); i++) {
		if (ends_in(line, ends[i]))
			return true;
	}
	return false;
}

static int add(struct xf_symbols *symbols, const struct xf_kallsyms_line *line)
{
	char name[NAME_MAX_BYTES];
	uint64_t size = xf_kallsyms_is_made(line) ? XF_KALLSYMS_MADE_BYTES : 0;

	/* Code that is freed after the boot lies between the two. */
	if (xf_kallsyms_is(line, "_etext") || xf_kallsyms_is(line, "_einittext"))
		return xf_symbols_add(symbols, line->address, 0, 'd', "");
	if (!xf_kallsyms_is_code(line) || is_mark(line))
		return 0;
	if (line->module)
		snprintf(name, sizeof(name), "%.*s [%.*s]", (int)line->name_size, line->name,
		         (int)line->module_size, line->module);
	else
		snprintf(name, sizeof(name), "%.*s", (int)line->name_size, line->name);
	return xf_symbols_add(symbols, line->address, size, line->type, name);
}

int xf_kallsyms_parse(const char *text, size_t size, struct xf_symbols **symbols,
                      struct xf_error *error)
{
	const char *end = text + size;
	struct xf_symbols *made = xf_symbols_new();
	struct xf_kallsyms_line line;
	bool any = false, shown = false;
	int code = made ? 0 : -ENOMEM;

	while (!code && xf_kallsyms_next(&text, end, &line)) {
		any = any || xf_kallsyms_is_code(&line);
		shown = shown || (line.address && xf_kallsyms_is_code(&line));
		code = add(made, &line);
	}
	if (code)
		code = xf_fail(error, code, "no memory for the kernel's symbols");
	else if (!any)
		code = xf_fail(error, -EBADMSG, "it holds no symbols of code");
	else if (!shown)
		code = xf_fail(error, -EACCES,
		               "all addresses in it are hidden (shown as 0): it has to be read as "
		               "root with kernel.kptr_restrict at 0 or 1 (sysctl -w "
		               "kernel.kptr_restrict=1)");
	if (code) {
		xf_symbols_free(made);
		return code;
	}
	*symbols = made;
	return 0;
}
