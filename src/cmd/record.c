// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cmd/host_exit.h"
#include "cmd/options.h"
#include "cmd/program.h"
#include "cmd/record_file.h"
#include "output/text.h"
#include "profile/profile.h"
#include "xen/session.h"

#define DEFAULT_FREQUENCY 99u
#define MAX_FREQUENCY     10000u
#define POLL_MS           50u
#define PROGRESS_MS       250
#define FLUSH_MS          1000

static const char *const help[] = {
        "Loads the sampling agent into Xen as a live patch, records all pCPUs until the time is "
        "up,",
        "COMMAND has ended or Ctrl-C is pressed, and takes the agent out again. An existing FILE "
        "is",
        "kept as FILE.old. 'xenflame check' tells beforehand whether this host can be profiled.",
        NULL,
};

struct request {
	unsigned int frequency;
	double seconds; /* 0: no limit */
	const char *output;
	bool verbose;
	char **command; /* NULL: none */
};

/* Set by signal handlers: which signal asks for the end. */
static volatile sig_atomic_t interrupted;

struct recorder {
	const struct request *request;
	struct xf_host host;
	struct xf_record_file file;
	struct xf_session *session;
	int write_error; /* of the file; 0 or a negative errno value */
	uint64_t samples;
	uint64_t idle;
	uint64_t first_tsc; /* of what has come; 0: nothing yet */
	uint64_t last_tsc;
	pid_t child;         /* 0: none is running */
	int child_gate;      /* written to when the child may start; -1: done */
	bool command_failed; /* could not be started */
};

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void on_signal(int number)
{
	interrupted = number;
}

static void catch_signals(void)
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

/*
 * A busy dom0 must not keep us from the agent's lease and from its samples: while the agent is
 * there we need little, but in time. Without the right to it we do as well as we can.
 */
static void be_urgent(bool urgent)
{
	struct sched_param priority = {.sched_priority = urgent ? 1 : 0};

	sched_setscheduler(0, urgent ? SCHED_RR : SCHED_OTHER, &priority);
}

static uint64_t now_tsc(void)
{
	return __builtin_ia32_rdtsc();
}

/* pCPUs' records come in no order. */
static void note_time(struct recorder *recorder, uint64_t tsc)
{
	if (!recorder->first_tsc || tsc < recorder->first_tsc)
		recorder->first_tsc = tsc;
	if (tsc > recorder->last_tsc)
		recorder->last_tsc = tsc;
}

static void take_sample(void *context, const struct xf_sample *sample)
{
	struct recorder *recorder = context;

	recorder->samples++;
	note_time(recorder, sample->tsc);
	if (!recorder->write_error)
		recorder->write_error = xf_recording_write_sample(recorder->file.writer, sample);
}

static void take_idle(void *context, const struct xf_idle_record *idle)
{
	struct recorder *recorder = context;

	recorder->idle += idle->count;
	note_time(recorder, idle->tsc);
	if (!recorder->write_error)
		recorder->write_error = xf_recording_write_idle(recorder->file.writer, idle);
}

static void tell_step(void *context, const char *what)
{
	const struct recorder *recorder = context;

	if (recorder->request->verbose)
		xf_complain(0, "%s", what);
}

static int examine_host(struct recorder *recorder, struct xf_error *error)
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
		if (recorder->request->verbose)
			xf_complain(0, "%s: %s", requirement->name, detail);
	}
	return 0;
}

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
static int fork_command(struct recorder *recorder, struct xf_error *error)
{
	int gate[2];

	recorder->child_gate = -1;
	if (!recorder->request->command)
		return 0;
	if (pipe2(gate, O_CLOEXEC) != 0)
		return xf_fail(error, -errno, "cannot make a pipe: %s", strerror(errno));
	recorder->child = fork();
	if (recorder->child < 0) {
		close(gate[0]);
		close(gate[1]);
		recorder->child = 0;
		return xf_fail(error, -errno, "cannot start the command: %s", strerror(errno));
	}
	if (recorder->child == 0) {
		close(gate[1]);
		become_command(recorder->request->command, gate[0]);
	}
	close(gate[0]);
	recorder->child_gate = gate[1];
	return 0;
}

static void open_gate(struct recorder *recorder)
{
	if (recorder->child_gate < 0)
		return;
	if (write(recorder->child_gate, "g", 1) != 1)
		recorder->command_failed = true;
	close(recorder->child_gate);
	recorder->child_gate = -1;
}

