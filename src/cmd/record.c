// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/host_exit.h"
#include "cmd/options.h"
#include "cmd/program.h"
#include "cmd/recorder.h"
#include "cmd/self_test.h"
#include "output/text.h"
#include "profile/profile.h"

#define DEFAULT_STACK 2048u
#define MAX_STACK     16384u
#define PROGRESS_MS   250

static const char *const help[] = {
        "Loads the sampling agent into Xen as a live patch, records all pCPUs until the time is "
        "up,",
        "COMMAND has ended or Ctrl-C is pressed, and takes the agent out again. An existing FILE "
        "is",
        "kept as FILE.old. 'xenflame check' tells beforehand whether this host can be profiled.",
        "--self-test prints a report for a bug tracker; the recording is kept only with -o.",
        NULL,
};

struct request {
	unsigned int frequency;
	double seconds;     /* 0: no limit */
	const char *output; /* NULL: none was named */
	const char *guests;
	struct xf_record_guest_kernels kernels; /* what is asked for of them */
	struct xf_guest_roots roots;            /* likewise */
	unsigned int user_bytes;
	bool verbose;
	bool schedule; /* what Xen's scheduler does is recorded, too */
	bool self_test;
	char **command; /* NULL: none */
};

struct recording {
	const struct request *request;
	struct xf_recorder recorder;
	pid_t child;         /* 0: none is running */
	int child_gate;      /* written to when the child may start; -1: done */
	bool command_failed; /* could not be started */
};

/* In the child: wait for the gate to open, then become the command. */
static void become_command(char **command, int gate)
{
	char go;

	/* exec resets what is caught, but not what is ignored. */
	signal(SIGPIPE, SIG_DFL);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (read(gate, &go, 1) != 1)
		_exit(126);
	close(gate);
	execvp(command[0], command);
	_exit(xf_complain(errno == ENOENT ? 127 : 126, "cannot run %s: %s", command[0],
	                  strerror(errno)));
}

/* The command is forked before the agent is loaded, so that it can't fail for want of memory
 * afterwards, and runs from open_gate on. */
static int fork_command(struct recording *recording, struct xf_error *error)
{
	int gate[2];

	recording->child_gate = -1;
	if (!recording->request->command)
		return 0;
	if (pipe2(gate, O_CLOEXEC) != 0)
		return xf_fail(error, -errno, "cannot make a pipe: %s", strerror(errno));
	recording->child = fork();
	if (recording->child < 0) {
		close(gate[0]);
		close(gate[1]);
		recording->child = 0;
		return xf_fail(error, -errno, "cannot start the command: %s", strerror(errno));
	}
	if (recording->child == 0) {
		close(gate[1]);
		become_command(recording->request->command, gate[0]);
	}
	close(gate[0]);
	recording->child_gate = gate[1];
	return 0;
}

static void open_gate(struct recording *recording)
{
	if (recording->child_gate < 0)
		return;
	if (write(recording->child_gate, "g", 1) != 1)
		recording->command_failed = true;
	close(recording->child_gate);
	recording->child_gate = -1;
}

/* Has the command ended? Its status is told where it could not be started. */
static bool command_ended(struct recording *recording)
{
	int status;

	if (!recording->child || waitpid(recording->child, &status, WNOHANG) != recording->child)
		return false;
	recording->child = 0;
	if (WIFEXITED(status) && (WEXITSTATUS(status) == 126 || WEXITSTATUS(status) == 127))
		recording->command_failed = true;
	return true;
}

/* Asks a command that still runs to end; after two seconds it has to. */
static void end_command(struct recording *recording)
{
	unsigned int turns;

	if (recording->child_gate >= 0)
		close(recording->child_gate);
	recording->child_gate = -1;
	if (!recording->child)
		return;
	kill(recording->child, SIGTERM);
	for (turns = 0; turns < 40; turns++) {
		if (waitpid(recording->child, NULL, WNOHANG) == recording->child)
			return;
		usleep(XF_RECORDER_POLL_MS * 1000);
	}
	kill(recording->child, SIGKILL);
	waitpid(recording->child, NULL, 0);
}

/* What the last line tells beside what is in the file. */
struct totals {
	uint64_t lost;
	uint64_t skipped;
	uint64_t bytes;
};

