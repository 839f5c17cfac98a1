// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/frame_rules.h"

#include <dwarf.h>

#include "unwind/expression.h"

struct xf_frame_rules xf_frame_rules_of_abi(void)
{
	return (struct xf_frame_rules){
	        .rbp = {.kind = XF_RULE_SAME},
	        .rsp = {.kind = XF_RULE_VALUE},
	};
}

/* ---- Addresses ------------------------------------------------------------------------------- */

/* What is in the low four bits of an encoding. */
static uint64_t read_value(struct xf_cursor *cursor, uint8_t format)
{
	switch (format) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		return xf_cursor_u64(cursor);
	case DW_EH_PE_uleb128:
		return xf_cursor_uleb(cursor);
	case DW_EH_PE_sleb128:
		return (uint64_t)xf_cursor_sleb(cursor);
	case DW_EH_PE_udata2:
		return xf_cursor_u16(cursor);
	case DW_EH_PE_sdata2:
		return (uint64_t)(int16_t)xf_cursor_u16(cursor);
	case DW_EH_PE_udata4:
		return xf_cursor_u32(cursor);
	case DW_EH_PE_sdata4:
		return (uint64_t)(int32_t)xf_cursor_u32(cursor);
	default:
		cursor->failed = true;
		return 0;
	}
}

uint64_t xf_frame_read_address(struct xf_cursor *cursor, uint8_t encoding, uint64_t address)
{
	uint64_t value = read_value(cursor, encoding & 0x0f);

	switch (encoding & 0xf0) {
	case DW_EH_PE_absptr:
		return value;
	case DW_EH_PE_pcrel:
		return cursor->failed ? 0 : value + address;
	default:
		cursor->failed = true;
		return 0;
	}
}

/* ---- Rules ----------------------------------------------------------------------------------- */

/* Return: where the rule of register @reg is kept, or NULL where it is not. */
static struct xf_frame_rule *rule_of(struct xf_frame_rules *rules, uint64_t reg)
{
	switch (reg) {
	case XF_DWARF_RBP:
		return &rules->rbp;
	case XF_DWARF_RSP:
		return &rules->rsp;
	case XF_DWARF_RIP:
		return &rules->rip;
	default:
		return NULL;
	}
}

static void set(struct xf_frame_program *program, uint64_t reg, struct xf_frame_rule rule)
{
	struct xf_frame_rule *place = rule_of(&program->rules, reg);

	if (place != NULL)
		*place = rule;
}

static void set_kind(struct xf_frame_program *program, uint64_t reg, enum xf_rule_kind kind)
{
	set(program, reg, (struct xf_frame_rule){.kind = kind});
}

static int64_t scaled(const struct xf_frame_program *program, uint64_t number)
{
	return (int64_t)(number * (uint64_t)program->form->data_factor);
}

static void set_offset(struct xf_frame_program *program, uint64_t reg, enum xf_rule_kind kind,
                       uint64_t number)
{
	set(program, reg, (struct xf_frame_rule){.kind = kind, .offset = scaled(program, number)});
}

static struct xf_frame_rule read_expression(struct xf_cursor *from, enum xf_rule_kind kind)
{
	uint64_t size = xf_cursor_uleb(from);

	return (struct xf_frame_rule){
	        .kind = kind, .expression = xf_cursor_take(from, size), .expression_size = size};
}

static void restore(struct xf_frame_program *program, uint64_t reg)
{
	struct xf_frame_rules initial;

	if (program->initial == NULL) {
		program->failed = true;
		return;
	}
	initial = *program->initial;
	if (rule_of(&initial, reg) != NULL)
		set(program, reg, *rule_of(&initial, reg));
}

static void remember(struct xf_frame_program *program)
{
	if (program->nr_remembered == XF_MOST_REMEMBERED)
		program->failed = true;
	else
		program->remembered[program->nr_remembered++] = program->rules;
}

static void recall(struct xf_frame_program *program)
{
	if (program->nr_remembered == 0)
		program->failed = true;
	else
		program->rules = program->remembered[--program->nr_remembered];
}

/* ---- The canonical frame address ------------------------------------------------------------- */

static void set_cfa(struct xf_frame_program *program, uint64_t reg, int64_t offset)
{
	program->rules.cfa =
	        (struct xf_frame_rule){.kind = XF_RULE_VALUE, .reg = reg, .offset = offset};
}

/* Another register or offset makes sense only where there is one of each: what is said after an
 * expression (libgcrypt has that) is of no use up to the next full rule. */
static void change_cfa(struct xf_frame_program *program, const uint64_t *reg, const int64_t *offset)
{
	struct xf_frame_rule *cfa = &program->rules.cfa;

	if (cfa->kind != XF_RULE_VALUE)
		cfa->kind = XF_RULE_NONE;
	if (reg != NULL)
		cfa->reg = *reg;
	if (offset != NULL)
		cfa->offset = *offset;
}

