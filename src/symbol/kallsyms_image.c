// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/kallsyms_image.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"

#define NR_TOKENS   256ul
#define INDEX_BYTES (2 * NR_TOKENS)
#define TOKEN_BYTES 128u /* more than any token has */

/* Of the tables, since 7.0 and before. */
#define ALIGNMENT     4u
#define OLD_ALIGNMENT 8u

#define LEAST_SYMBOLS 64u
#define MOST_SYMBOLS  (1u << 20)
#define NAMES_A_MARK  256u
#define ORDER_BYTES   3u /* of each name */
/* Linux's own limit is 512 with the terminator (KSYM_NAME_LEN). */
#define NAME_BYTES    512u

/* So many names and places are gone through in search of the tables, at most. */
#define MOST_WORK  (64u << 20)
#define MOST_BYTES (64u << 20) /* of text */

/* What a number counts from. */
enum numbers {
	FROM_BASE,
	OR_ABSOLUTE, /* or it is one that does not count from there */
	FROM_PLACE   /* its own */
};

struct tables {
	struct xf_cursor bytes; /* the whole of .rodata */
	uint64_t address;       /* where that lies */
	uint64_t base;
	size_t tokens; /* where each table begins */
	size_t index;
	size_t names;
	size_t numbers;
	uint32_t nr;
	enum numbers kind;
	unsigned int alignment; /* which of the two: its names are found with one of them */
	const char *token[NR_TOKENS];
	uint32_t *places; /* of each 256th name, as they have been found */
	uint64_t work;
};

static size_t aligned(size_t position, unsigned int alignment)
{
	return (position + alignment - 1) & ~((size_t)alignment - 1);
}

static struct xf_cursor at(const struct tables *tables, size_t position)
{
	struct xf_cursor cursor = tables->bytes;

	xf_cursor_seek(&cursor, position);
	return cursor;
}

/* ---- Tokens ---------------------------------------------------------------------------------- */

/* Return: whether an index may lie here: where texts begin, one after the other from 0 on. */
static bool is_index(struct xf_cursor cursor, uint16_t *last)
{
	uint16_t before = xf_cursor_u16(&cursor);

	if (before || xf_cursor_left(&cursor) < INDEX_BYTES - 2)
		return false;
	for (unsigned int i = 1; i < NR_TOKENS; i++) {
		uint16_t place = xf_cursor_u16(&cursor);

		if (place <= before || place > before + TOKEN_BYTES)
			return false;
		before = place;
	}
	*last = before;
	/* A table of 0, 1, 2 ... may have as many zeros before it. */
	return before >= NR_TOKENS;
}

/* Return: whether these are the texts that the index at @index is of, which begins behind them. */
static bool try_tokens(struct tables *tables, size_t tokens, size_t index)
{
	struct xf_cursor all = at(tables, tokens);
	struct xf_cursor text = xf_cursor_sub(&all, index - tokens);
	struct xf_cursor places = at(tables, index);

	for (unsigned int i = 0; i < NR_TOKENS; i++) {
		if (text.position != xf_cursor_u16(&places))
			return false;
		tables->token[i] = xf_cursor_string(&text);
		if (!tables->token[i])
			return false;
	}
	tables->tokens = tokens;
	tables->index = index;
	return xf_cursor_left(&text) < OLD_ALIGNMENT;
}

/* Moves on from *@index to the next index that has its texts before it. */
static bool next_tokens(struct tables *tables, size_t *index)
{
	uint16_t last;

	for (; *index + INDEX_BYTES <= tables->bytes.size; *index += ALIGNMENT) {
		if (!is_index(at(tables, *index), &last))
			continue;
		for (size_t size = aligned(last + 1u, ALIGNMENT);
		     size <= aligned(last + TOKEN_BYTES, OLD_ALIGNMENT); size += ALIGNMENT)
			if (size <= *index && try_tokens(tables, *index - size, *index))
				return true;
	}
	return false;
}

/* ---- Names ----------------------------------------------------------------------------------- */

/* Moves past a name's length. Since 6.1 it may have two bytes. */
static size_t take_length(struct xf_cursor *names)
{
	size_t length = xf_cursor_u8(names);

	return length & 0x80 ? (length & 0x7f) | (size_t)xf_cursor_u8(names) << 7 : length;
}

