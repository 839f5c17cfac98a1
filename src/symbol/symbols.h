// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A table of symbols: names in one arena, entries sorted by address. Filled once, then read.
 * An address is named by the last symbol at or below it; where several symbols share an address,
 * the documented rule below picks one, always the same.
 */
#ifndef XF_SYMBOL_SYMBOLS_H
#define XF_SYMBOL_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct xf_symbols;

struct xf_symbol {
	uint64_t address;
	uint64_t size;    /* bytes; 0 where the source gives no size */
	const char *name; /* owned by the table */
	char type;        /* as nm prints it: t T for text, d D b B r R ... ; '?' unknown */
};

/* Return: an empty table, NULL without memory. Free with xf_symbols_free. */
struct xf_symbols *xf_symbols_new(void);
void xf_symbols_free(struct xf_symbols *symbols);

/*
 * Adds a symbol; @name is copied. A symbol with an empty name marks an end: addresses from there
 * to the next symbol have no name.
 * Return: 0 or -ENOMEM.
 */
int xf_symbols_add(struct xf_symbols *symbols, uint64_t address, uint64_t size, char type,
                   const char *name);

/*
 * Sorts by address; to be called once after the last add and before any look-up. Of several
 * symbols at one address the first one listed is, in this order: text before others, global
 * before local, the longer known size, names without a leading '.' or '_', the lesser name in
 * byte order.
 */
void xf_symbols_finish(struct xf_symbols *symbols);

/*
 * The symbol that covers @address: the last one at or below it, unless its known size ends before
 * @address or it marks an end.
 * Return: the symbol, valid as long as the table; NULL where none covers it.
 */
const struct xf_symbol *xf_symbols_find(const struct xf_symbols *symbols, uint64_t address);

/* Return: the symbol named @name, NULL where there is none; the first by address if several. */
const struct xf_symbol *xf_symbols_by_name(const struct xf_symbols *symbols, const char *name);

/* Return: the addresses of all symbols of code and of unknown type, *@nr of them, to be freed by
 * the caller; NULL without memory. */
uint64_t *xf_symbols_entries(const struct xf_symbols *symbols, size_t *nr);

/* Static functions of Xen's bear their file's name. Return: whether a function named @name, such as
 * "common/timer.c#timer_softirq_action", goes by @wanted: by all of it or what stands behind '#'.
 */
bool xf_symbol_goes_by(const char *name, const char *wanted);

/* Return: how many bytes the symbol at @index covers: its size, or all up to the next address that
 * has a symbol; UINT64_MAX for the last one. */
uint64_t xf_symbols_extent(const struct xf_symbols *symbols, size_t index);

/* Return: the index of the first symbol, in order of address, at @address or above; the number of
 * symbols where there is none. */
size_t xf_symbols_first(const struct xf_symbols *symbols, uint64_t address);

/* Number of symbols, and the one at @index in order of address. */
size_t xf_symbols_count(const struct xf_symbols *symbols);
const struct xf_symbol *xf_symbols_at(const struct xf_symbols *symbols, size_t index);

#endif
