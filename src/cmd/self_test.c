// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd/self_test.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "cmd/host_exit.h"
#include "cmd/options.h"
#include "cmd/recorder.h"
#include "output/self_test.h"
#include "xen/domains.h"

#define SECONDS     5.0
#define AFTER_MS    400   /* how long is listened to an agent that is said to be quiet */
#define ALONE_MS    10000 /* how long is waited for one that is left alone */
#define MAX_LINES   40u
#define CLOCK_LOOKS 16u
#define TEMPORARY   "xenflame-self-test.XXXXXX"
#define RECORDING   "recording"
#define PATH_BYTES  512

struct clocks {
	uint64_t tsc;
	struct timespec time; /* of CLOCK_MONOTONIC */
};

struct trial {
	const struct xf_self_test_request *request;
	struct xf_recorder recorder;
	struct xf_self_test test;
	struct xf_self_test_line head[MAX_LINES];
	char directory[PATH_BYTES]; /* empty: the recording is kept */
	char path[PATH_BYTES];
	uint64_t first_bytes; /* of the file, before the first sample */
	struct clocks begin;  /* before the agent is loaded */
	struct xf_error start_error, early_end, stop_error, end_error, profile_error, second_error,
	        second_end_error;
	struct xf_pcpu_statistics *books;
};

/* ---- The head -------------------------------------------------------------------------------- */

static void add_line(struct trial *trial, const char *name, const char *format, ...)
        __attribute__((format(printf, 3, 4)));
static void add_line(struct trial *trial, const char *name, const char *format, ...)
{
	struct xf_self_test_line *line = &trial->head[trial->test.nr_head];
	va_list arguments;

	if (trial->test.nr_head == MAX_LINES)
		return;
	trial->test.nr_head++;
	snprintf(line->name, sizeof(line->name), "%s", name);
	va_start(arguments, format);
	vsnprintf(line->text, sizeof(line->text), format, arguments);
	va_end(arguments);
}

static void add_requirement(void *context, const char *name, const char *detail)
{
	add_line(context, name, "%s", detail);
}

/* The kind of domain that this is, as Linux says from 4.13 on. */
static void read_guest_type(char *text, size_t size)
{
	FILE *file = fopen("/sys/hypervisor/guest_type", "r");

	snprintf(text, size, "kind not known");
	if (!file)
		return;
	if (fgets(text, (int)size, file))
		text[strcspn(text, "\n")] = '\0';
	fclose(file);
}

static void add_dom0(struct trial *trial)
{
	struct utsname system;
	char type[32];

	read_guest_type(type, sizeof(type));
	if (uname(&system) == 0)
		add_line(trial, "dom0", "%s, %s %s %s", type, system.sysname, system.release,
		         system.version);
}

static void add_guests(struct trial *trial)
{
	unsigned int kinds[4] = {0};
	struct xf_domain *domains = NULL;
	size_t nr = 0, i;

	if (xf_domains_list(&domains, &nr, NULL) != 0)
		return;
	for (i = 0; i < nr; i++)
		kinds[domains[i].type] += domains[i].domid != 0;
	free(domains);
	add_line(trial, "guests", "%u PV, %u PVH, %u HVM, %u of a kind that is not known",
	         kinds[XF_DOMAIN_PV], kinds[XF_DOMAIN_PVH], kinds[XF_DOMAIN_HVM],
	         kinds[XF_DOMAIN_UNKNOWN]);
}

static void add_hardware(struct trial *trial)
{
	const struct xf_hardware_fact *fact;
	char detail[XF_HARDWARE_DETAIL];

	for (fact = xf_hardware_facts; fact->name; fact++) {
		fact->tell(&trial->recorder.host.hardware, detail);
		add_line(trial, fact->name, "%s", detail);
	}
}

static void write_head(struct trial *trial)
{
	const struct xf_xen_version *version = &trial->recorder.host.version;

	add_line(trial, "Xen's changeset", "%s",
	         version->changeset[0] ? version->changeset : "not told");
	add_line(trial, "Xen's command line", "%s", version->commandline);
	add_dom0(trial);
	add_guests(trial);
	add_line(trial, "live patches", "%s",
	         trial->test.before.patches[0] ? trial->test.before.patches : "none");
	add_hardware(trial);
}

