// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A stripped kernel's own table of symbols, as kernels up to 6.3 have it in .rodata
 * (scripts/kallsyms.c): for each symbol a 32-bit number, in order, which, negated and less one, is
 * the distance from a 64-bit base behind them; then the number of symbols; their names, each a
 * length and as many tokens; a marker for each 256 names; in later ones, the names' order; what the
 * tokens stand for; and where in that each token's text begins. All begin at multiples of eight.
 */
#ifndef XF_TEST_ELF_KALLSYMS_H
#define XF_TEST_ELF_KALLSYMS_H

#include <stddef.h>
#include <stdint.h>

/*
 * Finds the table in the @size bytes of .rodata, given its base, the kernel's first byte of code.
 * Return: the addresses of the symbols of code that are functions, *@nr of them, to be freed by the
 * caller; NULL where there is no table, or no memory.
 */
uint64_t *kallsyms_functions(const void *rodata, size_t size, uint64_t base, size_t *nr);

#endif
