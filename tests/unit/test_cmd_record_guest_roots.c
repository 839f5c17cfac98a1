// SPDX-License-Identifier: GPL-2.0-or-later
/* Where dom0 has other domains' files, by the command line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "cmd/record_guest_roots.h"

static const struct xf_domain domains[] = {
        {.domid = 0, .name = "Domain-0"}, {.domid = 3, .name = "web"}, {.domid = 4, .name = "db"}};
static const struct xf_agent_config config = {.nr_guests = 2, .guest_domids = {0, 3}};

static int request_and_check(const char *text, struct xf_guest_roots *roots, struct xf_error *error)
{
	int code = xf_guest_roots_request(roots, text, error);

	return code ? code : xf_guest_roots_check(roots, domains, 3, &config, error);
}

static void a_domain_is_named_or_numbered(void **state)
{
	static const char *const texts[] = {"web=/usr", "3=/usr"};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct xf_guest_roots roots = {0};
		struct xf_error error = {0};

		assert_int_equal(request_and_check(texts[i], &roots, &error), 0);
		assert_string_equal(xf_guest_roots_find(&roots, 3), "/usr");
		assert_null(xf_guest_roots_find(&roots, 4));
		assert_null(xf_guest_roots_find(&roots, 0));
	}
}

static void what_makes_no_sense_is_refused(void **state)
{
	static const struct {
		const char *text, *words;
	} refused[] = {
	        {"web", "wants NAME=DIRECTORY"},
	        {"web=", "wants NAME=DIRECTORY"},
	        {"=/usr", "wants NAME=DIRECTORY"},
	        {"mail=/usr", "no domain is named or numbered 'mail'"},
	        {"7=/usr", "no domain is named or numbered '7'"},
	        {"0=/usr", "leave '0' out"},
	        {"db=/usr", "the stacks of 'db' are not read"},
	        {"web=/no/such/directory", "/no/such/directory: No such file"},
	        {"web=/dev/null", "/dev/null is no directory"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		struct xf_guest_roots roots = {0};
		struct xf_error error = {0};

		assert_int_equal(request_and_check(refused[i].text, &roots, &error), -EINVAL);
		if (!strstr(error.text, refused[i].words))
			fail_msg("%s: %s", refused[i].text, error.text);
	}
}

static void there_is_an_end_to_them(void **state)
{
	struct xf_guest_roots roots = {0};
	struct xf_error error = {0};

	(void)state;
	for (size_t i = 0; i < XF_MOST_GUEST_ROOTS; i++)
		assert_int_equal(xf_guest_roots_request(&roots, "web=/usr", &error), 0);
	assert_int_equal(xf_guest_roots_request(&roots, "web=/usr", &error), -EINVAL);
	assert_non_null(strstr(error.text, "at most 64 times"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(a_domain_is_named_or_numbered),
	        cmocka_unit_test(what_makes_no_sense_is_refused),
	        cmocka_unit_test(there_is_an_end_to_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
