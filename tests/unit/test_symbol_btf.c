// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where Linux keeps its current task, by made-up types and symbols: each kind of kernel, and all
 * that may be wrong with them. Stock kernels are in test_symbol_btf_libbpf.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>

#include "symbol/btf.h"
#include "unit/made_btf.h"

static const char before_6_2[] = "0000000000000000 A __per_cpu_start\n"
                                 "000000000001fb80 A current_task\n"
                                 "ffffffff81000000 T _text\n"
                                 "ffffffff8241cb60 D __per_cpu_offset\n";
static const char since_6_2[] = "00000000000351c0 A const_pcpu_hot\n"
                                "00000000000351c0 A pcpu_hot\n"
                                "ffffffff81000000 T _text\n"
                                "ffffffff8241cb60 D __per_cpu_offset\n";
static const char since_6_15[] = "ffffffff81000000 T _text\n"
                                 "ffffffff8241cb60 D __per_cpu_offset\n"
                                 "ffffffff834f5018 D const_current_task\n"
                                 "ffffffff834f5018 D current_task\n";

/* What there is where nothing has been found. */
static const struct xf_task_layout untouched = {1, true, 2, 3, 4};

/* Return: as xf_btf_task_layout does, of a copy of its own size. */
static int read_bytes(const void *bytes, size_t size, const char *symbols,
                      struct xf_task_layout *layout, struct xf_error *error)
{
	void *copy = malloc(size ? size : 1);
	int code;

	memcpy(copy, bytes, size);
	memcpy(layout, &untouched, sizeof(untouched)); /* padding, too */
	*error = (struct xf_error){0};
	code = xf_btf_task_layout(copy, size, symbols, strlen(symbols), layout, error);
	free(copy);
	if (code) {
		assert_int_equal(error->code, code);
		assert_true(error->text[0] != '\0');
		assert_memory_equal(layout, &untouched, sizeof(untouched));
	}
	return code;
}

static int read_made(const struct made_btf *made, const char *symbols,
                     struct xf_task_layout *layout, struct xf_error *error)
{
	size_t size;
	uint8_t *bytes = btf_bytes(made, &size);
	int code = read_bytes(bytes, size, symbols, layout, error);

	free(bytes);
	return code;
}

static void expect_layout(const struct made_btf *made, const char *symbols, uint64_t current,
                          bool slides)
{
	struct xf_task_layout layout;
	struct xf_error error;

	if (read_made(made, symbols, &layout, &error))
		fail_msg("%s", error.text);
	assert_true(layout.current == current);
	assert_int_equal(layout.slides, slides);
	assert_int_equal(layout.stack, MADE_STACK);
	assert_int_equal(layout.pid, MADE_TASK);
	assert_int_equal(layout.comm, MADE_COMM);
}

/* And that the message has @words. */
static void expect_error(const struct made_btf *made, const char *symbols, int code,
                         const char *words)
{
	struct xf_task_layout layout;
	struct xf_error error;

	if (read_made(made, symbols, &layout, &error) != code || !strstr(error.text, words))
		fail_msg("%d and %s, not %d and %s", error.code, error.text, code, words);
}

/* ---- Kernels --------------------------------------------------------------------------------- */

static void before_6_2_it_is_a_variable_of_its_own(void **state)
{
	struct made_btf made = {0};

	(void)state;
	btf_basic(&made);
	btf_task(&made, 0, NULL, NULL);
	expect_layout(&made, before_6_2, 0x1fb80, false);
}

static void since_6_2_it_is_in_a_structure(void **state)
{
	struct made_btf made = {0};

	(void)state;
	btf_basic(&made);
	btf_hot(&made);
	btf_task(&made, 0, NULL, NULL);
	expect_layout(&made, since_6_2, 0x351c0 + MADE_HOT, false);
}

static void since_6_15_it_moves_with_the_kernel(void **state)
{
	struct made_btf made = {0};

	(void)state;
	btf_basic(&made);
	btf_task(&made, 0, NULL, NULL);
	expect_layout(&made, since_6_15, 0xffffffff834f5018, true);
}

/* ---- Members --------------------------------------------------------------------------------- */

static void offsets_may_have_widths(void **state)
{
	struct made_btf made = {0};

	(void)state;
	btf_basic(&made);
	btf_task(&made, BTF_FLAG, NULL, NULL);
	expect_layout(&made, before_6_2, 0x1fb80, false);
}

