// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/symbols.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Names are offsets while the arena can still move, and pointers once it cannot (finish). */
struct entry {
	uint64_t address;
	uint64_t size;
	size_t name;
	char type;
};

struct xf_symbols {
	struct entry *entries;
	size_t nr;
	size_t allocated;
	char *arena;
	size_t arena_used;
	size_t arena_allocated;
	struct xf_symbol *sorted; /* NULL until finish */
	size_t *by_name;          /* indices into @sorted, by name then address */
};

struct xf_symbols *xf_symbols_new(void)
{
	return calloc(1, sizeof(struct xf_symbols));
}

void xf_symbols_free(struct xf_symbols *symbols)
{
	if (!symbols)
		return;
	free(symbols->entries);
	free(symbols->arena);
	free(symbols->sorted);
	free(symbols->by_name);
	free(symbols);
}

static int reserve_entry(struct xf_symbols *symbols)
{
	size_t wanted = symbols->allocated ? symbols->allocated * 2 : 1024;
	struct entry *entries;

	if (symbols->nr < symbols->allocated)
		return 0;
	entries = reallocarray(symbols->entries, wanted, sizeof(*entries));
	if (!entries)
		return -ENOMEM;
	symbols->entries = entries;
	symbols->allocated = wanted;
	return 0;
}

static int reserve_name(struct xf_symbols *symbols, size_t size)
{
	size_t wanted = symbols->arena_allocated ? symbols->arena_allocated : 16384;
	char *arena;

	if (size <= symbols->arena_allocated - symbols->arena_used)
		return 0;
	while (wanted - symbols->arena_used < size)
		wanted *= 2;
	arena = realloc(symbols->arena, wanted);
	if (!arena)
		return -ENOMEM;
	symbols->arena = arena;
	symbols->arena_allocated = wanted;
	return 0;
}

int xf_symbols_add(struct xf_symbols *symbols, uint64_t address, uint64_t size, char type,
                   const char *name)
{
	size_t name_size = strlen(name) + 1;

	if (reserve_entry(symbols) || reserve_name(symbols, name_size))
		return -ENOMEM;
	symbols->entries[symbols->nr++] = (struct entry){
	        .address = address, .size = size, .name = symbols->arena_used, .type = type};
	memcpy(symbols->arena + symbols->arena_used, name, name_size);
	symbols->arena_used += name_size;
	return 0;
}

static bool is_text(char type)
{
	return type == 't' || type == 'T' || type == 'w' || type == 'W';
}

static bool is_global(char type)
{
	return isupper((unsigned char)type);
}

static bool is_plain(const char *name)
{
	return name[0] != '.' && name[0] != '_';
}

/* The rule in the header: which of two symbols at one address comes first. */
static int compare_aliases(const struct xf_symbol *a, const struct xf_symbol *b)
{
	/* A mark of an end never hides a name that starts where it stands. */
	if (!a->name[0] != !b->name[0])
		return a->name[0] ? -1 : 1;
	if (is_text(a->type) != is_text(b->type))
		return is_text(a->type) ? -1 : 1;
	if (is_global(a->type) != is_global(b->type))
		return is_global(a->type) ? -1 : 1;
	if (a->size != b->size)
		return a->size > b->size ? -1 : 1;
	if (is_plain(a->name) != is_plain(b->name))
		return is_plain(a->name) ? -1 : 1;
	return strcmp(a->name, b->name);
}

static int compare_symbols(const void *left, const void *right)
{
	const struct xf_symbol *a = left;
	const struct xf_symbol *b = right;

	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	return compare_aliases(a, b);
}

static int compare_by_name(const void *left, const void *right, void *context)
{
	const struct xf_symbol *sorted = context;
	size_t a = *(const size_t *)left;
	size_t b = *(const size_t *)right;
	int order = strcmp(sorted[a].name, sorted[b].name);

	if (order)
		return order;
	return a < b ? -1 : a > b;
}