/* Return: whether @code was one of the CFA's. */
static bool apply_to_cfa(struct xf_frame_program *program, uint8_t code)
{
	struct xf_cursor *from = &program->instructions;
	uint64_t reg = 0;
	int64_t offset;

	switch (code) {
	case DW_CFA_def_cfa:
		reg = xf_cursor_uleb(from);
		set_cfa(program, reg, (int64_t)xf_cursor_uleb(from));
		return true;
	case DW_CFA_def_cfa_sf:
		reg = xf_cursor_uleb(from);
		set_cfa(program, reg, scaled(program, (uint64_t)xf_cursor_sleb(from)));
		return true;
	case DW_CFA_def_cfa_register:
		reg = xf_cursor_uleb(from);
		change_cfa(program, &reg, NULL);
		return true;
	case DW_CFA_def_cfa_offset:
		offset = (int64_t)xf_cursor_uleb(from);
		change_cfa(program, NULL, &offset);
		return true;
	case DW_CFA_def_cfa_offset_sf:
		offset = scaled(program, (uint64_t)xf_cursor_sleb(from));
		change_cfa(program, NULL, &offset);
		return true;
	case DW_CFA_def_cfa_expression:
		program->rules.cfa = read_expression(from, XF_RULE_VALUE_EXPRESSION);
		return true;
	default:
		return false;
	}
}

/* ---- All other instructions ------------------------------------------------------------------ */

/* Those that say something of a register, whose number comes first. */
static void apply_to_register(struct xf_frame_program *program, uint8_t code)
{
	struct xf_cursor *from = &program->instructions;
	uint64_t reg = xf_cursor_uleb(from);

	switch (code) {
	case DW_CFA_undefined:
		set_kind(program, reg, XF_RULE_UNDEFINED);
		break;
	case DW_CFA_same_value:
		set_kind(program, reg, XF_RULE_SAME);
		break;
	case DW_CFA_register:
		xf_cursor_uleb(from);
		set_kind(program, reg, XF_RULE_REGISTER);
		break;
	case DW_CFA_offset_extended:
		set_offset(program, reg, XF_RULE_AT, xf_cursor_uleb(from));
		break;
	case DW_CFA_offset_extended_sf:
		set_offset(program, reg, XF_RULE_AT, (uint64_t)xf_cursor_sleb(from));
		break;
	case DW_CFA_val_offset:
		set_offset(program, reg, XF_RULE_VALUE, xf_cursor_uleb(from));
		break;
	case DW_CFA_val_offset_sf:
		set_offset(program, reg, XF_RULE_VALUE, (uint64_t)xf_cursor_sleb(from));
		break;
	case DW_CFA_expression:
		set(program, reg, read_expression(from, XF_RULE_AT_EXPRESSION));
		break;
	case DW_CFA_val_expression:
		set(program, reg, read_expression(from, XF_RULE_VALUE_EXPRESSION));
		break;
	case DW_CFA_restore_extended:
		restore(program, reg);
		break;
	default:
		program->failed = true;
	}
}

static void move_to(struct xf_frame_program *program, uint64_t address)
{
	if (address < program->from)
		program->failed = true;
	else
		program->next = address < program->end ? address : program->end;
}

static void move_by(struct xf_frame_program *program, uint64_t number)
{
	uint64_t bytes, address;

	if (__builtin_mul_overflow(number, program->form->code_factor, &bytes) ||
	    __builtin_add_overflow(program->from, bytes, &address))
		program->failed = true;
	else
		move_to(program, address);
}

/* Return: whether @code was one that goes on in the code. */
static bool apply_to_location(struct xf_frame_program *program, uint8_t code)
{
	struct xf_cursor *from = &program->instructions;

	switch (code) {
	case DW_CFA_set_loc:
		move_to(program,
		        xf_frame_read_address(from, program->form->address_encoding,
		                              program->instructions_address + from->position));
		return true;
	case DW_CFA_advance_loc1:
		move_by(program, xf_cursor_u8(from));
		return true;
	case DW_CFA_advance_loc2:
		move_by(program, xf_cursor_u16(from));
		return true;
	case DW_CFA_advance_loc4:
		move_by(program, xf_cursor_u32(from));
		return true;
	default:
		return false;
	}
}

/* Return: whether @code was one that is about no register in particular. */
static bool apply_to_all(struct xf_frame_program *program, uint8_t code)
{
	switch (code) {
	case DW_CFA_nop:
		return true;
	case DW_CFA_remember_state:
		remember(program);
		return true;
	case DW_CFA_restore_state:
		recall(program);
		return true;
	case DW_CFA_GNU_args_size:
		xf_cursor_uleb(&program->instructions);
		return true;
	default:
		return false;
	}
}

static void apply(struct xf_frame_program *program)
{
	uint8_t code = xf_cursor_u8(&program->instructions), low = code & 0x3f;

	switch (code & 0xc0) {
	case DW_CFA_advance_loc:
		move_by(program, low);
		break;
	case DW_CFA_offset:
		set_offset(program, low, XF_RULE_AT, xf_cursor_uleb(&program->instructions));
		break;
	case DW_CFA_restore:
		restore(program, low);
		break;
	default:
		if (!apply_to_location(program, code) && !apply_to_cfa(program, code) &&
		    !apply_to_all(program, code))
			apply_to_register(program, code);
	}
	program->failed |= program->instructions.failed;
}

bool xf_frame_program_step(struct xf_frame_program *program)
{
	program->from = program->next;
	while (!program->failed && program->next == program->from &&
	       xf_cursor_left(&program->instructions) != 0)
		apply(program);
	if (program->next == program->from)
		program->next = program->end;
	return !program->failed && program->from < program->end;
}

bool xf_frame_program_run_common(struct xf_frame_program *program)
{
	program->from = program->next = 0;
	program->end = UINT64_MAX;
	while (!program->failed && xf_cursor_left(&program->instructions) != 0)
		apply(program);
	return !program->failed && program->next == program->from;
}