static void a_type_may_have_many_names(void **state)
{
	struct made_member pid = {"pid", 0, MADE_TASK * 8};
	struct made_btf made = {0};

	(void)state;
	btf_basic(&made);
	pid.type = btf_type(&made, "", BTF_VOLATILE, 0, MADE_PID);
	pid.type = btf_type(&made, "", BTF_CONST, 0, pid.type);
	pid.type = btf_type(&made, "user", BTF_TYPE_TAG, 0, pid.type);
	btf_task(&made, 0, "pid", &pid);
	expect_layout(&made, before_6_2, 0x1fb80, false);
}

/* A task whose pid, tgid and comm are so deep in structures and unions without a name, each of
 * which adds a byte. */
static void make_nested(struct made_btf *made, unsigned int depth)
{
	uint32_t inner;

	btf_basic(made);
	inner = btf_type(made, "", BTF_STRUCT, 3, MADE_BYTES);
	for (size_t i = 1; i < 4; i++)
		btf_member(made, made_members[i].name, made_members[i].type,
		           made_members[i].bits - depth * 8);
	for (unsigned int i = 1; i < depth; i++) {
		uint32_t outer = btf_type(made, "", i % 2 ? BTF_UNION : BTF_STRUCT | BTF_FLAG, 2,
		                          MADE_BYTES);

		btf_member(made, "other", MADE_INT, 0);
		btf_member(made, "", inner, 8);
		inner = outer;
	}
	btf_type(made, "task_struct", BTF_STRUCT, 2, MADE_BYTES);
	btf_member(made, "", inner, 8);
	btf_member(made, "stack", MADE_PTR, MADE_STACK * 8);
}

static void members_may_be_in_structures_without_a_name(void **state)
{
	(void)state;
	for (unsigned int depth = 1; depth <= 16; depth++) {
		struct made_btf made = {0};

		make_nested(&made, depth);
		expect_layout(&made, before_6_2, 0x1fb80, false);
	}
}

static void but_not_without_an_end(void **state)
{
	struct made_btf made = {0};

	(void)state;
	make_nested(&made, 17);
	expect_error(&made, before_6_2, -ENOENT, "no pid in struct task_struct");
}

static void a_member_that_is_missing_is_named(void **state)
{
	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct made_btf made = {0};
		char words[64];

		btf_basic(&made);
		btf_task(&made, 0, made_members[i].name, NULL);
		snprintf(words, sizeof(words), "no %s in struct task_struct", made_members[i].name);
		expect_error(&made, before_6_2, -ENOENT, words);
	}
}

static void pid_and_tgid_belong_together(void **state)
{
	static const struct made_member elsewhere[] = {{"tgid", MADE_PID, MADE_TASK * 8 + 64},
	                                               {"tgid", MADE_PID, MADE_TASK * 8 - 32},
	                                               {"tgid", MADE_PID, MADE_TASK * 8}};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct made_btf made = {0};

		btf_basic(&made);
		btf_task(&made, 0, "tgid", &elsewhere[i]);
		expect_error(&made, before_6_2, -EOPNOTSUPP, "tgid is not directly behind pid");
	}
}

static void a_member_that_is_something_else_is_refused(void **state)
{
	enum {
		SHORT = MADE_FIRST,
		BITS,
		LITTLE,
		WIDE,
		STRUCT
	};
	static const struct made_member strange[] = {
	        {"stack", MADE_INT, MADE_STACK * 8},
	        {"stack", STRUCT, MADE_STACK * 8},
	        {"stack", MADE_PTR, MADE_STACK * 8 + 4},   /* no whole bytes */
	        {"stack", MADE_PTR, (MADE_BYTES - 7) * 8}, /* reaches beyond */
	        {"stack", MADE_PTR, UINT32_MAX},
	        {"pid", SHORT, MADE_TASK * 8},
	        {"pid", BITS, MADE_TASK * 8},
	        {"pid", MADE_PTR, MADE_TASK * 8},
	        {"comm", MADE_PTR, MADE_COMM * 8},
	        {"comm", LITTLE, MADE_COMM * 8},
	        {"comm", WIDE, MADE_COMM * 8},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(strange) / sizeof(strange[0]); i++) {
		struct made_btf made = {0};

		btf_basic(&made);
		assert_int_equal(btf_int(&made, "short", 2), SHORT);
		btf_type(&made, "bits", BTF_INT, 0, 4);
		btf_word(&made, 31);
		btf_array(&made, MADE_CHAR, 15);
		btf_array(&made, SHORT, 16);
		assert_int_equal(btf_type(&made, "named", BTF_STRUCT, 0, 8), STRUCT);
		btf_task(&made, 0, strange[i].name, &strange[i]);
		expect_error(&made, before_6_2, -EOPNOTSUPP, "is not what it has been");
	}
}

