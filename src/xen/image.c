// SPDX-License-Identifier: GPL-2.0-or-later
#include "xen/image.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/cursor.h"

/* Fields of the 32-bit ELF header and program header by their offsets (System V ABI). */
#define ELF32_PHOFF    28
#define ELF32_PHNUM    44
#define ELF32_PH_BYTES 32

static int not_an_image(struct xf_error *error, const char *why)
{
	return xf_fail(error, -EINVAL, "not a Xen image: %s", why);
}

/* Looks for the GNU build-id among the notes in @notes. */
static void find_build_id(struct xf_cursor notes, struct xf_image *image)
{
	while (xf_cursor_left(&notes) >= 12) {
		uint32_t name_size = xf_cursor_u32(&notes);
		uint32_t size = xf_cursor_u32(&notes);
		uint32_t type = xf_cursor_u32(&notes);
		const uint8_t *name = xf_cursor_take(&notes, ((size_t)name_size + 3) & ~(size_t)3);
		const uint8_t *content = xf_cursor_take(&notes, size);

		if (notes.failed)
			return;
		if (type == NT_GNU_BUILD_ID && name_size == 4 && memcmp(name, "GNU", 4) == 0) {
			image->build_id = content;
			image->build_id_size = size;
			return;
		}
		xf_cursor_take(&notes, -(size_t)size & 3);
	}
}

/* Return: false where the file is cut short in its headers or in code. */
static bool read_segment(struct xf_cursor file, size_t offset, struct xf_image *image)
{
	uint32_t type, file_offset, physical, file_size;
	struct xf_cursor content = file;

	xf_cursor_seek(&file, offset);
	type = xf_cursor_u32(&file);
	file_offset = xf_cursor_u32(&file);
	xf_cursor_u32(&file); /* virtual address: a 32-bit file has no room for Xen's */
	physical = xf_cursor_u32(&file);
	file_size = xf_cursor_u32(&file);
	xf_cursor_seek(&content, file_offset);
	content = xf_cursor_sub(&content, file_size);
	if (file.failed || (content.failed && type == PT_LOAD))
		return false;
	if (content.failed)
		return true;
	if (type == PT_LOAD && file_size > image->size) {
		image->bytes = content.bytes;
		image->size = content.size;
		image->physical = physical;
	} else if (type == PT_NOTE) {
		find_build_id(content, image);
	}
	return true;
}

int xf_image_parse(const void *bytes, size_t size, struct xf_image *image, struct xf_error *error)
{
	struct xf_cursor file = xf_cursor_over(bytes, size);
	struct xf_cursor header = file;
	const uint8_t *identification = xf_cursor_take(&header, EI_NIDENT);
	uint32_t headers, nr, i;

	memset(image, 0, sizeof(*image));
	if (!identification || memcmp(identification, ELFMAG, SELFMAG) != 0)
		return not_an_image(error, "no ELF file");
	if (identification[EI_CLASS] != ELFCLASS32 || identification[EI_DATA] != ELFDATA2LSB)
		return not_an_image(error, "not the 32-bit ELF file that boot loaders take");
	xf_cursor_seek(&header, ELF32_PHOFF);
	headers = xf_cursor_u32(&header);
	xf_cursor_seek(&header, ELF32_PHNUM);
	nr = xf_cursor_u16(&header);
	if (header.failed)
		return not_an_image(error, "cut short");
	for (i = 0; i < nr; i++)
		if (!read_segment(file, headers + (size_t)i * ELF32_PH_BYTES, image))
			return not_an_image(error, "cut short");
	if (!image->bytes)
		return not_an_image(error, "nothing to load in it, or cut short");
	return 0;
}

int xf_image_code(const struct xf_image *image, uint64_t image_start, uint64_t start, uint64_t end,
                  struct xf_code *code, struct xf_error *error)
{
	if (start < image_start || end < start || end - image_start > image->size)
		return xf_fail(
		        error, -EINVAL,
		        "Xen's text (0x%llx to 0x%llx) is not within the image that starts at "
		        "0x%llx and has %zu bytes",
		        (unsigned long long)start, (unsigned long long)end,
		        (unsigned long long)image_start, image->size);
	code->address = start;
	code->bytes = image->bytes + (start - image_start);
	code->size = end - start;
	return 0;
}