static struct totals count_totals(const struct xf_recorder *recorder)
{
	struct totals totals = {.bytes = xf_recording_written(recorder->file.writer)};
	struct xf_pcpu_statistics books;
	unsigned int pcpu;

	for (pcpu = 0; xf_session_statistics(recorder->session, pcpu, &books) == 0; pcpu++) {
		totals.lost += books.lost_slot + books.lost_nmi + books.lost_trace;
		totals.skipped += xf_session_skipped(recorder->session, pcpu);
	}
	return totals;
}

static void show_progress(const struct xf_recorder *recorder, int64_t elapsed)
{
	fprintf(stderr,
	        "\rrecording %" PRId64 " s: %" PRIu64 " samples, %" PRIu64 " idle, %" PRIu64
	        " lost, %u pCPUs ",
	        elapsed / 1000, recorder->samples, recorder->idle, count_totals(recorder).lost,
	        recorder->host.machine.online_pcpus);
}

/* Records until the end is asked for. Return: 0, or why it ended early. */
static int record(struct recording *recording, struct xf_error *error)
{
	struct xf_recorder *recorder = &recording->recorder;
	double seconds = recording->request->seconds;
	bool terminal = isatty(STDERR_FILENO);
	int64_t start = xf_recorder_now_ms();
	int64_t shown = 0;
	int result = 0;

	open_gate(recording);
	while (!result && !xf_recorder_interrupted() && !command_ended(recording)) {
		int64_t elapsed = xf_recorder_now_ms() - start;

		if (seconds > 0 && elapsed >= (int64_t)(seconds * 1000))
			break;
		result = xf_recorder_turn(recorder, error);
		if (terminal && elapsed - shown >= PROGRESS_MS) {
			shown = elapsed;
			show_progress(recorder, elapsed);
		}
	}
	if (terminal)
		fputs("\r\033[K", stderr);
	return result;
}

static void say_size(uint64_t bytes)
{
	if (bytes < 1 << 20)
		fprintf(stderr, "%.0f KiB", (double)bytes / 1024);
	else
		fprintf(stderr, "%.1f MiB", (double)bytes / (1 << 20));
}

/* "7 skipped, 1.3 MiB" */
static void say_rest(const struct totals *totals)
{
	if (totals->skipped)
		fprintf(stderr, "%" PRIu64 " skipped, ", totals->skipped);
	say_size(totals->bytes);
	fputc('\n', stderr);
}

/* The line at the end: what the file holds, read back from the file itself. */
static void summarize_file(const char *path, const struct totals *totals)
{
	struct xf_profile_options profile_options = {
	        .by_domain = true, .pcpu = XF_ANY_PCPU, .without_guests = true};
	struct xf_profile *profile = NULL;
	struct xf_error error = {0};
	struct xf_input input;

	if (xf_input_open(path, &input) == 0) {
		if (xf_profile_build(input.recording, &profile_options, &profile, &error) == 0) {
			const struct xf_profile_counts *counts = &profile->counts;
			double whole =
			        counts->xen ? 100.0 * (double)(counts->xen - counts->incomplete) /
			                              (double)counts->xen
			                    : 100.0;

			xf_text_write(stderr, path, "");
			fprintf(stderr,
			        ": %" PRIu64 " samples (%" PRIu64 " guest, %" PRIu64
			        " Xen, %" PRIu64 " idle), %" PRIu64
			        " lost, %.1f %% of Xen's stacks complete, ",
			        profile->samples, counts->guest, counts->xen, counts->idle,
			        totals->lost, whole);
			say_rest(totals);
		} else {
			xf_complain(0, "%s: %s", path, error.text);
		}
	}
	xf_profile_free(profile);
	xf_input_close(&input);
}

/* What went to a pipe cannot be read back. */
static void summarize_stream(const struct xf_recorder *recorder, const struct totals *totals)
{
	xf_text_write(stderr, recorder->file.target.path, "");
	fprintf(stderr, ": %" PRIu64 " samples (%" PRIu64 " idle), %" PRIu64 " lost, ",
	        recorder->samples + recorder->idle, recorder->idle, totals->lost);
	say_rest(totals);
}