void xf_symbols_finish(struct xf_symbols *symbols)
{
	free(symbols->sorted);
	free(symbols->by_name);
	/* Without memory here the table answers as an empty one would: names are missing, nothing
	   is wrong. */
	symbols->sorted = calloc(symbols->nr ? symbols->nr : 1, sizeof(*symbols->sorted));
	symbols->by_name = calloc(symbols->nr ? symbols->nr : 1, sizeof(*symbols->by_name));
	if (!symbols->sorted || !symbols->by_name) {
		symbols->nr = 0;
		return;
	}
	for (size_t i = 0; i < symbols->nr; i++) {
		const struct entry *entry = &symbols->entries[i];

		symbols->sorted[i] = (struct xf_symbol){.address = entry->address,
		                                        .size = entry->size,
		                                        .name = symbols->arena + entry->name,
		                                        .type = entry->type};
		symbols->by_name[i] = i;
	}
	qsort(symbols->sorted, symbols->nr, sizeof(*symbols->sorted), compare_symbols);
	qsort_r(symbols->by_name, symbols->nr, sizeof(*symbols->by_name), compare_by_name,
	        symbols->sorted);
}

/* Return: how many symbols start at or below @address. */
static size_t count_up_to(const struct xf_symbols *symbols, uint64_t address)
{
	size_t low = 0;
	size_t high = symbols->nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (symbols->sorted[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct xf_symbol *xf_symbols_find(const struct xf_symbols *symbols, uint64_t address)
{
	const struct xf_symbol *found;
	size_t count;

	if (!symbols->sorted)
		return NULL;
	count = count_up_to(symbols, address);
	if (!count)
		return NULL;
	found = &symbols->sorted[count - 1];
	while (found > symbols->sorted && found[-1].address == found->address)
		found--;
	if (!found->name[0])
		return NULL;
	if (found->size && address - found->address >= found->size)
		return NULL;
	return found;
}

const struct xf_symbol *xf_symbols_by_name(const struct xf_symbols *symbols, const char *name)
{
	size_t low = 0;
	size_t high = symbols->nr;

	if (!symbols->sorted)
		return NULL;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(symbols->sorted[symbols->by_name[middle]].name, name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == symbols->nr || strcmp(symbols->sorted[symbols->by_name[low]].name, name) != 0)
		return NULL;
	return &symbols->sorted[symbols->by_name[low]];
}

size_t xf_symbols_first(const struct xf_symbols *symbols, uint64_t address)
{
	return address && symbols->sorted ? count_up_to(symbols, address - 1) : 0;
}

size_t xf_symbols_count(const struct xf_symbols *symbols)
{
	return symbols->nr;
}

const struct xf_symbol *xf_symbols_at(const struct xf_symbols *symbols, size_t index)
{
	return symbols->sorted && index < symbols->nr ? &symbols->sorted[index] : NULL;
}

uint64_t *xf_symbols_entries(const struct xf_symbols *symbols, size_t *nr)
{
	size_t count = xf_symbols_count(symbols);
	uint64_t *entries = calloc(count ? count : 1, sizeof(*entries));

	*nr = 0;
	for (size_t i = 0; entries && i < count; i++) {
		const struct xf_symbol *symbol = xf_symbols_at(symbols, i);

		if (is_text(symbol->type) || symbol->type == '?')
			entries[(*nr)++] = symbol->address;
	}
	return entries;
}

bool xf_symbol_goes_by(const char *name, const char *wanted)
{
	const char *mark = strrchr(name, '#');

	return strcmp(name, wanted) == 0 || (mark && strcmp(mark + 1, wanted) == 0);
}

uint64_t xf_symbols_extent(const struct xf_symbols *symbols, size_t index)
{
	const struct xf_symbol *symbol = xf_symbols_at(symbols, index);
	const struct xf_symbol *next = symbol;

	if (symbol->size)
		return symbol->size;
	while (next && next->address == symbol->address)
		next = xf_symbols_at(symbols, ++index);
	return next ? next->address - symbol->address : UINT64_MAX;
}
