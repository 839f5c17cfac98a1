// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/debug.h"

#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <errno.h>
#include <libelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/lines.h"

struct xf_debug {
	Elf *elf;
	Dwarf *dwarf;
	struct xf_units *units; /* NULL: nobody has asked yet */
	char build_id[65];
};

static void read_build_id(struct xf_debug *debug)
{
	const void *bytes;
	ssize_t size = dwelf_elf_gnu_build_id(debug->elf, &bytes);

	for (ssize_t i = 0; i < size && i < 32; i++)
		snprintf(debug->build_id + 2 * i, 3, "%02x", ((const uint8_t *)bytes)[i]);
}

static bool has_lines(Dwarf *dwarf)
{
	Dwarf_Off next;
	size_t head;

	return dwarf_nextcu(dwarf, 0, &next, &head, NULL, NULL, NULL) == 0;
}

int xf_debug_open(const void *bytes, size_t size, struct xf_debug **debug, struct xf_error *error)
{
	struct xf_debug *made = calloc(1, sizeof(*made));
	int code = 0;

	if (!made)
		return xf_fail(error, -ENOMEM, "no memory for the debug info");
	elf_version(EV_CURRENT);
	/* libelf does not write to what it reads. */
	made->elf = elf_memory((char *)bytes, size);
	if (!made->elf || elf_kind(made->elf) != ELF_K_ELF)
		code = xf_fail(error, -EBADMSG, "not an ELF file");
	if (!code)
		made->dwarf = dwarf_begin_elf(made->elf, DWARF_C_READ, NULL);
	if (!code && (!made->dwarf || !has_lines(made->dwarf)))
		code = xf_fail(error, -ENODATA, "it has no debug info (DWARF)");
	if (code) {
		xf_debug_close(made);
		return code;
	}
	read_build_id(made);
	*debug = made;
	return 0;
}

void xf_debug_close(struct xf_debug *debug)
{
	if (!debug)
		return;
	xf_units_free(debug->units);
	dwarf_end(debug->dwarf);
	elf_end(debug->elf);
	free(debug);
}

const char *xf_debug_build_id(const struct xf_debug *debug)
{
	return debug->build_id;
}

bool xf_debug_definition(struct xf_debug *debug, uint64_t address, size_t nth, const char **file,
                         int *line)
{
	return debug->units && xf_units_definition(debug->units, address, nth, file, line);
}

size_t xf_debug_calls(struct xf_debug *debug, uint64_t address, struct xf_call *calls, size_t max)
{
	if (!debug->units)
		debug->units = xf_units_new(debug->dwarf);
	return debug->units ? xf_units_calls(debug->units, address, calls, max) : 0;
}
