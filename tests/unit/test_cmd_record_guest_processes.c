// SPDX-License-Identifier: GPL-2.0-or-later
/* Which processes of other domains are to be read, and when; and what has been read, on its way
 * into the recording. Whoever reads them is played here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "cmd/record_guest_processes.h"
#include "profile/process_writer.h"
#include "unit/taken_bytes.h"

#define GUEST  7u
#define OTHER  8u /* whose kernel is not known */
#define KERNEL 0x7000ull
#define TASK   0xffff888001000000ull

static struct {
	struct xf_record_guest_processes processes;
	int requests, answers; /* the reader's ends */
	int64_t now;
} made;

static int make(void **state)
{
	static const struct xf_guest_layouts layouts = {.domid = GUEST};
	int requests[2], answers[2];

	(void)state;
	memset(&made, 0, sizeof(made));
	made.now = 1000000;
	assert_int_equal(pipe2(requests, O_NONBLOCK), 0);
	assert_int_equal(pipe2(answers, O_NONBLOCK), 0);
	assert_int_equal(xf_record_guest_processes_add(&made.processes, &layouts), 0);
	assert_int_equal(xf_record_guest_processes_start(&made.processes, requests[1], answers[0]),
	                 0);
	made.requests = requests[0];
	made.answers = answers[1];
	return 0;
}

static int unmake(void **state)
{
	(void)state;
	close(made.processes.requests);
	close(made.processes.answers);
	close(made.requests);
	close(made.answers);
	xf_record_guest_processes_free(&made.processes);
	return 0;
}

/* ---- Requests -------------------------------------------------------------------------------- */

/* A sample of a process, or of a thread of the kernel's own where @pid is 0. */
struct seen {
	uint16_t domid;
	uint32_t pid;
	uint64_t root;
	bool in_kernel;
};

static void see(struct seen seen)
{
	const struct xf_guest_stack kernel = {.mode = XF_GUEST_KERNEL};
	const struct xf_guest_stack user = {.mode = XF_GUEST_USER};
	const struct xf_guest_task task = {
	        .task = TASK + seen.pid, .pid = seen.pid, .tgid = seen.pid};
	const struct xf_sample sample = {.domid = seen.domid, .cr3 = seen.root | 0x18};
	struct xf_sample_guest guest = {.task = &task};

	if (seen.in_kernel)
		guest.stacks[guest.nr++] = &kernel;
	if (seen.pid)
		guest.stacks[guest.nr++] = &user;
	xf_record_guest_processes_saw(&made.processes, &sample, &guest, made.now);
}

/* Return: whether there is another request. */
static bool take_request(struct xf_guest_reader_request *request)
{
	ssize_t got = read(made.requests, request, sizeof(*request));

	assert_true(got == sizeof(*request) || got < 0);
	return got > 0;
}

static void expect_request(uint32_t pid, uint64_t root, uint64_t kernel_root)
{
	struct xf_guest_reader_request request;

	assert_true(take_request(&request));
	assert_false(request.of_modules);
	assert_int_equal(request.domid, GUEST);
	assert_int_equal(request.process.pid, pid);
	assert_true(request.process.root == root && request.process.kernel_root == kernel_root);
	assert_true(request.process.task == TASK + pid);
}

static void expect_none(void)
{
	struct xf_guest_reader_request request;

	assert_false(take_request(&request));
}

static void a_process_is_asked_for_once_its_kernels_memory_is_known(void **state)
{
	(void)state;
	see((struct seen){GUEST, 100, 0x1000, false});
	expect_none();
	see((struct seen){GUEST, 0, KERNEL, true});
	expect_none();
	see((struct seen){GUEST, 100, 0x1000, false});
	expect_request(100, 0x1000, KERNEL);
	expect_none();
}

static void in_its_kernel_its_own_tables_will_do(void **state)
{
	(void)state;
	see((struct seen){GUEST, 100, 0x1000, true});
	expect_request(100, 0x1000, 0x1000);
}

static void each_process_and_each_of_its_tables_is_asked_for(void **state)
{
	(void)state;
	see((struct seen){GUEST, 100, 0x1000, true});
	see((struct seen){GUEST, 100, 0x2000, false});
	see((struct seen){GUEST, 101, 0x3000, true});
	expect_request(100, 0x1000, 0x1000);
	expect_request(100, 0x2000, 0x1000);
	expect_request(101, 0x3000, 0x3000);
}

