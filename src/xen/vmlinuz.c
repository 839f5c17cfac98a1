// SPDX-License-Identifier: GPL-2.0-or-later
#include "xen/vmlinuz.h"

#include <elf.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/cursor.h"
#include "unwind/elf.h"
#include "unwind/source.h"

#define NOTES_BYTES 4096

#define MOST_PACKED   (256u << 20)
#define MOST_UNPACKED (1u << 30)

/* Places in what a kernel's image begins with. */
#define SETUP_SECTORS 0x1f1u
#define SETUP_MAGIC   0x202u
#define SETUP_PAYLOAD 0x248u /* its offset behind the sectors, then its length */
#define SETUP_BYTES   0x250u

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

static int check_build_id(const struct xf_elf *elf, const char *path, const char *notes,
                          struct xf_error *error)
{
	FILE *file = fopen(notes, "re");
	struct xf_elf_section own = {0};
	uint8_t bytes[NOTES_BYTES];
	size_t size = 0, own_size = 0;
	const uint8_t *found, *is;

	if (file) {
		size = fread(bytes, 1, sizeof(bytes), file);
		fclose(file);
	}
	found = find_build_id(xf_cursor_over(bytes, size), &size);
	xf_elf_section(elf, ".notes", &own);
	is = find_build_id(xf_cursor_over(own.bytes, own.size), &own_size);
	if (!found || !is)
		return xf_fail(error, -ENODATA,
		               "%s cannot be told to be the running kernel's: no build-id in %s",
		               path, found ? "it" : notes);
	if (own_size != size || memcmp(is, found, size) != 0)
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

static int take_orc(const struct xf_elf *elf, const char *path, struct xf_vmlinuz *image,
                    struct xf_error *error)
{
	struct xf_elf_section text = {0};
	struct xf_orc *orc = &image->orc;

	if (!xf_source_orc(elf, orc) || !xf_elf_section(elf, ".text", &text))
		return xf_fail(error, -ENODATA, "%s has no ORC", path);
	image->text_address = text.address;
	if (!keep(&image->owned[0], orc->places, orc->places_size) ||
	    !keep(&image->owned[1], orc->entries, orc->entries_size) ||
	    (orc->header && !keep(&image->owned[2], orc->header, orc->header_size)))
		return xf_fail(error, -ENOMEM, "no memory for the table of %s", path);
	orc->places = image->owned[0];
	orc->entries = image->owned[1];
	orc->header = image->owned[2];
	return 0;
}

/* libdwfl knows how kernels are packed, but for zstd where a distribution builds it without. */
static int open_module(Dwfl *dwfl, const char *path, xf_vmlinuz_use_t *use, void *context,
                       struct xf_error *error)
{
	Dwfl_Module *module = dwfl_report_offline(dwfl, "kernel", path, -1);
	GElf_Addr bias;
	Elf *elf = module ? dwfl_module_getelf(module, &bias) : NULL;
	size_t size;
	const void *bytes = elf ? elf_rawfile(elf, &size) : NULL;

	if (!bytes)
		return xf_fail(error, -EBADMSG, "cannot unpack %s: %s", path, dwfl_errmsg(-1));
	return use(context, bytes, size, error);
}

static int unpack_by_libdwfl(const char *path, xf_vmlinuz_use_t *use, void *context,
                             struct xf_error *error)
{
	static const Dwfl_Callbacks callbacks = {.find_elf = dwfl_build_id_find_elf,
	                                         .find_debuginfo = no_file,
	                                         .section_address = dwfl_offline_section_address};
	Dwfl *dwfl = dwfl_begin(&callbacks);
	int code;

