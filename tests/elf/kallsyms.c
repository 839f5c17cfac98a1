// SPDX-License-Identifier: GPL-2.0-or-later
#include "elf/kallsyms.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"

#define LEAST_SYMBOLS 10000u
#define NR_TOKENS     256
#define MOST_NAME     1024
/* For each symbol, its place in the order of names. */
#define ORDER_BYTES   3

struct table {
	uint64_t base;
	uint32_t nr;
	struct xf_cursor numbers;
	struct xf_cursor names;
	const char *tokens[NR_TOKENS];
};

static void align(struct xf_cursor *cursor)
{
	xf_cursor_seek(cursor, (cursor->position + 7) & ~(size_t)7);
}

/* Moves past a name's length. Since 6.1 it may have two bytes. */
static size_t take_length(struct xf_cursor *names)
{
	size_t length = xf_cursor_u8(names);

	return length & 0x80 ? (length & 0x7f) | (size_t)xf_cursor_u8(names) << 7 : length;
}

/* Do the tokens begin at @rest? An index behind them says where each one's text does. */
static bool try_tokens(struct xf_cursor rest, struct table *table)
{
	size_t start, places[NR_TOKENS];

	align(&rest);
	start = rest.position;
	for (int i = 0; i < NR_TOKENS; i++) {
		places[i] = rest.position - start;
		table->tokens[i] = xf_cursor_string(&rest);
	}
	align(&rest);
	for (int i = 0; i < NR_TOKENS; i++)
		if (xf_cursor_u16(&rest) != places[i])
			return false;
	return !rest.failed;
}

/* Does the table lie around @base_at, where the base's value was found? */
static bool try_table(struct xf_cursor rodata, size_t base_at, struct table *table)
{
	struct xf_cursor rest = rodata;
	size_t numbers_size;

	xf_cursor_seek(&rest, base_at + 8);
	table->nr = xf_cursor_u32(&rest);
	numbers_size = ((size_t)table->nr * 4 + 7) & ~(size_t)7;
	if (table->nr < LEAST_SYMBOLS || numbers_size > base_at)
		return false;
	table->numbers = rodata;
	xf_cursor_seek(&table->numbers, base_at - numbers_size);
	align(&rest);
	table->names = rest;
	for (uint32_t i = 0; i < table->nr; i++)
		xf_cursor_take(&rest, take_length(&rest));
	align(&rest);
	xf_cursor_take(&rest, ((size_t)table->nr + 255) / 256 * 4);
	if (try_tokens(rest, table))
		return true;
	align(&rest);
	xf_cursor_take(&rest, (size_t)table->nr * ORDER_BYTES);
	return try_tokens(rest, table);
}

/* Spells the next name, its type before it, into @name. */
static void spell(struct table *table, char name[MOST_NAME])
{
	size_t used = 0;

	for (size_t left = take_length(&table->names); left > 0; left--) {
		const char *token = table->tokens[xf_cursor_u8(&table->names)];

		for (; *token && used + 1 < MOST_NAME; token++)
			name[used++] = *token;
	}
	name[used] = 0;
}

/* The compiler puts what it thinks unlikely apart, as NAME.cold: it is jumped to, with NAME's
 * frame, and is no function. */
static bool is_function(const char *name)
{
	return strchr("tTwW", name[0]) != NULL && strstr(name, ".cold") == NULL;
}

static uint64_t *take_functions(struct table *table, size_t *nr)
{
	uint64_t *found = calloc(table->nr, sizeof(*found));
	char name[MOST_NAME];

	*nr = 0;
	for (uint32_t i = 0; found != NULL && i < table->nr; i++) {
		int32_t number = (int32_t)xf_cursor_u32(&table->numbers);

		spell(table, name);
		if (number < 0 && is_function(name))
			found[(*nr)++] = table->base + (uint64_t)(-1 - (int64_t)number);
	}
	return found;
}

uint64_t *kallsyms_functions(const void *rodata, size_t size, uint64_t base, size_t *nr)
{
	struct table table = {.base = base};
	struct xf_cursor cursor = xf_cursor_over(rodata, size);

	for (size_t at = 0; at + 8 <= size; at += 8) {
		xf_cursor_seek(&cursor, at);
		if (xf_cursor_u64(&cursor) == base &&
		    try_table(xf_cursor_over(rodata, size), at, &table))
			return take_functions(&table, nr);
	}
	return NULL;
}
