// SPDX-License-Identifier: GPL-2.0-or-later
/* The types of a kernel (BTF), made up, for tests: any, and those that are wanted of Linux. */
#ifndef XF_TEST_UNIT_MADE_BTF_H
#define XF_TEST_UNIT_MADE_BTF_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Documentation/bpf/btf.rst of Linux. */
enum {
	BTF_INT = 1,
	BTF_PTR = 2,
	BTF_ARRAY = 3,
	BTF_STRUCT = 4,
	BTF_UNION = 5,
	BTF_TYPEDEF = 8,
	BTF_VOLATILE = 9,
	BTF_CONST = 10,
	BTF_TYPE_TAG = 18,
	BTF_FLAG = 1 << 7 /* in a structure, offsets have widths in bits */
};

struct made_btf {
	uint8_t types[8192];
	size_t types_size;
	char names[1024];
	size_t names_size;
	uint32_t nr;
};

static void btf_word(struct made_btf *made, uint32_t word)
{
	memcpy(made->types + made->types_size, &word, 4);
	made->types_size += 4;
}

/* Return: where @name stands among the names. */
static uint32_t btf_name(struct made_btf *made, const char *name)
{
	size_t size = strlen(name) + 1, at;

	if (!made->names_size)
		made->names_size = 1;
	for (at = 0; at < made->names_size; at += strlen(made->names + at) + 1)
		if (strcmp(made->names + at, name) == 0)
			return (uint32_t)at;
	memcpy(made->names + at, name, size);
	made->names_size += size;
	return (uint32_t)at;
}

/* Begins a type; @value is its size, or another type. Return: its number. */
static uint32_t btf_type(struct made_btf *made, const char *name, uint32_t kind, uint32_t parts,
                         uint32_t value)
{
	btf_word(made, btf_name(made, name));
	btf_word(made, kind << 24 | parts);
	btf_word(made, value);
	return ++made->nr;
}

static uint32_t btf_int(struct made_btf *made, const char *name, uint32_t bytes)
{
	uint32_t number = btf_type(made, name, BTF_INT, 0, bytes);

	btf_word(made, bytes * 8);
	return number;
}

static uint32_t btf_array(struct made_btf *made, uint32_t element, uint32_t nr)
{
	uint32_t number = btf_type(made, "", BTF_ARRAY, 0, 0);

	btf_word(made, element);
	btf_word(made, element);
	btf_word(made, nr);
	return number;
}

static void btf_member(struct made_btf *made, const char *name, uint32_t type, uint32_t bits)
{
	btf_word(made, btf_name(made, name));
	btf_word(made, type);
	btf_word(made, bits);
}

/* Return: the whole, *@size bytes, to be freed. */
static uint8_t *btf_bytes(const struct made_btf *made, size_t *size)
{
	const uint32_t header[6] = {0xeb9f | 1 << 16,
	                            sizeof(header),
	                            0,
	                            (uint32_t)made->types_size,
	                            (uint32_t)made->types_size,
	                            (uint32_t)made->names_size};
	uint8_t *bytes = malloc(sizeof(header) + made->types_size + made->names_size);

	memcpy(bytes, header, sizeof(header));
	memcpy(bytes + sizeof(header), made->types, made->types_size);
	memcpy(bytes + sizeof(header) + made->types_size, made->names, made->names_size);
	*size = sizeof(header) + made->types_size + made->names_size;
	return bytes;
}

/* ---- Linux's --------------------------------------------------------------------------------- */

/* The types of members, in this order the first of all. */
enum {
	MADE_INT = 1,
	MADE_CHAR,
	MADE_PTR,
	MADE_PID,
	MADE_NAME,
	MADE_FIRST
};

static void btf_basic(struct made_btf *made)
{
	btf_int(made, "int", 4);
	btf_int(made, "char", 1);
	btf_type(made, "", BTF_PTR, 0, 0);
	btf_type(made, "pid_t", BTF_TYPEDEF, 0, MADE_INT);
	btf_array(made, MADE_CHAR, 16);
}

/* One member of a made task_struct. */
struct made_member {
	const char *name;
	uint32_t type, bits;
};

#define MADE_STACK 32u /* bytes */
#define MADE_TASK  100u
#define MADE_COMM  200u
#define MADE_BYTES 256u

static const struct made_member made_members[] = {{"stack", MADE_PTR, MADE_STACK * 8},
                                                  {"pid", MADE_PID, MADE_TASK * 8},
                                                  {"tgid", MADE_PID, MADE_TASK * 8 + 32},
                                                  {"comm", MADE_NAME, MADE_COMM * 8}};

/* All members side by side, but the one named @but (NULL: none), which is @instead (NULL: not
 * there). */
static void btf_task(struct made_btf *made, uint32_t flag, const char *but,
                     const struct made_member *instead)
{
	btf_type(made, "task_struct", BTF_STRUCT | flag, but && !instead ? 3 : 4, MADE_BYTES);
	for (size_t i = 0; i < 4; i++) {
		const struct made_member *member = &made_members[i];

		if (but && strcmp(but, member->name) == 0)
			member = instead;
		if (member)
			btf_member(made, member->name, member->type, member->bits);
	}
}

/* Since 6.2: the pointer 16 bytes behind the beginning, in a structure without a name in a union
 * without one. */
static void btf_hot(struct made_btf *made)
{
	uint32_t inner = btf_type(made, "", BTF_STRUCT, 2, 56), outer;

	btf_member(made, "before", MADE_INT, 0);
	btf_member(made, "current_task", MADE_PTR, 64);
	outer = btf_type(made, "", BTF_UNION, 1, 56);
	btf_member(made, "", inner, 0);
	btf_type(made, "pcpu_hot", BTF_STRUCT, 1, 64);
	btf_member(made, "", outer, 64);
}

#define MADE_HOT 16u

/* Return: those of Linux since 6.2, *@size bytes, to be freed. */
static uint8_t *make_btf(size_t *size)
{
	struct made_btf made = {0};

	btf_basic(&made);
	btf_hot(&made);
	btf_task(&made, 0, NULL, NULL);
	return btf_bytes(&made, size);
}

#endif
