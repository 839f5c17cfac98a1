// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/orc.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "unwind/decode.h"
#include "unwind/rows.h"

/*
 * Facts of Linux's arch/x86/include/asm/orc_types.h. An entry: two signed 16-bit offsets, of the
 * frame and of RBP; then 4 bits each for the registers that they count from; then, from bit 8 on,
 * the layouts differ.
 */
#define ENTRY_BYTES  6u
#define PLACE_BYTES  4u
#define HEADER_BYTES 20u

/* In x86-64 encoding. */
#define R13 13

enum orc_register {
	ORC_UNDEFINED = 0,
	ORC_PREVIOUS_SP = 1,
	ORC_DX = 2,
	ORC_DI = 3,
	ORC_BP = 4,
	ORC_SP = 5,
	ORC_R10 = 6,
	ORC_R13 = 7,
	ORC_BP_INDIRECT = 8,
	ORC_SP_INDIRECT = 9,
};

/* Types as 6.4 counts them. Before, there were two bits for the last three of them, from 0 on. */
enum orc_type {
	ORC_TYPE_UNDEFINED = 0,
	ORC_TYPE_END = 1,
	ORC_TYPE_CALL = 2,
	ORC_TYPE_REGS = 3,
	ORC_TYPE_REGS_PARTIAL = 4,
};

/*
 * Facts of struct pt_regs (arch/x86/include/asm/ptrace.h): the saved registers, RBP the fifth of
 * them, and above them the words that the processor pushes, RIP first.
 */
#define REGS_RBP 32
#define REGS_RIP 128

/* SHA-1 of the definitions in that file, as scripts/orc_hash.sh of the kernel's sources takes it.
 */
static const struct {
	uint8_t hash[HEADER_BYTES];
	enum xf_orc_layout layout;
} headers[] = {
        {{0xdb, 0x84, 0xae, 0xd4, 0x10, 0x3b, 0x31, 0xdd, 0x51, 0xe0,
          0x17, 0xf8, 0xf7, 0x97, 0x83, 0xca, 0x98, 0x5c, 0x2c, 0x51},
         XF_ORC_6_3},
        {{0xfe, 0x5d, 0x32, 0xbf, 0x58, 0x1b, 0xd6, 0x3b, 0x2c, 0xa9,
          0xa5, 0xc6, 0x5b, 0xa5, 0xa6, 0x25, 0xea, 0xb3, 0xfe, 0x24},
         XF_ORC_SINCE_6_4},
};

#define NR_HEADERS (sizeof(headers) / sizeof(headers[0]))
#define NR_LAYOUTS 3

/* One entry, the same for all layouts. */
struct entry {
	int16_t sp_offset, bp_offset;
	uint8_t sp, bp; /* enum orc_register */
	uint8_t type;   /* enum orc_type */
};

struct place {
	uint64_t address;
	uint32_t number; /* of the entry */
	bool weak;       /* says nothing: the end of what an object file had to say */
};

const char *xf_orc_layout_name(enum xf_orc_layout layout)
{
	static const char *const names[NR_LAYOUTS] = {"before 6.3", "6.3", "6.4 and later"};

	return names[layout];
}

/*
 * Takes the bits from bit 8 on apart. Return: false where no kernel with this layout writes such an
 * entry. Of these conditions docs/unwinding.md shows that they leave one layout at most.
 */
static bool take_type(enum xf_orc_layout layout, unsigned int bits, struct entry *entry)
{
	bool found = entry->sp != ORC_UNDEFINED;
	bool end = false, signal = false;

	if (layout == XF_ORC_SINCE_6_4) {
		entry->type = bits & 7;
		return bits < 16 && entry->type <= ORC_TYPE_REGS_PARTIAL &&
		       found == (entry->type >= ORC_TYPE_CALL) && (found || bits < 8);
	}
	if (layout == XF_ORC_BEFORE_6_3)
		end = bits & 4;
	if (layout == XF_ORC_6_3) {
		signal = bits & 4;
		end = bits & 8;
	}
	entry->type = ORC_TYPE_CALL + (bits & 3);
	if (bits >= (layout == XF_ORC_6_3 ? 16 : 8) || entry->type > ORC_TYPE_REGS_PARTIAL ||
	    (found && end) || (!found && (signal || entry->type != ORC_TYPE_CALL)))
		return false;
	if (!found)
		entry->type = end ? ORC_TYPE_END : ORC_TYPE_UNDEFINED;
	return true;
}

/* Return: false where the entry is none of this layout. */
static bool take_entry(struct xf_cursor *entries, enum xf_orc_layout layout, struct entry *entry)
{
	unsigned int bits;

	entry->sp_offset = (int16_t)xf_cursor_u16(entries);
	entry->bp_offset = (int16_t)xf_cursor_u16(entries);
	bits = xf_cursor_u16(entries);
	entry->sp = bits & 15;
	entry->bp = bits >> 4 & 15;
	return take_type(layout, bits >> 8, entry);
}

