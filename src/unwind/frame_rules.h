// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The instructions of call frame information (DWARF 5, 6.4.2), carried out: which rules hold from
 * which address on. Only what a walk asks for is kept: the canonical frame address, RBP, RSP and
 * the return address; rules of all other registers are read over. Pure, and without any memory
 * that the instructions could make grow.
 */
#ifndef XF_UNWIND_FRAME_RULES_H
#define XF_UNWIND_FRAME_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"

enum xf_rule_kind {
	XF_RULE_NONE,      /* nothing was said */
	XF_RULE_UNDEFINED, /* lost; of the return address: there is no caller */
	XF_RULE_SAME,
	XF_RULE_AT,               /* in the word at the CFA + offset */
	XF_RULE_VALUE,            /* the CFA + offset; of the CFA itself: reg + offset */
	XF_RULE_REGISTER,         /* in another register */
	XF_RULE_AT_EXPRESSION,    /* in the word at what the expression gives */
	XF_RULE_VALUE_EXPRESSION, /* what the expression gives */
};

struct xf_frame_rule {
	uint8_t kind; /* enum xf_rule_kind */
	uint64_t reg; /* DWARF's number; any at all */
	int64_t offset;
	const uint8_t *expression; /* borrowed from the section */
	size_t expression_size;
};

struct xf_frame_rules {
	struct xf_frame_rule cfa, rbp, rsp, rip;
};

/* What the x86-64 ABI has before anything is said: RBP is kept, RSP is the CFA. */
struct xf_frame_rules xf_frame_rules_of_abi(void);

/* How addresses and numbers are written in an entry. */
struct xf_frame_form {
	uint64_t code_factor;
	int64_t data_factor;
	uint8_t address_encoding; /* DW_EH_PE_... */
};

/* Reads an address written with @encoding (Linux Standard Base 5.0, 10.5.1) whose bytes lie at
 * @address. Return: the address; 0 and @cursor failed where bytes are missing or it is written in a
 * way that programs for x86-64 do not have. */
uint64_t xf_frame_read_address(struct xf_cursor *cursor, uint8_t encoding, uint64_t address);

/* Compilers nest none or one. */
#define XF_MOST_REMEMBERED 8

/* Instructions on their way. To be set: all above the line. */
struct xf_frame_program {
	struct xf_cursor instructions;
	uint64_t instructions_address;
	const struct xf_frame_form *form;
	const struct xf_frame_rules *initial; /* for restoring; NULL within a CIE */
	uint64_t next, end;                   /* first the function's start and end */
	struct xf_frame_rules rules;
	/* ---- */
	uint64_t from; /* where @rules hold, up to @next */
	struct xf_frame_rules remembered[XF_MOST_REMEMBERED];
	unsigned int nr_remembered;
	bool failed;
};

/*
 * Goes on to the next range of addresses: rules hold from .from up to .next.
 * Return: false at the end of the function, or where the instructions make no sense; .from is then
 * the first address that nothing was said about, the function's end if none.
 */
bool xf_frame_program_step(struct xf_frame_program *program);

/* Carries out all instructions of a CIE, which name no addresses. Return: false where they make no
 * sense. */
bool xf_frame_program_run_common(struct xf_frame_program *program);

#endif
