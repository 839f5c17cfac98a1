// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What is inferred from code against a table that the image itself brings, at every instruction
 * that the table has a rule for. Compared are frames, not rows: a rule by RBP and one by RSP are
 * the same where both lead to the same base.
 */
#ifndef XF_TEST_ELF_AGREE_H
#define XF_TEST_ELF_AGREE_H

#include <stdio.h>

#include "unwind/infer.h"

enum difference {
	DIFFERENT_OFFSET,   /* both by RSP */
	DIFFERENT_ENTRY,    /* called for one, interrupted for the other */
	DIFFERENT_REGISTER, /* the table's register holds nothing that is known to us */
	DIFFERENT_WORD,     /* the table goes through a word on the stack */
	NR_DIFFERENCES,
};

extern const char *const difference_names[NR_DIFFERENCES];

#define NR_GROUNDS (XF_GROUND_APART + 1)

extern const char *const ground_names[NR_GROUNDS];

struct agreement {
	unsigned long filler; /* not counted below */
	unsigned long inside; /* rules that begin inside an instruction; not counted below */
	unsigned long all;
	unsigned long equal;
	unsigned long undefined[256]; /* by enum xf_unwind_reason, ours */
	unsigned long blind; /* RSP moves where the table has one rule by RSP: it is wrong */
	unsigned long different[NR_DIFFERENCES];
	unsigned long grounds[NR_GROUNDS]; /* the same, by what ours stands on: enum xf_ground */
	/* The caller's RBP, where the base is equal. */
	unsigned long rbp_equal, rbp_unknown, rbp_different;
	unsigned long beyond; /* ours has a row where the table has none */
	FILE *list;           /* every difference, a line each; NULL: none */
};

/* What is known before the instruction at an offset. */
struct known {
	uint32_t number; /* of the state; 0: nothing */
	uint8_t ground;  /* enum xf_ground */
};

/* The inference keeps states by block. Return: what is known at each offset, to be freed; NULL
 * without memory. */
struct known *spread_states(struct xf_inference *inference);

/* Adds what @truth and the inference over @code, which has its addresses, say of each other.
 * Return: 0 or -ENOMEM. */
int agree(const struct xf_code *code, const uint64_t *entries, size_t nr_entries,
          const struct xf_unwind_table *truth, struct agreement *agreement);

/*
 * Does RSP move in the code from @from to @to, in a way that one rule by RSP cannot be right
 * about? A table's maker who does not see a push in inline assembly leaves such a place. By Zydis
 * alone, so that our inference has no say.
 */
bool moves_rsp(const struct xf_code *code, uint64_t from, uint64_t to);

/* Prints the counts. */
void agree_report(const struct agreement *agreement, FILE *out);

#endif