	if (!dwfl)
		return xf_fail(error, -ENOMEM, "no memory to unpack %s", path);
	dwfl_report_begin(dwfl);
	code = open_module(dwfl, path, use, context, error);
	dwfl_end(dwfl);
	return code;
}

/* ---- zstd ------------------------------------------------------------------------------------ */

/* Reads the @size bytes at @offset of @file. Return: them, to be freed; NULL where they are not. */
static uint8_t *read_part(FILE *file, long offset, size_t size)
{
	uint8_t *bytes = size && size <= MOST_PACKED ? malloc(size) : NULL;

	if (bytes && fseek(file, offset, SEEK_SET) == 0 && fread(bytes, 1, size, file) == size)
		return bytes;
	free(bytes);
	return NULL;
}

/* Return: what Linux packed into the image, by its own account (Documentation/arch/x86/boot.rst),
 * *@size bytes, to be freed; NULL where that is not zstd's. */
static uint8_t *read_packed(const char *path, size_t *size)
{
	static const uint8_t magic[] = {0x28, 0xb5, 0x2f, 0xfd};
	FILE *file = fopen(path, "re");
	uint8_t *head = file ? read_part(file, 0, SETUP_BYTES) : NULL;
	struct xf_cursor cursor = xf_cursor_over(head, head ? SETUP_BYTES : 0);
	uint8_t *packed = NULL;
	long offset;

	if (head && memcmp(head + SETUP_MAGIC, "HdrS", 4) == 0) {
		xf_cursor_seek(&cursor, SETUP_SECTORS);
		offset = ((long)xf_cursor_u8(&cursor) + 1) * 512;
		xf_cursor_seek(&cursor, SETUP_PAYLOAD);
		offset += (long)xf_cursor_u32(&cursor);
		*size = xf_cursor_u32(&cursor);
		packed = read_part(file, offset, *size);
	}
	if (packed && (*size < sizeof(magic) || memcmp(packed, magic, sizeof(magic)) != 0)) {
		free(packed);
		packed = NULL;
	}
	free(head);
	if (file)
		fclose(file);
	return packed;
}

/* Unpacks one frame; what stands behind it, its size, is Linux's. Return: 0 and *@bytes, to be
 * freed. */
static int unpack_frame(const void *packed, size_t packed_size, uint8_t **bytes, size_t *size)
{
	ZSTD_DStream *stream = ZSTD_createDStream();
	ZSTD_inBuffer in = {.src = packed, .size = packed_size};
	ZSTD_outBuffer out = {0};
	size_t left = 1;

	while (stream && left != 0 && !ZSTD_isError(left) && out.size < MOST_UNPACKED) {
		size_t room = out.size ? out.size * 2 : 64u << 20, before = in.pos;
		void *larger = realloc(out.dst, room);

		if (!larger)
			break;
		out.dst = larger;
		out.size = room;
		left = ZSTD_decompressStream(stream, &out, &in);
		/* It was cut off: no more comes, however much room there is. */
		if (left != 0 && out.pos < out.size && in.pos == before)
			break;
	}
	ZSTD_freeDStream(stream);
	if (left == 0) {
		*bytes = out.dst;
		*size = out.pos;
		return 0;
	}
	free(out.dst);
	return -EBADMSG;
}

int xf_vmlinuz_unpack(const char *path, xf_vmlinuz_use_t *use, void *context,
                      struct xf_error *error)
{
	size_t packed_size, size;
	uint8_t *packed = read_packed(path, &packed_size), *bytes = NULL;
	int code;

	if (!packed)
		return unpack_by_libdwfl(path, use, context, error);
	code = unpack_frame(packed, packed_size, &bytes, &size);
	free(packed);
	if (code)
		return xf_fail(error, code, "cannot unpack %s: what zstd packed in it is damaged",
		               path);
	code = use(context, bytes, size, error);
	free(bytes);
	return code;
}

/* ---- The running kernel's -------------------------------------------------------------------- */

/* What is wanted of an image for the running kernel. */
struct wanted {
	const char *path;
	const char *notes;
	struct xf_vmlinuz *image;
};

static int use_running(void *context, const void *bytes, size_t size, struct xf_error *error)
{
	const struct wanted *wanted = context;
	struct xf_elf elf;
	int code = xf_elf_open(bytes, size, &elf, error);

	if (!code)
		code = check_build_id(&elf, wanted->path, wanted->notes, error);
	if (!code)
		code = take_orc(&elf, wanted->path, wanted->image, error);
	xf_elf_close(&elf);
	return code;
}

int xf_vmlinuz_open(const char *path, const char *notes, struct xf_vmlinuz *image,
                    struct xf_error *error)
{
	struct wanted wanted = {.path = path, .notes = notes, .image = image};
	int code;

	*image = (struct xf_vmlinuz){0};
	code = xf_vmlinuz_unpack(path, use_running, &wanted, error);
	if (!code)
		return 0;
	for (size_t i = 0; i < sizeof(image->owned) / sizeof(image->owned[0]); i++)
		free(image->owned[i]);
	*image = (struct xf_vmlinuz){0};
	return code;
}
