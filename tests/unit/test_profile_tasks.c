// SPDX-License-Identifier: GPL-2.0-or-later
/* src/profile/tasks.c: which process a sample belongs to, by the kernel's word or by the timeline.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "profile/process_writer.h"
#include "profile/tasks.h"
#include "unit/process_records.h"

#define GUEST   7u  /* runs a known kernel from KNOWN on */
#define KNOWN   50u /* TSC */
#define STRANGE 8u  /* likewise, but of its tasks nothing was to be told */
#define STACK   0xffffc90040588000ull
#define CODE    0x401000u

/* The timeline has it that PID ran, named "prog", with code mapped at CODE; TSC and time are one.
 */
static void write_timeline(struct xf_recording_writer *writer)
{
	const struct xf_clock_pair pairs[] = {{1, 1, 1}, {1000000, 1000000, 1}};
	const struct xf_switch run = {.time = 1, .pid = PID, .tid = PID};
	struct bytes records = {0};

	add(&records, XF_PROCESS_FILE, 1, "/opt/prog", 10);
	add(&records, XF_PROCESS_EXISTS, 0, "prog", 5);
	map(&records, CODE, 0x1000, 0, 1);
	assert_int_equal(xf_recording_write_clock(writer, pairs, 2), 0);
	assert_int_equal(xf_recording_write_processes(writer, records.at, records.size), 0);
	assert_int_equal(xf_recording_write_switches(writer, 0, &run, 1), 0);
	free(records.at);
}

static void write_kernels(struct xf_recording_writer *writer)
{
	static const uint16_t domids[] = {XF_DOMID_CONTROL, GUEST, STRANGE};
	struct xf_recording_kernel_of of = {.kernel = 3};

	xf_recording_write_info(writer, "tasks", "%u,%u", XF_DOMID_CONTROL, GUEST);
	assert_int_equal(xf_recording_write_kernel(writer, 3, "Linux"), 0);
	for (size_t i = 0; i < sizeof(domids) / sizeof(domids[0]); i++) {
		of.domid = domids[i];
		of.tsc = of.domid == GUEST ? KNOWN : 0;
		assert_int_equal(xf_recording_write_kernel_of(writer, &of), 0);
	}
}

/* One sample, and what is to be known of it. */
struct wanted {
	struct xf_sample sample;
	const struct xf_guest_task *task; /* NULL: the kernel said nothing */
	uint64_t rsp;                     /* of the kernel's stack; 0: in a process */
	bool recorded;
	bool known;
	struct xf_process process;
};

static void write_sample(struct xf_recording_writer *writer, const struct wanted *wanted)
{
	const struct xf_guest_stack stack = {
	        .bytes = XF_GUEST_HEAD_BYTES,
	        .mode = wanted->rsp ? XF_GUEST_KERNEL : XF_GUEST_USER,
	        .rsp = wanted->rsp ? wanted->rsp : 0x7ffc00001000,
	};

	if (wanted->task)
		assert_int_equal(xf_recording_write_guest_task(writer, wanted->task), 0);
	assert_int_equal(xf_recording_write_guest_stack(writer, &stack), 0);
	assert_int_equal(xf_recording_write_sample(writer, &wanted->sample), 0);
}

static void check_process(const struct xf_process *process, const struct xf_process *right)
{
	assert_int_equal(process->pid, right->pid);
	assert_int_equal(process->tid, right->tid);
	assert_string_equal(process->name, right->name);
	assert_string_equal(process->thread, right->thread);
}

/* Return: whether anything was known to be mapped at CODE in the process; all else is checked. */
static bool check(const struct wanted *wanted)
{
	struct bytes file = {0};
	const struct xf_recording_sink sink = {.write = take, .context = &file};
	struct xf_record_iterator iterator = {0};
	struct xf_recording_writer *writer;
	struct xf_tasks tasks = {0};
	struct xf_recording *recording;
	struct xf_processes *processes;
	struct xf_process process;
	struct xf_mapping mapping;
	struct xf_record record;
	bool mapped = false;

	assert_int_equal(xf_recording_writer_new(sink, &writer, NULL), 0);
	write_timeline(writer);
	write_kernels(writer);
	write_sample(writer, wanted);
	assert_int_equal(xf_recording_write_end(writer), 0);
	xf_recording_writer_free(writer);
	assert_int_equal(xf_recording_open(file.at, file.size, &recording, NULL), 0);
	assert_int_equal(xf_recording_state(recording).damaged, 0);
	assert_int_equal(
	        xf_processes_make(xf_recording_processes(recording), 1000000000, &processes), 0);
	assert_int_equal(xf_tasks_make(&tasks, recording, processes), 0);
	assert_true(xf_recording_next(recording, &iterator, &record));
	assert_int_equal(xf_tasks_recorded(&tasks, &record.sample), wanted->recorded);
	assert_int_equal(xf_tasks_running(&tasks, &record, XF_NOT_SWITCHING, &process),
	                 wanted->known);
	if (wanted->known) {
		check_process(&process, &wanted->process);
		mapped = xf_processes_mapping(processes, &process, CODE, &mapping);
	}
	xf_tasks_free(&tasks);
	xf_processes_free(processes);
	xf_recording_free(recording);
	free(file.at);
	return mapped;
}

