// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/source.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "unwind/cfi.h"
#include "unwind/decode.h"
#include "unwind/explain.h"
#include "unwind/rows.h"

/* After `push %rbp; mov %rsp,%rbp` the caller's RBP is at RBP, and the return address above it. */
#define FRAME_POINTER_BYTES 16

bool xf_source_by_name(const char *text, enum xf_source *source)
{
	static const char *const names[] = {
	        [XF_SOURCE_AUTO] = "auto",
	        [XF_SOURCE_ORC] = "orc",
	        [XF_SOURCE_CFI] = "cfi",
	        [XF_SOURCE_CODE] = "code",
	        [XF_SOURCE_FRAME_POINTERS] = "frame-pointers",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(text, names[i]) != 0)
			continue;
		*source = (enum xf_source)i;
		return true;
	}
	return false;
}

static void set_used(struct xf_source_used *used, enum xf_source source, const char *name,
                     const char *detail)
{
	used->source = source;
	snprintf(used->name, sizeof(used->name), "%s%s", name, detail);
}

bool xf_source_orc(const struct xf_elf *elf, struct xf_orc *orc)
{
	struct xf_elf_section places, entries, header = {0};

	if (!xf_elf_section(elf, ".orc_unwind_ip", &places) ||
	    !xf_elf_section(elf, ".orc_unwind", &entries))
		return false;
	xf_elf_section(elf, ".orc_header", &header);
	*orc = (struct xf_orc){
	        .places = places.bytes,
	        .places_size = places.size,
	        .places_address = places.address,
	        .entries = entries.bytes,
	        .entries_size = entries.size,
	        .header = header.bytes,
	        .header_size = header.size,
	};
	return true;
}

static int make_orc(const struct xf_source_image *image, struct xf_unwind_table **table,
                    struct xf_source_used *used, struct xf_error *error)
{
	enum xf_orc_layout layout;
	struct xf_orc orc;
	int result;

	if (image->elf == NULL || !xf_source_orc(image->elf, &orc))
		return xf_fail(error, -ENODATA, "there is no ORC in it");
	result = xf_orc_find_layout(&orc, &layout, error);
	if (result)
		return result;
	set_used(used, XF_SOURCE_ORC, "ORC, layout ", xf_orc_layout_name(layout));
	return xf_orc_table(&orc, image->code, table, error);
}

static int make_cfi(const struct xf_source_image *image, enum xf_cfi_section which,
                    struct xf_unwind_table **table, struct xf_source_used *used,
                    struct xf_error *error)
{
	set_used(used, XF_SOURCE_CFI, which == XF_CFI_EH_FRAME ? ".eh_frame" : ".debug_frame", "");
	if (image->elf == NULL || !xf_cfi_available(image->elf, which))
		return xf_fail(error, -ENODATA, "there is no call frame information in it");
	return xf_cfi_table(image->elf, which, image->code, table, error);
}

static int make_code(const struct xf_source_image *image, struct xf_unwind_table **table,
                     struct xf_source_used *used, struct xf_error *error)
{
	set_used(used, XF_SOURCE_CODE, "inferred from the code", "");
	return xf_unwind_table_build(image->code, image->entries, image->nr_entries, table, error);
}

static int make_frame_pointers(const struct xf_source_image *image, struct xf_unwind_table **table,
                               struct xf_source_used *used, struct xf_error *error)
{
	const struct xf_unwind_row row = {
	        .kind = XF_ROW_CALL,
	        .reason = XF_UNWIND_ASSUMED,
	        .base_register = XF_REG_RBP,
	        .base_offset = FRAME_POINTER_BYTES,
	        .rbp_rule = XF_RBP_AT_RBP,
	};
	struct xf_rows rows;
	int result = xf_rows_start(&rows, image->code, error);

	set_used(used, XF_SOURCE_FRAME_POINTERS, "frame pointers, assumed", "");
	if (!result &&
	    xf_rows_finish(&rows, xf_rows_add(&rows, image->code->address, &row), table) != 0)
		result = xf_fail(error, -ENOMEM, "frame pointers: out of memory");
	return result;
}

static int make(enum xf_source source, const struct xf_source_image *image,
                struct xf_unwind_table **table, struct xf_source_used *used, struct xf_error *error)
{
	switch (source) {
	case XF_SOURCE_ORC:
		return make_orc(image, table, used, error);
	case XF_SOURCE_CFI:
		return make_cfi(image, XF_CFI_EH_FRAME, table, used, error);
	case XF_SOURCE_CODE:
		return make_code(image, table, used, error);
	default:
		return make_frame_pointers(image, table, used, error);
	}
}

/* Return: whether @table has a row for any of its code. */
static bool says_something(const struct xf_unwind_table *table)
{
	struct xf_coverage coverage;

	xf_coverage_count(table, &coverage);
	return coverage.call != 0 || coverage.interrupt != 0;
}

static int make_best(const struct xf_source_image *image, struct xf_unwind_table **table,
                     struct xf_source_used *used, struct xf_error *error)
{
	for (int i = XF_SOURCE_ORC; i < XF_SOURCE_FRAME_POINTERS; i++) {
		struct xf_error why = {0};
		int result = make((enum xf_source)i, image, table, used, &why);

		if (!result && says_something(*table))
			return 0;
		if (result == -ENOMEM)
			return xf_fail(error, result, "%s", why.text);
		if (result && result != -ENODATA && used->refused.code == 0)
			used->refused = why;
		xf_unwind_table_free(*table);
		*table = NULL;
	}
	return make_frame_pointers(image, table, used, error);
}

int xf_source_table(enum xf_source wanted, const struct xf_source_image *image,
                    struct xf_unwind_table **table, struct xf_source_used *used,
                    struct xf_error *error)
{
	int result;

	*table = NULL;
	memset(used, 0, sizeof(*used));
	/* Where there is nothing but code there is nothing to choose. */
	if (wanted == XF_SOURCE_AUTO && image->elf == NULL)
		wanted = XF_SOURCE_CODE;
	if (wanted == XF_SOURCE_AUTO)
		return make_best(image, table, used, error);
	result = make(wanted, image, table, used, error);
	if (result == -ENODATA && wanted == XF_SOURCE_CFI)
		result = make_cfi(image, XF_CFI_DEBUG_FRAME, table, used, error);
	return result;
}