/* Has the command ended? Its status is told where it could not be started. */
static bool command_ended(struct recorder *recorder)
{
	int status;

	if (!recorder->child || waitpid(recorder->child, &status, WNOHANG) != recorder->child)
		return false;
	recorder->child = 0;
	if (WIFEXITED(status) && (WEXITSTATUS(status) == 126 || WEXITSTATUS(status) == 127))
		recorder->command_failed = true;
	return true;
}

/* Asks a command that still runs to end; after two seconds it has to. */
static void end_command(struct recorder *recorder)
{
	unsigned int turns;

	if (recorder->child_gate >= 0)
		close(recorder->child_gate);
	recorder->child_gate = -1;
	if (!recorder->child)
		return;
	kill(recorder->child, SIGTERM);
	for (turns = 0; turns < 40; turns++) {
		if (waitpid(recorder->child, NULL, WNOHANG) == recorder->child)
			return;
		usleep(POLL_MS * 1000);
	}
	kill(recorder->child, SIGKILL);
	waitpid(recorder->child, NULL, 0);
}

/* What the last line tells beside what is in the file. */
struct totals {
	uint64_t lost;
	uint64_t skipped;
	uint64_t bytes;
};

static struct totals count_totals(const struct recorder *recorder)
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

static void show_progress(const struct recorder *recorder, int64_t elapsed)
{
	fprintf(stderr,
	        "\rrecording %" PRId64 " s: %" PRIu64 " samples, %" PRIu64 " idle, %" PRIu64
	        " lost, %u pCPUs ",
	        elapsed / 1000, recorder->samples, recorder->idle, count_totals(recorder).lost,
	        recorder->host.machine.online_pcpus);
}

/* What is done every second. */
static int keep_file(struct recorder *recorder, struct xf_error *error)
{
	int result = xf_record_file_write_domains(&recorder->file, error);

	if (!result)
		result = xf_record_file_write_books(&recorder->file, recorder->session, false,
		                                    error);
	if (result)
		recorder->write_error = result;
	return result;
}