/* Walks through the names up to where they end. Return: false where that is beyond the tokens. */
static bool walk_names(struct tables *tables, struct xf_cursor *names)
{
	size_t start = names->position;

	for (uint32_t i = 0; i < tables->nr; i++) {
		if (i % NAMES_A_MARK == 0)
			tables->places[i / NAMES_A_MARK] = (uint32_t)(names->position - start);
		size_t length = take_length(names);

		xf_cursor_take(names, length);
		tables->work++;
		if (!length || names->failed || names->position > tables->tokens)
			return false;
	}
	return true;
}

/* Since 7.0 the marks end where the tokens begin. Return: whether the second one says where the
 * names are that it is for: a count of 32 bits is soon seen in what is none. */
static bool is_marked(struct tables *tables, struct xf_cursor names)
{
	size_t start = names.position;
	size_t bytes = ((size_t)tables->nr + NAMES_A_MARK - 1) / NAMES_A_MARK * 4;
	struct xf_cursor marks;

	if (bytes > tables->tokens - start)
		return false;
	if (tables->nr <= NAMES_A_MARK)
		return true;
	for (uint32_t i = 0; i < NAMES_A_MARK; i++)
		xf_cursor_take(&names, take_length(&names));
	tables->work += NAMES_A_MARK;
	marks = at(tables, tables->tokens - bytes + 4);
	return xf_cursor_u32(&marks) == names.position - start && !names.failed;
}

/* Return: whether the marks behind the names say where they are. */
static bool check_marks(const struct tables *tables, struct xf_cursor *cursor)
{
	for (uint32_t i = 0; i < tables->nr; i += NAMES_A_MARK)
		if (xf_cursor_u32(cursor) != tables->places[i / NAMES_A_MARK])
			return false;
	return !cursor->failed;
}

/* Return: whether a count and its names begin at @count and reach to the tokens. */
static bool try_names(struct tables *tables, size_t count, unsigned int alignment)
{
	struct xf_cursor cursor = at(tables, count);
	size_t end;

	tables->alignment = alignment;
	tables->nr = xf_cursor_u32(&cursor);
	if ((alignment == OLD_ALIGNMENT && xf_cursor_u32(&cursor)) || tables->nr < LEAST_SYMBOLS ||
	    tables->nr > MOST_SYMBOLS || tables->nr > (tables->tokens - count) / 2)
		return false;
	tables->names = cursor.position;
	if (alignment == ALIGNMENT && !is_marked(tables, cursor))
		return false;
	if (!walk_names(tables, &cursor))
		return false;
	xf_cursor_seek(&cursor, aligned(cursor.position, alignment));
	if (!check_marks(tables, &cursor))
		return false;
	end = aligned(cursor.position, alignment);
	return end == tables->tokens ||
	       aligned(end + (size_t)tables->nr * ORDER_BYTES, alignment) == tables->tokens;
}

static bool find_names(struct tables *tables, size_t *count)
{
	for (*count = tables->tokens; *count >= OLD_ALIGNMENT && tables->work < MOST_WORK;) {
		*count -= ALIGNMENT;
		tables->work++;
		if ((*count % OLD_ALIGNMENT == 0 && try_names(tables, *count, OLD_ALIGNMENT)) ||
		    try_names(tables, *count, ALIGNMENT))
			return true;
	}
	return false;
}

/* ---- Addresses ------------------------------------------------------------------------------- */

static uint64_t take_address(const struct tables *tables, struct xf_cursor *numbers)
{
	uint64_t place = tables->address + numbers->position;
	uint32_t number = xf_cursor_u32(numbers);
	int32_t value = (int32_t)number;

	if (tables->kind == FROM_PLACE)
		return place + (uint64_t)(int64_t)value;
	if (tables->kind == FROM_BASE)
		return tables->base + number;
	return value < 0 ? tables->base + (uint64_t)(-1 - (int64_t)value) : number;
}

/* The symbols are in the order of their addresses, and are the kernel's: where they count from its
 * base they need not tell that it begins there. */
