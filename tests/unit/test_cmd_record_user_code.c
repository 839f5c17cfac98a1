// SPDX-License-Identifier: GPL-2.0-or-later
/* Names of code in files that processes of other domains have mapped, added to a recording that is
 * already written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/record_user_code.h"
#include "cmd/recorder.h"
#include "profile/process_writer.h"
#include "xen/user_file.h"

#define WITHOUT 7u /* a domain whose files are not to be had */
#define WITH    8u
#define PROCESS 100u
#define ROOT    0x1234000ull
#define PATH    "/xenflame-test/prog" /* which dom0 has not */

/* The recorder's, which is not here. */
int64_t xf_recorder_now_ms(void)
{
	return 0;
}

void xf_recorder_be_urgent(bool urgent)
{
	(void)urgent;
}

/* This program, a copy of which is PATH in a directory, and where main is in it. */
static struct {
	char root[64];
	uint8_t build_id[XF_BUILD_ID_MAX];
	size_t build_id_size;
	uint64_t main; /* its offset */
} made;

int main(void);

static void find_main(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	uint64_t start, end, offset;
	char line[512];

	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps))
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64, &start, &end, &offset) ==
		            3 &&
		    (uintptr_t)main >= start && (uintptr_t)main < end)
			made.main = (uintptr_t)main - start + offset;
	fclose(maps);
	assert_true(made.main > 0);
}

static const char *in_root(const char *path)
{
	static char whole[128];

	snprintf(whole, sizeof(whole), "%s%s", made.root, path);
	return whole;
}

static int make(void **state)
{
	int from = open("/proc/self/exe", O_RDONLY), copy;
	char bytes[65536];
	ssize_t got;

	(void)state;
	find_main();
	strcpy(made.root, "/tmp/xenflame-root.XXXXXX");
	assert_non_null(mkdtemp(made.root));
	assert_int_equal(mkdir(in_root("/xenflame-test"), 0755), 0);
	copy = open(in_root(PATH), O_WRONLY | O_CREAT, 0755);
	assert_true(from >= 0 && copy >= 0);
	made.build_id_size = xf_user_file_build_id(from, made.build_id);
	assert_true(made.build_id_size > 0);
	while ((got = read(from, bytes, sizeof(bytes))) > 0)
		assert_int_equal(write(copy, bytes, (size_t)got), got);
	close(from);
	close(copy);
	return 0;
}

static int unmake(void **state)
{
	(void)state;
	unlink(in_root(PATH));
	rmdir(in_root("/xenflame-test"));
	rmdir(made.root);
	return 0;
}

/* ---- A recording ----------------------------------------------------------------------------- */

static int write_all(void *context, const void *bytes, size_t size)
{
	const int *fd = context;

	assert_int_equal(write(*fd, bytes, size), size);
	return 0;
}

/* A sample of the domain's process, in main. */
static void write_sample(struct xf_recording_writer *writer, uint16_t domid)
{
	const struct xf_guest_task task = {.bytes = sizeof(task),
	                                   .mode = XF_GUEST_TASK,
	                                   .sequence = domid,
	                                   .pid = PROCESS,
	                                   .tgid = PROCESS,
	                                   .comm = "prog"};
	const struct xf_guest_stack stack = {.bytes = XF_GUEST_HEAD_BYTES,
	                                     .mode = XF_GUEST_USER,
	                                     .sequence = domid,
	                                     .rip = made.main + 1,
	                                     .rsp = 0x7ffc00001000,
	                                     .end = 0x7ffc00001000};
	const struct xf_sample sample = {.bytes = XF_SAMPLE_HEAD_BYTES,
	                                 .flags = XF_SAMPLE_GUEST,
	                                 .sequence = domid,
	                                 .domid = domid,
	                                 .tsc = 1000,
	                                 .hvm_cr3 = ROOT};

	assert_int_equal(xf_recording_write_guest_task(writer, &task), 0);
	assert_int_equal(xf_recording_write_guest_stack(writer, &stack), 0);
	assert_int_equal(xf_recording_write_sample(writer, &sample), 0);
}