static void tell_books(const struct xf_recorder *recorder)
{
	struct xf_pcpu_statistics books;
	unsigned int pcpu;

	for (pcpu = 0; xf_session_statistics(recorder->session, pcpu, &books) == 0; pcpu++)
		fprintf(stderr,
		        "xenflame: pCPU %u: produced %" PRIu64 ", delivered %" PRIu64
		        ", lost %" PRIu64 " for want of a slot, %" PRIu64 " NMIs, %" PRIu64
		        " in the trace buffer; idle %" PRIu64 ", skipped %" PRIu64 "%s\n",
		        pcpu, books.produced, books.delivered, books.lost_slot, books.lost_nmi,
		        books.lost_trace, books.idle, xf_session_skipped(recorder->session, pcpu),
		        books.flags & XF_STATISTICS_CLOSED ? "" : " (not closed)");
}

/* Return: the status of a recording that @result has ended early. */
static int explain_end(const struct recording *recording, int result, const struct xf_error *error)
{
	if (!result)
		return recording->command_failed ? XF_EXIT_FAILURE : XF_EXIT_OK;
	if (result == -ECANCELED)
		return xf_complain(XF_EXIT_INCOMPLETE, "%s; what was recorded until then is whole",
		                   error->text);
	if (recording->recorder.write_error)
		return xf_complain(xf_recorder_output_exit(error), "%s", error->text);
	return xf_complain(xf_host_exit(error), "%s", error->text);
}

/* The recording is good without them; some of its stacks just tell less. */
static void tell_guest_processes(const struct xf_recorder *recorder)
{
	if (recorder->no_guest_reader.code)
		xf_complain(0, "%s", recorder->no_guest_reader.text);
	if (recorder->guest_processes.missed)
		xf_complain(
		        0,
		        "%" PRIu64 " times there was no time to read what a process of another "
		        "domain's has mapped: some of its functions may be without names; fewer "
		        "domains (--guests), or more CPU time for dom0, help",
		        recorder->guest_processes.missed);
}

/* Likewise. */
static void tell_processes(const struct xf_record_processes *processes)
{
	if (processes->why_not.code)
		xf_complain(0, "%s", processes->why_not.text);
	if (processes->lost)
		xf_complain(0,
		            "%" PRIu64
		            " events of processes were lost: of some samples the process "
		            "is not known; a less busy dom0, or more CPU time for it, helps",
		            processes->lost);
}

/* Likewise without what is missing of them. */
static void tell_schedule(const struct xf_recorder *recorder)
{
	struct xf_runstates_books books;

	if (!recorder->schedule.states)
		return;
	books = xf_runstates_books(recorder->schedule.states);
	if (recorder->verbose)
		fprintf(stderr,
		        "xenflame: Xen's scheduler: %" PRIu64 " records, %" PRIu64 " gaps, %" PRIu64
		        " records without the one before\n",
		        books.records, books.gaps, books.broken);
	if (books.gaps || books.broken)
		xf_complain(
		        0,
		        "what vCPUs did is not known of all the time: records of Xen's scheduler "
		        "came faster than they could be read, or were lost; `xenflame report` "
		        "tells of how much");
}

/* From a running agent to a closed file and a host as it was. */
static int record_and_close(struct recording *recording)
{
	struct xf_recorder *recorder = &recording->recorder;
	struct xf_error error = {0}, stop_error = {0}, end_error = {0}, file_error = {0};
	struct totals totals;
	int result, status;

	xf_recorder_be_urgent(true);
	result = xf_recorder_settle(recorder, &error);
	if (!result)
		result = record(recording, &error);
	if (xf_recorder_stop(recorder, result, &stop_error) != 0)
		xf_complain(0, "%s", stop_error.text);
	/* The last samples may have found the disk full. */
	if (!result && recorder->write_error)
		result = xf_record_file_failed(&recorder->file, recorder->write_error, &error);
	if (recorder->verbose)
		tell_books(recorder);
	status = explain_end(recording, result, &error);
	xf_recorder_finish(recorder, &file_error);
	totals = count_totals(recorder);
	if (xf_session_end(recorder->session, &end_error) != 0)
		status = xf_complain(xf_host_exit(&end_error), "%s", end_error.text);
	xf_recorder_be_urgent(false);
	if (!file_error.code)
		xf_recorder_complete(recorder, &file_error);
	if (file_error.code && !status)
		status = xf_complain(xf_recorder_output_exit(&file_error), "%s", file_error.text);
	totals.bytes = xf_recording_written(recorder->file.writer);
	tell_processes(&recorder->processes);
	tell_guest_processes(recorder);
	tell_schedule(recorder);
	if (recorder->unnamed)
		xf_complain(0, "functions of processes may be without names: %s",
		            recorder->unnamed);
	if (recorder->file.target.readable)
		summarize_file(recording->request->output, &totals);
	else if (!recorder->file.target.temporary)
		summarize_stream(recorder, &totals);
	return status;
}