static void a_member_of_few_bits_is_refused(void **state)
{
	static const struct made_member bits = {"pid", MADE_PID, 32 << 24 | MADE_TASK * 8};
	struct made_btf made = {0};

	(void)state;
	btf_basic(&made);
	btf_task(&made, BTF_FLAG, "pid", &bits);
	expect_error(&made, before_6_2, -EOPNOTSUPP, "pid in struct task_struct");
}

static void a_name_may_be_longer(void **state)
{
	struct made_member comm = {"comm", 0, MADE_COMM * 8};
	struct made_btf made = {0};

	(void)state;
	btf_basic(&made);
	comm.type = btf_array(&made, MADE_CHAR, 32);
	btf_task(&made, 0, "comm", &comm);
	expect_layout(&made, before_6_2, 0x1fb80, false);
}

static void a_task_of_more_than_64_KiB_is_refused(void **state)
{
	struct made_btf made = {0};

	(void)state;
	btf_basic(&made);
	btf_type(&made, "task_struct", BTF_STRUCT, 4, 1 << 20);
	for (size_t i = 0; i < 4; i++)
		btf_member(&made, made_members[i].name, made_members[i].type,
		           made_members[i].bits + (65536 - MADE_COMM - 15) * 8);
	expect_error(&made, before_6_2, -EOPNOTSUPP, "comm in struct task_struct");
}

/* ---- Types ----------------------------------------------------------------------------------- */

static void the_same_task_may_be_there_twice(void **state)
{
	struct made_btf made = {0};

	(void)state;
	btf_basic(&made);
	btf_task(&made, 0, NULL, NULL);
	btf_task(&made, BTF_FLAG, NULL, NULL);
	expect_layout(&made, before_6_2, 0x1fb80, false);
}

static void but_not_two_different_ones(void **state)
{
	static const struct made_member comm = {"comm", MADE_NAME, MADE_COMM * 8 + 64};
	struct made_btf made = {0};

	(void)state;
	btf_basic(&made);
	btf_task(&made, 0, NULL, NULL);
	btf_task(&made, 0, "comm", &comm);
	expect_error(&made, before_6_2, -EBADMSG, "two different struct task_struct");
}

static void what_only_has_such_a_name_is_passed_over(void **state)
{
	struct made_btf made = {0};

	(void)state;
	btf_basic(&made);
	btf_type(&made, "task_struct", BTF_TYPEDEF, 0, MADE_INT);
	btf_type(&made, "task_struct_of_others", BTF_STRUCT, 0, MADE_BYTES);
	btf_type(&made, "task_struct", BTF_STRUCT, 6, MADE_BYTES);
	btf_member(&made, "stack_canary", MADE_PTR, 0);
	btf_member(&made, "pi", MADE_PID, 0);
	for (size_t i = 0; i < 4; i++)
		btf_member(&made, made_members[i].name, made_members[i].type, made_members[i].bits);
	expect_layout(&made, before_6_2, 0x1fb80, false);
}

static void a_structure_that_is_missing_is_named(void **state)
{
	struct made_btf made = {0};

	(void)state;
	btf_basic(&made);
	expect_error(&made, before_6_2, -ENOENT, "no struct task_struct");
	btf_task(&made, 0, NULL, NULL);
	expect_error(&made, since_6_2, -ENOENT, "no struct pcpu_hot");
}

static void types_that_lead_to_themselves_have_an_end(void **state)
{
	struct made_member pid = {"pid", 0, MADE_TASK * 8};
	struct made_btf made = {0};
	uint32_t self;

	(void)state;
	btf_basic(&made);
	pid.type = btf_type(&made, "loop", BTF_TYPEDEF, 0, made.nr + 2);
	btf_type(&made, "", BTF_CONST, 0, pid.type);
	btf_task(&made, 0, "pid", &pid);
	expect_error(&made, before_6_2, -ENOENT, "no pid");

	made = (struct made_btf){0};
	btf_basic(&made);
	self = btf_type(&made, "", BTF_STRUCT, 2, MADE_BYTES);
	btf_member(&made, "", self, 0);
	btf_member(&made, "", self, 0);
	btf_type(&made, "task_struct", BTF_STRUCT, 1, MADE_BYTES);
	btf_member(&made, "", self, 0);
	expect_error(&made, before_6_2, -ENOENT, "no stack");
}

