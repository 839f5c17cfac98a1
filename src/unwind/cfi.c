// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/cfi.h"

#include <errno.h>
#include <stdlib.h>

#include "unwind/call_frames.h"
#include "unwind/decode.h"
#include "unwind/expression.h"
#include "unwind/rows.h"

/* The registers' x86-64 encoding by their DWARF numbers. */
static const uint8_t encodings[] = {XF_REG_RAX, XF_REG_RDX, XF_REG_RCX, XF_REG_RBX,
                                    XF_REG_RSI, XF_REG_RDI, XF_REG_RBP, XF_REG_RSP,
                                    8,          9,          10,         11,
                                    12,         13,         14,         15};

#define NR_ENCODINGS (sizeof(encodings) / sizeof(encodings[0]))

static bool find_section(const struct xf_elf *elf, enum xf_cfi_section which,
                         struct xf_elf_section *section)
{
	if (which == XF_CFI_EH_FRAME)
		return xf_elf_section(elf, ".eh_frame", section);
	return xf_elf_section(elf, ".debug_frame", section) ||
	       xf_elf_section(elf, ".zdebug_frame", section);
}

bool xf_cfi_available(const struct xf_elf *elf, enum xf_cfi_section which)
{
	struct xf_elf_section section;

	return find_section(elf, which, &section);
}

struct xf_cfi {
	struct xf_call_frames frames;
};

int xf_cfi_open(const struct xf_elf *elf, enum xf_cfi_section which, struct xf_cfi **cfi)
{
	struct xf_elf_section section;
	struct xf_cfi *made;
	int result;

	if (!find_section(elf, which, &section))
		return -ENODATA;
	made = calloc(1, sizeof(*made));
	if (made == NULL)
		return -ENOMEM;
	result = xf_call_frames_read(&section, which == XF_CFI_EH_FRAME, &made->frames);
	if (result)
		xf_cfi_close(made);
	else
		*cfi = made;
	return result;
}

void xf_cfi_close(struct xf_cfi *cfi)
{
	if (cfi == NULL)
		return;
	xf_call_frames_free(&cfi->frames);
	free(cfi);
}

/* ---- Rules as a row -------------------------------------------------------------------------- */

static bool fits(int64_t value)
{
	return value >= INT32_MIN && value <= INT32_MAX;
}

/* What becomes of a register in the caller. */
enum fate {
	FATE_SAME,
	FATE_LOST,
	FATE_TERM, /* see the term */
	FATE_OTHER,
};

/* What rules say at one address. */
struct terms {
	struct xf_term cfa, rbp, rsp, rip;
	enum fate cfa_fate, rbp_fate, rsp_fate, rip_fate;
};

/* What @rule says at @rip, counted from register @from, which is the CFA but for the CFA itself. */
static enum fate find_fate(const struct xf_frame_rule *rule, uint64_t from, uint64_t rip,
                           struct xf_term *term)
{
	*term = (struct xf_term){
	        .kind = XF_TERM_REGISTER, .reg = (uint8_t)from, .offset = rule->offset};
	switch (rule->kind) {
	case XF_RULE_SAME:
		return FATE_SAME;
	case XF_RULE_UNDEFINED:
		return FATE_LOST;
	case XF_RULE_AT:
	case XF_RULE_VALUE:
		term->is_value = rule->kind == XF_RULE_VALUE;
		return FATE_TERM;
	case XF_RULE_AT_EXPRESSION:
	case XF_RULE_VALUE_EXPRESSION:
		if (!xf_expression_evaluate(rule->expression, rule->expression_size,
		                            from == XF_DWARF_CFA, rip, term))
			return FATE_OTHER;
		term->is_value = rule->kind == XF_RULE_VALUE_EXPRESSION;
		return FATE_TERM;
	default:
		return FATE_OTHER;
	}
}

static struct terms find_terms(const struct xf_frame_rules *rules, uint64_t rip)
{
	struct terms terms = {.cfa_fate = FATE_OTHER};

	if (rules->cfa.reg < NR_ENCODINGS)
		terms.cfa_fate = find_fate(&rules->cfa, rules->cfa.reg, rip, &terms.cfa);
	terms.rbp_fate = find_fate(&rules->rbp, XF_DWARF_CFA, rip, &terms.rbp);
	terms.rsp_fate = find_fate(&rules->rsp, XF_DWARF_CFA, rip, &terms.rsp);
	terms.rip_fate = find_fate(&rules->rip, XF_DWARF_CFA, rip, &terms.rip);
	return terms;
}

/* Return: whether the same rules may say something else at the next address. */
static bool move(const struct terms *terms)
{
	return terms->cfa.has_moved || terms->rbp.has_moved || terms->rsp.has_moved ||
	       terms->rip.has_moved;
}

