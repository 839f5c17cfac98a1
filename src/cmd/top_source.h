// SPDX-License-Identifier: GPL-2.0-or-later
/* Where the intervals of `top` come from: its own recorder, or a recording that somebody writes. */
#ifndef XF_CMD_TOP_SOURCE_H
#define XF_CMD_TOP_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "cmd/follow.h"
#include "cmd/top_recorder.h"
#include "output/top.h"

struct xf_top_source {
	const char *input; /* NULL: our own recorder */
	int64_t keep_ms;   /* between two times that the books are closed */
	struct xf_top_recorder recorder;
	struct xf_follow follow;
	struct xf_live_interval interval; /* what was handed out last */
	bool prepared;                    /* unwind tables and names are made */
	bool level;                       /* we are where the recorder is */
	bool ended;
	uint64_t since; /* when the interval in the making began, ns */
	uint64_t cpu;   /* used until then, ns */
	uint64_t heard; /* when the books were last closed, ns */
};

/* @request is for our own recorder. Return: 0, or a negative errno value and @error. Close in
 * either case. */
int xf_top_source_open(const char *input, const struct xf_top_recorder_request *request,
                       struct xf_top_source *source, struct xf_error *error);

enum xf_top_news {
	XF_TOP_NOTHING,
	XF_TOP_MOMENT, /* an interval has ended */
	XF_TOP_ENDED,  /* no other will come */
	XF_TOP_FAILED,
};

/*
 * Reads what has come, without waiting for more. An interval ends with those of the recorder's
 * books that are nearest to @delay (ns) after its beginning; @pause: none does, and what comes is
 * dropped. Of XF_TOP_MOMENT *@moment is valid until the next one; of XF_TOP_FAILED @error tells.
 */
enum xf_top_news xf_top_source_turn(struct xf_top_source *source, uint64_t delay, bool pause,
                                    struct xf_top_moment *moment, struct xf_error *error);

/* Return: the exit status for @error, which opening or reading @source has failed with. */
int xf_top_source_exit(const struct xf_top_source *source, const struct xf_error *error);

/* For how many seconds nothing has come, once that is longer than it should be; otherwise 0. */
uint64_t xf_top_source_silence(const struct xf_top_source *source);

/* Ends our own recorder, and passes on what it had to say. Return: its exit status; 0 where it is
 * somebody else's. */
int xf_top_source_close(struct xf_top_source *source);

#endif
