// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where a kernel lies, by what samples show of it: made-up code, and a stock kernel's
 * (XENFLAME_KERNEL; skipped, loudly, where it is not set), whose words are made up here at slides
 * that are known: return addresses as the code has them, and beside them what a guest's stacks hold
 * that is none.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "read_file.h"
#include "symbol/kallsyms.h"
#include "symbol/kallsyms_image.h"
#include "unwind/elf.h"
#include "unwind/slide.h"

#define TEXT_ADDRESS 0xffffffff81000000ull
#define TEXT_BYTES   (7u << 20)
#define FUNCTION     512u /* bytes of one */

struct kernel {
	struct xf_slide_image image;
	uint8_t *text;
	uint64_t *entries;
	uint64_t *returns; /* addresses behind calls */
	size_t nr_returns;
};

static uint64_t next_random(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
	return *seed >> 24;
}

static void find_returns(struct kernel *kernel)
{
	kernel->returns = calloc(kernel->image.text.size / 5, sizeof(*kernel->returns));
	for (size_t at = 5; at + 5 < kernel->image.text.size; at++)
		if (kernel->text[at - 5] == 0xe8 && xf_slide_is_behind_call(&kernel->image, at))
			kernel->returns[kernel->nr_returns++] = kernel->image.text.address + at;
}

/* Functions of moves of seven bytes with calls of each other between them. */
static void make_kernel(struct kernel *kernel, uint64_t seed)
{
	static const uint8_t move[7] = {0x48, 0x8b, 0x05, 1, 2, 3, 0}; /* mov n(%rip),%rax */
	size_t nr = TEXT_BYTES / FUNCTION;

	*kernel = (struct kernel){.text = malloc(TEXT_BYTES),
	                          .entries = calloc(nr, sizeof(*kernel->entries))};
	memset(kernel->text, 0xcc, TEXT_BYTES);
	for (size_t function = 0; function < nr; function++) {
		size_t at = function * FUNCTION, end = at + FUNCTION - 16;

		kernel->entries[function] = TEXT_ADDRESS + at;
		while (at < end) {
			size_t target = next_random(&seed) % nr * FUNCTION;
			int32_t distance = (int32_t)((int64_t)target - (int64_t)at - 5);

			if (next_random(&seed) % 8) {
				memcpy(kernel->text + at, move, 7);
				at += 7;
				continue;
			}
			kernel->text[at] = 0xe8;
			memcpy(kernel->text + at + 1, &distance, 4);
			at += 5;
		}
	}
	kernel->image = (struct xf_slide_image){
	        .text = {.address = TEXT_ADDRESS, .bytes = kernel->text, .size = TEXT_BYTES},
	        .entries = kernel->entries,
	        .nr_entries = nr};
	find_returns(kernel);
}

static void free_kernel(struct kernel *kernel)
{
	free(kernel->text);
	free(kernel->entries);
	free(kernel->returns);
}

static uint64_t some_return(const struct kernel *kernel, uint64_t *seed)
{
	return kernel->returns[next_random(seed) % kernel->nr_returns];
}

static void add(struct xf_slide_evidence *evidence, uint64_t word)
{
	assert_int_equal(xf_slide_words_add(&evidence->words, word), 0);
}

static void add_returns(struct xf_slide_evidence *evidence, const struct kernel *kernel, size_t nr,
                        uint64_t slide, uint64_t *seed)
{
	for (size_t i = 0; i < nr; i++)
		add(evidence, some_return(kernel, seed) + slide);
}

/* What stacks hold beside: pointers to functions, to the kernel's data, modules' and Xen's
 * addresses, numbers; and where interrupts came. */
static void add_noise(struct xf_slide_evidence *evidence, const struct kernel *kernel, size_t nr,
                      uint64_t slide, uint64_t *seed)
{
	uint64_t end = kernel->image.text.address + kernel->image.text.size + slide;

	for (size_t i = 0; i < nr; i++) {
		uint64_t r = next_random(seed);

		add(evidence, kernel->entries[r % kernel->image.nr_entries] + slide);
		add(evidence, end + r % (16 << 20));
		add(evidence, 0xffffffffc0000000ull + r % (64 << 20));
		add(evidence, 0xffff82d040000000ull + r % (2 << 20));
		add(evidence, r);
		xf_slide_words_add(&evidence->rips, some_return(kernel, seed) + slide);
	}
}

static void free_evidence(struct xf_slide_evidence *evidence)
{
	xf_slide_words_free(&evidence->words);
	xf_slide_words_free(&evidence->rips);
}

