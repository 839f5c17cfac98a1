// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/options.h"
#include "cmd/recorder.h"
#include "cmd/report_terminal.h"
#include "cmd/top_source.h"
#include "cmd/top_terminal.h"
#include "output/top.h"

#define DEFAULT_DELAY 1.0
#define LEAST_DELAY   0.1
#define MOST_DELAY    3600.0
#define DEFAULT_LINES 20u
#define WAIT_MS       50u

struct request {
	struct xf_top_recorder_request recorder;
	const char *input;  /* NULL: we record ourselves */
	const char *needed; /* an option that is for our own recorder; NULL: none was given */
	double delay;
	uint64_t count; /* intervals; 0: no limit */
	uint32_t lines;
	bool batch;
};

/* ---- Running --------------------------------------------------------------------------------- */

static int fail(const struct xf_top_source *source, const struct xf_error *error)
{
	return xf_complain(xf_top_source_exit(source, error), "%s", error->text);
}

/* Tells once that nothing has come for long. */
static void tell_silence(const struct xf_top_source *source, bool *told)
{
	bool silent = xf_top_source_silence(source) > 0;

	if (silent && !*told)
		xf_complain(0, "%s: nothing has come for five seconds; does its recorder run?",
		            source->follow.path);
	*told = silent;
}

/* Waits for the next interval. Return: XF_TOP_MOMENT or what else there will be; XF_TOP_NOTHING: a
 * signal asks for the end. */
static enum xf_top_news await(struct xf_top_source *source, uint64_t delay,
                              struct xf_top_moment *moment, struct xf_error *error)
{
	enum xf_top_news news = XF_TOP_NOTHING;
	bool told = false;

	while (news == XF_TOP_NOTHING && !xf_recorder_interrupted()) {
		news = xf_top_source_turn(source, delay, false, moment, error);
		if (news == XF_TOP_NOTHING) {
			tell_silence(source, &told);
			usleep(WAIT_MS * 1000);
		}
	}
	return news;
}

static int print(const struct request *request, const struct xf_top_moment *moment)
{
	if (xf_top_write(stdout, moment, request->lines))
		return xf_complain(XF_EXIT_FAILURE, "no memory for the view");
	if (fflush(stdout) || ferror(stdout))
		return xf_complain(XF_EXIT_OUTPUT, "cannot write to standard output: %s",
		                   strerror(errno));
	return XF_EXIT_OK;
}

/* Where a source has ended without having had anything to show. */
static int refuse_end(const struct xf_top_source *source)
{
	if (!source->input)
		return XF_EXIT_OK; /* our recorder tells why */
	return xf_complain(XF_EXIT_INPUT,
	                   source->follow.seekable
	                           ? "%s: its recorder has ended; xenflame report -i FILE shows it"
	                           : "%s: the recording holds no samples",
	                   source->follow.path);
}

static int show(const struct request *request, struct xf_top_source *source)
{
	bool batch = request->batch || !xf_report_can_draw();
	uint64_t delay = (uint64_t)(request->delay * 1e9), shown = 0;
	struct xf_top_moment moment = {0};
	struct xf_error error = {0};
	enum xf_top_news news;
	int status = XF_EXIT_OK;

	do {
		news = await(source, delay, &moment, &error);
		if (news == XF_TOP_FAILED)
			return fail(source, &error);
		if (news == XF_TOP_ENDED && !shown)
			return refuse_end(source);
		if (news == XF_TOP_MOMENT && !batch)
			return xf_top_on_terminal(source, &moment, delay, request->count);
		if (news == XF_TOP_MOMENT)
			status = print(request, &moment);
		shown++;
	} while (!status && news == XF_TOP_MOMENT && shown != request->count);
	return status;
}

static int run_request(const struct request *request)
{
	struct xf_top_source source;
	struct xf_error error = {0};
	int status, recorders;

	xf_recorder_catch_signals();
	if (xf_top_source_open(request->input, &request->recorder, &source, &error) != 0)
		status = fail(&source, &error);
	else
		status = show(request, &source);
	recorders = xf_top_source_close(&source);
	return status ? status : recorders;
}

/* ---- Options --------------------------------------------------------------------------------- */

static bool take_input(void *context, const char *value)
{
	((struct request *)context)->input = value;
	return true;
}

static bool take_batch(void *context, const char *value)
{
	(void)value;
	((struct request *)context)->batch = true;
	return true;
}

