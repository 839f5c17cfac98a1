// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/cfi.h"

#include <elfutils/libdw.h>
#include <errno.h>
#include <stdlib.h>

#include "unwind/decode.h"
#include "unwind/expression.h"
#include "unwind/rows.h"

/* The registers' x86-64 encoding by their DWARF numbers. */
static const uint8_t encodings[] = {XF_REG_RAX, XF_REG_RDX, XF_REG_RCX, XF_REG_RBX,
                                    XF_REG_RSI, XF_REG_RDI, XF_REG_RBP, XF_REG_RSP,
                                    8,          9,          10,         11,
                                    12,         13,         14,         15};

#define NR_ENCODINGS (sizeof(encodings) / sizeof(encodings[0]))

/* What libdw has open. */
struct xf_cfi {
	Dwarf *dwarf; /* for .debug_frame alone */
	Dwarf_CFI *cfi;
	bool own; /* @cfi is to be ended, not only left */
};

static const char *section_name(enum xf_cfi_section which)
{
	return which == XF_CFI_EH_FRAME ? ".eh_frame" : ".debug_frame";
}

bool xf_cfi_available(const struct xf_elf *elf, enum xf_cfi_section which)
{
	struct xf_elf_section section;

	return xf_elf_section(elf, section_name(which), &section) ||
	       (which == XF_CFI_DEBUG_FRAME && xf_elf_section(elf, ".zdebug_frame", &section));
}

static bool open_reader(const struct xf_elf *elf, enum xf_cfi_section which, struct xf_cfi *reader)
{
	*reader = (struct xf_cfi){0};
	if (which == XF_CFI_EH_FRAME) {
		reader->cfi = dwarf_getcfi_elf(elf->elf);
		reader->own = true;
	} else {
		reader->dwarf = dwarf_begin_elf(elf->elf, DWARF_C_READ, NULL);
		reader->cfi = reader->dwarf != NULL ? dwarf_getcfi(reader->dwarf) : NULL;
	}
	return reader->cfi != NULL;
}

static void close_reader(struct xf_cfi *reader)
{
	if (reader->cfi != NULL && reader->own)
		dwarf_cfi_end(reader->cfi);
	if (reader->dwarf != NULL)
		dwarf_end(reader->dwarf);
}

/* ---- A frame as a row ------------------------------------------------------------------------ */

static bool fits(int64_t value)
{
	return value >= INT32_MIN && value <= INT32_MAX;
}

static bool set_base(const struct xf_term *cfa, struct xf_unwind_row *row)
{
	if (cfa->kind == XF_TERM_CONSTANT || cfa->reg >= NR_ENCODINGS || cfa->is_value ||
	    !fits(cfa->offset) || !fits(cfa->addend))
		return false;
	row->base_rule = cfa->kind == XF_TERM_WORD ? XF_BASE_WORD : XF_BASE_REGISTER;
	row->base_register = encodings[cfa->reg];
	row->base_offset = (int32_t)cfa->offset;
	row->base_addend = (int32_t)cfa->addend;
	return true;
}

/* What becomes of a register in the caller. */
enum fate {
	FATE_SAME,
	FATE_LOST,
	FATE_TERM, /* see the term */
	FATE_OTHER,
};

static enum fate find_fate(Dwarf_Frame *frame, int reg, uint64_t rip, struct xf_term *term)
{
	Dwarf_Op room[3], *ops = NULL;
	size_t nr = 0;

	if (dwarf_frame_register(frame, reg, room, &ops, &nr) != 0)
		return FATE_OTHER;
	/* As libdw has it: none at all, or none where there is room for some. */
	if (nr == 0)
		return ops == NULL ? FATE_SAME : FATE_LOST;
	return xf_expression_evaluate(ops, nr, rip, term) ? FATE_TERM : FATE_OTHER;
}

/* Return: whether @term is a place, or a value, at a distance from the frame's base, in *@offset.
 * The rules may name any two numbers: some have no distance. */
static bool from_base(const struct xf_term *term, const struct xf_term *cfa, int64_t *offset)
{
	if (term->kind != XF_TERM_REGISTER)
		return false;
	*offset = term->offset;
	if (term->reg == XF_DWARF_CFA)
		return true;
	return cfa->kind == XF_TERM_REGISTER && cfa->reg == term->reg &&
	       !__builtin_sub_overflow(term->offset, cfa->offset, offset);
}

static void set_rbp(Dwarf_Frame *frame, const struct xf_term *cfa, uint64_t rip,
                    struct xf_unwind_row *row)
{
	struct xf_term term;
	enum fate fate = find_fate(frame, XF_DWARF_RBP, rip, &term);
	int64_t offset = 0;

	row->rbp_rule = fate == FATE_SAME ? XF_RBP_SAME : XF_RBP_UNKNOWN;
	if (fate != FATE_TERM || term.is_value)
		return;
	if (from_base(&term, cfa, &offset)) {
		row->rbp_rule = XF_RBP_AT_BASE;
	} else if (term.kind == XF_TERM_REGISTER &&
	           (term.reg == XF_DWARF_RBP || term.reg == XF_DWARF_RSP)) {
		row->rbp_rule = term.reg == XF_DWARF_RBP ? XF_RBP_AT_RBP : XF_RBP_AT_RSP;
		offset = term.offset;
	}
	row->rbp_offset = (int32_t)offset;
	if (!fits(offset))
		*row = (struct xf_unwind_row){.kind = XF_ROW_UNDEFINED,
		                              .reason = XF_UNWIND_INEXPRESSIBLE};
}

