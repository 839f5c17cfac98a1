// SPDX-License-Identifier: GPL-2.0-or-later
/* libxl's own record of a domain's configuration: as it writes it, and as it would not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "xen/libxl_config.h"

/* From a domain of Xen 4.17's xl. */
static const char written[] =
        "{\n"
        "    \"c_info\": {\n"
        "        \"type\": \"pvh\",\n"
        "        \"name\": \"pvh\",\n"
        "        \"uuid\": \"4402cfda-3480-4e27-bb91-ce7cf9698358\"\n"
        "    },\n"
        "    \"b_info\": {\n"
        "        \"max_vcpus\": 1,\n"
        "        \"vcpu_hard_affinity\": [\n            [\n                1\n"
        "            ]\n        ],\n"
        "        \"sched_params\": {\n\n        },\n"
        "        \"kernel\": \"/lab/guests/vmlinux\",\n"
        "        \"cmdline\": \"console=hvc0 quiet\",\n"
        "        \"type.pvh\": {\n\n        }\n"
        "    },\n"
        "    \"on_reboot\": \"restart\"\n"
        "}\n";

static bool parse(const char *json, char path[64])
{
	return xf_libxl_parse_kernel(json, strlen(json), path, 64);
}

static void the_kernel_that_xl_was_given_is_found(void **state)
{
	char path[64];

	(void)state;
	assert_true(parse(written, path));
	assert_string_equal(path, "/lab/guests/vmlinux");
	assert_true(parse("{\"b_info\":{\"kernel\":\"\\/a \\\"b\\\\\"}}", path));
	assert_string_equal(path, "/a \"b\\");
}

static void what_only_looks_like_it_is_not_it(void **state)
{
	static const char *const others[] = {
	        "",
	        "{}",
	        "{\"kernel\": \"/elsewhere\"}",
	        "{\"c_info\": {\"kernel\": \"/elsewhere\"}}",
	        "{\"b_info\": {\"x\": {\"kernel\": \"/elsewhere\"}}}",
	        "{\"b_info\": {\"cmdline\": \"\\\"kernel\\\": \\\"/elsewhere\\\"\"}}",
	        "{\"b_info\": [\"kernel\", \"/elsewhere\"]}",
	        "{\"b_info\": {\"kernel\": 7}}",
	        "{\"b_info\": {\"kernel\": \"relative\"}}",
	        "{\"b_info\": {\"kernel\": \"\"}}",
	        "{\"b_info\": {\"kernel\": \"/\\u0061\"}}",
	        "{\"b_info\": {\"kernel\": \"/cut",
	        "{\"b_info\": {\"kernel\": \"/cut\\",
	        "{\"b_info\": {\"kernel\": "
	        "\"/longer/than/there/is/room/for/longer/than/there/is/room/for/longer/than\"}}",
	        "}}}{\"b_info\": {\"kernel\": \"/elsewhere\"}}",
	};
	char path[64];

	(void)state;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (parse(others[i], path))
			fail_msg("case %zu: %s", i, path);
}

static void each_cut_and_each_wrong_byte_is_survived(void **state)
{
	size_t size = strlen(written);
	char *copy = malloc(size), path[64];

	(void)state;
	for (size_t at = 0; at < size; at++) {
		char *cut = malloc(at + 1);

		memcpy(cut, written, at);
		xf_libxl_parse_kernel(cut, at, path, sizeof(path));
		free(cut);
		for (int value = 0; value < 256; value += 5) {
			memcpy(copy, written, size);
			copy[at] = (char)value;
			if (xf_libxl_parse_kernel(copy, size, path, sizeof(path)))
				assert_int_equal(path[0], '/');
		}
	}
	free(copy);
}

static void it_is_the_file_of_that_domain_or_none(void **state)
{
	static const char uuid[] = "4402cfda-3480-4e27-bb91-ce7cf9698358";
	char directory[] = "/tmp/xenflame-libxl-XXXXXX", file[128], path[64];
	FILE *stream;

	(void)state;
	assert_non_null(mkdtemp(directory));
	snprintf(file, sizeof(file), "%s/userdata-d.3.%s.libxl-json", directory, uuid);
	stream = fopen(file, "w");
	assert_non_null(stream);
	fputs(written, stream);
	fclose(stream);
	assert_true(xf_libxl_kernel(directory, 3, uuid, path, sizeof(path)));
	assert_false(xf_libxl_kernel(directory, 4, uuid, path, sizeof(path)));
	assert_false(xf_libxl_kernel(directory, 3, "", path, sizeof(path)));
	assert_false(xf_libxl_kernel(directory, 3, "/../x", path, sizeof(path)));
	unlink(file);
	rmdir(directory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(the_kernel_that_xl_was_given_is_found),
	        cmocka_unit_test(what_only_looks_like_it_is_not_it),
	        cmocka_unit_test(each_cut_and_each_wrong_byte_is_survived),
	        cmocka_unit_test(it_is_the_file_of_that_domain_or_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