static void what_cannot_be_read_is_not_asked_for(void **state)
{
	(void)state;
	see((struct seen){OTHER, 100, 0x1000, true});
	see((struct seen){GUEST, 0, 0x1000, true});
	see((struct seen){GUEST, 100, 0, true});
	expect_none();
}

/* Ever more seldom: 100 ms, 200 ms, and so on up to eight seconds. */
static void one_that_goes_on_is_asked_for_again(void **state)
{
	unsigned int nr = 0;

	(void)state;
	for (int64_t end = made.now + 60000; made.now < end; made.now += 10) {
		struct xf_guest_reader_request request;

		see((struct seen){GUEST, 100, 0x1000, true});
		nr += take_request(&request);
	}
	assert_int_equal(nr,
	                 7 + 6); /* after 0, 0.1, 0.3, 0.7, 1.5, 3.1, 6.3, 12.7 s; then every 8 s */
}

static void at_the_end_what_ran_since_is_asked_for(void **state)
{
	(void)state;
	see((struct seen){GUEST, 100, 0x1000, true});
	see((struct seen){GUEST, 101, 0x2000, true});
	expect_request(100, 0x1000, 0x1000);
	expect_request(101, 0x2000, 0x2000);
	made.now += 10;
	see((struct seen){GUEST, 100, 0x1000, true});
	expect_none();
	xf_record_guest_processes_ask_last(&made.processes);
	expect_request(100, 0x1000, 0x1000);
	expect_none();
}

static void modules_are_asked_for_by_the_kernels_memory(void **state)
{
	const struct xf_guest_modules_wanted wanted = {.slide = 0x1000000, .kernel = 9, .image = 1};
	struct xf_guest_reader_request request;

	(void)state;
	xf_record_guest_processes_ask_modules(&made.processes, GUEST, wanted);
	expect_none(); /* it is not known */
	see((struct seen){GUEST, 0, KERNEL, true});
	xf_record_guest_processes_ask_modules(&made.processes, OTHER, wanted);
	expect_none();
	xf_record_guest_processes_ask_modules(&made.processes, GUEST, wanted);
	assert_true(take_request(&request));
	assert_true(request.of_modules && request.modules.root == KERNEL);
	assert_true(request.modules.slide == 0x1000000);
	assert_int_equal(request.modules.kernel, 9);
}

/* Nobody waits for a reader that has too much to do, or is gone. */
static void what_there_is_no_room_for_is_counted(void **state)
{
	(void)state;
	for (uint32_t pid = 1; pid < 3000; pid++)
		see((struct seen){GUEST, pid, 0x1000, true});
	assert_true(made.processes.missed > 100);
	assert_true(made.processes.missed < 2900);
}

/* More processes than are kept in mind: all are asked for, one after the other. */
static void there_is_no_end_to_processes(void **state)
{
	struct xf_guest_reader_request request;

	(void)state;
	for (uint32_t pid = 1; pid < 3 * XF_GUEST_PROCESSES; pid++) {
		made.now += 1;
		see((struct seen){GUEST, pid, 0x1000, true});
		assert_true(take_request(&request));
		assert_int_equal(request.process.pid, pid);
	}
	assert_int_equal(made.processes.missed, 0);
}

/* ---- Answers --------------------------------------------------------------------------------- */

static void make_answers(struct bytes *answers)
{
	const struct xf_recording_sink sink = {.write = take, .context = answers};
	const struct xf_guest_maps_head head = {
	        .domid = GUEST, .pid = 100, .root = 0x1000, .tsc = 50};
	const struct xf_guest_map map = {0x401000, 0x1000, 0x1000, XF_GUEST_FILES, 0};
	struct xf_recording_writer *writer;
	struct xf_symbols *symbols = xf_symbols_new();

	xf_symbols_add(symbols, 0xffffffffc0200000, 16, 't', "open [evtchn]");
	xf_symbols_finish(symbols);
	assert_int_equal(xf_recording_writer_new(sink, &writer, NULL), 0);
	assert_int_equal(
	        xf_recording_write_process_file(writer, XF_GUEST_FILES, "/sbin/init", NULL, 0), 0);
	assert_int_equal(xf_recording_write_guest_maps(writer, &head, &map, 1), 0);
	xf_recording_write_info(writer, "host", "liar"); /* nothing of a reader's */
	assert_int_equal(xf_recording_write_kernel_symbols(writer, 9, symbols), 0);
	assert_int_equal(xf_recording_write_kernel_upon(writer, 9, 1, "Linux"), 0);
	xf_recording_writer_free(writer);
	xf_symbols_free(symbols);
}

