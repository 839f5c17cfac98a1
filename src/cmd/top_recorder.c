// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd/top_recorder.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cmd/host_exit.h"
#include "cmd/options.h"
#include "cmd/recorder.h"

/* So much may wait to be read, by a view that was stopped or is too slow. */
#define WAITING_MAX (64ll << 20)

/* ---- In the recorder's process --------------------------------------------------------------- */

/* What nobody reads is not written either, until somebody does. */
static bool too_much_waits(void)
{
	struct stat memory;

	return fstat(STDOUT_FILENO, &memory) == 0 &&
	       (long long)memory.st_blocks * 512 > WAITING_MAX;
}

/* Return: 0, or why it ended early. */
static int record(struct xf_recorder *recorder, struct xf_error *error)
{
	int result = xf_recorder_settle(recorder, error);

	while (!result && !xf_recorder_interrupted()) {
		recorder->deaf = too_much_waits();
		result = xf_recorder_turn(recorder, error);
	}
	return result;
}

static int explain_end(const struct xf_recorder *recorder, int result, const struct xf_error *error)
{
	if (!result)
		return XF_EXIT_OK;
	if (result == -ECANCELED)
		return xf_complain(XF_EXIT_INCOMPLETE, "%s", error->text);
	if (recorder->write_error)
		return xf_complain(xf_recorder_output_exit(error), "%s", error->text);
	return xf_complain(xf_host_exit(error), "%s", error->text);
}

/* From a running agent to a host as it was. */
static int record_and_end(struct xf_recorder *recorder)
{
	struct xf_error error = {0}, stop_error = {0}, end_error = {0};
	int result, status;

	if (recorder->processes.why_not.code)
		xf_complain(0, "%s", recorder->processes.why_not.text);
	xf_recorder_be_urgent(true);
	result = record(recorder, &error);
	recorder->deaf = true;
	if (xf_recorder_stop(recorder, result, &stop_error) != 0)
		xf_complain(0, "%s", stop_error.text);
	status = explain_end(recorder, result, &error);
	if (xf_session_end(recorder->session, &end_error) != 0)
		status = xf_complain(xf_host_exit(&end_error), "%s", end_error.text);
	return status;
}

static int run(const struct xf_top_recorder_request *request)
{
	struct xf_recorder recorder = {.frequency = request->frequency,
	                               .guests = request->guests,
	                               .kernels = request->kernels,
	                               .keep_ms = request->keep_ms,
	                               .live = true,
	                               .file.target.fd = -1};
	struct xf_error error = {0};
	int status;

	if (xf_recorder_examine(&recorder, NULL, NULL, &error) != 0)
		status = xf_complain(xf_host_exit(&error), "%s", error.text);
	else if (xf_recorder_open(&recorder, "-", &error) != 0)
		status = xf_complain(xf_recorder_output_exit(&error), "%s", error.text);
	else if (xf_recorder_prepare_guests(&recorder, &error) != 0)
		status = xf_complain(error.code == -EINVAL ? XF_EXIT_USAGE
		                                           : xf_recorder_output_exit(&error),
		                     "%s", error.text);
	else if (xf_recorder_start(&recorder, &error) != 0)
		status = xf_complain(xf_host_exit(&error), "%s", error.text);
	else
		status = record_and_end(&recorder);
	xf_recorder_close(&recorder);
	return status;
}

/* Keys are for the view: Ctrl-C and Ctrl-Z reach only the terminal's foreground group. */
static int become_recorder(const struct xf_top_recorder_request *request, pid_t view, int memory,
                           int said)
{
	setpgid(0, 0);
	if (dup2(memory, STDOUT_FILENO) < 0 || dup2(said, STDERR_FILENO) < 0)
		return XF_EXIT_FAILURE;
	signal(SIGTERM, SIG_DFL); /* how the view ends us, even where it ignores it itself */
	xf_recorder_catch_signals();
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	return getppid() == view ? run(request) : XF_EXIT_FAILURE;
}

/* ---- In the view's --------------------------------------------------------------------------- */

/* Return: 0 or a negative errno value and @error. */
static int make_memory(int *memory, int *said, struct xf_error *error)
{
	*memory = memfd_create("xenflame-top", MFD_CLOEXEC);
	*said = memfd_create("xenflame-top-messages", MFD_CLOEXEC);
	if (*memory >= 0 && *said >= 0)
		return 0;
	xf_fail(error, errno, "cannot make memory for the recording: %s", strerror(errno));
	if (*memory >= 0)
		close(*memory);
	return error->code;
}

int xf_top_recorder_start(const struct xf_top_recorder_request *request,
                          struct xf_top_recorder *recorder, int *memory, struct xf_error *error)
{
	pid_t view = getpid();
	int result = make_memory(memory, &recorder->said, error);

	if (result)
		return result;
	fflush(NULL);
	recorder->pid = fork();
	if (recorder->pid == 0)
		_exit(become_recorder(request, view, *memory, recorder->said));
	if (recorder->pid > 0)
		return 0;
	recorder->pid = 0;
	close(*memory);
	return xf_fail(error, errno, "cannot start the recorder: %s", strerror(errno));
}

static void note_status(struct xf_top_recorder *recorder, int status)
{
	recorder->pid = 0;
	recorder->status = WIFEXITED(status) ? WEXITSTATUS(status) : XF_EXIT_FAILURE;
	recorder->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void look_at_cpu(struct xf_top_recorder *recorder)
{
	struct timespec used;
	clockid_t clock;

	if (clock_getcpuclockid(recorder->pid, &clock) == 0 && clock_gettime(clock, &used) == 0)
		recorder->cpu = (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

bool xf_top_recorder_runs(struct xf_top_recorder *recorder)
{
	int status;

	if (!recorder->pid)
		return false;
	look_at_cpu(recorder);
	if (waitpid(recorder->pid, &status, WNOHANG) != recorder->pid)
		return true;
	note_status(recorder, status);
	return false;
}

static void pass_on_messages(int said)
{
	char bytes[1024];
	off_t at = 0;
	ssize_t got;

	while ((got = pread(said, bytes, sizeof(bytes), at)) > 0) {
		fwrite(bytes, 1, (size_t)got, stderr);
		at += got;
	}
}

int xf_top_recorder_end(struct xf_top_recorder *recorder)
{
	int status;

	if (recorder->pid) {
		kill(recorder->pid, SIGTERM);
		while (waitpid(recorder->pid, &status, 0) < 0 && errno == EINTR)
			continue;
		note_status(recorder, status);
	}
	if (recorder->said >= 0) {
		pass_on_messages(recorder->said);
		close(recorder->said);
	}
	recorder->said = -1;
	if (recorder->signal)
		xf_complain(0,
		            "the recorder was killed by signal %d; 'xenflame detach' removes the "
		            "agent that it leaves behind",
		            recorder->signal);
	return recorder->status;
}