static void a_type_that_is_not_there_is_no_member(void **state)
{
	static const uint32_t wrong[] = {0, 7, 1000, UINT32_MAX};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct made_member stack = {"stack", wrong[i], MADE_STACK * 8};
		struct made_btf made = {0};

		btf_basic(&made);
		btf_task(&made, 0, "stack", &stack);
		expect_error(&made, before_6_2, -ENOENT, "no stack");
	}
}

/* Each structure has the next many times: of all that can be made of it only so much is looked at.
 */
static void the_work_has_an_end(void **state)
{
	struct made_btf made = {0};

	(void)state;
	btf_basic(&made);
	for (uint32_t i = 0; i < 15; i++) {
		btf_type(&made, "", BTF_STRUCT, 40, MADE_BYTES);
		for (int part = 0; part < 40; part++)
			btf_member(&made, "", i ? MADE_NAME + i : MADE_INT, 0);
	}
	btf_type(&made, "task_struct", BTF_STRUCT, 1, MADE_BYTES);
	btf_member(&made, "", made.nr - 1, 0);
	expect_error(&made, before_6_2, -ENOENT, "no stack");
}

/* ---- Damage ---------------------------------------------------------------------------------- */

static uint8_t *make_whole(size_t *size)
{
	struct made_btf made = {0};

	make_nested(&made, 3);
	btf_hot(&made);
	return btf_bytes(&made, size);
}

static void what_is_no_btf_is_refused(void **state)
{
	static const struct {
		size_t at;
		uint8_t byte;
		int code;
	} wrong[] = {{0, 0xeb, -EBADMSG}, {2, 2, -EOPNOTSUPP}, {3, 1, -EOPNOTSUPP},
	             {4, 23, -EBADMSG},   {11, 1, -EBADMSG},   {15, 1, -EBADMSG},
	             {19, 1, -EBADMSG},   {23, 1, -EBADMSG}};
	size_t size;
	uint8_t *bytes = make_whole(&size);
	struct xf_task_layout layout;
	struct xf_error error;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		uint8_t before = bytes[wrong[i].at];

		bytes[wrong[i].at] = wrong[i].byte;
		assert_int_equal(read_bytes(bytes, size, before_6_2, &layout, &error),
		                 wrong[i].code);
		bytes[wrong[i].at] = before;
	}
	assert_int_equal(read_bytes(bytes, size, before_6_2, &layout, &error), 0);
	assert_int_equal(xf_btf_task_layout(NULL, 0, NULL, 0, &layout, &error), -EBADMSG);
	free(bytes);
}

static void a_longer_header_is_passed_over(void **state)
{
	size_t size;
	uint8_t *bytes = make_btf(&size), *longer = calloc(1, size + 8);
	struct xf_task_layout layout;
	struct xf_error error;

	(void)state;
	memcpy(longer, bytes, 24);
	memcpy(longer + 32, bytes + 24, size - 24);
	longer[4] = 32;
	assert_int_equal(read_bytes(longer, size + 8, before_6_2, &layout, &error), 0);
	free(longer);
	free(bytes);
}

static void a_kind_that_is_not_known_is_refused(void **state)
{
	(void)state;
	for (uint32_t kind = 0; kind < 32; kind += kind ? 1 : 20) {
		struct made_btf made = {0};

		btf_basic(&made);
		btf_task(&made, 0, NULL, NULL);
		btf_type(&made, "", kind, 0, 0);
		expect_error(&made, before_6_2, -EOPNOTSUPP, "at number 7");
	}
}

static void each_cut_is_survived(void **state)
{
	static const char *const symbols[] = {before_6_2, since_6_2};
	size_t size;
	uint8_t *bytes = make_whole(&size);
	struct xf_task_layout layout;
	struct xf_error error;

	(void)state;
	for (size_t cut = 0; cut < size; cut++) {
		for (size_t s = 0; s < 2; s++) {
			uint32_t words[6];

			/* As it is, and with types, then names, that end with it. */
			assert_true(read_bytes(bytes, cut, symbols[s], &layout, &error) < 0);
			memcpy(words, bytes, sizeof(words));
			if (cut < sizeof(words))
				continue;
			words[3] = (uint32_t)(cut - sizeof(words));
			words[4] = words[5] = 0;
			memcpy(bytes, words, sizeof(words));
			read_bytes(bytes, cut, symbols[s], &layout, &error);
			free(bytes);
			bytes = make_whole(&size);
		}
	}
	free(bytes);
}