/* ---- What is to be as before ----------------------------------------------------------------- */

static const char *state_word(enum xf_livepatch_state state)
{
	return state == XF_LIVEPATCH_APPLIED ? "applied" : "checked";
}

/* @own: an agent that is there counts. */
static void look_at_host(struct trial *trial, bool own, struct xf_self_test_state *state)
{
	struct xf_xen *xen = trial->recorder.host.xen;
	struct xf_livepatch *list = NULL;
	struct xf_xen_trace_info info;
	size_t nr = 0, i;

	memset(state, 0, sizeof(*state));
	if (xf_xen_trace_info(xen, &info, NULL) != 0 ||
	    xf_xen_livepatch_list(xen, &list, &nr, NULL) != 0)
		return;
	state->known = true;
	state->mask = info.event_mask;
	for (i = 0; i < nr; i++) {
		size_t used = strlen(state->patches);

		if (!own && strcmp(list[i].name, XF_AGENT_NAME) == 0)
			continue;
		snprintf(state->patches + used, sizeof(state->patches) - used, "%s%s (%s)",
		         used ? ", " : "", list[i].name, state_word(list[i].state));
	}
	free(list);
}

/* ---- The recording --------------------------------------------------------------------------- */

static uint64_t now_tsc(void)
{
	return __builtin_ia32_rdtsc();
}

