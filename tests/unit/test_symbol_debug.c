// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Lines of the source and inlined calls. In $XENFLAME_XEN_SYMS, Debian's debug info of Xen 4.20,
 * binutils' addr2line says the same of addresses all over the text.
 */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "read_file.h"
#include "symbol/debug.h"

#define XEN_TEXT 0xffff82d040200000ull
#define STEP     487u /* bytes; a prime, so that it meets all kinds of instructions */
#define STEPS    2900u

static void what_is_no_debug_info_is_refused(void **state)
{
	struct xf_error error = {0};
	struct xf_debug *debug = NULL;
	static const char text[] = "this is no ELF file, by far";

	(void)state;
	assert_int_equal(xf_debug_open(text, sizeof(text), &debug, &error), -EBADMSG);
	assert_null(debug);
	assert_int_equal(xf_debug_open("\177ELF\2\1\1", 7, &debug, &error), -EBADMSG);
	assert_null(debug);
}

/* The answers of addr2line to the addresses of the test: of each the address, and for what is
 * inlined there and for its function two lines, a name and a place. */
static FILE *ask_addr2line(const char *path)
{
	char *command = NULL;
	size_t size;
	FILE *written = open_memstream(&command, &size);
	FILE *answers;

	assert_non_null(written);
	fprintf(written, "addr2line -a -i -f -e '%s'", path);
	for (unsigned int i = 0; i < STEPS; i++)
		fprintf(written, " 0x%" PRIx64, (uint64_t)(XEN_TEXT + (uint64_t)i * STEP));
	fclose(written);
	answers = popen(command, "r");
	free(command);
	assert_non_null(answers);
	return answers;
}

struct answer {
	char function[256];
	char place[512]; /* "FILE:LINE", "" where the line is not known */
};

static bool read_line(FILE *answers, char *line, int size)
{
	if (!fgets(line, size, answers))
		return false;
	line[strcspn(line, "\n")] = 0;
	return true;
}

/* Reads the answers to one address, behind the line which names it; *@next is the next such line.
 * Return: how many. */
static size_t read_answers(FILE *file, char next[64], struct answer *answers, size_t max)
{
	char line[512];
	size_t nr = 0;

	next[0] = 0;
	while (nr < max && read_line(file, line, sizeof(line))) {
		struct answer *answer = &answers[nr];

		if (strncmp(line, "0x", 2) == 0) {
			snprintf(next, 64, "%.60s", line);
			break;
		}
		snprintf(answer->function, sizeof(answer->function), "%.250s", line);
		/* The symbol's name; what the compiler made of the function's is behind a dot. */
		answer->function[strcspn(line, ".")] = 0;
		assert_true(read_line(file, answer->place, sizeof(answer->place)));
		answer->place[strcspn(answer->place, " ")] = 0;
		nr++;
	}
	return nr;
}

/* "./xen/common/kexec.c:1167" says the same as "common/kexec.c" and 1167. */
static bool is_same(const struct answer *answer, const struct xf_call *call)
{
	char place[600];
	size_t size, all = strlen(answer->place);

	snprintf(place, sizeof(place), "%.500s:%d", call->file ? call->file : "?", call->line);
	size = strlen(place);
	return call->function && strcmp(answer->function, call->function) == 0 && all >= size &&
	       strcmp(answer->place + all - size, place) == 0;
}

static bool are_same(const struct answer *answers, size_t nr_answers, const struct xf_call *calls,
                     size_t nr)
{
	for (size_t i = 0; i < nr && i < nr_answers; i++) {
		if (!is_same(&answers[i], &calls[i]) || calls[i].inlined != (i + 1 < nr))
			return false;
	}
	return nr == nr_answers;
}

/* Of code in assembly there are no functions; and binutils 2.40 takes some units' first file for
 * another of theirs, where LLVM and elfutils agree with us. */
static void compare(struct xf_debug *debug, FILE *file)
{
	unsigned int known = 0, same = 0, inlined = 0;
	struct answer answers[XF_CALLS_MAX];
	char next[64];

	read_answers(file, next, answers, 1);
	for (unsigned int i = 0; i < STEPS; i++) {
		struct xf_call calls[XF_CALLS_MAX];
		uint64_t address = XEN_TEXT + (uint64_t)i * STEP;
		size_t nr = xf_debug_calls(debug, address, calls, XF_CALLS_MAX);
		size_t nr_answers;

		assert_true(strtoull(next, NULL, 16) == address);
		nr_answers = read_answers(file, next, answers, XF_CALLS_MAX);
		if (!nr || !calls[0].function)
			continue;
		known++;
		inlined += nr > 1;
		if (are_same(answers, nr_answers, calls, nr))
			same++;
		else
			print_message("# 0x%" PRIx64 ": %s %s, not %s\n", address,
			              answers[0].function, answers[0].place, calls[0].function);
	}
	print_message("# of %u addresses %u are in functions, %u of them inlined; of %u addr2line"
	              " says the same\n",
	              STEPS, known, inlined, same);
	assert_true(known > STEPS * 9 / 10 && inlined > STEPS / 10 && same + known / 100 >= known);
}

static void lines_and_inlined_calls_of_xen_are_addr2lines(void **state)
{
	const char *path = getenv("XENFLAME_XEN_SYMS");
	struct xf_error error = {0};
	struct xf_debug *debug;
	struct xf_call call;
	FILE *answers;
	size_t size;
	void *bytes;

	(void)state;
	if (!path)
		skip();
	bytes = read_file(path, &size);
	assert_non_null(bytes);
	assert_int_equal(xf_debug_open(bytes, size, &debug, &error), 0);
	assert_int_equal(strlen(xf_debug_build_id(debug)), 40);
	assert_int_equal(xf_debug_calls(debug, 0x1000, &call, 1), 0);
	answers = ask_addr2line(path);
	compare(debug, answers);
	pclose(answers);
	xf_debug_close(debug);
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(what_is_no_debug_info_is_refused),
	        cmocka_unit_test(lines_and_inlined_calls_of_xen_are_addr2lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