static void expect_slide(const struct kernel *kernel, struct xf_slide_evidence *evidence,
                         uint64_t slide)
{
	struct xf_slide_found found;
	struct xf_error error = {0};

	if (xf_slide_find(&kernel->image, evidence, &found, &error))
		fail_msg("slide %llx: %s", (unsigned long long)slide, error.text);
	assert_true(found.slide == slide);
	assert_true(found.exponent < -9);
	free_evidence(evidence);
}

static void expect_none(const struct kernel *kernel, struct xf_slide_evidence *evidence, int code)
{
	struct xf_slide_found found;
	struct xf_error error = {0};

	assert_int_equal(xf_slide_find(&kernel->image, evidence, &found, &error), code);
	assert_true(error.text[0]);
	free_evidence(evidence);
}

/* ---- Made-up code ---------------------------------------------------------------------------- */

static void each_slide_is_found(void **state)
{
	struct kernel kernel;
	uint64_t seed = 1;

	(void)state;
	make_kernel(&kernel, 7);
	for (uint64_t slide = 0; slide < 0x3e000000; slide += 7 * XF_SLIDE_STEP) {
		struct xf_slide_evidence evidence = {0};

		add_returns(&evidence, &kernel, 40, slide, &seed);
		add_noise(&evidence, &kernel, 20, slide, &seed);
		expect_slide(&kernel, &evidence, slide);
	}
	free_kernel(&kernel);
}

static void a_few_words_do_not_tell(void **state)
{
	struct xf_slide_evidence none = {0}, few = {0};
	struct kernel kernel;
	uint64_t seed = 2;

	(void)state;
	make_kernel(&kernel, 7);
	expect_none(&kernel, &none, -ENODATA);
	add_returns(&few, &kernel, 5, XF_SLIDE_STEP, &seed);
	expect_none(&kernel, &few, -ENODATA);
	free_kernel(&kernel);
}

/* A word counts once, however often it was there. */
static void one_word_a_thousand_times_does_not_tell(void **state)
{
	struct xf_slide_evidence evidence = {0};
	struct kernel kernel;

	(void)state;
	make_kernel(&kernel, 7);
	for (int i = 0; i < 1000; i++)
		add(&evidence, kernel.returns[3] + XF_SLIDE_STEP);
	assert_int_equal(evidence.words.nr, 1);
	expect_none(&kernel, &evidence, -ENODATA);
	free_kernel(&kernel);
}

static void another_kernels_words_are_refused(void **state)
{
	struct xf_slide_evidence evidence = {0};
	struct kernel kernel, other;
	uint64_t seed = 3;

	(void)state;
	make_kernel(&kernel, 7);
	make_kernel(&other, 8);
	add_returns(&evidence, &other, 2000, 4 * XF_SLIDE_STEP, &seed);
	add_noise(&evidence, &other, 100, 4 * XF_SLIDE_STEP, &seed);
	expect_none(&kernel, &evidence, -EBADMSG);
	free_kernel(&kernel);
	free_kernel(&other);
}

/* Built anew with another function in the last tenth: all before it is as it was. */
static void a_kernel_that_differs_at_its_end_is_refused(void **state)
{
	struct xf_slide_evidence evidence = {0};
	struct kernel kernel;
	uint64_t seed = 4;

	(void)state;
	make_kernel(&kernel, 7);
	for (int i = 0; i < 1000; i++) {
		uint64_t word = some_return(&kernel, &seed);

		if (word - TEXT_ADDRESS > TEXT_BYTES / 10 * 9)
			word += 16;
		add(&evidence, word + 9 * XF_SLIDE_STEP);
	}
	expect_none(&kernel, &evidence, -EBADMSG);
	free_kernel(&kernel);
}

/* Of @nr return addresses every so manieth is no place in the code, from @from on. */
static void add_astray(struct xf_slide_evidence *evidence, const struct kernel *kernel, size_t nr,
                       size_t every, size_t from)
{
	size_t step = kernel->nr_returns / nr;

	for (size_t i = 0; i < nr; i++)
		add(evidence, kernel->returns[i * step] + (i >= from && i % every == 0));
}

static void numbers_that_look_like_places_are_borne_if_they_are_few(void **state)
{
	struct xf_slide_evidence few = {0}, many = {0};
	struct kernel kernel;

	(void)state;
	make_kernel(&kernel, 7);
	add_astray(&few, &kernel, 2000, 200, 0);
	expect_slide(&kernel, &few, 0);
	add_astray(&many, &kernel, 2000, 25, 0);
	expect_none(&kernel, &many, -EBADMSG);
	free_kernel(&kernel);
}