static const struct xf_guest_task worker = {.bytes = sizeof(worker),
                                            .mode = XF_GUEST_TASK,
                                            .stack = STACK,
                                            .pid = 102,
                                            .tgid = 100,
                                            .comm = "worker"};

static struct wanted sample_of(uint16_t domid, const struct xf_guest_task *task)
{
	return (struct wanted){
	        .sample = {.bytes = XF_SAMPLE_HEAD_BYTES, .domid = domid, .tsc = 1000},
	        .task = task,
	        .rsp = STACK + 0x3000,
	        .recorded = true,
	        .known = true,
	        .process = {.pid = 100, .tid = 102, .name = "worker", .thread = "worker"}};
}

static void a_guests_process_is_what_its_kernel_says(void **state)
{
	struct wanted wanted = sample_of(GUEST, &worker);

	(void)state;
	assert_false(check(&wanted));
	wanted.rsp = 0;
	check(&wanted);
	wanted.task = NULL;
	wanted.known = false;
	check(&wanted);
}

static void what_was_read_as_of_an_unknown_kernel_is_not_believed(void **state)
{
	struct wanted wanted = sample_of(GUEST, &worker);

	(void)state;
	wanted.sample.tsc = KNOWN - 1;
	wanted.recorded = wanted.known = false;
	check(&wanted);
	wanted = sample_of(9, &worker);
	wanted.recorded = wanted.known = false;
	check(&wanted);
}

static void of_a_domain_without_tasks_none_is_called_unknown(void **state)
{
	struct wanted wanted = sample_of(STRANGE, NULL);

	(void)state;
	wanted.recorded = wanted.known = false;
	check(&wanted);
}

/* In the middle of a switch the kernel is on the next task's stack already. */
static void a_task_that_is_not_on_its_stack_is_not_believed(void **state)
{
	static const uint64_t elsewhere[] = {STACK - 8, STACK + 16384, 0xffffffff82a03000};
	struct wanted wanted = sample_of(GUEST, &worker);

	(void)state;
	wanted.known = false;
	for (size_t i = 0; i < sizeof(elsewhere) / sizeof(elsewhere[0]); i++) {
		wanted.rsp = elsewhere[i];
		check(&wanted);
	}
	wanted.known = true;
	wanted.rsp = STACK;
	check(&wanted);
	wanted.rsp = STACK + 16376;
	check(&wanted);
	wanted.rsp = 0xfffffe0000002fd8; /* where kernels are entered */
	check(&wanted);
}

static void a_task_that_makes_no_sense_is_not_believed(void **state)
{
	struct xf_guest_task task = worker;
	struct wanted wanted = sample_of(GUEST, &task);

	(void)state;
	wanted.known = false;
	memset(task.comm, 'x', sizeof(task.comm));
	check(&wanted);
	task = worker;
	task.pid = 0x400000;
	check(&wanted);
	task = worker;
	task.tgid = 0x88888888;
	check(&wanted);
	task.tgid = 0;
	check(&wanted);
}

static void the_idle_task_goes_by_one_name_on_all_cpus(void **state)
{
	struct xf_guest_task task = worker;
	struct wanted wanted = sample_of(GUEST, &task);

	(void)state;
	task.pid = task.tgid = 0;
	strcpy(task.comm, "swapper/3");
	wanted.process = (struct xf_process){.name = "swapper", .thread = "swapper"};
	check(&wanted);
	wanted.sample.domid = XF_DOMID_CONTROL;
	check(&wanted);
}

/* The timeline's clock may be wrong by a switch of threads; the kernel's word is of the moment. */
static void the_control_domains_kernel_is_believed_before_the_timeline(void **state)
{
	struct wanted wanted = sample_of(XF_DOMID_CONTROL, &worker);

	(void)state;
	assert_false(check(&wanted));
	wanted.task = NULL;
	wanted.process =
	        (struct xf_process){.pid = PID, .tid = PID, .name = "prog", .thread = "prog"};
	assert_true(check(&wanted));
}

