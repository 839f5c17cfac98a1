// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A DWARF expression worked out without a processor's registers: as far as it comes to a constant,
 * to a distance from a register, or to one from a word that a register points to.
 */
#ifndef XF_UNWIND_EXPRESSION_H
#define XF_UNWIND_EXPRESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum xf_term_kind {
	XF_TERM_CONSTANT, /* offset */
	XF_TERM_REGISTER, /* register + offset */
	XF_TERM_WORD,     /* word at (register + offset) + addend */
};

/* Registers by their DWARF numbers (System V ABI, AMD64 supplement, figure 3.36). */
#define XF_DWARF_RBP 6
#define XF_DWARF_RSP 7
#define XF_DWARF_RIP 16 /* the column of the return address; in expressions, RIP itself */
/* Not one of DWARF's: the canonical frame address, which is our base. */
#define XF_DWARF_CFA 255

struct xf_term {
	uint8_t kind; /* enum xf_term_kind */
	uint8_t reg;
	bool is_value;  /* the thing itself, not where it lies */
	bool has_moved; /* it depends on where in the code RIP is */
	int64_t offset, addend;
};

/* Longer ones are none that a compiler or linker writes. */
#define XF_MOST_EXPRESSION_BYTES 64

/*
 * Works out the expression in @bytes for an instruction at @rip; one that begins @from_cfa finds
 * the canonical frame address on the stack, as rules of registers do. Where the result is of one
 * kind for one @rip it is so for each. Return: false where it comes to something else.
 */
bool xf_expression_evaluate(const uint8_t *bytes, size_t size, bool from_cfa, uint64_t rip,
                            struct xf_term *result);

#endif
