// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>

#include "symbol/kallsyms.h"

static const char ordinary[] = "0000000000000000 A fixed_percpu_data\n"
                               "ffffffff81000000 T _stext\n"
                               "ffffffff81000000 T _text\n"
                               "ffffffff81000000 T startup\n"
                               "ffffffff81000040 t local\n"
                               "ffffffff81000060 T __sched_text_start\n"
                               "ffffffff81000060 t schedule\n"
                               "ffffffff81000070 T __entry_text_end\n"
                               "ffffffff81000080 W weak\n"
                               "ffffffff81e00000 T _etext\n"
                               "ffffffff82000000 R __start_rodata\n"
                               "ffffffff83000000 t boot_only\n"
                               "ffffffff83001000 T _einittext\n"
                               "ffffffffc0201000 t trampoline\t[__builtin__ftrace]\n"
                               "ffffffffc0300000 t poll\t[net_driver]\n"
                               "ffffffffc0400000 d data\t[net_driver]\n"
                               "ffffffffc0500000 t bpf_prog_6deef7357e7b4530\t[bpf]\n";

static struct xf_symbols *parse(const char *text)
{
	struct xf_symbols *symbols;
	struct xf_error error = {0};

	if (xf_kallsyms_parse(text, strlen(text), &symbols, &error))
		fail_msg("%s", error.text);
	xf_symbols_finish(symbols);
	return symbols;
}

static void expect_name(const struct xf_symbols *symbols, uint64_t address, const char *name)
{
	const struct xf_symbol *symbol = xf_symbols_find(symbols, address);

	if (!name) {
		assert_null(symbol);
		return;
	}
	assert_non_null(symbol);
	assert_string_equal(symbol->name, name);
}

static void code_is_named_and_nothing_else(void **state)
{
	struct xf_symbols *symbols = parse(ordinary);

	(void)state;
	expect_name(symbols, 0xffffffff80ffffffull, NULL);
	expect_name(symbols, 0xffffffff81000000ull, "startup"); /* where marks stand, too */
	expect_name(symbols, 0xffffffff81000041ull, "local");
	expect_name(symbols, 0xffffffff81000060ull, "schedule");
	expect_name(symbols, 0xffffffff81000070ull, "schedule");
	expect_name(symbols, 0xffffffff81dfffffull, "weak");
	expect_name(symbols, 0xffffffff81e00000ull, NULL); /* beyond the kernel's code */
	expect_name(symbols, 0xffffffff82000000ull, NULL);
	expect_name(symbols, 0xffffffff83000fffull, "boot_only");
	expect_name(symbols, 0xffffffffc0000000ull, NULL); /* beyond what ran at boot */
	expect_name(symbols, 0xffffffffc0300010ull, "poll [net_driver]");
	xf_symbols_free(symbols);
}

/* The size of what is made at run time is not told. */
static void what_is_made_at_run_time_is_named_for_a_page(void **state)
{
	struct xf_symbols *symbols = parse(ordinary);

	(void)state;
	expect_name(symbols, 0xffffffffc0201fffull, "trampoline [__builtin__ftrace]");
	expect_name(symbols, 0xffffffffc0202000ull, NULL);
	expect_name(symbols, 0xffffffffc0500fffull, "bpf_prog_6deef7357e7b4530 [bpf]");
	expect_name(symbols, 0xffffffffc0501000ull, NULL);
	xf_symbols_free(symbols);
}

static void hidden_addresses_are_explained(void **state)
{
	static const char hidden[] = "0000000000000000 T _stext\n0000000000000000 t local\n"
	                             "0000000000000000 t poll\t[net]\n";
	struct xf_symbols *symbols;
	struct xf_error error = {0};

	(void)state;
	assert_int_equal(xf_kallsyms_parse(hidden, strlen(hidden), &symbols, &error), -EACCES);
	assert_non_null(strstr(error.text, "root"));
	assert_non_null(strstr(error.text, "kptr_restrict"));
}

static void what_is_no_table_is_refused(void **state)
{
	static const char *const strange[] = {
	        "",
	        "\n\n\n",
	        "ffffffff81000000 R data\n",
	        "ffffffff81000000\n",
	        "ffffffff81000000 T\n",
	        "ffffffff81000000 T \n",
	        "fffffffff81000000 T seventeen_digits\n",
	        " T x\n",
	        "FFFFFFFF81000000 T upper\n",
	        "ffffffff81000000 TT two\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(strange) / sizeof(strange[0]); i++) {
		struct xf_symbols *symbols;
		struct xf_error error = {0};

		assert_int_equal(
		        xf_kallsyms_parse(strange[i], strlen(strange[i]), &symbols, &error),
		        -EBADMSG);
		assert_non_null(strstr(error.text, "no symbols"));
	}
}

/* Cut at any byte, in memory of exactly that size, it is read up to there. */
static void every_beginning_can_be_read(void **state)
{
	(void)state;
	for (size_t size = 0; size < sizeof(ordinary); size++) {
		char *copy = malloc(size ? size : 1);
		struct xf_symbols *symbols;
		struct xf_error error = {0};

		memcpy(copy, ordinary, size);
		if (!xf_kallsyms_parse(copy, size, &symbols, &error))
			xf_symbols_free(symbols);
		free(copy);
	}
}

static void a_name_beyond_any_length_is_cut(void **state)
{
	size_t long_name = 5000;
	char *text = malloc(long_name + 64);
	struct xf_symbols *symbols;
	const struct xf_symbol *symbol;

	(void)state;
	strcpy(text, "ffffffff81000000 t ");
	memset(text + strlen(text), 'x', long_name);
	strcpy(text + 19 + long_name, "\t[m]\n");
	symbols = parse(text);
	symbol = xf_symbols_find(symbols, 0xffffffff81000000ull);
	assert_non_null(symbol);
	assert_true(strlen(symbol->name) < 1000);
	xf_symbols_free(symbols);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(code_is_named_and_nothing_else),
	        cmocka_unit_test(what_is_made_at_run_time_is_named_for_a_page),
	        cmocka_unit_test(hidden_addresses_are_explained),
	        cmocka_unit_test(what_is_no_table_is_refused),
	        cmocka_unit_test(every_beginning_can_be_read),
	        cmocka_unit_test(a_name_beyond_any_length_is_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