static void the_timeline_tells_what_the_kernels_task_has_mapped(void **state)
{
	struct xf_guest_task task = worker;
	struct wanted wanted = sample_of(XF_DOMID_CONTROL, &task);

	(void)state;
	task.pid = task.tgid = PID;
	strcpy(task.comm, "prog");
	wanted.process =
	        (struct xf_process){.pid = PID, .tid = PID, .name = "prog", .thread = "prog"};
	assert_true(check(&wanted));
	/* By another name it runs another program by now. */
	strcpy(task.comm, "other");
	wanted.process =
	        (struct xf_process){.pid = PID, .tid = PID, .name = "other", .thread = "other"};
	assert_false(check(&wanted));
}

/* ---- In the midst of a switch ---------------------------------------------------------------- */

/* A sample on the worker's stack: of whom the kernel says that it runs, and when. */
struct on_stack {
	uint64_t tsc;
	uint32_t pid;
	const char *comm;
};

static void write_on_stack(struct xf_recording_writer *writer, const struct on_stack *on)
{
	struct xf_guest_task task = worker;
	struct wanted wanted = sample_of(GUEST, &task);

	/* The one before has another stack. */
	task.stack = on->pid == 7 ? STACK + 0x10000 : STACK;
	task.pid = task.tgid = on->pid;
	strcpy(task.comm, on->comm);
	wanted.sample.tsc = on->tsc;
	wanted.rsp = STACK + 0x3000;
	write_sample(writer, &wanted);
}

/* Return: the pid of whose the sample at 1000 is, in the midst of a switch or not; 0: not known. */
static uint32_t switched_to(const struct on_stack *before, const struct on_stack *after,
                            enum xf_switching switching)
{
	static const struct on_stack midst = {1000, 7, "before"};
	struct bytes file = {0};
	const struct xf_recording_sink sink = {.write = take, .context = &file};
	struct xf_record_iterator iterator = {0};
	struct xf_process process = {0};
	struct xf_recording_writer *writer;
	struct xf_recording *recording;
	struct xf_processes *processes;
	struct xf_record record;
	struct xf_tasks tasks;

	assert_int_equal(xf_recording_writer_new(sink, &writer, NULL), 0);
	write_kernels(writer);
	write_on_stack(writer, before);
	write_on_stack(writer, &midst);
	write_on_stack(writer, after);
	assert_int_equal(xf_recording_write_end(writer), 0);
	xf_recording_writer_free(writer);
	assert_int_equal(xf_recording_open(file.at, file.size, &recording, NULL), 0);
	assert_int_equal(xf_processes_make(xf_recording_processes(recording), 1, &processes), 0);
	assert_int_equal(xf_tasks_make(&tasks, recording, processes), 0);
	do
		assert_true(xf_recording_next(recording, &iterator, &record));
	while (record.sample.tsc != 1000);
	if (!xf_tasks_running(&tasks, &record, switching, &process))
		process.pid = 0;
	xf_tasks_free(&tasks);
	xf_processes_free(processes);
	xf_recording_free(recording);
	free(file.at);
	return process.pid;
}

static void in_a_switch_the_stack_says_whose_it_is(void **state)
{
	static const struct on_stack before = {900, 102, "worker"}, after = {1100, 102, "worker"};

	(void)state;
	assert_int_equal(switched_to(&before, &after, XF_SWITCH_UNTOLD), 102);
	assert_int_equal(switched_to(&before, &after, XF_NOT_SWITCHING), 0);
}

static void but_only_between_samples_of_one_thread_alone(void **state)
{
	static const struct on_stack before = {900, 102, "worker"}, early = {990, 102, "worker"};
	static const struct on_stack other = {1100, 103, "worker"}, renamed = {1100, 102, "other"};
	static const struct on_stack late = {1010, 102, "worker"}, later = {1100, 102, "worker"};

	(void)state;
	assert_int_equal(switched_to(&before, &early, XF_SWITCH_UNTOLD), 0);
	assert_int_equal(switched_to(&before, &other, XF_SWITCH_UNTOLD), 0);
	assert_int_equal(switched_to(&before, &renamed, XF_SWITCH_UNTOLD), 0);
	assert_int_equal(switched_to(&late, &later, XF_SWITCH_UNTOLD), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(in_a_switch_the_stack_says_whose_it_is),
	        cmocka_unit_test(but_only_between_samples_of_one_thread_alone),
	        cmocka_unit_test(a_guests_process_is_what_its_kernel_says),
	        cmocka_unit_test(what_was_read_as_of_an_unknown_kernel_is_not_believed),
	        cmocka_unit_test(of_a_domain_without_tasks_none_is_called_unknown),
	        cmocka_unit_test(a_task_that_is_not_on_its_stack_is_not_believed),
	        cmocka_unit_test(a_task_that_makes_no_sense_is_not_believed),
	        cmocka_unit_test(the_idle_task_goes_by_one_name_on_all_cpus),
	        cmocka_unit_test(the_control_domains_kernel_is_believed_before_the_timeline),
	        cmocka_unit_test(the_timeline_tells_what_the_kernels_task_has_mapped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