static struct xf_recording *read_back(struct xf_recording_writer *writer, struct bytes *file)
{
	struct xf_recording *recording;

	assert_int_equal(xf_recording_write_end(writer), 0);
	xf_recording_writer_free(writer);
	assert_int_equal(xf_recording_open(file->at, file->size, &recording, NULL), 0);
	assert_int_equal(xf_recording_state(recording).damaged, 0);
	return recording;
}

static void expect_answers(const struct xf_recording *recording)
{
	const struct xf_sample sample = {.domid = GUEST, .tsc = 60, .cr3 = 0x1000};
	struct xf_guest_looks looks =
	        xf_guest_maps_find(xf_recording_guest_maps(recording), &sample, 100);
	const struct xf_recording_kernel *kernel =
	        xf_kernels_find(xf_recording_kernels(recording), 9);
	struct xf_symbols *symbols;
	struct xf_guest_map map;

	assert_true(xf_guest_looks_mapping(&looks, 0x401234, &map));
	assert_string_equal(
	        xf_process_events_file(xf_recording_processes(recording), map.file)->path,
	        "/sbin/init");
	assert_null(xf_recording_info(recording, "host"));
	assert_non_null(kernel);
	symbols = xf_kernels_symbols(kernel);
	assert_string_equal(xf_symbols_find(symbols, 0xffffffffc0200001)->name, "open [evtchn]");
	xf_symbols_free(symbols);
}

/* However they are cut: in pieces of @size bytes, each written as soon as it is there. */
static void check_pieces(const struct bytes *answers, size_t size)
{
	struct bytes file = {0};
	const struct xf_recording_sink sink = {.write = take, .context = &file};
	struct xf_recording_writer *writer;
	struct xf_recording *recording;

	make(NULL);
	assert_int_equal(xf_recording_writer_new(sink, &writer, NULL), 0);
	for (size_t at = 0; at < answers->size; at += size) {
		size_t left = answers->size - at, piece = size < left ? size : left;

		assert_int_equal(write(made.answers, answers->at + at, piece), piece);
		assert_true(xf_record_guest_processes_poll(&made.processes));
		assert_int_equal(xf_record_guest_processes_write(&made.processes, writer), 0);
	}
	assert_true(made.processes.kernels == 1ull << 9);
	recording = read_back(writer, &file);
	expect_answers(recording);
	xf_recording_free(recording);
	free(file.at);
	unmake(NULL);
}

static void answers_come_in_any_pieces(void **state)
{
	struct bytes answers = {0};

	(void)state;
	make_answers(&answers);
	check_pieces(&answers, 1);
	check_pieces(&answers, 7);
	check_pieces(&answers, answers.size);
	free(answers.at);
}

static void a_reader_that_ends_is_noticed_and_what_it_left_is_whole(void **state)
{
	struct bytes answers = {0}, file = {0};
	const struct xf_recording_sink sink = {.write = take, .context = &file};
	struct xf_recording_writer *writer;
	struct xf_recording *recording;

	(void)state;
	make(NULL);
	make_answers(&answers);
	assert_int_equal(write(made.answers, answers.at, answers.size - 1), answers.size - 1);
	close(made.answers);
	made.answers = -1;
	assert_false(xf_record_guest_processes_poll(&made.processes));
	assert_int_equal(xf_recording_writer_new(sink, &writer, NULL), 0);
	assert_int_equal(xf_record_guest_processes_write(&made.processes, writer), 0);
	assert_true(made.processes.kernels == 0); /* the last chunk is not whole */
	recording = read_back(writer, &file);
	assert_int_equal(xf_recording_guest_maps(recording)->nr_looks, 1);
	xf_recording_free(recording);
	free(file.at);
	free(answers.at);
	unmake(NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make, unmake)

int main(void)
{
	const struct CMUnitTest tests[] = {
	        TEST(a_process_is_asked_for_once_its_kernels_memory_is_known),
	        TEST(in_its_kernel_its_own_tables_will_do),
	        TEST(each_process_and_each_of_its_tables_is_asked_for),
	        TEST(what_cannot_be_read_is_not_asked_for),
	        TEST(one_that_goes_on_is_asked_for_again),
	        TEST(at_the_end_what_ran_since_is_asked_for),
	        TEST(modules_are_asked_for_by_the_kernels_memory),
	        TEST(what_there_is_no_room_for_is_counted),
	        TEST(there_is_no_end_to_processes),
	        cmocka_unit_test(answers_come_in_any_pieces),
	        cmocka_unit_test(a_reader_that_ends_is_noticed_and_what_it_left_is_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
