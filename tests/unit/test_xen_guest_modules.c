// SPDX-License-Identifier: GPL-2.0-or-later
/* The modules of another domain's kernel, out of memory that is made here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "unit/made_modules.h"
#include "xen/guest_modules.h"

static int unmake(void **state)
{
	(void)state;
	xf_guest_modules_free(&made_modules.found);
	return 0;
}

static int read_modules(uint32_t budget)
{
	xf_guest_memory_begin(&made_modules.memory, copy_frame, &made_memory, budget);
	return xf_guest_modules_read(&made_modules.memory, &module_layout, entry_of(KERNEL_ROOT, 0),
	                             SLIDE, &made_modules.found);
}

/* The name of what is at @address; "": it has none. */
static const char *name_at(uint64_t address)
{
	const struct xf_symbol *symbol = xf_symbols_find(made_modules.found.symbols, address);

	return symbol ? symbol->name : "";
}

static void code_and_names_are_read(void **state)
{
	(void)state;
	assert_int_equal(read_modules(XF_GUEST_MODULES_FRAMES), 0);
	assert_int_equal(made_modules.found.nr_code, MODULES_MADE);
	for (size_t i = 0; i < MODULES_MADE; i++) {
		assert_true(made_modules.found.code[i].address == MODULES + i * 0x10000);
		assert_int_equal(made_modules.found.code[i].size, MODULE_CODE);
		assert_int_equal(made_modules.found.code[i].bytes[0], 0x10 * (i + 1));
		assert_int_equal(made_modules.found.code[i].bytes[MODULE_CODE - 1],
		                 0x10 * (i + 1) + 1);
	}
	assert_string_equal(name_at(MODULES + 0x12), "open [xen_evtchn]");
	assert_string_equal(name_at(MODULES + 0x41), "");
	assert_string_equal(name_at(MODULES + MODULE_CODE - 1), "ioctl [xen_evtchn]");
	assert_string_equal(name_at(MODULES + MODULE_CODE), "");
	assert_string_equal(name_at(MODULES + 0x10000 + MODULE_CODE - 1), "read [ext4]");
	assert_string_equal(name_at(MODULES + 0x20010), "open [nf_nat]");
}

/* Expects that the second one is left out, and the others are there. */
static void expect_two(void)
{
	assert_int_equal(read_modules(XF_GUEST_MODULES_FRAMES), 0);
	assert_int_equal(made_modules.found.nr_code, MODULES_MADE - 1);
	assert_true(made_modules.found.code[1].address == MODULES + 0x20000);
	assert_string_equal(name_at(MODULES + 0x10010), "");
	xf_guest_modules_free(&made_modules.found);
}

static void one_that_makes_no_sense_is_left_out(void **state)
{
	uint64_t *text = word(made_modules.modules[1] + module_layout.module.text), right = *text;
	static const uint64_t wrong[] = {0,
	                                 0x401000,
	                                 0xffffffff81000000, /* the image's own code */
	                                 0xffff888000000000,
	                                 MODULES,
	                                 MODULES + MODULE_CODE - 1,
	                                 MODULES + 0x20000 - MODULE_CODE + 1, /* then not there */
	                                 0xfffffffffefff000};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		*text = wrong[i];
		expect_two();
	}
	*text = right;
	memset(word(made_modules.modules[1] + module_layout.module.name), 'x', 56);
	expect_two();
}

static void one_without_a_size_or_with_any_is_left_out(void **state)
{
	static const uint32_t sizes[] = {0, MODULE_CODE + 1, 64u << 20, UINT32_MAX};

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		memcpy((char *)word(made_modules.modules[1]) + module_layout.module.text_size,
		       &sizes[i], 4);
		expect_two();
	}
}

static void without_its_symbols_one_has_code_and_no_names(void **state)
{
	(void)state;
	*word(made_modules.modules[0] + module_layout.module.symbols) = 0;
	assert_int_equal(read_modules(XF_GUEST_MODULES_FRAMES), 0);
	assert_int_equal(made_modules.found.nr_code, MODULES_MADE);
	assert_string_equal(name_at(MODULES + 0x12), "");
	assert_string_equal(name_at(MODULES + 0x10012), "open [ext4]");
}

static void a_list_that_has_no_end_is_left(void **state)
{
	(void)state;
	*word(made_modules.modules[2] + module_layout.module.list) =
	        made_modules.modules[1] + module_layout.module.list;
	assert_int_equal(read_modules(XF_GUEST_MODULES_FRAMES), 0);
	assert_int_equal(made_modules.found.nr_code, MODULES_MADE);
	xf_guest_modules_free(&made_modules.found);
	*word(made_modules.modules[1] + module_layout.module.list) = 0x1234;
	assert_int_equal(read_modules(XF_GUEST_MODULES_FRAMES), 0);
	assert_int_equal(made_modules.found.nr_code, 2);
}

static void symbols_without_number_are_no_endless_work(void **state)
{
	uint32_t nr = UINT32_MAX;

	(void)state;
	memcpy((char *)word(*word(made_modules.modules[0] + module_layout.module.symbols)) +
	               module_layout.nr_symbols,
	       &nr, 4);
	assert_int_equal(read_modules(XF_GUEST_MODULES_FRAMES), 0);
	assert_int_equal(made_modules.found.nr_code, MODULES_MADE);
}

static void no_more_frames_are_copied_than_is_said(void **state)
{
	uint64_t unused = 0;

	(void)state;
	made_memory.changed = &unused; /* counts */
	made_memory.change = UINT32_MAX;
	for (uint32_t budget = 0; budget < 40; budget++) {
		int code;

		made_memory.copied = 0;
		code = read_modules(budget);
		assert_true(made_memory.copied <= budget);
		assert_true(!code || code == -EFAULT);
		xf_guest_modules_free(&made_modules.found);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_modules, unmake)

int main(void)
{
	const struct CMUnitTest tests[] = {
	        TEST(code_and_names_are_read),
	        TEST(one_that_makes_no_sense_is_left_out),
	        TEST(one_without_a_size_or_with_any_is_left_out),
	        TEST(without_its_symbols_one_has_code_and_no_names),
	        TEST(a_list_that_has_no_end_is_left),
	        TEST(symbols_without_number_are_no_endless_work),
	        TEST(no_more_frames_are_copied_than_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