/*
 * Return: whether every entry makes sense in @layout. One must be of a called function: that all
 * were of interrupts would make sense by its bits, and in no kernel.
 */
static bool fits(const struct xf_orc *orc, enum xf_orc_layout layout)
{
	struct xf_cursor entries = xf_cursor_over(orc->entries, orc->entries_size);
	bool called = false;
	struct entry entry;

	while (xf_cursor_left(&entries) != 0) {
		if (!take_entry(&entries, layout, &entry))
			return false;
		called |= entry.type == ORC_TYPE_CALL;
	}
	return called;
}

static int check_sizes(const struct xf_orc *orc, struct xf_error *error)
{
	if (orc->entries_size == 0 || orc->entries_size % ENTRY_BYTES != 0 ||
	    orc->places_size % PLACE_BYTES != 0 ||
	    orc->places_size / PLACE_BYTES != orc->entries_size / ENTRY_BYTES ||
	    orc->entries_size / ENTRY_BYTES > INT32_MAX)
		return xf_fail(error, -EBADMSG,
		               "ORC: %zu bytes of entries and %zu of places do not go together",
		               orc->entries_size, orc->places_size);
	return 0;
}

/* Where there is a header, it must be known and say the same. */
static int check_header(const struct xf_orc *orc, enum xf_orc_layout layout, struct xf_error *error)
{
	const uint8_t *bytes = orc->header;

	if (bytes == NULL)
		return 0;
	for (size_t i = 0; orc->header_size == HEADER_BYTES && i < NR_HEADERS; i++)
		if (memcmp(bytes, headers[i].hash, HEADER_BYTES) == 0 &&
		    headers[i].layout == layout)
			return 0;
	return xf_fail(
	        error, -EBADMSG,
	        "ORC: the entries look like those of %s, but .orc_header (%zu bytes, %02x%02x…) "
	        "is not that layout's",
	        xf_orc_layout_name(layout), orc->header_size, orc->header_size > 0 ? bytes[0] : 0,
	        orc->header_size > 1 ? bytes[1] : 0);
}

int xf_orc_find_layout(const struct xf_orc *orc, enum xf_orc_layout *layout, struct xf_error *error)
{
	int result = check_sizes(orc, error);

	for (int i = 0; !result && i < NR_LAYOUTS; i++) {
		if (!fits(orc, (enum xf_orc_layout)i))
			continue;
		*layout = (enum xf_orc_layout)i;
		/* Entries that make sense in both of these mean the same in both. */
		if (i == XF_ORC_BEFORE_6_3 && orc->header != NULL && fits(orc, XF_ORC_6_3))
			*layout = XF_ORC_6_3;
		return check_header(orc, *layout, error);
	}
	return result ? result
	              : xf_fail(error, -EBADMSG,
	                        "ORC: %zu entries of a layout that is not known (known: before "
	                        "6.3, 6.3, 6.4 and later)",
	                        orc->entries_size / ENTRY_BYTES);
}

/* ---- An entry as a row ----------------------------------------------------------------------- */

static unsigned int register_of(unsigned int orc_register)
{
	switch (orc_register) {
	case ORC_DX:
		return XF_REG_RDX;
	case ORC_DI:
		return XF_REG_RDI;
	case ORC_BP:
	case ORC_BP_INDIRECT:
		return XF_REG_RBP;
	case ORC_SP:
	case ORC_SP_INDIRECT:
		return XF_REG_RSP;
	case ORC_R10:
		return XF_REG_R10;
	case ORC_R13:
		return R13;
	default:
		return XF_REG_NONE;
	}
}

/* What lies between the address that the entry leads to and the frame's base as rows have it. */
static int base_distance(const struct entry *entry)
{
	return entry->type == ORC_TYPE_REGS ? REGS_RIP : 0;
}

static void set_base(const struct entry *entry, struct xf_unwind_row *row)
{
	row->base_register = register_of(entry->sp);
	if (row->base_register == XF_REG_NONE) {
		row->kind = XF_ROW_UNDEFINED;
		row->reason = XF_UNWIND_INEXPRESSIBLE;
	} else if (entry->sp == ORC_SP_INDIRECT) {
		/* The word at RSP, then the offset; with RBP it is the other way round. */
		row->base_rule = XF_BASE_WORD;
		row->base_addend = entry->sp_offset + base_distance(entry);
	} else if (entry->sp == ORC_BP_INDIRECT) {
		row->base_rule = XF_BASE_WORD;
		row->base_offset = entry->sp_offset;
		row->base_addend = base_distance(entry);
	} else {
		row->base_offset = entry->sp_offset + base_distance(entry);
	}
}