/* Records until the end is asked for. Return: 0, or why it ended early. */
static int record(struct recorder *recorder, struct xf_error *error)
{
	bool terminal = isatty(STDERR_FILENO);
	int64_t start = now_ms();
	int64_t shown = 0, kept = 0;
	int result = 0;

	open_gate(recorder);
	while (!result && !interrupted && !command_ended(recorder)) {
		int64_t elapsed = now_ms() - start;

		if (recorder->request->seconds > 0 &&
		    elapsed >= (int64_t)(recorder->request->seconds * 1000))
			break;
		usleep(POLL_MS * 1000);
		result = xf_session_poll(recorder->session, error);
		if (!result && elapsed - kept >= FLUSH_MS) {
			kept = elapsed;
			result = keep_file(recorder, error);
		}
		if (!result && recorder->write_error)
			result = xf_record_file_failed(&recorder->file, recorder->write_error,
			                               error);
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
	struct xf_profile_options profile_options = XF_PROFILE_DEFAULTS;
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
static void summarize_stream(const struct recorder *recorder, const struct totals *totals)
{
	xf_text_write(stderr, recorder->file.target.path, "");
	fprintf(stderr, ": %" PRIu64 " samples (%" PRIu64 " idle), %" PRIu64 " lost, ",
	        recorder->samples + recorder->idle, recorder->idle, totals->lost);
	say_rest(totals);
}

static void tell_books(const struct recorder *recorder)
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

/* Return: the exit status for a failure to write the file. */
static enum xf_exit output_exit(const struct xf_error *error)
{
	return error->code == -EINTR || error->code == -ENOMEM ? XF_EXIT_FAILURE : XF_EXIT_OUTPUT;
}

/* Return: the status of a recording that @result has ended early. */
static int explain_end(const struct recorder *recorder, int result, const struct xf_error *error)
{
	if (!result)
		return recorder->command_failed ? XF_EXIT_FAILURE : XF_EXIT_OK;
	if (result == -ECANCELED)
		return xf_complain(XF_EXIT_INCOMPLETE, "%s; what was recorded until then is whole",
		                   error->text);
	if (recorder->write_error)
		return xf_complain(output_exit(error), "%s", error->text);
	return xf_complain(xf_host_exit(error), "%s", error->text);
}

/* Return: 0, or why the recording ended early. */
static int record_into_file(struct recorder *recorder, struct xf_error *error)
{
	/* Samples may have been there before the agent's first word was. */
	uint64_t start = recorder->first_tsc ? recorder->first_tsc : now_tsc();
	int result = xf_record_target_settle(&recorder->file.target, error);

	if (!result)
		result = xf_record_file_write_agent(&recorder->file, &recorder->host,
		                                    recorder->session, start, error);
	if (!result)
		return record(recorder, error);
	recorder->write_error = result;
	return result;
}

/* From a running agent to a closed file and a host as it was. */
static int record_and_close(struct recorder *recorder)
{
	struct xf_error error = {0}, stop_error = {0}, end_error = {0}, file_error = {0};
	struct totals totals;
	int result, status;

	be_urgent(true);
	result = record_into_file(recorder, &error);
	xf_record_file_note_end(&recorder->file,
	                        result == -ECANCELED ? recorder->last_tsc : now_tsc());
	if (result != -ECANCELED && xf_session_stop(recorder->session, &stop_error) != 0)
		xf_complain(0, "%s", stop_error.text);
	/* The last samples may have found the disk full. */
	if (!result && recorder->write_error)
		result = xf_record_file_failed(&recorder->file, recorder->write_error, &error);
	if (recorder->request->verbose)
		tell_books(recorder);
	status = explain_end(recorder, result, &error);
	if (!recorder->write_error &&
	    xf_record_file_write_books(&recorder->file, recorder->session, true, &file_error) !=
	            0 &&
	    !status)
		status = xf_complain(output_exit(&file_error), "%s", file_error.text);
	totals = count_totals(recorder);
	if (xf_session_end(recorder->session, &end_error) != 0)
		status = xf_complain(xf_host_exit(&end_error), "%s", end_error.text);
	be_urgent(false);
	if (recorder->file.target.readable)
		summarize_file(recorder->request->output, &totals);
	else if (!recorder->file.target.temporary)
		summarize_stream(recorder, &totals);
	return status;
}

/* The output is made, and its first part written, before anything is loaded into Xen. */
static int open_output(struct recorder *recorder, struct xf_error *error)
{
	int result = xf_record_file_open(recorder->request->output, &recorder->file, error);

	if (!result)
		result = xf_record_file_write_host(&recorder->file, &recorder->host,
		                                   recorder->request->frequency, error);
	/* A pipe that nobody reads yet makes us wait. */
	return result && interrupted ? xf_fail(error, -EINTR, "interrupted") : result;
}

static int run_request(const struct request *request)
{
	struct recorder recorder = {.request = request, .child_gate = -1, .file.target.fd = -1};
	struct xf_session_sink sink = {
	        .context = &recorder, .sample = take_sample, .idle = take_idle};
	struct xf_error error = {0};
	int status = XF_EXIT_OK;

	catch_signals();
	if (examine_host(&recorder, &error) != 0) {
		status = xf_complain(xf_host_exit(&error), "%s", error.text);
	} else if (open_output(&recorder, &error) != 0) {
		status = xf_complain(output_exit(&error), "%s", error.text);
	} else if (fork_command(&recorder, &error) != 0 ||
	           xf_session_start(&recorder.host, request->frequency, &sink, tell_step, &recorder,
	                            &interrupted, &recorder.session, &error) != 0) {
		status = xf_complain(xf_host_exit(&error), "%s", error.text);
	} else {
		status = record_and_close(&recorder);
	}
	end_command(&recorder);
	xf_record_file_close(&recorder.file);
	xf_host_close(&recorder.host);
	return status;
}

static bool take_frequency(void *context, const char *value)
{
	struct request *request = context;
	uint64_t number;

	if (!xf_option_number("--frequency", value, 1, MAX_FREQUENCY, &number))
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

static bool take_verbose(void *context, const char *value)
{
	struct request *request = context;

	(void)value;
	request->verbose = true;
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

static int run(int argc, char **argv)
{
	struct request request = {.frequency = DEFAULT_FREQUENCY, .output = XF_DEFAULT_RECORDING};
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
	return run_request(&request);
}

static const struct xf_option options[] = {
        {"frequency", 'F', "HZ", "samples a second and pCPU (default: 99)", take_frequency},
        {"time", 't', "SECONDS", "how long (default: until the command or Ctrl-C ends it)",
         take_seconds},
        {"output", 'o', "FILE",
         "the recording (default: " XF_DEFAULT_RECORDING "; -: standard output)", take_output},
        {"verbose", 'v', NULL, "tell each step", take_verbose},
        {0},
};

const struct xf_command xf_command_record = {
        .name = "record",
        .synopsis = "[-F HZ] [-t SECONDS] [-o FILE] [-v] [-- COMMAND...]",
        .summary = "profiles this host into a file",
        .help = help,
        .options = options,
        .takes_arguments = true,
        .run = run,
};