/* As the stacks of a kernel that boots have them, whose code it decodes and patches. */
static void more_of_them_are_borne_among_many(void **state)
{
	struct xf_slide_evidence many = {0}, fewer = {0};
	struct kernel kernel;

	(void)state;
	make_kernel(&kernel, 7);
	add_astray(&many, &kernel, 1000, 40, 0);
	expect_slide(&kernel, &many, 0);
	add_astray(&fewer, &kernel, 600, 40, 0);
	expect_none(&kernel, &fewer, -EBADMSG);
	free_kernel(&kernel);
}

/* Fewer than those, but all in one place: behind a function that has changed. */
static void neighbours_that_all_lead_astray_are_another_kernels(void **state)
{
	struct xf_slide_evidence evidence = {0};
	struct kernel kernel;

	(void)state;
	make_kernel(&kernel, 7);
	add_astray(&evidence, &kernel, 2000, 1, 1990);
	expect_none(&kernel, &evidence, -EBADMSG);
	free_kernel(&kernel);
}

/* A kernel that another has taken the place of during the recording: both words are there. */
static void two_slides_at_once_are_refused(void **state)
{
	struct xf_slide_evidence evidence = {0};
	struct kernel kernel;
	uint64_t seed = 5;

	(void)state;
	make_kernel(&kernel, 7);
	add_returns(&evidence, &kernel, 300, 0, &seed);
	add_returns(&evidence, &kernel, 290, 100 * XF_SLIDE_STEP, &seed);
	expect_none(&kernel, &evidence, -EBADMSG);
	free_kernel(&kernel);
}

/* A guest that fills its stacks with whatever it likes is bounded work and no kernel. */
static void garbage_is_refused(void **state)
{
	struct xf_slide_evidence evidence = {0};
	struct kernel kernel;
	uint64_t seed = 6;

	(void)state;
	make_kernel(&kernel, 7);
	for (int i = 0; i < 100000; i++)
		add(&evidence, XF_SLIDE_WINDOW + next_random(&seed) % 0x40000000);
	assert_int_equal(evidence.words.nr, XF_SLIDE_MOST_WORDS);
	expect_none(&kernel, &evidence, -EBADMSG);
	free_kernel(&kernel);
}

static void code_elsewhere_is_no_kernels(void **state)
{
	struct kernel kernel;
	struct xf_slide_evidence evidence = {0};

	(void)state;
	make_kernel(&kernel, 7);
	kernel.image.text.address = 0x400000;
	expect_none(&kernel, &evidence, -EBADMSG);
	kernel.image.text.address = XF_SLIDE_WINDOW_END - 0x1000;
	expect_none(&kernel, &evidence, -EBADMSG);
	free_kernel(&kernel);
}

/* What Linux has put in the place of calls that the image has. */
static void calls_that_linux_patches_are_calls(void **state)
{
	static const struct {
		uint8_t bytes[8];
		unsigned int length;
		bool is;
	} cases[] = {
	        {{0xff, 0xd0}, 2, true},                      /* call *%rax */
	        {{0x41, 0xff, 0xd3}, 3, true},                /* call *%r11 */
	        {{0xff, 0x14, 0x25, 1, 2, 3, 0x82}, 7, true}, /* call *0x... */
	        {{0xff, 0x14, 0x25, 1, 2, 3, 0x82}, 5, true}, /* made direct */
	        {{0xff, 0x15, 1, 2, 3, 0x82}, 6, true},       /* call *n(%rip) */
	        {{0xff, 0x54, 0x24, 8}, 4, true},             /* call *8(%rsp) */
	        {{0xff, 0x90, 1, 2, 3, 0}, 6, true},          /* call *n(%rax) */
	        {{0xff, 0x14, 0xc5, 1, 2, 3, 0x82}, 7, true}, /* call *table(,%rax,8) */
	        {{0xff, 0xe0}, 2, false},                     /* jmp *%rax */
	        {{0xe8, 0, 0, 0, 0x40}, 5, false},            /* to nowhere */
	        {{0xe8, 0xfb, 0x0f, 0, 0}, 5, true},          /* to the thunks */
	        {{0xe8, 0xfb, 0x0f, 0, 0}, 2, true},          /* call *%rax in its place */
	        {{0xe8, 0xfb, 0x0f, 0, 0}, 4, false},
	        {{0xe8, 0xfb, 0x08, 0, 0}, 2, false}, /* no thunk */
	};
	static uint8_t bytes[0x2000];
	struct xf_slide_image image = {
	        .text = {.address = TEXT_ADDRESS, .bytes = bytes, .size = sizeof(bytes)},
	        .thunks_start = TEXT_ADDRESS + 0x1000,
	        .thunks_end = TEXT_ADDRESS + 0x1200};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		memset(bytes, 0, sizeof(bytes));
		memcpy(bytes, cases[i].bytes, 8);
		if (xf_slide_is_behind_call(&image, cases[i].length) != cases[i].is)
			fail_msg("case %zu", i);
	}
	assert_false(xf_slide_is_behind_call(&image, 0));
	assert_false(xf_slide_is_behind_call(&image, sizeof(bytes) + 1));
}