/* "Undefined" means that RBP is as it was, and beside saved registers that it is among them. */
static void set_rbp(const struct entry *entry, struct xf_unwind_row *row)
{
	if (entry->bp == ORC_PREVIOUS_SP) {
		row->rbp_rule = XF_RBP_AT_BASE;
		row->rbp_offset = entry->bp_offset - base_distance(entry);
	} else if (entry->bp == ORC_BP) {
		row->rbp_rule = XF_RBP_AT_RBP;
		row->rbp_offset = entry->bp_offset;
	} else if (entry->bp != ORC_UNDEFINED) {
		row->rbp_rule = XF_RBP_UNKNOWN;
	} else if (entry->type == ORC_TYPE_REGS) {
		row->rbp_rule = XF_RBP_AT_BASE;
		row->rbp_offset = REGS_RBP - REGS_RIP;
	} else {
		row->rbp_rule = XF_RBP_SAME;
	}
}

static struct xf_unwind_row row_of(const struct entry *entry)
{
	struct xf_unwind_row row = {.kind = XF_ROW_INTERRUPT};

	if (entry->type == ORC_TYPE_UNDEFINED || entry->type == ORC_TYPE_END) {
		row.kind = XF_ROW_UNDEFINED;
		row.reason = entry->type == ORC_TYPE_END ? XF_UNWIND_END : XF_UNWIND_NOT_DESCRIBED;
		return row;
	}
	if (entry->type == ORC_TYPE_CALL)
		row.kind = XF_ROW_CALL;
	set_base(entry, &row);
	if (row.kind != XF_ROW_UNDEFINED)
		set_rbp(entry, &row);
	return row;
}

/* ---- The table ------------------------------------------------------------------------------- */

/* By address; where several entries have one, those that say nothing come first, so that they do
 * not count. */
static int order(const void *a, const void *b)
{
	const struct place *one = a, *other = b;

	if (one->address != other->address)
		return one->address < other->address ? -1 : 1;
	if (one->weak != other->weak)
		return one->weak ? -1 : 1;
	return one->number < other->number ? -1 : one->number > other->number;
}

static void seek_entry(struct xf_cursor *entries, size_t number, enum xf_orc_layout layout,
                       struct entry *entry)
{
	xf_cursor_seek(entries, number * ENTRY_BYTES);
	take_entry(entries, layout, entry);
}

/* Return: the entries' places in order; NULL without memory. */
static struct place *sort_places(const struct xf_orc *orc, enum xf_orc_layout layout, size_t nr)
{
	struct xf_cursor places = xf_cursor_over(orc->places, orc->places_size);
	struct xf_cursor entries = xf_cursor_over(orc->entries, orc->entries_size);
	struct place *sorted = calloc(nr ? nr : 1, sizeof(*sorted));

	for (size_t i = 0; sorted != NULL && i < nr; i++) {
		uint64_t self = orc->places_address + i * PLACE_BYTES;
		struct entry entry;

		seek_entry(&entries, i, layout, &entry);
		sorted[i].address = self + (uint64_t)(int64_t)(int32_t)xf_cursor_u32(&places);
		sorted[i].number = i;
		sorted[i].weak = entry.type == ORC_TYPE_UNDEFINED;
	}
	if (sorted != NULL)
		qsort(sorted, nr, sizeof(*sorted), order);
	return sorted;
}

static int lay_rows(const struct xf_orc *orc, enum xf_orc_layout layout, struct xf_rows *rows)
{
	struct xf_cursor entries = xf_cursor_over(orc->entries, orc->entries_size);
	size_t nr = orc->entries_size / ENTRY_BYTES;
	struct place *places = sort_places(orc, layout, nr);
	int result = places == NULL ? -ENOMEM : 0;

	for (size_t i = 0; !result && i < nr; i++) {
		struct xf_unwind_row row;
		struct entry entry;

		seek_entry(&entries, places[i].number, layout, &entry);
		row = row_of(&entry);
		result = xf_rows_add(rows, places[i].address, &row);
	}
	free(places);
	return result;
}

int xf_orc_table(const struct xf_orc *orc, const struct xf_code *code,
                 struct xf_unwind_table **table, struct xf_error *error)
{
	enum xf_orc_layout layout = XF_ORC_BEFORE_6_3;
	struct xf_rows rows;
	int result;

	*table = NULL;
	result = xf_orc_find_layout(orc, &layout, error);
	if (result)
		return result;
	result = xf_rows_start(&rows, code, error);
	if (!result && xf_rows_finish(&rows, lay_rows(orc, layout, &rows), table) != 0)
		result = xf_fail(error, -ENOMEM, "ORC: out of memory for %zu entries",
		                 orc->entries_size / ENTRY_BYTES);
	return result;
}
