// SPDX-License-Identifier: GPL-2.0-or-later
/* Linux's own tables of symbols, made up, for tests: 300 symbols of which the first is of CPUs' own
 * data, the others
 * "_text", "_stext", t function_N, 64 bytes apart, "_etext", and "linux_banner", which is no code.
 */
#ifndef XF_TEST_UNIT_KALLSYMS_TABLES_H
#define XF_TEST_UNIT_KALLSYMS_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define TABLES_BASE  0xffffffff81000000ull
#define TABLES_NR    300u
#define TABLES_BYTES 16384u
#define TABLES_DATA  (TABLES_BASE + 0x200000) /* where the read-only data would lie */
#define TABLES_TEXT  ((TABLES_NR - 4) * 64)   /* bytes of code */

struct made_tables {
	uint8_t bytes[TABLES_BYTES];
	size_t size;
};

struct tables_kind {
	bool since_6_4;
	bool order;     /* the names' order is there */
	bool absolute;  /* CONFIG_KALLSYMS_ABSOLUTE_PERCPU */
	bool since_7_0; /* each number counts from its own place; alignment is to 4 bytes */
};

static void put(struct made_tables *made, const void *bytes, size_t size)
{
	memcpy(made->bytes + made->size, bytes, size);
	made->size += size;
}

static void put_aligned(struct made_tables *made, struct tables_kind kind)
{
	size_t alignment = kind.since_7_0 ? 4 : 8;

	made->size = (made->size + alignment - 1) & ~(alignment - 1);
}

static uint64_t tables_address(unsigned int i, struct tables_kind kind)
{
	if (i == 0 && kind.absolute)
		return 0x40;
	if (i == TABLES_NR - 1)
		return TABLES_DATA;
	return TABLES_BASE + (i < 3 ? 0 : (uint64_t)(i - 2) * 64);
}

static void tables_name(unsigned int i, char name[32])
{
	static const char *const first[] = {"Apcpu_hot", "T_text", "T_stext"};

	if (i < 3)
		strcpy(name, first[i]);
	else if (i >= TABLES_NR - 2)
		strcpy(name, i == TABLES_NR - 2 ? "T_etext" : "Dlinux_banner");
	else
		sprintf(name, "tfunction_%u", i);
}

static void put_numbers(struct made_tables *made, struct tables_kind kind)
{
	uint64_t base = TABLES_BASE;

	put_aligned(made, kind);
	for (unsigned int i = 0; i < TABLES_NR; i++) {
		uint64_t address = tables_address(i, kind);
		int32_t number = (int32_t)(address - TABLES_BASE);

		if (kind.absolute)
			number = address < TABLES_BASE ? (int32_t)address : -1 - number;
		if (kind.since_7_0)
			number = (int32_t)(address - TABLES_DATA - made->size);
		put(made, &number, sizeof(number));
	}
	put_aligned(made, kind);
	if (!kind.since_7_0)
		put(made, &base, sizeof(base));
}

/* Token 1 stands for "function_", those of letters and digits for themselves, the others for
 * nothing. */
static void put_name(struct made_tables *made, unsigned int i)
{
	char name[32];
	uint8_t coded[32], size = 0;

	tables_name(i, name);
	for (size_t at = 0; name[at]; at++) {
		bool is_function = at == 1 && strncmp(name + 1, "function_", 9) == 0;

		coded[size++] = is_function ? 1 : (uint8_t)name[at];
		at += is_function ? 8 : 0;
	}
	put(made, &size, 1);
	put(made, coded, size);
}

static void put_names(struct made_tables *made, struct tables_kind kind)
{
	const uint32_t nr[2] = {TABLES_NR, 0};
	uint32_t marks[2] = {0, 0};
	size_t start;

	put_aligned(made, kind);
	put(made, nr, kind.since_7_0 ? sizeof(nr[0]) : sizeof(nr));
	start = made->size;
	for (unsigned int i = 0; i < TABLES_NR; i++) {
		if (i == 256)
			marks[1] = (uint32_t)(made->size - start);
		put_name(made, i);
	}
	put_aligned(made, kind);
	put(made, marks, sizeof(marks));
}

static void put_order(struct made_tables *made, struct tables_kind kind)
{
	put_aligned(made, kind);
	memset(made->bytes + made->size, 0x11, (size_t)TABLES_NR * 3);
	made->size += (size_t)TABLES_NR * 3;
}

static void put_tokens(struct made_tables *made, struct tables_kind kind)
{
	uint16_t index[256];
	size_t start;

	put_aligned(made, kind);
	start = made->size;
	for (int i = 0; i < 256; i++) {
		char token[16] = "";

		if (i == 1)
			strcpy(token, "function_");
		else if (i > ' ' && i < 0x7f)
			token[0] = (char)i;
		index[i] = (uint16_t)(made->size - start);
		put(made, token, strlen(token) + 1);
	}
	put_aligned(made, kind);
	put(made, index, sizeof(index));
}

/* Puts them behind what is there already. */
static void make_tables(struct made_tables *made, struct tables_kind kind)
{
	if (!kind.since_6_4)
		put_numbers(made, kind);
	put_names(made, kind);
	if (!kind.since_6_4 && kind.order)
		put_order(made, kind);
	put_tokens(made, kind);
	if (kind.since_6_4)
		put_numbers(made, kind);
	if (kind.since_6_4 && kind.order)
		put_order(made, kind);
}

#endif
