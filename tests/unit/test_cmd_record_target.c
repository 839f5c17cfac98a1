// SPDX-License-Identifier: GPL-2.0-or-later
/* src/cmd/record_target.c in a directory of its own: what is there before, meanwhile and after. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/record_target.h"

static char directory[] = "/tmp/xenflame-target-XXXXXX";
static struct xf_record_target target;
static struct xf_error error;

static int enter_directory(void **state)
{
	(void)state;
	return mkdtemp(directory) ? chdir(directory) : -1;
}

static int leave_directory(void **state)
{
	(void)state;
	return chdir("/") || rmdir(directory);
}

static void put(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void want(const char *path, const char *text)
{
	char found[64] = "";
	FILE *file = fopen(path, "r");

	if (!file)
		fail_msg("no %s", path);
	if (!fgets(found, sizeof(found), file))
		found[0] = '\0';
	fclose(file);
	assert_string_equal(found, text);
}

static size_t nr_files(void)
{
	DIR *files = opendir(".");
	struct dirent *entry;
	size_t nr = 0;

	assert_non_null(files);
	while ((entry = readdir(files)) != NULL)
		nr += entry->d_name[0] != '.';
	closedir(files);
	return nr;
}

static int remove_files(void **state)
{
	DIR *files = opendir(".");
	struct dirent *entry;

	(void)state;
	xf_record_target_close(&target);
	while ((entry = readdir(files)) != NULL)
		if (entry->d_name[0] != '.')
			remove(entry->d_name);
	closedir(files);
	return 0;
}

static void open_target(const char *path)
{
	assert_int_equal(xf_record_target_open(path, &target, &error), 0);
	assert_true(target.fd > STDERR_FILENO);
}

static void write_text(const char *text)
{
	assert_int_equal(write(target.fd, text, strlen(text)), strlen(text));
}

static void a_recording_has_its_name_once_it_has_begun(void **state)
{
	struct stat status;

	(void)state;
	open_target("x");
	write_text("host,");
	assert_int_equal(access("x", F_OK), -1);
	assert_false(target.readable);
	assert_int_equal(xf_record_target_settle(&target, &error), 0);
	assert_true(target.readable);
	want("x", "host,");
	write_text("samples");
	want("x", "host,samples");
	xf_record_target_close(&target);
	want("x", "host,samples");
	assert_int_equal(nr_files(), 1);
	assert_int_equal(stat("x", &status), 0);
	assert_int_equal(status.st_mode & 0777, 0600);
}

static void the_one_before_is_kept(void **state)
{
	(void)state;
	put("x", "before");
	put("x.old", "long before");
	open_target("x");
	write_text("new");
	assert_int_equal(xf_record_target_settle(&target, &error), 0);
	xf_record_target_close(&target);
	want("x", "new");
	want("x.old", "before");
	assert_int_equal(nr_files(), 2);
}

static void a_start_that_fails_leaves_everything_as_it_was(void **state)
{
	(void)state;
	open_target("x");
	write_text("new");
	xf_record_target_close(&target);
	assert_int_equal(nr_files(), 0);
	put("x", "before");
	put("x.old", "long before");
	open_target("x");
	write_text("new");
	xf_record_target_close(&target);
	want("x", "before");
	want("x.old", "long before");
	assert_int_equal(nr_files(), 2);
}

static void a_link_is_kept_as_a_link(void **state)
{
	struct stat status;

	(void)state;
	put("elsewhere", "before");
	assert_int_equal(symlink("elsewhere", "x"), 0);
	open_target("x");
	write_text("new");
	assert_int_equal(xf_record_target_settle(&target, &error), 0);
	want("x", "new");
	want("elsewhere", "before");
	assert_int_equal(lstat("x.old", &status), 0);
	assert_true(S_ISLNK(status.st_mode));
}

static void what_cannot_be_written_is_found_at_once(void **state)
{
	(void)state;
	assert_int_equal(xf_record_target_open("no/such/x", &target, &error), -ENOENT);
	assert_non_null(strstr(error.text, "cannot write no/such/x"));
	xf_record_target_close(&target);
	assert_int_equal(mkdir("x", 0755), 0);
	assert_int_equal(xf_record_target_open("x", &target, &error), -EISDIR);
	assert_non_null(strstr(error.text, "cannot write x: Is a directory"));
	xf_record_target_close(&target);
	assert_int_equal(rename("x", "y.old"), 0);
	put("y", "before");
	assert_int_equal(xf_record_target_open("y", &target, &error), -EISDIR);
	assert_non_null(strstr(error.text, "cannot keep the old y as y.old"));
	xf_record_target_close(&target);
	assert_int_equal(nr_files(), 2);
}

static void a_name_that_is_lost_meanwhile_changes_nothing(void **state)
{
	(void)state;
	put("x", "before");
	open_target("x");
	write_text("new");
	assert_int_equal(mkdir("x.old", 0755), 0);
	assert_int_equal(xf_record_target_settle(&target, &error), -EISDIR);
	assert_non_null(strstr(error.text, "cannot keep the old x as x.old"));
	xf_record_target_close(&target);
	want("x", "before");
	assert_int_equal(nr_files(), 2);
}

static void a_pipe_is_written_in_place(void **state)
{
	char found[8] = "";
	struct stat status;
	int reader;

	(void)state;
	assert_int_equal(mkfifo("x", 0644), 0);
	reader = open("x", O_RDONLY | O_NONBLOCK);
	open_target("x");
	write_text("new");
	assert_int_equal(xf_record_target_settle(&target, &error), 0);
	assert_false(target.readable);
	xf_record_target_close(&target);
	assert_int_equal(read(reader, found, sizeof(found)), 3);
	assert_string_equal(found, "new");
	close(reader);
	assert_int_equal(stat("x", &status), 0);
	assert_true(S_ISFIFO(status.st_mode));
	assert_int_equal(nr_files(), 1);
}

/* As under a shell's >>out: neither renamed nor cut, by whatever name it is called. */
static void standard_output_is_written_in_place(void **state)
{
	static const char *const names[] = {"-", "/dev/stdout", "out"};
	int saved = dup(STDOUT_FILENO);
	int out;

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		put("out", "before,");
		out = open("out", O_WRONLY | O_APPEND);
		fflush(stdout);
		dup2(out, STDOUT_FILENO);
		close(out);
		open_target(names[i]);
		assert_string_equal(target.path,
		                    strcmp(names[i], "-") == 0 ? "standard output" : names[i]);
		write_text("new");
		assert_int_equal(xf_record_target_settle(&target, &error), 0);
		xf_record_target_close(&target);
		dup2(saved, STDOUT_FILENO);
		want("out", "before,new");
		assert_int_equal(nr_files(), 1);
	}
	close(saved);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_teardown(name, remove_files)
	const struct CMUnitTest tests[] = {
	        TEST(a_recording_has_its_name_once_it_has_begun),
	        TEST(the_one_before_is_kept),
	        TEST(a_start_that_fails_leaves_everything_as_it_was),
	        TEST(a_link_is_kept_as_a_link),
	        TEST(what_cannot_be_written_is_found_at_once),
	        TEST(a_name_that_is_lost_meanwhile_changes_nothing),
	        TEST(a_pipe_is_written_in_place),
	        TEST(standard_output_is_written_in_place),
	};

	return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
