// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd/recorder.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "cmd/options.h"
#include "cmd/record_user_code.h"
#include "profile/processes.h"
#include "xen/guests.h"

#define KEEP_MS            1000
/* What the last processes have mapped is not worth waiting for longer. */
#define READER_PATIENCE_MS 10000
/* The number that kernels of other domains have from on, among all of the recording. */
#define GUEST_KERNELS      (XF_DOM0_KERNEL + 1u)

/* Set by signal handlers: which signal asks for the end. */
static volatile sig_atomic_t interrupted;

int64_t xf_recorder_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void on_signal(int number)
{
	interrupted = number;
}

void xf_recorder_catch_signals(void)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	struct sigaction action = {.sa_handler = on_signal};
	struct sigaction before;
	size_t i;

	/* What nohup, or a shell that puts us into the background, wants ignored stays so. */
	for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
			sigaction(numbers[i], &action, NULL);
	/* A reader of our output that has gone must not end us with the agent in place. */
	action.sa_handler = SIG_IGN;
	sigaction(SIGPIPE, &action, NULL);
}

bool xf_recorder_interrupted(void)
{
	return interrupted;
}

void xf_recorder_be_urgent(bool urgent)
{
	struct sched_param priority = {.sched_priority = urgent ? 1 : 0};

	sched_setscheduler(0, urgent ? SCHED_RR : SCHED_OTHER, &priority);
}

static uint64_t now_tsc(void)
{
	return __builtin_ia32_rdtsc();
}

/* pCPUs' records come in no order. */
static void note_time(struct xf_recorder *recorder, uint64_t tsc)
{
	if (!recorder->first_tsc || tsc < recorder->first_tsc)
		recorder->first_tsc = tsc;
	if (tsc > recorder->last_tsc)
		recorder->last_tsc = tsc;
}

/* What is of its guest comes before the sample, as profile/format.h has it. */
static int write_sample(struct xf_recording_writer *writer, const struct xf_sample *sample,
                        const struct xf_sample_guest *guest)
{
	int result = guest->task ? xf_recording_write_guest_task(writer, guest->task) : 0;

	for (size_t i = 0; !result && i < guest->nr; i++)
		result = xf_recording_write_guest_stack(writer, guest->stacks[i]);
	return result ? result : xf_recording_write_sample(writer, sample);
}

static void take_sample(void *context, const struct xf_sample *sample,
                        const struct xf_sample_guest *guest)
{
	struct xf_recorder *recorder = context;

	recorder->samples++;
	recorder->ahead += sample->tsc > now_tsc();
	note_time(recorder, sample->tsc);
	xf_record_guest_kernels_take(&recorder->kernels, sample, guest);
	if (guest->task)
		xf_record_guest_processes_saw(&recorder->guest_processes, sample, guest,
		                              xf_recorder_now_ms());
	xf_record_schedule_saw(&recorder->schedule, sample);
	if (!recorder->deaf && !recorder->write_error)
		recorder->write_error = write_sample(recorder->file.writer, sample, guest);
}

static void take_idle(void *context, const struct xf_idle_record *idle)
{
	struct xf_recorder *recorder = context;

	recorder->idle += idle->count;
	note_time(recorder, idle->tsc);
	xf_record_schedule_saw_idle(&recorder->schedule, idle);
	if (!recorder->deaf && !recorder->write_error)
		recorder->write_error = xf_recording_write_idle(recorder->file.writer, idle);
}

static void tell_step(void *context, const char *what)
{
	struct xf_recorder *recorder = context;

	if (recorder->verbose)
		xf_complain(0, "%s", what);
	xf_record_processes_poll(&recorder->processes);
}

int xf_recorder_examine(struct xf_recorder *recorder, xf_recorder_found_t *found, void *context,
                        struct xf_error *error)
{
	const struct xf_requirement *requirement;
	char detail[256];

