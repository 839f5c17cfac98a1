// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "symbol/symbols.h"

static const char *name_at(const struct xf_symbols *symbols, uint64_t address)
{
	const struct xf_symbol *symbol = xf_symbols_find(symbols, address);

	return symbol ? symbol->name : "";
}

static void names_reach_to_the_next_symbol(void **state)
{
	struct xf_symbols *symbols = xf_symbols_new();

	(void)state;
	assert_int_equal(xf_symbols_add(symbols, 0x2000, 0, 't', "second"), 0);
	assert_int_equal(xf_symbols_add(symbols, 0x1000, 0, 'T', "first"), 0);
	xf_symbols_finish(symbols);
	assert_string_equal(name_at(symbols, 0xfff), "");
	assert_string_equal(name_at(symbols, 0x1000), "first");
	assert_string_equal(name_at(symbols, 0x1fff), "first");
	assert_string_equal(name_at(symbols, 0x2000), "second");
	assert_string_equal(name_at(symbols, UINT64_MAX), "second");
	xf_symbols_free(symbols);
}

static void names_end_where_they_end(void **state)
{
	struct xf_symbols *symbols = xf_symbols_new();

	(void)state;
	xf_symbols_add(symbols, 0x1000, 0x10, 't', "sized");
	xf_symbols_add(symbols, 0x2000, 0, 't', "unsized");
	xf_symbols_add(symbols, 0x3000, 0, 't', "");
	xf_symbols_add(symbols, UINT64_MAX - 1, 2, 't', "last");
	xf_symbols_finish(symbols);
	assert_string_equal(name_at(symbols, 0x100f), "sized");
	assert_string_equal(name_at(symbols, 0x1010), "");
	assert_string_equal(name_at(symbols, 0x2fff), "unsized");
	assert_string_equal(name_at(symbols, 0x3000), "");
	assert_string_equal(name_at(symbols, UINT64_MAX), "last");
	xf_symbols_free(symbols);
}

/* Each pair differs in one point of the rule; the first one wins whatever the order of adding. */
static void aliases_follow_the_rule(void **state)
{
	static const struct {
		struct xf_symbol winner;
		struct xf_symbol loser;
	} pairs[] = {
	        {{.name = "z", .type = 't'}, {.name = "a", .type = 'D'}},
	        {{.name = "z", .type = 'T'}, {.name = "a", .type = 't', .size = 9}},
	        {{.name = "z", .type = 't', .size = 9}, {.name = "a", .type = 't', .size = 8}},
	        {{.name = "z", .type = 't'}, {.name = "_a", .type = 't'}},
	        {{.name = "z", .type = 't'}, {.name = ".a", .type = 't'}},
	        {{.name = "a", .type = 't'}, {.name = "b", .type = 't'}},
	        {{.name = "a", .type = 'd'}, {.name = "", .type = 'T'}},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		for (int swapped = 0; swapped < 2; swapped++) {
			const struct xf_symbol *first =
			        swapped ? &pairs[i].loser : &pairs[i].winner;
			const struct xf_symbol *second =
			        swapped ? &pairs[i].winner : &pairs[i].loser;
			struct xf_symbols *symbols = xf_symbols_new();

			xf_symbols_add(symbols, 0x1000, first->size, first->type, first->name);
			xf_symbols_add(symbols, 0x1000, second->size, second->type, second->name);
			xf_symbols_finish(symbols);
			assert_string_equal(name_at(symbols, 0x1000), pairs[i].winner.name);
			xf_symbols_free(symbols);
		}
	}
}

static void names_are_found(void **state)
{
	struct xf_symbols *symbols = xf_symbols_new();
	char name[32];

	(void)state;
	for (int i = 0; i < 5000; i++) {
		snprintf(name, sizeof(name), "f%d", i);
		assert_int_equal(
		        xf_symbols_add(symbols, (uint64_t)(i * 7919 % 5000) * 16, 0, 't', name), 0);
	}
	xf_symbols_add(symbols, 5, 0, 't', "f4999");
	xf_symbols_finish(symbols);
	assert_int_equal(xf_symbols_count(symbols), 5001);
	for (int i = 0; i < 4999; i++) {
		snprintf(name, sizeof(name), "f%d", i);
		assert_int_equal(xf_symbols_by_name(symbols, name)->address,
		                 (uint64_t)(i * 7919 % 5000) * 16);
	}
	assert_int_equal(xf_symbols_by_name(symbols, "f4999")->address, 5);
	assert_null(xf_symbols_by_name(symbols, "f5000"));
	assert_null(xf_symbols_by_name(symbols, ""));
	assert_null(xf_symbols_at(symbols, 5001));
	xf_symbols_free(symbols);
}

static void an_empty_table_answers(void **state)
{
	struct xf_symbols *symbols = xf_symbols_new();

	(void)state;
	assert_null(xf_symbols_find(symbols, 0));
	xf_symbols_finish(symbols);
	assert_null(xf_symbols_find(symbols, 0));
	assert_null(xf_symbols_by_name(symbols, "x"));
	xf_symbols_free(symbols);
	xf_symbols_free(NULL);
}

static void entries_are_where_code_starts(void **state)
{
	struct xf_symbols *symbols = xf_symbols_new();
	uint64_t *entries;
	size_t nr;

	(void)state;
	xf_symbols_add(symbols, 0x4000, 0, '?', "unknown");
	xf_symbols_add(symbols, 0x3000, 0, 'd', "data");
	xf_symbols_add(symbols, 0x2000, 0, 'w', "weak");
	xf_symbols_add(symbols, 0x1000, 0, 'T', "global");
	xf_symbols_finish(symbols);
	entries = xf_symbols_entries(symbols, &nr);
	assert_int_equal(nr, 3);
	assert_int_equal(entries[0], 0x1000);
	assert_int_equal(entries[1], 0x2000);
	assert_int_equal(entries[2], 0x4000);
	free(entries);
	xf_symbols_free(symbols);
}

static void static_functions_go_by_two_names(void **state)
{
	(void)state;
	assert_true(xf_symbol_goes_by("common/timer.c#set_timer", "set_timer"));
	assert_true(xf_symbol_goes_by("common/timer.c#set_timer", "common/timer.c#set_timer"));
	assert_true(xf_symbol_goes_by("set_timer", "set_timer"));
	assert_false(xf_symbol_goes_by("common/timer.c#set_timer", "timer"));
	assert_false(xf_symbol_goes_by("set_timer", "common/timer.c#set_timer"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(names_reach_to_the_next_symbol),
	        cmocka_unit_test(names_end_where_they_end),
	        cmocka_unit_test(aliases_follow_the_rule),
	        cmocka_unit_test(names_are_found),
	        cmocka_unit_test(an_empty_table_answers),
	        cmocka_unit_test(entries_are_where_code_starts),
	        cmocka_unit_test(static_functions_go_by_two_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