static uint64_t cpu_ms(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000 +
	       (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1000;
}

/* A directory of our own for a recording that is not kept. */
static int choose_path(struct trial *trial, struct xf_error *error)
{
	const char *top = getenv("TMPDIR");
	char directory[PATH_BYTES - sizeof(RECORDING)];

	if (trial->request->output) {
		snprintf(trial->path, sizeof(trial->path), "%s", trial->request->output);
		return 0;
	}
	snprintf(directory, sizeof(directory), "%s/%s", top && *top ? top : "/tmp", TEMPORARY);
	if (!mkdtemp(directory))
		return xf_fail(error, -errno, "cannot make a directory for the recording, %s: %s",
		               directory, strerror(errno));
	memcpy(trial->directory, directory, sizeof(directory));
	snprintf(trial->path, sizeof(trial->path), "%s/%s", directory, RECORDING);
	return 0;
}

static void remove_recording(struct trial *trial)
{
	if (!trial->directory[0])
		return;
	unlink(trial->path);
	rmdir(trial->directory);
}

/* Both clocks at one moment: the tightest of a few looks, since one may be interrupted. */
static struct clocks read_clocks(void)
{
	struct clocks clocks = {0};
	uint64_t least = UINT64_MAX;
	unsigned int i;

	for (i = 0; i < CLOCK_LOOKS; i++) {
		uint64_t before = now_tsc(), took;
		struct timespec now;

		clock_gettime(CLOCK_MONOTONIC, &now);
		took = now_tsc() - before;
		if (took >= least)
			continue;
		least = took;
		clocks.tsc = before + took / 2;
		clocks.time = now;
	}
	return clocks;
}

/* How fast the TSC has run since the beginning, by dom0's clock. */
static void measure_tsc(struct trial *trial)
{
	const struct clocks *begin = &trial->begin;
	struct clocks end = read_clocks();
	int64_t elapsed = (end.time.tv_sec - begin->time.tv_sec) * 1000000000 + end.time.tv_nsec -
	                  begin->time.tv_nsec;

	trial->test.monotonic_ms = (uint64_t)elapsed / 1000000;
	trial->test.measured_hz =
	        (uint64_t)((double)(end.tsc - begin->tsc) * 1e9 / (double)elapsed);
}

/* Samples until the time is up. Return: 0, or why it ended early. */
static int sample(struct trial *trial, struct xf_error *error)
{
	struct xf_recorder *recorder = &trial->recorder;
	double seconds = trial->request->seconds > 0 ? trial->request->seconds : SECONDS;
	int64_t start = xf_recorder_now_ms();
	int result = xf_recorder_settle(recorder, error);

	trial->first_bytes = xf_recording_written(recorder->file.writer);
	while (!result && !xf_recorder_interrupted() &&
	       xf_recorder_now_ms() - start < (int64_t)(seconds * 1000))
		result = xf_recorder_turn(recorder, error);
	trial->test.duration_ms = (uint64_t)(xf_recorder_now_ms() - start);
	return result;
}

/* Copies the books, which go with the session. */
static void take_books(struct trial *trial)
{
	const struct xf_session *session = trial->recorder.session;
	struct xf_pcpu_statistics one;
	size_t nr = 0, i;

	while (xf_session_statistics(session, nr, &one) == 0)
		nr++;
	trial->books = calloc(nr + 1, sizeof(*trial->books));
	if (!trial->books)
		return;
	for (i = 0; i < nr; i++) {
		xf_session_statistics(session, i, &trial->books[i]);
		trial->test.skipped += xf_session_skipped(session, i);
	}
	trial->test.books = trial->books;
	trial->test.nr_books = nr;
}

/* Is it as quiet as it says? */
static void listen_after_stop(struct trial *trial)
{
	struct xf_recorder *recorder = &trial->recorder;
	int64_t until = xf_recorder_now_ms() + AFTER_MS;
	uint64_t before = recorder->samples + recorder->idle;
	struct xf_error error;

	while (xf_recorder_now_ms() < until) {
		usleep(XF_RECORDER_POLL_MS * 1000);
		if (xf_session_listen(recorder->session, &error) != 0)
			return;
	}
	trial->test.after = recorder->samples + recorder->idle - before;
}

static void stop(struct trial *trial, int result)
{
	struct xf_recorder *recorder = &trial->recorder;
	struct xf_self_test *test = &trial->test;
	int64_t begin = xf_recorder_now_ms();

	xf_recorder_stop(recorder, result, &trial->stop_error);
	test->stop_ms = (uint64_t)(xf_recorder_now_ms() - begin);
	measure_tsc(trial);
	test->ahead = recorder->ahead;
	test->early = recorder->first_tsc && recorder->first_tsc < trial->begin.tsc;
	test->idle = recorder->idle;
	listen_after_stop(trial);
	if (!trial->early_end.code && recorder->write_error)
		xf_record_file_failed(&recorder->file, recorder->write_error, &trial->early_end);
	xf_recorder_finish(recorder, trial->early_end.code ? NULL : &trial->early_end);
	take_books(trial);
	test->bytes = xf_recording_written(recorder->file.writer) - trial->first_bytes;
}

static void end_session(struct trial *trial, struct xf_error *error)
{
	xf_session_end(trial->recorder.session, error);
	trial->recorder.session = NULL;
}

/* Return: whether the agent started. */
static bool record(struct trial *trial)
{
	struct xf_recorder *recorder = &trial->recorder;
	struct xf_self_test *test = &trial->test;
	uint64_t cpu = cpu_ms();
	int64_t begin = xf_recorder_now_ms();
	int result;

	trial->begin = read_clocks();
	if (xf_recorder_start(recorder, &trial->start_error) != 0)
		return false;
	test->start_ms = (uint64_t)(xf_recorder_now_ms() - begin);
	xf_recorder_be_urgent(true);
	result = sample(trial, &trial->early_end);
	stop(trial, result);
	begin = xf_recorder_now_ms();
	end_session(trial, &trial->end_error);
	xf_recorder_be_urgent(false);
	xf_recorder_complete(recorder, trial->early_end.code ? NULL : &trial->early_end);
	test->end_ms = (uint64_t)(xf_recorder_now_ms() - begin);
	test->cpu_ms = cpu_ms() - cpu;
	look_at_host(trial, true, &test->between);
	return true;
}

/* ---- The second agent ------------------------------------------------------------------------ */

/* It finds the NMI callback and the softirq free, or refuses to start; then it hears nothing of us.
 */
static void leave_one_alone(struct trial *trial)
{
	struct xf_recorder *recorder = &trial->recorder;
	struct xf_error error = {0};
	int64_t begin;

	recorder->deaf = true;
	if (xf_recorder_start(recorder, &trial->second_error) == 0) {
		begin = xf_recorder_now_ms();
		do {
			usleep(XF_RECORDER_POLL_MS * 1000);
		} while (xf_session_listen(recorder->session, &error) == 0 &&
		         !xf_session_is_quiet(recorder->session) && !xf_recorder_interrupted() &&
		         xf_recorder_now_ms() - begin < ALONE_MS);
		trial->test.lease_ms = (uint64_t)(xf_recorder_now_ms() - begin);
		trial->test.second_went_quiet = xf_session_is_quiet(recorder->session);
		end_session(trial, &trial->second_end_error);
	}
	look_at_host(trial, true, &trial->test.last);
}

/* ---- The report ------------------------------------------------------------------------------ */

static const char *text_of(const struct xf_error *error)
{
	return error->code ? error->text : NULL;
}

static void take_errors(struct trial *trial)
{
	struct xf_self_test *test = &trial->test;

	test->start_error = text_of(&trial->start_error);
	test->early_end = text_of(&trial->early_end);
	test->stop_error = text_of(&trial->stop_error);
	test->end_error = text_of(&trial->end_error);
	test->profile_error = text_of(&trial->profile_error);
	test->second_error = text_of(&trial->second_error);
	test->second_end_error = text_of(&trial->second_end_error);
}

/* Return: the number of promises that are not kept. */
static unsigned int report(struct trial *trial)
{
	struct xf_profile_options options = XF_PROFILE_DEFAULTS;
	struct xf_self_test *test = &trial->test;
	struct xf_profile *profile = NULL;
	struct xf_input input = {0};
	unsigned int broken;

	if (!trial->start_error.code && xf_input_open(trial->path, &input) == 0)
		xf_profile_build(input.recording, &options, &profile, &trial->profile_error);
	write_head(trial);
	take_errors(trial);
	test->head = trial->head;
	test->profile = profile;
	test->frequency = trial->request->frequency;
	test->online_pcpus = trial->recorder.host.machine.online_pcpus;
	test->tsc_hz = trial->recorder.host.machine.tsc_hz;
	broken = xf_self_test_write(stdout, test);
	xf_profile_free(profile);
	xf_input_close(&input);
	return broken;
}

static int try_all(struct trial *trial)
{
	unsigned int broken;

	look_at_host(trial, false, &trial->test.before);
	if (record(trial) && !xf_recorder_interrupted())
		leave_one_alone(trial);
	if (xf_recorder_interrupted())
		return xf_complain(XF_EXIT_FAILURE, "interrupted");
	broken = report(trial);
	if (trial->start_error.code)
		return xf_complain(xf_host_exit(&trial->start_error), "%s",
		                   trial->start_error.text);
	return broken ? XF_EXIT_NOT_KEPT : XF_EXIT_OK;
}

static int run(struct trial *trial)
{
	struct xf_recorder *recorder = &trial->recorder;
	struct xf_error error = {0};
	int status;

	xf_recorder_catch_signals();
	add_line(trial, "xenflame", "%s", XF_VERSION);
	if (xf_recorder_examine(recorder, add_requirement, trial, &error) != 0)
		return xf_complain(xf_host_exit(&error), "%s", error.text);
	if (choose_path(trial, &error) != 0)
		return xf_complain(XF_EXIT_OUTPUT, "%s", error.text);
	if (xf_recorder_open(recorder, trial->path, &error) != 0)
		status = xf_complain(xf_recorder_output_exit(&error), "%s", error.text);
	else
		status = try_all(trial);
	return status;
}

int xf_self_test_run(const struct xf_self_test_request *request)
{
	struct trial *trial = calloc(1, sizeof(*trial));
	int status;

	if (!trial)
		return xf_complain(XF_EXIT_FAILURE, "out of memory");
	trial->request = request;
	trial->recorder.frequency = request->frequency;
	trial->recorder.verbose = request->verbose;
	trial->recorder.file.target.fd = -1;
	status = run(trial);
	/* A recording that never got its name goes with this. */
	xf_recorder_close(&trial->recorder);
	remove_recording(trial);
	free(trial->books);
	free(trial);
	return status;
}