	for (requirement = xf_requirements; requirement->name; requirement++) {
		int result;

		if (interrupted)
			return xf_fail(error, -EINTR, "interrupted");
		result = requirement->probe(&recorder->host, detail, error);
		if (result)
			return result;
		if (recorder->verbose)
			xf_complain(0, "%s: %s", requirement->name, detail);
		if (found)
			found(context, requirement->name, detail);
	}
	return 0;
}

int xf_recorder_open(struct xf_recorder *recorder, const char *path, struct xf_error *error)
{
	int result = xf_record_file_open(path, &recorder->file, error);

	if (!result)
		result = xf_record_file_write_host(&recorder->file, &recorder->host,
		                                   recorder->frequency, error);
	/* A pipe that nobody reads yet makes us wait. */
	return result && interrupted ? xf_fail(error, -EINTR, "interrupted") : result;
}

/* Without its kernel dom0's stacks have no names: no reason not to record. */
static int write_dom0_kernel(struct xf_recorder *recorder, struct xf_error *error)
{
	static const struct xf_kernel_paths paths = {0};
	struct xf_kernel kernel = {0};
	struct xf_error unread = {0};
	char detail[256];
	int result;

	if (xf_kernel_read(&paths, &kernel, &unread) != 0) {
		xf_complain(0, "dom0's kernel will be without names: %s", unread.text);
		return 0;
	}
	if (kernel.notice.code)
		xf_complain(0, "%s", kernel.notice.text);
	xf_kernel_tell(&kernel, detail);
	tell_step(recorder, detail);
	if (!kernel.has_task_layout)
		tell_step(recorder, kernel.no_task_layout.text);
	else
		xf_guests_add_task(&recorder->host.config, XF_DOMID_CONTROL, &kernel.task_layout);
	result = xf_record_file_write_kernel(&recorder->file, &kernel, error);
	xf_kernel_free(&kernel);
	return result;
}

static void tell_kernel(void *context, bool important, const char *text)
{
	if (important)
		xf_complain(0, "%s", text);
	else
		tell_step(context, text);
}

/* Brings the file's domains up to date, and who runs which kernel. */
static int look_at_domains(struct xf_recorder *recorder, struct xf_error *error)
{
	struct xf_record_file *file = &recorder->file;
	uint64_t before = now_tsc();
	int result = xf_record_file_write_domains(file, error);

	if (!result &&
	    xf_record_guest_kernels_look(&recorder->kernels, file->domains, file->nr_domains,
	                                 &recorder->host.config, before, now_tsc()))
		result = xf_fail(error, -ENOMEM, "no memory for what domains run");
	return result;
}

/* For somebody who looks on, whose the kernels are being told as soon as it is known. */
static int write_guest_kernels(struct xf_recorder *recorder, struct xf_error *error)
{
	struct xf_record_file *file = &recorder->file;
	int result = xf_record_guest_kernels_begin(&recorder->kernels, file->writer, GUEST_KERNELS);

	return result ? xf_record_file_failed(file, result, error) : 0;
}

int xf_recorder_prepare_guests(struct xf_recorder *recorder, struct xf_error *error)
{
	const struct xf_record_file *file = &recorder->file;
	struct xf_agent_config *config = &recorder->host.config;
	int result =
	        xf_guests_choose(recorder->guests, file->domains, file->nr_domains, config, error);

	config->guest_user_bytes = recorder->user_bytes;
	recorder->kernels.tell = tell_kernel;
	recorder->kernels.context = recorder;
	if (!result)
		result = xf_record_file_write_guests(&recorder->file, config, error);
	if (!result && xf_guests_are_read(config, 0))
		result = write_dom0_kernel(recorder, error);
	if (!result)
		result = xf_record_guest_kernels_check(&recorder->kernels, file->domains,
		                                       file->nr_domains, config, error);
	if (!result)
		result = xf_guest_roots_check(&recorder->guest_roots, file->domains,
		                              file->nr_domains, config, error);
	if (!result)
		result = look_at_domains(recorder, error);
	if (!result &&
	    xf_record_guest_kernels_add_tasks(&recorder->kernels, config,
	                                      recorder->live ? NULL : &recorder->guest_processes))
		result = xf_fail(error, -ENOMEM, "no memory for what processes have mapped");
	if (!result)
		result = xf_record_file_write_tasks(&recorder->file, config, error);
	return result || !recorder->live ? result : write_guest_kernels(recorder, error);
}