static bool check_order(struct tables *tables, enum numbers kind)
{
	struct xf_cursor numbers = at(tables, tables->numbers);
	bool begins = kind != FROM_PLACE;
	uint64_t before = 0;

	tables->kind = kind;
	for (uint32_t i = 0; i < tables->nr; i++) {
		uint64_t address = take_address(tables, &numbers);

		if (address < before)
			return false;
		before = address;
		begins = begins || address == tables->base;
	}
	return !numbers.failed && begins && before > tables->base;
}

/* Return: whether there are numbers at @numbers and their base at @base. */
static bool try_numbers(struct tables *tables, size_t numbers, size_t base)
{
	struct xf_cursor cursor = at(tables, base);

	if (xf_cursor_u64(&cursor) != tables->base)
		return false;
	tables->numbers = numbers;
	return check_order(tables, FROM_BASE) || check_order(tables, OR_ABSOLUTE);
}

/* Before the count at @count, or behind the index. */
static bool find_numbers(struct tables *tables, size_t count)
{
	size_t bytes = aligned((size_t)tables->nr * 4, tables->alignment);
	size_t behind = tables->index + INDEX_BYTES;

	if (count >= bytes + 8 && try_numbers(tables, count - 8 - bytes, count - 8))
		return true;
	if (try_numbers(tables, behind, behind + bytes))
		return true;
	tables->numbers = behind;
	return check_order(tables, FROM_PLACE);
}

static bool find_tables(struct tables *tables)
{
	size_t count;

	for (size_t index = 0; next_tokens(tables, &index); index += ALIGNMENT)
		if (find_names(tables, &count) && find_numbers(tables, count))
			return true;
	return false;
}

/* ---- Text ------------------------------------------------------------------------------------ */

/* Spells the next name, its type before it. Return: its length; 0 where it is none. */
static size_t spell(const struct tables *tables, struct xf_cursor *names, char name[NAME_BYTES + 1])
{
	size_t used = 0;

	for (size_t left = take_length(names); left > 0; left--)
		for (const char *token = tables->token[xf_cursor_u8(names)]; *token; token++) {
			if (used == NAME_BYTES || *token <= ' ' || *token > '~')
				return 0;
			name[used++] = *token;
		}
	name[used] = '\0';
	return used > 1 ? used : 0;
}

/* Room for one line more. Return: false where there is no memory, or far too much text. */
static bool make_room(char **text, size_t used, size_t *room)
{
	char *larger;

	if (*room - used > NAME_BYTES + 32)
		return true;
	if (*room >= MOST_BYTES)
		return false;
	*room = *room ? *room * 2 : 1 << 20;
	larger = realloc(*text, *room);
	if (!larger)
		return false;
	*text = larger;
	return true;
}

static int write_text(const struct tables *tables, char **text, size_t *size,
                      struct xf_error *error)
{
	struct xf_cursor names = at(tables, tables->names);
	struct xf_cursor numbers = at(tables, tables->numbers);
	char name[NAME_BYTES + 1], *made = NULL;
	size_t room = 0, used = 0;

	for (uint32_t i = 0; i < tables->nr; i++) {
		uint64_t address = take_address(tables, &numbers);

		if (!spell(tables, &names, name) || !make_room(&made, used, &room)) {
			free(made);
			return xf_fail(error, -ENOENT,
			               "its own table of symbols is damaged, at symbol %" PRIu32,
			               i);
		}
		used += (size_t)snprintf(made + used, room - used, "%016" PRIx64 " %c %s\n",
		                         address, name[0], name + 1);
	}
	*text = made;
	*size = used;
	return 0;
}

int xf_kallsyms_of_image(const void *rodata, size_t size, uint64_t address, uint64_t base,
                         char **text, size_t *text_size, struct xf_error *error)
{
	struct tables *tables = calloc(1, sizeof(*tables));
	uint32_t *places = calloc(MOST_SYMBOLS / NAMES_A_MARK, sizeof(*places));
	int code = -ENOMEM;

	if (!tables || !places) {
		xf_fail(error, code, "no memory for its symbols");
	} else {
		tables->bytes = xf_cursor_over(rodata, size);
		tables->address = address;
		tables->base = base;
		tables->places = places;
		code = find_tables(tables)
		               ? write_text(tables, text, text_size, error)
		               : xf_fail(error, -ENOENT,
		                         "it has no table of its own symbols of a kind that is "
		                         "known (CONFIG_KALLSYMS)");
	}
	free(places);
	free(tables);
	return code;
}