static void each_wrong_byte_is_survived(void **state)
{
	static const char *const symbols[] = {before_6_2, since_6_2};
	size_t size;
	uint8_t *bytes = make_whole(&size);
	struct xf_task_layout layout;
	struct xf_error error;

	(void)state;
	for (size_t at = 0; at < size; at++) {
		for (int flip = 1; flip < 256; flip++) {
			bytes[at] ^= (uint8_t)flip;
			read_bytes(bytes, size, symbols[flip % 2], &layout, &error);
			bytes[at] ^= (uint8_t)flip;
		}
	}
	free(bytes);
}

/* ---- Symbols --------------------------------------------------------------------------------- */

static void symbols_that_are_missing_or_hidden_are_told(void **state)
{
	struct made_btf made = {0};

	(void)state;
	btf_basic(&made);
	btf_task(&made, 0, NULL, NULL);
	expect_error(&made, "", -ENOENT, "neither current_task nor pcpu_hot");
	expect_error(&made, "ffffffff81000000 T _text\n", -ENOENT, "CONFIG_KALLSYMS_ALL");
	expect_error(&made, "0000000000000000 A current_task\n", -EACCES, "kernel.kptr_restrict");
}

static void only_the_kernels_own_variable_is_taken(void **state)
{
	struct made_btf made = {0};
	char symbols[512];

	(void)state;
	btf_basic(&made);
	btf_task(&made, 0, NULL, NULL);
	/* A driver's, a module's, a function. */
	snprintf(symbols, sizeof(symbols), "%s%s", before_6_2,
	         "ffffffff82000000 d current_task\n"
	         "ffffffff82000000 T current_task\n"
	         "ffffffffc0400000 D current_task\t[other]\n");
	expect_layout(&made, symbols, 0x1fb80, false);
}

static void an_address_where_no_linux_has_it_is_refused(void **state)
{
	struct made_btf made = {0};

	(void)state;
	btf_basic(&made);
	btf_task(&made, 0, NULL, NULL);
	expect_error(&made, "0000000080000000 D current_task\n", -EBADMSG, "0x80000000");
	expect_error(&made, "ffff888000000000 D current_task\n", -EBADMSG, "no Linux has it");
}

static void a_kernel_for_one_cpu_is_refused(void **state)
{
	struct made_btf made = {0};

	(void)state;
	btf_basic(&made);
	btf_task(&made, 0, NULL, NULL);
	expect_error(&made, "ffffffff82000000 D current_task\n", -EOPNOTSUPP, "CONFIG_SMP");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(before_6_2_it_is_a_variable_of_its_own),
	        cmocka_unit_test(since_6_2_it_is_in_a_structure),
	        cmocka_unit_test(since_6_15_it_moves_with_the_kernel),
	        cmocka_unit_test(offsets_may_have_widths),
	        cmocka_unit_test(a_type_may_have_many_names),
	        cmocka_unit_test(members_may_be_in_structures_without_a_name),
	        cmocka_unit_test(but_not_without_an_end),
	        cmocka_unit_test(a_member_that_is_missing_is_named),
	        cmocka_unit_test(pid_and_tgid_belong_together),
	        cmocka_unit_test(a_member_that_is_something_else_is_refused),
	        cmocka_unit_test(a_member_of_few_bits_is_refused),
	        cmocka_unit_test(a_name_may_be_longer),
	        cmocka_unit_test(a_task_of_more_than_64_KiB_is_refused),
	        cmocka_unit_test(the_same_task_may_be_there_twice),
	        cmocka_unit_test(but_not_two_different_ones),
	        cmocka_unit_test(what_only_has_such_a_name_is_passed_over),
	        cmocka_unit_test(a_structure_that_is_missing_is_named),
	        cmocka_unit_test(types_that_lead_to_themselves_have_an_end),
	        cmocka_unit_test(a_type_that_is_not_there_is_no_member),
	        cmocka_unit_test(the_work_has_an_end),
	        cmocka_unit_test(what_is_no_btf_is_refused),
	        cmocka_unit_test(a_longer_header_is_passed_over),
	        cmocka_unit_test(a_kind_that_is_not_known_is_refused),
	        cmocka_unit_test(each_cut_is_survived),
	        cmocka_unit_test(each_wrong_byte_is_survived),
	        cmocka_unit_test(symbols_that_are_missing_or_hidden_are_told),
	        cmocka_unit_test(only_the_kernels_own_variable_is_taken),
	        cmocka_unit_test(an_address_where_no_linux_has_it_is_refused),
	        cmocka_unit_test(a_kernel_for_one_cpu_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
