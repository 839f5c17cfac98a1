// SPDX-License-Identifier: GPL-2.0-or-later
/* Files of other domains' processes: found by their build-id, in that domain's files or dom0's own,
 * and nothing else is opened, whatever the domain calls them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "xen/user_file.h"

static struct {
	char own[512]; /* this program */
	char root[64]; /* where a copy of it is /opt/prog */
	uint8_t build_id[XF_BUILD_ID_MAX];
	size_t build_id_size;
} made;

static const char *in_root(const char *path)
{
	static char whole[128];

	snprintf(whole, sizeof(whole), "%s%s", made.root, path);
	return whole;
}

static void copy_own(const char *to)
{
	int from = open(made.own, O_RDONLY), copy = open(to, O_WRONLY | O_CREAT, 0755);
	char bytes[65536];
	ssize_t got;

	assert_true(from >= 0 && copy >= 0);
	made.build_id_size = xf_user_file_build_id(from, made.build_id);
	assert_true(made.build_id_size > 0);
	while ((got = read(from, bytes, sizeof(bytes))) > 0)
		assert_int_equal(write(copy, bytes, (size_t)got), got);
	close(from);
	close(copy);
}

static int make(void **state)
{
	ssize_t size = readlink("/proc/self/exe", made.own, sizeof(made.own) - 1);

	(void)state;
	assert_true(size > 0);
	made.own[size] = '\0';
	strcpy(made.root, "/tmp/xenflame-root.XXXXXX");
	assert_non_null(mkdtemp(made.root));
	assert_int_equal(mkdir(in_root("/opt"), 0755), 0);
	copy_own(in_root("/opt/prog"));
	assert_int_equal(symlink("/opt/prog", in_root("/inside")), 0);
	assert_int_equal(symlink(made.own, in_root("/outside")), 0);
	assert_int_equal(mkfifo(in_root("/fifo"), 0600), 0);
	return 0;
}

static int unmake(void **state)
{
	static const char *const files[] = {"/opt/prog", "/inside", "/outside", "/fifo"};

	(void)state;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		unlink(in_root(files[i]));
	rmdir(in_root("/opt"));
	rmdir(made.root);
	return 0;
}

static struct xf_user_file_wanted wanted_at(const char *root, const char *path)
{
	return (struct xf_user_file_wanted){.path = path,
	                                    .build_id = made.build_id,
	                                    .build_id_size = made.build_id_size,
	                                    .in_guest = true,
	                                    .root = root,
	                                    .pid = (uint32_t)getpid()};
}

static bool is_found(const struct xf_user_file_wanted *wanted)
{
	struct xf_user_file *file = xf_user_file_open(wanted);
	bool found = file;

	xf_user_file_close(file);
	return found;
}

static void a_file_is_found_in_the_domains_root(void **state)
{
	const struct xf_user_file_wanted wanted = wanted_at(made.root, "/opt/prog");

	(void)state;
	assert_true(is_found(&wanted));
}

static void a_file_that_dom0_has_too_is_found_without_one(void **state)
{
	const struct xf_user_file_wanted there = wanted_at(NULL, made.own);
	const struct xf_user_file_wanted not_there = wanted_at(NULL, "/opt/prog");

	(void)state;
	assert_true(is_found(&there));
	assert_false(is_found(&not_there));
}

static void without_its_build_id_none_is_taken(void **state)
{
	struct xf_user_file_wanted wanted = wanted_at(made.root, "/opt/prog");
	uint8_t other[XF_BUILD_ID_MAX];

	(void)state;
	wanted.build_id_size = 0;
	assert_false(is_found(&wanted));
	memcpy(other, made.build_id, sizeof(other));
	other[0] ^= 1;
	wanted.build_id_size = made.build_id_size;
	wanted.build_id = other;
	assert_false(is_found(&wanted));
}

static void links_lead_to_where_they_lead_in_the_guest(void **state)
{
	const struct xf_user_file_wanted inside = wanted_at(made.root, "/inside");
	const struct xf_user_file_wanted outside = wanted_at(made.root, "/outside");

	(void)state;
	assert_true(is_found(&inside));
	assert_false(is_found(&outside));
}

static void no_path_leads_up_or_begins_anywhere_else(void **state)
{
	static const char *const paths[] = {
	        "/opt/../opt/prog", "/..", "..", "opt/prog", "", "[vdso]", "//../opt/prog"};

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		const struct xf_user_file_wanted wanted = wanted_at(made.root, paths[i]);

		assert_false(is_found(&wanted));
	}
}

/* Opening one that nobody writes to would not end; a device may do anything. */
static void what_is_no_file_is_not_opened(void **state)
{
	const struct xf_user_file_wanted fifo = wanted_at(made.root, "/fifo");
	const struct xf_user_file_wanted own_fifo = wanted_at(NULL, in_root("/fifo"));
	const struct xf_user_file_wanted device = wanted_at(made.root, "/dev/zero");

	(void)state;
	assert_false(is_found(&fifo));
	assert_false(is_found(&own_fifo));
	assert_false(is_found(&device));
}

/* What the kernel makes up, and what only leads to other files. */
static void dom0s_own_files_are_programs_alone(void **state)
{
	static const char *const links[] = {"/proc/self/exe", "//proc/./self/exe"};
	struct xf_user_file_wanted wanted = wanted_at(NULL, "/dev/shm/xenflame-test-prog");

	(void)state;
	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
		const struct xf_user_file_wanted link = wanted_at(NULL, links[i]);

		assert_false(is_found(&link));
	}
	if (access("/dev/shm", W_OK) != 0)
		skip();
	copy_own(wanted.path);
	assert_int_equal(symlink(wanted.path, in_root("/leads-there")), 0);
	assert_false(is_found(&wanted));
	wanted.path = in_root("/leads-there");
	assert_false(is_found(&wanted));
	unlink(wanted.path);
	unlink("/dev/shm/xenflame-test-prog");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(a_file_is_found_in_the_domains_root),
	        cmocka_unit_test(a_file_that_dom0_has_too_is_found_without_one),
	        cmocka_unit_test(without_its_build_id_none_is_taken),
	        cmocka_unit_test(links_lead_to_where_they_lead_in_the_guest),
	        cmocka_unit_test(no_path_leads_up_or_begins_anywhere_else),
	        cmocka_unit_test(what_is_no_file_is_not_opened),
	        cmocka_unit_test(dom0s_own_files_are_programs_alone),
	};

	return cmocka_run_group_tests(tests, make, unmake);
}