/* A row takes for granted that the return address lies just below the base, and that the caller's
 * RSP is the base. */
static bool is_plain(Dwarf_Frame *frame, const struct xf_term *cfa, enum fate address_fate,
                     const struct xf_term *address, uint64_t rip)
{
	struct xf_term rsp;
	int64_t offset;

	if (address_fate != FATE_TERM || address->is_value || !from_base(address, cfa, &offset) ||
	    offset != -8)
		return false;
	return find_fate(frame, XF_DWARF_RSP, rip, &rsp) == FATE_TERM && rsp.is_value &&
	       from_base(&rsp, cfa, &offset) && offset == 0;
}

/* The row for an instruction at @rip. *@moves: the next byte's may be another. */
static struct xf_unwind_row row_of(Dwarf_Frame *frame, uint64_t rip, bool *moves)
{
	struct xf_unwind_row row = {.kind = XF_ROW_UNDEFINED, .reason = XF_UNWIND_INEXPRESSIBLE};
	struct xf_term cfa, address;
	enum fate fate = find_fate(frame, XF_DWARF_RIP, rip, &address);
	Dwarf_Op *ops = NULL;
	size_t nr = 0;

	*moves = false;
	if (fate == FATE_LOST) {
		row.reason = XF_UNWIND_END;
		return row;
	}
	if (dwarf_frame_cfa(frame, &ops, &nr) != 0 || !xf_expression_evaluate(ops, nr, rip, &cfa))
		return row;
	*moves = cfa.has_moved;
	if (!is_plain(frame, &cfa, fate, &address, rip) || !set_base(&cfa, &row))
		return row;
	row.kind = XF_ROW_CALL;
	row.reason = 0;
	set_rbp(frame, &cfa, rip, &row);
	return row;
}

/* ---- The table ------------------------------------------------------------------------------- */

/* The rows of @frame, which holds from @address up to @end. Return: 0 or -ENOMEM. */
static int lay_frame(struct xf_rows *rows, Dwarf_Frame *frame, uint64_t address, uint64_t end)
{
	bool moves = true;
	int result = 0;

	for (; !result && moves && address < end; address++) {
		struct xf_unwind_row row = row_of(frame, address, &moves);

		result = xf_rows_add(rows, address, &row);
	}
	return result;
}

/* Lays what holds at @address, before @code_end. Return: 0 and *@next, the first address that it
 * does not cover. */
static int lay_at(struct xf_rows *rows, Dwarf_CFI *cfi, uint64_t address, uint64_t code_end,
                  uint64_t *next)
{
	Dwarf_Frame *frame = NULL;
	Dwarf_Addr start = 0, end = 0;
	int result;

	*next = address + 1;
	if (dwarf_cfi_addrframe(cfi, address, &frame) != 0)
		return xf_rows_add_undefined(rows, address, XF_UNWIND_NOT_DESCRIBED);
	dwarf_frame_info(frame, &start, &end, NULL);
	if (end > *next)
		*next = end;
	if (*next > code_end)
		*next = code_end;
	result = lay_frame(rows, frame, address, *next);
	free(frame);
	return result;
}

static int lay_rows(struct xf_rows *rows, const struct xf_code *code, Dwarf_CFI *cfi)
{
	uint64_t address = code->address, end = address + code->size;
	int result = 0;

	while (!result && address < end)
		result = lay_at(rows, cfi, address, end, &address);
	return result;
}

int xf_cfi_table(const struct xf_elf *elf, enum xf_cfi_section which, const struct xf_code *code,
                 struct xf_unwind_table **table, struct xf_error *error)
{
	struct xf_cfi reader;
	struct xf_rows rows;
	bool opened;
	int result;

	*table = NULL;
	result = xf_rows_start(&rows, code, error);
	if (result)
		return result;
	opened = open_reader(elf, which, &reader);
	result =
	        xf_rows_finish(&rows, opened ? lay_rows(&rows, code, reader.cfi) : -ENODATA, table);
	if (!opened)
		xf_fail(error, result, "%s: %s", section_name(which), dwarf_errmsg(-1));
	else if (result)
		xf_fail(error, result, "%s: out of memory", section_name(which));
	close_reader(&reader);
	return result;
}

/* ---- Single instructions --------------------------------------------------------------------- */

int xf_cfi_open(const struct xf_elf *elf, enum xf_cfi_section which, struct xf_cfi **cfi)
{
	struct xf_cfi *made = calloc(1, sizeof(*made));

	if (made == NULL)
		return -ENOMEM;
	if (!open_reader(elf, which, made)) {
		xf_cfi_close(made);
		return -ENODATA;
	}
	*cfi = made;
	return 0;
}

void xf_cfi_close(struct xf_cfi *cfi)
{
	if (cfi == NULL)
		return;
	close_reader(cfi);
	free(cfi);
}

struct xf_unwind_row xf_cfi_row(struct xf_cfi *cfi, uint64_t address)
{
	struct xf_unwind_row row = {.kind = XF_ROW_UNDEFINED, .reason = XF_UNWIND_NOT_DESCRIBED};
	Dwarf_Frame *frame = NULL;
	bool moves;

	if (dwarf_cfi_addrframe(cfi->cfi, address, &frame) != 0)
		return row;
	row = row_of(frame, address, &moves);
	free(frame);
	return row;
}
