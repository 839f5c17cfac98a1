// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/program.h"

static void make_file(const char *path, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT, mode);

	assert_true(fd >= 0);
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

static int enter_directory(void **state)
{
	char directory[] = "/tmp/test_cmd_program.XXXXXX";

	assert_non_null(mkdtemp(directory));
	*state = strdup(directory);
	assert_int_equal(chdir(directory), 0);
	assert_int_equal(mkdir("one", 0755), 0);
	assert_int_equal(mkdir("two", 0755), 0);
	assert_int_equal(mkdir("one/folder", 0755), 0);
	make_file("one/plain", 0644);
	make_file("one/both", 0644);
	make_file("two/both", 0755);
	make_file("two/good", 0755);
	make_file("here", 0755);
	return 0;
}

static int leave_directory(void **state)
{
	char command[128];

	assert_int_equal(chdir("/"), 0);
	snprintf(command, sizeof(command), "rm -r %s", (char *)*state);
	free(*state);
	return system(command);
}

static void programs_are_found_as_execvp_does(void **state)
{
	static const struct {
		const char *name;
		const char *path;
		int result;
	} cases[] = {
	        {"good", "one:two", 0},
	        {"good", "two", 0},
	        {"good", "one", -ENOENT},
	        {"good", "absent:two", 0},
	        {"both", "one:two", 0}, /* what may not be run is passed over */
	        {"both", "one", -EACCES},
	        {"plain", "one:two", -EACCES},
	        {"folder", "one", -EACCES},
	        {"here", "one:", 0},
	        {"here", ":one", 0},
	        {"here", "one::two", 0},
	        {"here", "one:two", -ENOENT},
	        {"./here", "", 0},
	        {"two/good", NULL, 0},
	        {"two/absent", NULL, -ENOENT},
	        {"one/plain", NULL, -EACCES},
	        {"here/below", NULL, -ENOTDIR},
	        {"sh", NULL, 0},
	        {"", "two", -ENOENT},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct xf_error error = {0};

		assert_int_equal(xf_program_find(cases[i].name, cases[i].path, &error),
		                 cases[i].result);
		assert_int_equal(error.text[0] != 0, cases[i].result != 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(programs_are_found_as_execvp_does),
	};

	return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