/* Without it recording goes on. */
static void start_guest_reader(struct xf_recorder *recorder)
{
	struct xf_record_guest_processes *processes = &recorder->guest_processes;
	struct xf_guest_reader *reader = &recorder->guest_reader;

	if (!processes->nr_domains ||
	    xf_guest_reader_start(reader, processes->domains, processes->nr_domains,
	                          &recorder->no_guest_reader) != 0)
		return;
	if (xf_record_guest_processes_start(processes, reader->requests, reader->answers) == 0)
		return;
	xf_guest_reader_end(reader);
	xf_fail(&recorder->no_guest_reader, -ENOMEM,
	        "functions of other domains' processes will be without names: out of memory");
}

int xf_recorder_start(struct xf_recorder *recorder, struct xf_error *error)
{
	struct xf_session_sink sink = {
	        .context = recorder, .sample = take_sample, .idle = take_idle};

	recorder->processes.wish = recorder->live ? XF_SIDEBAND_NAMES : XF_SIDEBAND_CODE;
	xf_record_processes_start(&recorder->processes);
	start_guest_reader(recorder);
	if (recorder->with_schedule &&
	    xf_record_schedule_start(&recorder->schedule, &recorder->host) != 0)
		return xf_fail(error, -ENOMEM, "no memory for what Xen's scheduler does");
	sink.runstates = recorder->schedule.states;
	return xf_session_start(&recorder->host, recorder->frequency, &sink, tell_step, recorder,
	                        &interrupted, &recorder->session, error);
}

int xf_recorder_settle(struct xf_recorder *recorder, struct xf_error *error)
{
	/* Samples may have been there before the agent's first word was. */
	uint64_t start = recorder->first_tsc ? recorder->first_tsc : now_tsc();
	int result = xf_record_target_settle(&recorder->file.target, error);

	if (!result)
		result = xf_record_file_write_agent(&recorder->file, &recorder->host,
		                                    recorder->session, start, error);
	if (result)
		recorder->write_error = result;
	recorder->kept = xf_recorder_now_ms();
	return result;
}

/* What is recorded beside the samples. Return: 0, or a negative errno value and @error. */
static int write_beside(struct xf_recorder *recorder, struct xf_error *error)
{
	int result = xf_record_processes_write(&recorder->processes, recorder->file.writer);

	if (!result)
		result = xf_record_guest_processes_write(&recorder->guest_processes,
		                                         recorder->file.writer);
	if (!result)
		result = xf_record_schedule_write(&recorder->schedule, recorder->file.writer);
	return result ? xf_record_file_failed(&recorder->file, result, error) : 0;
}

static int prove_guest_kernels(struct xf_recorder *recorder, struct xf_error *error)
{
	struct xf_record_file *file = &recorder->file;
	int result = xf_record_guest_kernels_go_on(&recorder->kernels, file->writer, GUEST_KERNELS);

	return result ? xf_record_file_failed(file, result, error) : 0;
}

/* What is done every second. */
static int keep_file(struct xf_recorder *recorder, struct xf_error *error)
{
	int result = look_at_domains(recorder, error);

	if (recorder->deaf)
		xf_record_processes_leave_out(&recorder->processes);
	else if (!result)
		result = write_beside(recorder, error);
	if (!result && recorder->live)
		result = prove_guest_kernels(recorder, error);
	if (!result)
		result = xf_record_file_write_books(&recorder->file, recorder->session, error);
	if (result)
		recorder->write_error = result;
	return result;
}

