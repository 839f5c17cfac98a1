// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Lines of the source. In $XENFLAME_XEN_SYMS, Debian's debug info of Xen 4.20, binutils' addr2line
 * says the same of addresses all over the text.
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
#define STEP     4799u /* bytes; a prime, so that it meets all kinds of instructions */
#define STEPS    500

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

/* The answers of addr2line to the addresses of the test, one a line. */
static FILE *ask_addr2line(const char *path)
{
	char *command = NULL;
	size_t size;
	FILE *written = open_memstream(&command, &size);
	FILE *answers;

	assert_non_null(written);
	fprintf(written, "addr2line -e '%s'", path);
	for (unsigned int i = 0; i < STEPS; i++)
		fprintf(written, " 0x%" PRIx64, (uint64_t)(XEN_TEXT + (uint64_t)i * STEP));
	fclose(written);
	answers = popen(command, "r");
	free(command);
	assert_non_null(answers);
	return answers;
}

/* Return: whether addr2line knows. */
static bool is_known(const char *answer)
{
	const char *colon = strrchr(answer, ':');

	return colon && colon[1] >= '1' && colon[1] <= '9';
}

/* "./xen/common/kexec.c:1167" says the same as "common/kexec.c" and 1167. */
static void assert_same(char *answer, const char *file, int line)
{
	char *colon = strrchr(answer, ':');

	assert_true(is_known(answer));
	assert_int_equal(atoi(colon + 1), line);
	*colon = 0;
	assert_true(strlen(answer) >= strlen(file));
	assert_string_equal(answer + strlen(answer) - strlen(file), file);
}

static void lines_of_xen_are_addr2lines(void **state)
{
	const char *path = getenv("XENFLAME_XEN_SYMS");
	struct xf_error error = {0};
	struct xf_debug *debug;
	unsigned int known = 0, found = 0;
	char answer[4096];
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
	answers = ask_addr2line(path);
	for (unsigned int i = 0; i < STEPS; i++) {
		const char *file = NULL;
		int line = 0;
		uint64_t address = XEN_TEXT + (uint64_t)i * STEP;

		assert_non_null(fgets(answer, sizeof(answer), answers));
		known += is_known(answer);
		if (!xf_debug_line(debug, address, &file, &line))
			continue;
		found++;
		assert_same(answer, file, line);
	}
	pclose(answers);
	print_message("# of %u that addr2line knows we know %u\n", known, found);
	/* It takes filler behind the last function of a unit for that function's. */
	assert_true(found > STEPS / 2 && found + 5 >= known);
	xf_debug_close(debug);
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(what_is_no_debug_info_is_refused),
	        cmocka_unit_test(lines_of_xen_are_addr2lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