static int run_request(const struct request *request)
{
	struct recording recording = {.request = request,
	                              .recorder.frequency = request->frequency,
	                              .recorder.guests = request->guests,
	                              .recorder.kernels = request->kernels,
	                              .recorder.guest_roots = request->roots,
	                              .recorder.user_bytes = request->user_bytes,
	                              .recorder.verbose = request->verbose,
	                              .recorder.with_schedule = request->schedule,
	                              .recorder.file.target.fd = -1,
	                              .child_gate = -1};
	struct xf_recorder *recorder = &recording.recorder;
	struct xf_error error = {0};
	int status = XF_EXIT_OK;

	xf_recorder_catch_signals();
	/* The output is made, and its first part written, before anything is loaded into Xen. */
	if (xf_recorder_examine(recorder, NULL, NULL, &error) != 0)
		status = xf_complain(xf_host_exit(&error), "%s", error.text);
	else if (xf_recorder_open(recorder, request->output, &error) != 0)
		status = xf_complain(xf_recorder_output_exit(&error), "%s", error.text);
	else if (xf_recorder_prepare_guests(recorder, &error) != 0)
		status = xf_complain(error.code == -EINVAL ? XF_EXIT_USAGE
		                                           : xf_recorder_output_exit(&error),
		                     "%s", error.text);
	else if (fork_command(&recording, &error) != 0 || xf_recorder_start(recorder, &error) != 0)
		status = xf_complain(xf_host_exit(&error), "%s", error.text);
	else
		status = record_and_close(&recording);
	end_command(&recording);
	xf_recorder_close(recorder);
	return status;
}

static bool take_frequency(void *context, const char *value)
{
	struct request *request = context;
	uint64_t number;

	if (!xf_option_number("--frequency", value, 1, XF_RECORDER_MAX_FREQUENCY, &number))
		return false;
	request->frequency = (unsigned int)number;
	return true;
}

static bool take_seconds(void *context, const char *value)
{
	struct request *request = context;
	char *end;

	request->seconds = strtod(value, &end);
	if (end == value || *end != '\0' || !(request->seconds > 0) || request->seconds > 1e7) {
		xf_complain(0, "--time wants a number of seconds above 0, not '%s'", value);
		return false;
	}
	return true;
}

static bool take_output(void *context, const char *value)
{
	struct request *request = context;

	request->output = value;
	return true;
}

static bool take_guests(void *context, const char *value)
{
	struct request *request = context;

	request->guests = value;
	return true;
}

static bool take_guest_kernel(void *context, const char *value)
{
	struct request *request = context;
	struct xf_error error = {0};

	if (xf_record_guest_kernels_request(&request->kernels, value, &error) == 0)
		return true;
	xf_complain(0, "%s", error.text);
	return false;
}

static bool take_guest_root(void *context, const char *value)
{
	struct request *request = context;
	struct xf_error error = {0};

	if (xf_guest_roots_request(&request->roots, value, &error) == 0)
		return true;
	xf_complain(0, "%s", error.text);
	return false;
}

static bool take_user_stack(void *context, const char *value)
{
	struct request *request = context;
	uint64_t number;

	if (!xf_option_number("--user-stack", value, 0, MAX_STACK, &number))
		return false;
	if (number % 8 != 0) {
		xf_complain(0, "--user-stack wants a multiple of 8, not '%s'", value);
		return false;
	}
	request->user_bytes = (unsigned int)number;
	return true;
}