/* The page with main is mapped at its offset. */
static void write_domain(struct xf_recording_writer *writer, uint16_t domid)
{
	const struct xf_guest_maps_head head = {
	        .domid = domid, .pid = PROCESS, .root = ROOT, .tsc = 500};
	const struct xf_guest_map map = {made.main & ~0xfffull, 0x1000, made.main & ~0xfffull,
	                                 XF_GUEST_FILES, 0};
	const struct xf_recording_domain domain = {.domid = domid, .name = "web", .uuid = ""};
	const struct xf_recording_kernel_of of = {.domid = domid, .kernel = 3, .tsc = 1};

	assert_int_equal(xf_recording_write_domain(writer, &domain), 0);
	assert_int_equal(xf_recording_write_kernel_of(writer, &of), 0);
	assert_int_equal(xf_recording_write_guest_maps(writer, &head, &map, 1), 0);
	write_sample(writer, domid);
}

static void write_recording(struct xf_recording_writer *writer)
{
	xf_recording_write_info(writer, "tasks", "%u,%u", WITHOUT, WITH);
	assert_int_equal(xf_recording_write_kernel(writer, 3, "Linux"), 0);
	assert_int_equal(xf_recording_write_process_file(writer, XF_GUEST_FILES, PATH,
	                                                 made.build_id, made.build_id_size),
	                 0);
	write_domain(writer, WITHOUT);
	write_domain(writer, WITH);
}

/* Has code looked up with the files of @domid in the directory. Return: what main is called then,
 * until the next call. *@nr: how many places are known. */
static const char *look_up(uint16_t domid, size_t *nr)
{
	static char name[64];
	const struct xf_guest_roots roots = {.roots = {{.domid = domid, .directory = made.root}},
	                                     .nr = 1};
	struct xf_record_file file = {.target.fd = memfd_create("recording", MFD_CLOEXEC)};
	const struct xf_recording_sink sink = {.write = write_all, .context = &file.target.fd};
	const struct xf_user_place *place;
	struct xf_recording *recording;
	struct stat status;
	const char *why_not;
	void *bytes;

	assert_int_equal(xf_recording_writer_new(sink, &file.writer, NULL), 0);
	write_recording(file.writer);
	assert_int_equal(xf_record_user_code(&file, &roots, &why_not), 0);
	assert_null(why_not);
	assert_int_equal(xf_recording_write_end(file.writer), 0);
	xf_recording_writer_free(file.writer);

	assert_int_equal(fstat(file.target.fd, &status), 0);
	bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, file.target.fd, 0);
	assert_int_equal(xf_recording_open(bytes, (size_t)status.st_size, &recording, NULL), 0);
	*nr = xf_recording_user_code(recording)->nr;
	place = xf_user_code_find(xf_recording_user_code(recording), XF_GUEST_FILES, 0,
	                          made.main + 1);
	snprintf(name, sizeof(name), "%s", place ? place->name : "");
	xf_recording_free(recording);
	munmap(bytes, (size_t)status.st_size);
	close(file.target.fd);
	return name;
}

/* The file has one number for both, and their processes have the same number, too. */
static void one_domains_files_are_enough_for_all_that_have_them(void **state)
{
	static const uint16_t domids[] = {WITHOUT, WITH};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		size_t nr;

		assert_string_equal(look_up(domids[i], &nr), "main");
		assert_int_equal(nr, 1);
	}
}

static void without_any_nothing_is_known(void **state)
{
	size_t nr;

	(void)state;
	assert_string_equal(look_up(9, &nr), "");
	assert_int_equal(nr, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(one_domains_files_are_enough_for_all_that_have_them),
	        cmocka_unit_test(without_any_nothing_is_known),
	};

	return cmocka_run_group_tests(tests, make, unmake);
}
