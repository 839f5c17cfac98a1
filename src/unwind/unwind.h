// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Unwinding without frame pointers or debug info: a table, inferred from machine code alone, that
 * says for each instruction where the return address lies; and a walk that uses it over the few
 * stack words that were captured. Pure: bytes in, frames out.
 *
 * Memory: a table is owned by the caller and shared read-only by any number of walks.
 */
#ifndef XF_UNWIND_UNWIND_H
#define XF_UNWIND_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Why a row is undefined or a walk ended; generated from unwind/reasons.def. */
enum xf_unwind_reason {
#define XF_UNWIND_REASON(id, name, number, sentence) XF_UNWIND_##id = (number),
#include "unwind/reasons.def"
#undef XF_UNWIND_REASON
};

/* Short name (a frame's label in brackets) and sentence of @reason; never NULL. */
const char *xf_unwind_reason_name(enum xf_unwind_reason reason);
const char *xf_unwind_reason_sentence(enum xf_unwind_reason reason);

/* Machine code as it lies in memory. */
struct xf_code {
	uint64_t address;
	const uint8_t *bytes; /* borrowed during the call */
	size_t size;
};

struct xf_unwind_table;

/*
 * Infers the table of @code. @entries are the addresses where functions and other named pieces of
 * code start (any order, duplicates and addresses outside @code allowed, may be empty).
 * Return: 0 and *@table, to be freed with xf_unwind_table_free; -ENOMEM or -EINVAL and @error.
 */
int xf_unwind_table_build(const struct xf_code *code, const uint64_t *entries, size_t nr_entries,
                          struct xf_unwind_table **table, struct xf_error *error);
void xf_unwind_table_free(struct xf_unwind_table *table);

/*
 * One row of a table: how to find, before the instruction at an address, the frame's base. For a
 * called function that is the address just above the return address (DWARF's CFA); for code that
 * an interrupt entered, the address of the interrupted RIP, lowest of the processor's five words.
 */
enum xf_row_kind {
	XF_ROW_UNDEFINED, /* @reason says why */
	XF_ROW_CALL,      /* return address at base - 8; the caller's RSP is the base */
	XF_ROW_INTERRUPT, /* interrupted RIP at base, RSP at base + 24 */
};

enum xf_base_rule {
	XF_BASE_REGISTER, /* base = register + offset */
	XF_BASE_WORD,     /* base = word at (register + offset) + addend */
};

enum xf_rbp_rule {
	XF_RBP_UNKNOWN, /* the caller's RBP is lost, or kept where no sample shows it */
	XF_RBP_SAME,    /* still in the register */
	XF_RBP_AT_BASE, /* in the word at base + offset */
	XF_RBP_AT_RBP,  /* in the word at RBP + offset */
	XF_RBP_AT_RSP,  /* in the word at RSP + offset */
};

struct xf_unwind_row {
	uint8_t kind;          /* enum xf_row_kind */
	uint8_t reason;        /* enum xf_unwind_reason, where undefined */
	uint8_t base_rule;     /* enum xf_base_rule */
	uint8_t base_register; /* number in x86-64 encoding: 4 RSP, 5 RBP, ... */
	uint8_t rbp_rule;      /* enum xf_rbp_rule */
	uint8_t filler;        /* no-operations in interrupt entry code, which may be patched */
	int32_t base_offset;   /* bytes */
	int32_t base_addend;
	int32_t rbp_offset;
};

/*
 * The row for the instruction that begins at, or covers, @address: for a return address ask for
 * the address minus one. For an undefined row only .kind and .reason mean something.
 */
struct xf_unwind_row xf_unwind_row_find(const struct xf_unwind_table *table, uint64_t address);

/*
 * The distance from RSP to the frame's base at @address, in bytes, for callers that want no more.
 * Return: 0 and *@offset; -ENOENT where the row is undefined or not relative to RSP.
 */
int xf_unwind_rsp_offset(const struct xf_unwind_table *table, uint64_t address, int32_t *offset);

/* What a table takes, and how much code it says something about. */
struct xf_unwind_table_size {
	uint64_t address; /* of the code */
	size_t code_bytes;
	size_t nr_rows;      /* rows, equal neighbours merged */
	size_t nr_different; /* different rows among them */
	size_t table_bytes;  /* all of the table's memory */
};

struct xf_unwind_table_size xf_unwind_table_measure(const struct xf_unwind_table *table);

/* One captured stack: the registers, and those of the stack's words that were taken. */
struct xf_walk_input {
	uint64_t rip;
	uint64_t rsp;
	uint64_t rbp;
	uint64_t stack_end;    /* the guest's register frame: a walk that gets here is complete */
	const uint64_t *words; /* XF_WORD encoded (xenflame/sample.h), by rising slot */
	size_t nr_words;
};

struct xf_frame {
	uint64_t address; /* an instruction's address: where it was interrupted, or returns to */
	bool interrupted; /* @address was interrupted exactly here (not a return address) */
};

/*
 * Walks from the interrupted instruction outwards, innermost frame first, into @frames (at most
 * @max). The captured words are data of an adversary: each step is proven to move up the stack
 * and to stay within it.
 * Return: the number of frames, at least 1 where @max is; *@reason is XF_UNWIND_END where the
 * walk reached @stack_end, otherwise why it stopped. @tables are searched in order for the one
 * that covers an address (Xen's image first, then live patches whose code is known).
 */
size_t xf_unwind_walk(const struct xf_unwind_table *const *tables, size_t nr_tables,
                      const struct xf_walk_input *input, struct xf_frame *frames, size_t max,
                      enum xf_unwind_reason *reason);

/*
 * The same of a guest's kernel, Linux, that may have left one stack for another: @stacks are those,
 * innermost first, at least one. A stack's RIP is 0 where the kernel has switched from it without
 * saving registers, in a called function. Each is gone through once, upwards, so that the walk ends
 * whatever the guest has made of its memory.
 * Return as above; *@used is how many stacks the walk came to see. *@reason is XF_UNWIND_USER_MODE
 * where the kernel was entered from user code, XF_UNWIND_END where Linux says that the stack ends.
 */
size_t xf_unwind_walk_kernel(const struct xf_unwind_table *const *tables, size_t nr_tables,
                             const struct xf_walk_input *stacks, size_t nr_stacks,
                             struct xf_frame *frames, size_t max, size_t *used,
                             enum xf_unwind_reason *reason);

/* Finds the row for the instruction that covers @address. Return: NULL where no code is there. */
typedef const struct xf_unwind_row *xf_unwind_find_row_t(void *context, uint64_t address);

/*
 * The same of a process, whose code is in many files: @find tells the rows, which stay where they
 * are while the walk lasts. *@reason is XF_UNWIND_END where a row says that there is no caller.
 */
size_t xf_unwind_walk_user(xf_unwind_find_row_t *find, void *context,
                           const struct xf_walk_input *input, struct xf_frame *frames, size_t max,
                           enum xf_unwind_reason *reason);

#endif