static bool take_schedule(void *context, const char *value)
{
	struct request *request = context;

	(void)value;
	request->schedule = true;
	return true;
}

static bool take_verbose(void *context, const char *value)
{
	struct request *request = context;

	(void)value;
	request->verbose = true;
	return true;
}

static bool take_self_test(void *context, const char *value)
{
	struct request *request = context;

	(void)value;
	request->self_test = true;
	return true;
}

static int refuse_argument(const char *argument)
{
	return xf_complain(XF_EXIT_USAGE,
	                   "record takes no argument '%s': how long is told with -t SECONDS, where"
	                   " to with -o FILE, and a command to record meanwhile stands behind '--':"
	                   " xenflame record -- %s",
	                   argument, argument);
}

static int self_test(const struct request *request)
{
	struct xf_self_test_request asked = {.frequency = request->frequency,
	                                     .seconds = request->seconds,
	                                     .output = request->output,
	                                     .verbose = request->verbose};

	if (request->command)
		return xf_complain(XF_EXIT_USAGE,
		                   "--self-test takes no command: what it records is over in a few "
		                   "seconds, or in those that -t tells");
	if (request->output && strcmp(request->output, "-") == 0)
		return xf_complain(
		        XF_EXIT_USAGE,
		        "--self-test prints its report on standard output; the recording "
		        "goes to a file (-o FILE), or is not kept");
	return xf_self_test_run(&asked);
}

static int run(int argc, char **argv)
{
	struct request request = {.frequency = XF_RECORDER_FREQUENCY,
	                          .guests = XF_RECORDER_GUESTS,
	                          .user_bytes = DEFAULT_STACK};
	struct xf_error error = {0};
	int status;

	if (!xf_options_read(&xf_command_record, argc, argv, &request, &status))
		return status;
	if (optind < argc && strcmp(argv[optind - 1], "--") != 0)
		return refuse_argument(argv[optind]);
	if (optind < argc) {
		request.command = argv + optind;
		if (xf_program_find(request.command[0], getenv("PATH"), &error))
			return xf_complain(XF_EXIT_FAILURE, "%s", error.text);
	}
	if (request.self_test)
		return self_test(&request);
	if (!request.output)
		request.output = XF_DEFAULT_RECORDING;
	return run_request(&request);
}

static const struct xf_option options[] = {
        {"frequency", 'F', "HZ", "samples a second and pCPU (default: 99)", take_frequency},
        {"time", 't', "SECONDS", "how long (default: until the command or Ctrl-C ends it)",
         take_seconds},
        {"output", 'o', "FILE",
         "the recording (default: " XF_DEFAULT_RECORDING "; -: standard output)", take_output},
        {"guests", 'g', "DOMAIN,...",
         "whose stacks are read, too: names, domids, all or none (default: dom0's)", take_guests},
        {"guest-kernel", 0, "NAME=IMAGE",
         "the vmlinux or vmlinuz that a domain runs; may be given again (default: as xl started "
         "it)",
         take_guest_kernel},
        {"guest-root", 0, "NAME=DIRECTORY",
         "where a domain's files are in dom0, for the names of its programs' functions; may be "
         "given again (default: dom0's own, where they are the same)",
         take_guest_root},
        {"user-stack", 0, "BYTES",
         "so much of a process's stack is read with them (default: 2048; 0: none)",
         take_user_stack},
        {"sched", 0, NULL, "also how long vCPUs ran, waited and were blocked (default: no)",
         take_schedule},
        {"verbose", 'v', NULL, "tell each step", take_verbose},
        {"self-test", 0, NULL, "record for 5 s, tell whether all is kept that is promised",
         take_self_test},
        {0},
};

const struct xf_command xf_command_record = {
        .name = "record",
        .synopsis = "[-F HZ] [-t SECONDS] [-o FILE] [-g DOMAIN,...] [--guest-kernel NAME=IMAGE] "
                    "[--guest-root NAME=DIRECTORY] [--user-stack BYTES] [--sched] [-v] "
                    "[--self-test] [-- COMMAND...]",
        .summary = "profiles this host into a file",
        .help = help,
        .options = options,
        .takes_arguments = true,
        .run = run,
};
