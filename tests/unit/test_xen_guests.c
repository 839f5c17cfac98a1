// SPDX-License-Identifier: GPL-2.0-or-later
/* src/xen/guests.c: which domains --guests means. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>

#include "xen/guests.h"

static const struct xf_domain domains[] = {
        {.domid = 0, .name = "Domain-0"},
        {.domid = 5, .name = "web"},
        {.domid = 7, .name = "5"},
};

static int choose(const char *wanted, struct xf_agent_config *config, struct xf_error *error)
{
	memset(config, 0xff, sizeof(*config));
	return xf_guests_choose(wanted, domains, 3, config, error);
}

static void all_and_none_are_what_they_say(void **state)
{
	struct xf_agent_config config;

	(void)state;
	assert_int_equal(choose("all", &config, NULL), 0);
	assert_int_equal(config.nr_guests, XF_GUESTS_ALL);
	assert_int_equal(choose("none", &config, NULL), 0);
	assert_int_equal(config.nr_guests, 0);
}

static void domains_are_found_by_name_and_by_number(void **state)
{
	struct xf_agent_config config;

	(void)state;
	assert_int_equal(choose("web,0", &config, NULL), 0);
	assert_int_equal(config.nr_guests, 2);
	assert_int_equal(config.guest_domids[0], 5);
	assert_int_equal(config.guest_domids[1], 0);
}

static void dom0_is_what_everybody_calls_it(void **state)
{
	static const struct xf_domain named[] = {{.domid = 0, .name = "Domain-0"},
	                                         {.domid = 6, .name = "dom0"}};
	struct xf_agent_config config;

	(void)state;
	assert_int_equal(choose("web,dom0", &config, NULL), 0);
	assert_int_equal(config.nr_guests, 2);
	assert_int_equal(config.guest_domids[1], 0);
	assert_int_equal(xf_guests_find("dom0=x", 4, named, 1), 0);
	assert_int_equal(xf_guests_find("dom0", 4, named, 2), 6);
	assert_int_equal(xf_guests_find("dom00", 5, named, 1), -1);
}

static void a_name_comes_before_a_number(void **state)
{
	struct xf_agent_config config;

	(void)state;
	assert_int_equal(choose("5", &config, NULL), 0);
	assert_int_equal(config.guest_domids[0], 7);
	assert_int_equal(choose("7", &config, NULL), 0);
	assert_int_equal(config.guest_domids[0], 7);
}

static void tasks_are_told_of_as_many_domains_as_there_is_room_for(void **state)
{
	const struct xf_task_layout layout = {
	        .current = 0x1f7c0, .stack = 32, .pid = 2464, .comm = 2936};
	struct xf_agent_config config;

	(void)state;
	assert_int_equal(choose("all", &config, NULL), 0);
	assert_int_equal(config.nr_tasks, 0);
	for (uint16_t domid = 0; domid < XF_MAX_GUESTS; domid++)
		assert_true(xf_guests_add_task(&config, domid, &layout));
	assert_false(xf_guests_add_task(&config, 99, &layout));
	assert_int_equal(config.nr_tasks, XF_MAX_GUESTS);
	assert_int_equal(config.tasks[3].domid, 3);
	assert_int_equal(config.tasks[3].current, 0x1f7c0);
	assert_int_equal(config.tasks[3].stack, 32);
	assert_int_equal(config.tasks[3].pid, 2464);
	assert_int_equal(config.tasks[3].comm, 2936);
}

static void what_is_not_there_is_refused_with_what_is(void **state)
{
	static const char *const wrong[] = {"",   ",",  "web,",  "we",    "webb",  "1",    "0x5",
	                                    "-1", "5 ", "32752", "web,9", "web;0", "65536"};
	struct xf_agent_config config;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct xf_error error = {0};

		assert_int_equal(choose(wrong[i], &config, &error), -EINVAL);
		assert_non_null(strstr(error.text, "Domain-0 (0), web (5), 5 (7)"));
	}
}

static void dom0_is_there_without_a_xenstore(void **state)
{
	struct xf_agent_config config;
	struct xf_error error;

	(void)state;
	assert_int_equal(xf_guests_choose("0", NULL, 0, &config, &error), 0);
	assert_int_equal(config.nr_guests, 1);
	assert_int_equal(config.guest_domids[0], 0);
	assert_int_equal(xf_guests_choose("3", NULL, 0, &config, &error), 0);
	assert_int_equal(config.guest_domids[0], 3);
	assert_int_equal(xf_guests_choose("web", NULL, 0, &config, &error), -EINVAL);
}

static void more_than_the_agent_has_room_for_are_refused(void **state)
{
	struct xf_agent_config config;
	struct xf_error error;

	(void)state;
	assert_int_equal(choose("0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0", &config, &error), 0);
	assert_int_equal(config.nr_guests, XF_MAX_GUESTS);
	assert_int_equal(choose("0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0", &config, &error), -EINVAL);
	assert_non_null(strstr(error.text, "16"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(all_and_none_are_what_they_say),
	        cmocka_unit_test(domains_are_found_by_name_and_by_number),
	        cmocka_unit_test(dom0_is_what_everybody_calls_it),
	        cmocka_unit_test(a_name_comes_before_a_number),
	        cmocka_unit_test(tasks_are_told_of_as_many_domains_as_there_is_room_for),
	        cmocka_unit_test(what_is_not_there_is_refused_with_what_is),
	        cmocka_unit_test(dom0_is_there_without_a_xenstore),
	        cmocka_unit_test(more_than_the_agent_has_room_for_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