static bool set_base(const struct xf_term *cfa, struct xf_unwind_row *row)
{
	if (cfa->kind == XF_TERM_CONSTANT || cfa->reg >= NR_ENCODINGS || !fits(cfa->offset) ||
	    !fits(cfa->addend))
		return false;
	row->base_rule = cfa->kind == XF_TERM_WORD ? XF_BASE_WORD : XF_BASE_REGISTER;
	row->base_register = encodings[cfa->reg];
	row->base_offset = (int32_t)cfa->offset;
	row->base_addend = (int32_t)cfa->addend;
	return true;
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

static void set_rbp(const struct terms *terms, struct xf_unwind_row *row)
{
	const struct xf_term *term = &terms->rbp;
	int64_t offset = 0;

	row->rbp_rule = terms->rbp_fate == FATE_SAME ? XF_RBP_SAME : XF_RBP_UNKNOWN;
	if (terms->rbp_fate != FATE_TERM || term->is_value)
		return;
	if (from_base(term, &terms->cfa, &offset)) {
		row->rbp_rule = XF_RBP_AT_BASE;
	} else if (term->kind == XF_TERM_REGISTER &&
	           (term->reg == XF_DWARF_RBP || term->reg == XF_DWARF_RSP)) {
		row->rbp_rule = term->reg == XF_DWARF_RBP ? XF_RBP_AT_RBP : XF_RBP_AT_RSP;
		offset = term->offset;
	}
	row->rbp_offset = (int32_t)offset;
	if (!fits(offset))
		*row = (struct xf_unwind_row){.kind = XF_ROW_UNDEFINED,
		                              .reason = XF_UNWIND_INEXPRESSIBLE};
}

/* A row takes for granted that the return address lies just below the base, and that the caller's
 * RSP is the base. */
static bool is_plain(const struct terms *terms)
{
	int64_t address, rsp;

	return terms->rip_fate == FATE_TERM && !terms->rip.is_value &&
	       from_base(&terms->rip, &terms->cfa, &address) && address == -8 &&
	       terms->rsp_fate == FATE_TERM && terms->rsp.is_value &&
	       from_base(&terms->rsp, &terms->cfa, &rsp) && rsp == 0;
}

static struct xf_unwind_row row_of(const struct terms *terms)
{
	struct xf_unwind_row row = {.kind = XF_ROW_UNDEFINED, .reason = XF_UNWIND_INEXPRESSIBLE};

	if (terms->rip_fate == FATE_LOST)
		row.reason = XF_UNWIND_END;
	else if (terms->cfa_fate == FATE_TERM && is_plain(terms) && set_base(&terms->cfa, &row)) {
		row.kind = XF_ROW_CALL;
		row.reason = 0;
		set_rbp(terms, &row);
	}
	return row;
}

struct xf_unwind_row xf_cfi_row(const struct xf_cfi *cfi, uint64_t address)
{
	const struct xf_function_frame *function = xf_call_frames_find(&cfi->frames, address);
	struct xf_unwind_row row = {.kind = XF_ROW_UNDEFINED, .reason = XF_UNWIND_NOT_DESCRIBED};
	struct xf_frame_program program;
	struct terms terms;

	if (function == NULL)
		return row;
	program = xf_call_frames_program(&cfi->frames, function);
	while (xf_frame_program_step(&program))
		if (address < program.next) {
			terms = find_terms(&program.rules, address);
			return row_of(&terms);
		}
	return row;
}

/* ---- The table ------------------------------------------------------------------------------- */

/* The rows of @rules, which hold from @address up to @end. Return: 0 or -ENOMEM. */
static int lay_rules(struct xf_rows *rows, const struct xf_frame_rules *rules, uint64_t address,
                     uint64_t end)
{
	bool moves = true;
	int result = 0;

	for (; !result && moves && address < end; address++) {
		struct terms terms = find_terms(rules, address);
		struct xf_unwind_row row = row_of(&terms);

		moves = move(&terms);
		result = xf_rows_add(rows, address, &row);
	}
	return result;
}

static uint64_t later(uint64_t one, uint64_t other)
{
	return one > other ? one : other;
}

static uint64_t sooner(uint64_t one, uint64_t other)
{
	return one < other ? one : other;
}

static int lay_function(struct xf_rows *rows, const struct xf_code *code,
                        const struct xf_call_frames *frames,
                        const struct xf_function_frame *function)
{
	struct xf_frame_program program = xf_call_frames_program(frames, function);
	int result = 0;

	while (!result && xf_frame_program_step(&program))
		result = lay_rules(rows, &program.rules, later(program.from, code->address),
		                   sooner(program.next, code->address + code->size));
	if (!result)
		result = xf_rows_add_undefined(rows, later(program.from, code->address),
		                               XF_UNWIND_NOT_DESCRIBED);
	return result;
}

static int lay_functions(struct xf_rows *rows, const struct xf_code *code,
                         const struct xf_call_frames *frames)
{
	int result = 0;

	for (size_t i = 0; !result && i < frames->nr_functions; i++)
		if (frames->functions[i].end > code->address &&
		    frames->functions[i].start < code->address + code->size)
			result = lay_function(rows, code, frames, &frames->functions[i]);
	return result;
}

int xf_cfi_table(const struct xf_elf *elf, enum xf_cfi_section which, const struct xf_code *code,
                 struct xf_unwind_table **table, struct xf_error *error)
{
	struct xf_cfi *cfi = NULL;
	struct xf_rows rows;
	int result;

	*table = NULL;
	result = xf_rows_start(&rows, code, error);
	if (result)
		return result;
	result = xf_cfi_open(elf, which, &cfi);
	if (!result)
		result = lay_functions(&rows, code, &cfi->frames);
	result = xf_rows_finish(&rows, result, table);
	xf_cfi_close(cfi);
	if (result)
		xf_fail(error, result, "%s: %s",
		        which == XF_CFI_EH_FRAME ? ".eh_frame" : ".debug_frame",
		        result == -ENODATA ? "there is none" : "out of memory");
	return result;
}