static bool take_count(void *context, const char *value)
{
	return xf_option_number("--count", value, 1, UINT32_MAX,
	                        &((struct request *)context)->count);
}

static bool take_delay(void *context, const char *value)
{
	struct request *request = context;
	char *end;

	request->delay = strtod(value, &end);
	if (end != value && !*end && request->delay >= LEAST_DELAY && request->delay <= MOST_DELAY)
		return true;
	xf_complain(0, "--delay wants a number of seconds from 0.1 to 3600, not '%s'", value);
	return false;
}

static bool take_lines(void *context, const char *value)
{
	uint64_t number;

	if (!xf_option_number("--lines", value, 0, UINT32_MAX, &number))
		return false;
	((struct request *)context)->lines = (uint32_t)number;
	return true;
}

static bool take_frequency(void *context, const char *value)
{
	struct request *request = context;
	uint64_t number;

	if (!xf_option_number("--frequency", value, 1, XF_RECORDER_MAX_FREQUENCY, &number))
		return false;
	request->recorder.frequency = (unsigned int)number;
	request->needed = "--frequency";
	return true;
}

static bool take_guests(void *context, const char *value)
{
	struct request *request = context;

	request->recorder.guests = value;
	request->needed = "--guests";
	return true;
}

static bool take_guest_kernel(void *context, const char *value)
{
	struct request *request = context;
	struct xf_error error = {0};

	request->needed = "--guest-kernel";
	if (xf_record_guest_kernels_request(&request->recorder.kernels, value, &error) == 0)
		return true;
	xf_complain(0, "%s", error.text);
	return false;
}

static const struct xf_option options[] = {
        {"frequency", 'F', "HZ", "samples a second and pCPU (default: 99)", take_frequency},
        {"guests", 'g', "DOMAIN,...",
         "whose stacks are read, too: names, domids, all or none (default: dom0's)", take_guests},
        {"guest-kernel", 0, "NAME=IMAGE",
         "the vmlinux or vmlinuz that a domain runs; may be given again (default: as xl started "
         "it)",
         take_guest_kernel},
        {"input", 'i', "FILE", "shows a recording that is being written; -: standard input",
         take_input},
        {"delay", 'd', "SECONDS", "between two pictures (default: 1)", take_delay},
        {"count", 'n', "COUNT", "ends after so many of them (default: goes on)", take_count},
        {"batch", 'b', NULL, "text on a terminal too, without keys", take_batch},
        {"lines", 'l', "N",
         "at most so many processes, and functions, in text (default: 20; 0: all)", take_lines},
        {0},
};

/* Whole divisions of the delay, so that an interval is as long as it was asked for. */
static int64_t keep_ms(double delay)
{
	unsigned int parts = 1;

	while (delay / parts > 1)
		parts++;
	return (int64_t)(delay * 1000 / parts);
}

static int run(int argc, char **argv)
{
	struct request request = {.recorder.frequency = XF_RECORDER_FREQUENCY,
	                          .recorder.guests = XF_RECORDER_GUESTS,
	                          .delay = DEFAULT_DELAY,
	                          .lines = DEFAULT_LINES};
	int status;

	if (!xf_options_read(&xf_command_top, argc, argv, &request, &status))
		return status;
	if (request.input && request.needed)
		return xf_complain(XF_EXIT_USAGE,
		                   "%s is for xenflame's own recorder: with -i somebody else "
		                   "records",
		                   request.needed);
	request.recorder.keep_ms = keep_ms(request.delay);
	return run_request(&request);
}

static const char *const help[] = {
        "Shows each second where the time of all pCPUs goes: idle, Xen, dom0's kernel and "
        "processes,",
        "other guests; and domains, processes of dom0's and functions with the most of it. "
        "Records like",
        "'xenflame record', into memory, and takes the agent out again at its end; leaves no "
        "file. On a",
        "terminal 'h' tells the keys; elsewhere it prints text. Shares are of all samples since "
        "the last",
        "picture.",
        NULL,
};

const struct xf_command xf_command_top = {
        .name = "top",
        .synopsis = "[-F HZ] [-g DOMAIN,...] [--guest-kernel NAME=IMAGE] [-i FILE] [-d SECONDS] "
                    "[-n COUNT] [-b] [-l N]",
        .summary = "shows live where this host's CPUs' time goes",
        .help = help,
        .options = options,
        .run = run,
};