/* ---- A stock kernel's code ------------------------------------------------------------------- */

static void stock_kernel(struct kernel *kernel)
{
	const char *path = getenv("XENFLAME_KERNEL");
	struct xf_elf_section rodata, text;
	struct xf_symbols *symbols = NULL;
	struct xf_elf elf;
	void *bytes;
	size_t size, lines_size;
	char *lines = NULL;

	if (!path) {
		print_message("SKIPPED: XENFLAME_KERNEL names no unpacked kernel\n");
		skip();
	}
	bytes = read_file(path, &size);
	assert_non_null(bytes);
	assert_int_equal(xf_elf_open(bytes, size, &elf, NULL), 0);
	assert_true(xf_elf_section(&elf, ".rodata", &rodata));
	assert_true(xf_elf_section(&elf, ".text", &text));
	assert_int_equal(xf_kallsyms_of_image(rodata.bytes, rodata.size, rodata.address,
	                                      text.address, &lines, &lines_size, NULL),
	                 0);
	assert_int_equal(xf_kallsyms_parse(lines, lines_size, &symbols, NULL), 0);
	xf_symbols_finish(symbols);
	*kernel = (struct kernel){.text = malloc(text.size)};
	memcpy(kernel->text, text.bytes, text.size);
	kernel->entries = xf_symbols_entries(symbols, &kernel->image.nr_entries);
	kernel->image.entries = kernel->entries;
	kernel->image.text =
	        (struct xf_code){.address = text.address, .bytes = kernel->text, .size = text.size};
	find_returns(kernel);
	xf_symbols_free(symbols);
	free(lines);
	xf_elf_close(&elf);
	free(bytes);
}

static void a_stock_kernel_is_found_at_random_slides(void **state)
{
	struct kernel kernel;
	uint64_t seed = 10;

	(void)state;
	stock_kernel(&kernel);
	for (int i = 0; i < 20; i++) {
		uint64_t slide = next_random(&seed) % 480 * XF_SLIDE_STEP;
		struct xf_slide_evidence evidence = {0};

		add_returns(&evidence, &kernel, 25, slide, &seed);
		add_noise(&evidence, &kernel, 10, slide, &seed);
		expect_slide(&kernel, &evidence, slide);
	}
	free_kernel(&kernel);
}

/* As when a distribution has built it anew, with a function more somewhere: before so many of its
 * calls, of a hundred. */
static void a_stock_kernel_with_one_function_more_is_refused(void **state)
{
	static const unsigned int percents[] = {0, 50, 90, 98};
	struct kernel kernel;
	uint64_t seed = 11;

	(void)state;
	stock_kernel(&kernel);
	for (size_t i = 0; i < sizeof(percents) / sizeof(percents[0]); i++) {
		uint64_t from = kernel.returns[kernel.nr_returns / 100 * percents[i]];
		struct xf_slide_evidence evidence = {0};

		for (int words = 0; words < 2000; words++) {
			uint64_t word = some_return(&kernel, &seed);

			add(&evidence, word + (word > from ? 0x40 : 0));
		}
		expect_none(&kernel, &evidence, -EBADMSG);
	}
	free_kernel(&kernel);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(each_slide_is_found),
	        cmocka_unit_test(a_few_words_do_not_tell),
	        cmocka_unit_test(one_word_a_thousand_times_does_not_tell),
	        cmocka_unit_test(another_kernels_words_are_refused),
	        cmocka_unit_test(a_kernel_that_differs_at_its_end_is_refused),
	        cmocka_unit_test(numbers_that_look_like_places_are_borne_if_they_are_few),
	        cmocka_unit_test(more_of_them_are_borne_among_many),
	        cmocka_unit_test(neighbours_that_all_lead_astray_are_another_kernels),
	        cmocka_unit_test(two_slides_at_once_are_refused),
	        cmocka_unit_test(garbage_is_refused),
	        cmocka_unit_test(code_elsewhere_is_no_kernels),
	        cmocka_unit_test(calls_that_linux_patches_are_calls),
	        cmocka_unit_test(a_stock_kernel_is_found_at_random_slides),
	        cmocka_unit_test(a_stock_kernel_with_one_function_more_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
