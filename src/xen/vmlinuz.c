// SPDX-License-Identifier: GPL-2.0-or-later
#include "xen/vmlinuz.h"

#include <elf.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "unwind/elf.h"
#include "unwind/source.h"

#define NOTES_BYTES 4096

static int no_file(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
                   const char *file, const char *link, GElf_Word crc, char **found)
{
	(void)module, (void)data, (void)name, (void)base, (void)file, (void)link, (void)crc;
	*found = NULL;
	return -1;
}

/* Return: the bytes of the build-id among ELF notes, NULL where there is none. */
static const uint8_t *find_build_id(struct xf_cursor notes, size_t *size)
{
	while (xf_cursor_left(&notes) >= 12) {
		uint32_t name_size = xf_cursor_u32(&notes);
		uint32_t content_size = xf_cursor_u32(&notes);
		uint32_t type = xf_cursor_u32(&notes);
		const uint8_t *name = xf_cursor_take(&notes, ((size_t)name_size + 3) & ~(size_t)3);
		const uint8_t *content = xf_cursor_take(&notes, content_size);

		if (notes.failed)
			return NULL;
		*size = content_size;
		if (type == NT_GNU_BUILD_ID && name_size == 4 && memcmp(name, "GNU", 4) == 0)
			return content;
		xf_cursor_take(&notes, -(size_t)content_size & 3);
	}
	return NULL;
}

static int check_build_id(Dwfl_Module *module, const char *path, const char *notes,
                          struct xf_error *error)
{
	FILE *file = fopen(notes, "re");
	const unsigned char *wanted;
	uint8_t bytes[NOTES_BYTES];
	GElf_Addr address;
	size_t size = 0;
	const uint8_t *found;
	int wanted_size;

	if (file) {
		size = fread(bytes, 1, sizeof(bytes), file);
		fclose(file);
	}
	found = find_build_id(xf_cursor_over(bytes, size), &size);
	wanted_size = dwfl_module_build_id(module, &wanted, &address);
	if (!found || wanted_size <= 0)
		return xf_fail(error, -ENODATA,
		               "%s cannot be told to be the running kernel's: no build-id in %s",
		               path, found ? "it" : notes);
	if ((size_t)wanted_size != size || memcmp(wanted, found, size) != 0)
		return xf_fail(error, -ESTALE,
		               "%s is not the running kernel's, by its build-id: after an upgrade "
		               "the host has to be rebooted",
		               path);
	return 0;
}

static bool keep(void **copy, const void *bytes, size_t size)
{
	*copy = malloc(size ? size : 1);
	if (*copy && size)
		memcpy(*copy, bytes, size);
	return *copy != NULL;
}

static int take_orc(const char *path, const void *bytes, size_t size, struct xf_vmlinuz *image,
                    struct xf_error *error)
{
	struct xf_elf_section text = {0};
	struct xf_elf elf;
	int code = xf_elf_open(bytes, size, &elf, error);

	if (!code && (!xf_source_orc(&elf, &image->orc) || !xf_elf_section(&elf, ".text", &text)))
		code = xf_fail(error, -ENODATA, "%s has no ORC", path);
	if (!code) {
		struct xf_orc *orc = &image->orc;

		image->text_address = text.address;
		if (!keep(&image->owned[0], orc->places, orc->places_size) ||
		    !keep(&image->owned[1], orc->entries, orc->entries_size) ||
		    (orc->header && !keep(&image->owned[2], orc->header, orc->header_size)))
			code = xf_fail(error, -ENOMEM, "no memory for the table of %s", path);
		orc->places = image->owned[0];
		orc->entries = image->owned[1];
		orc->header = image->owned[2];
	}
	xf_elf_close(&elf);
	if (code) {
		for (size_t i = 0; i < sizeof(image->owned) / sizeof(image->owned[0]); i++)
			free(image->owned[i]);
		*image = (struct xf_vmlinuz){0};
	}
	return code;
}

/* libdwfl knows how kernels are packed. */
static int open_module(Dwfl *dwfl, const char *path, const char *notes, struct xf_vmlinuz *image,
                       struct xf_error *error)
{
	Dwfl_Module *module = dwfl_report_offline(dwfl, "kernel", path, -1);
	GElf_Addr bias;
	Elf *elf = module ? dwfl_module_getelf(module, &bias) : NULL;
	size_t size;
	const void *bytes = elf ? elf_rawfile(elf, &size) : NULL;
	int code;

	if (!bytes)
		return xf_fail(error, -EBADMSG, "cannot unpack %s: %s", path, dwfl_errmsg(-1));
	code = check_build_id(module, path, notes, error);
	return code ? code : take_orc(path, bytes, size, image, error);
}

int xf_vmlinuz_open(const char *path, const char *notes, struct xf_vmlinuz *image,
                    struct xf_error *error)
{
	static const Dwfl_Callbacks callbacks = {.find_elf = dwfl_build_id_find_elf,
	                                         .find_debuginfo = no_file,
	                                         .section_address = dwfl_offline_section_address};
	Dwfl *dwfl = dwfl_begin(&callbacks);
	int code;

	*image = (struct xf_vmlinuz){0};
	if (!dwfl)
		return xf_fail(error, -ENOMEM, "no memory to unpack %s", path);
	dwfl_report_begin(dwfl);
	code = open_module(dwfl, path, notes, image, error);
	dwfl_end(dwfl);
	return code;
}
