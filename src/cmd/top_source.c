// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd/top_source.h"

#include <errno.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "cmd/commands.h"

#define NANOSECONDS    1000000000ull
#define MILLISECONDS   1000000ull
/* How often `record` brings its file up to date. */
#define RECORD_KEEP_MS 1000
#define SILENCE_S      5

/* ---- Clocks ---------------------------------------------------------------------------------- */

static uint64_t clock_now(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * NANOSECONDS + (uint64_t)now.tv_nsec;
}

static uint64_t nanoseconds(const struct timeval *time)
{
	return (uint64_t)time->tv_sec * NANOSECONDS + (uint64_t)time->tv_usec * 1000u;
}

/* By us, and by the recorder where it is ours. */
static uint64_t cpu_used(const struct xf_top_source *source)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return nanoseconds(&usage.ru_utime) + nanoseconds(&usage.ru_stime) + source->recorder.cpu;
}

/* ---- Intervals ------------------------------------------------------------------------------- */

static void begin_interval(struct xf_top_source *source)
{
	source->since = clock_now(CLOCK_MONOTONIC);
	source->cpu = cpu_used(source);
}

/* Ends the interval. */
static enum xf_top_news look(struct xf_top_source *source, struct xf_top_moment *moment,
                             struct xf_error *error)
{
	struct xf_profile_options options = XF_PROFILE_DEFAULTS;
	struct xf_live_interval interval;

	options.by_process = true;
	if (xf_live_look(source->follow.live, &options, &interval, error))
		return XF_TOP_FAILED;
	xf_live_interval_free(&source->interval);
	source->interval = interval;
	*moment = (struct xf_top_moment){.interval = &source->interval,
	                                 .time = clock_now(CLOCK_REALTIME),
	                                 .nanoseconds = clock_now(CLOCK_MONOTONIC) - source->since,
	                                 .own_cpu = cpu_used(source) - source->cpu,
	                                 .records = !source->input};
	begin_interval(source);
	return XF_TOP_MOMENT;
}

static void drop(struct xf_top_source *source)
{
	xf_live_forget(source->follow.live);
	begin_interval(source);
}

/* Making the unwind tables takes its time: what comes meanwhile would make the first interval a
 * long one. */
static enum xf_top_news catch_up(struct xf_top_source *source, int followed, struct xf_error *error)
{
	struct xf_top_moment moment;
	enum xf_top_news news = XF_TOP_NOTHING;

	if (followed == XF_FOLLOWED_BOOKS && !source->prepared) {
		news = look(source, &moment, error);
		source->prepared = true;
	}
	source->level = followed == XF_FOLLOWED_ALL && source->prepared;
	drop(source);
	return news == XF_TOP_FAILED ? news : XF_TOP_NOTHING;
}

/* The nearest books before or after the delay are the ones. */
static bool is_due(const struct xf_top_source *source, uint64_t delay)
{
	uint64_t slack = (uint64_t)source->keep_ms * MILLISECONDS / 2;

	return clock_now(CLOCK_MONOTONIC) - source->since + slack >= delay;
}

/* What is left makes a last interval. */
static enum xf_top_news end(struct xf_top_source *source, struct xf_top_moment *moment,
                            struct xf_error *error)
{
	if (!source->ended && source->level && xf_live_has_samples(source->follow.live))
		return look(source, moment, error);
	source->ended = true;
	return XF_TOP_ENDED;
}

enum xf_top_news xf_top_source_turn(struct xf_top_source *source, uint64_t delay, bool pause,
                                    struct xf_top_moment *moment, struct xf_error *error)
{
	bool begun = source->follow.begun;
	int followed;

	/* What the recorder wrote last is still read. */
	if (!source->input && !xf_top_recorder_runs(&source->recorder))
		source->follow.closed = true;
	followed = xf_follow_more(&source->follow, error);
	if (followed < 0)
		return XF_TOP_FAILED;
	if (!begun && source->follow.begun)
		begin_interval(source);
	if (followed == XF_FOLLOWED_END)
		return end(source, moment, error);
	if (followed == XF_FOLLOWED_BOOKS)
		source->heard = clock_now(CLOCK_MONOTONIC);
	if (!source->level)
		return catch_up(source, followed, error);
	if (followed != XF_FOLLOWED_BOOKS)
		return XF_TOP_NOTHING;
	if (pause)
		drop(source);
	return !pause && is_due(source, delay) ? look(source, moment, error) : XF_TOP_NOTHING;
}

int xf_top_source_exit(const struct xf_top_source *source, const struct xf_error *error)
{
	return source->input && error->code != -ENOMEM ? XF_EXIT_INPUT : XF_EXIT_FAILURE;
}

uint64_t xf_top_source_silence(const struct xf_top_source *source)
{
	uint64_t silence = (clock_now(CLOCK_MONOTONIC) - source->heard) / NANOSECONDS;

	return source->input && silence >= SILENCE_S ? silence : 0;
}

/* ---- Beginning and end ----------------------------------------------------------------------- */

int xf_top_source_open(const char *input, const struct xf_top_recorder_request *request,
                       struct xf_top_source *source, struct xf_error *error)
{
	int memory, result;

	*source = (struct xf_top_source){.input = input,
	                                 .keep_ms = input ? RECORD_KEEP_MS : request->keep_ms,
	                                 .recorder.said = -1,
	                                 .follow.fd = -1};
	source->heard = clock_now(CLOCK_MONOTONIC);
	if (input) {
		result = xf_follow_open(input, &source->follow, error);
		/* Of a pipe all is wanted. */
		source->level = !result && !source->follow.seekable;
		return result;
	}
	result = xf_top_recorder_start(request, &source->recorder, &memory, error);
	return result ? result : xf_follow_memory(memory, &source->follow, error);
}

int xf_top_source_close(struct xf_top_source *source)
{
	int status = source->input ? 0 : xf_top_recorder_end(&source->recorder);

	xf_live_interval_free(&source->interval);
	xf_follow_close(&source->follow);
	return status;
}