int xf_recorder_turn(struct xf_recorder *recorder, struct xf_error *error)
{
	int64_t now = xf_recorder_now_ms();
	int64_t keep_ms = recorder->keep_ms ? recorder->keep_ms : KEEP_MS;
	int result;

	usleep(XF_RECORDER_POLL_MS * 1000);
	result = xf_session_poll(recorder->session, error);
	xf_record_processes_poll(&recorder->processes);
	xf_record_guest_processes_poll(&recorder->guest_processes);
	if (!result && now - recorder->kept >= keep_ms) {
		recorder->kept = now;
		result = keep_file(recorder, error);
	}
	if (!result && recorder->write_error)
		result = xf_record_file_failed(&recorder->file, recorder->write_error, error);
	return result;
}

int xf_recorder_stop(struct xf_recorder *recorder, int result, struct xf_error *error)
{
	xf_record_file_note_end(&recorder->file,
	                        result == -ECANCELED ? recorder->last_tsc : now_tsc());
	return result == -ECANCELED ? 0 : xf_session_stop(recorder->session, error);
}

/* What Xen says of vCPUs counts where none of their records is still to be read. */
static void finish_schedule(struct xf_recorder *recorder)
{
	if (!recorder->schedule.states)
		return;
	xf_record_schedule_ask(&recorder->schedule, recorder->host.xen, recorder->file.domains,
	                       recorder->file.nr_domains);
	xf_session_listen(recorder->session, NULL);
	xf_record_schedule_finish(&recorder->schedule);
}

int xf_recorder_finish(struct xf_recorder *recorder, struct xf_error *error)
{
	int result;

	if (recorder->write_error)
		return 0;
	xf_record_processes_poll(&recorder->processes);
	result = look_at_domains(recorder, error);
	if (result)
		return result;
	finish_schedule(recorder);
	result = write_beside(recorder, error);
	if (result)
		return result;
	return xf_record_file_write_books(&recorder->file, recorder->session, error);
}

/* Has what ran last read, and the modules of kernels, which have been proven. */
static void finish_guest_processes(struct xf_recorder *recorder)
{
	int64_t end = xf_recorder_now_ms() + READER_PATIENCE_MS;

	xf_record_guest_processes_ask_last(&recorder->guest_processes);
	xf_record_guest_kernels_ask_modules(&recorder->kernels, &recorder->guest_processes,
	                                    GUEST_KERNELS);
	xf_guest_reader_close_requests(&recorder->guest_reader);
	while (xf_record_guest_processes_poll(&recorder->guest_processes) &&
	       xf_recorder_now_ms() < end)
		usleep(10000);
	xf_guest_reader_end(&recorder->guest_reader);
}

/* Whose the kernels are comes before the code of processes: by that, those of other domains are. */
static int write_last(struct xf_recorder *recorder)
{
	struct xf_recording_writer *writer = recorder->file.writer;
	int result = xf_record_guest_kernels_prove(&recorder->kernels);

	if (!result) {
		finish_guest_processes(recorder);
		result = xf_record_guest_processes_write(&recorder->guest_processes, writer);
	}
	if (!result)
		result = xf_record_guest_kernels_write(
		        &recorder->kernels, &recorder->guest_processes, writer, GUEST_KERNELS);
	return result ? result
	              : xf_record_user_code(&recorder->file, &recorder->guest_roots,
	                                    &recorder->unnamed);
}

int xf_recorder_complete(struct xf_recorder *recorder, struct xf_error *error)
{
	int result;

	if (recorder->write_error)
		return 0;
	result = write_last(recorder);
	if (result)
		return xf_record_file_failed(&recorder->file, result, error);
	return xf_record_file_write_end(&recorder->file, error);
}

enum xf_exit xf_recorder_output_exit(const struct xf_error *error)
{
	return error->code == -EINTR || error->code == -ENOMEM ? XF_EXIT_FAILURE : XF_EXIT_OUTPUT;
}

void xf_recorder_close(struct xf_recorder *recorder)
{
	xf_record_processes_end(&recorder->processes);
	xf_guest_reader_end(&recorder->guest_reader);
	xf_record_guest_processes_free(&recorder->guest_processes);
	xf_record_schedule_end(&recorder->schedule);
	xf_record_guest_kernels_free(&recorder->kernels);
	xf_record_file_close(&recorder->file);
	xf_host_close(&recorder->host);
}
