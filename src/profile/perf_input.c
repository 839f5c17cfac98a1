// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/perf_input.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/foreign.h"
#include "profile/perf_maps.h"

/* Marks among the addresses of a chain, as the kernel has them (PERF_CONTEXT_*): whose code the
 * addresses behind them are. */
#define MARK(number) ((uint64_t) - (int64_t)(number))
#define FIRST_MARK   MARK(4095)

struct reading {
	struct xf_perf_file file;
	struct xf_perf_maps maps;
	struct xf_foreign foreign;
	struct xf_foreign_stack stack;
	char thread[32]; /* the name of one without a command */
	uint64_t damaged;
	bool timed;
};

bool xf_perf_begins(const void *bytes, size_t size)
{
	static const char *const magics[] = {XF_PERF_MAGIC, "2ELIFREP", "PERFFILE"};

	for (size_t i = 0; i < sizeof(magics) / sizeof(magics[0]); i++) {
		if (size >= 8 && memcmp(bytes, magics[i], 8) == 0)
			return true;
	}
	return false;
}

static int check_magic(const void *bytes, size_t size, struct xf_error *error)
{
	if (size >= 8 && memcmp(bytes, XF_PERF_MAGIC, 8) == 0)
		return 0;
	return xf_fail(error, -ENOTSUP,
	               "this perf.data is of a perf before Linux 3.1, or of a processor that has"
	               " its bytes in the other order; 'perf script' may know: give its text to"
	               " xenflame");
}

/* ---- Stacks ---------------------------------------------------------------------------------- */

/* Return: whose code is behind @mark. */
static enum xf_perf_mode mode_of(uint64_t mark)
{
	switch (mark) {
	case MARK(32):
		return XF_PERF_HYPERVISOR;
	case MARK(128):
		return XF_PERF_KERNEL;
	case MARK(512):
		return XF_PERF_USER;
	case MARK(2176):
		return XF_PERF_GUEST_KERNEL;
	case MARK(2560):
		return XF_PERF_GUEST_USER;
	default:
		return XF_PERF_UNKNOWN_MODE;
	}
}

static bool is_guest(enum xf_perf_mode mode)
{
	return mode == XF_PERF_GUEST_KERNEL || mode == XF_PERF_GUEST_USER;
}

/* A guest's frames have no names here, and are one. */
static int push_address(struct reading *reading, uint32_t pid, enum xf_perf_mode mode,
                        uint64_t address)
{
	struct xf_foreign_stack *stack = &reading->stack;
	const struct xf_perf_frame *frame =
	        xf_perf_find(&reading->maps, pid, mode, is_guest(mode) ? 0 : address);

	if (!frame)
		return -ENOMEM;
	if (is_guest(mode) && stack->nr && stack->frames[stack->nr - 1].name == frame->name)
		return 0;
	return xf_foreign_push(stack, frame->name, frame->kind);
}

static int push_chain(struct reading *reading, struct xf_perf_sample *sample,
                      enum xf_perf_mode *mode)
{
	int code = 0;

	if (!sample->has_chain)
		return push_address(reading, sample->pid, *mode, sample->address);
	while (!code && xf_cursor_left(&sample->chain)) {
		uint64_t address = xf_cursor_u64(&sample->chain);

		if (address >= FIRST_MARK)
			*mode = mode_of(address);
		else
			code = push_address(reading, sample->pid, *mode, address);
	}
	return code;
}

/* perf script unwinds copies of user stacks; here they are a gap that is told. */
static int push_all(struct reading *reading, const struct xf_perf_record *record,
                    struct xf_perf_sample *sample)
{
	enum xf_perf_mode mode = record->misc & XF_PERF_MODE_MASK;
	int code = push_chain(reading, sample, &mode);

	if (!code && sample->user_stack)
		code = xf_foreign_push(&reading->stack, "[incomplete: user-stack-not-unwound]",
		                       XF_FRAME_INCOMPLETE);
	if (!code && !reading->stack.nr)
		code = xf_foreign_push(&reading->stack, "[no stack]", XF_FRAME_UNKNOWN);
	xf_foreign_reverse(&reading->stack);
	return code;
}

static const char *name_thread(struct reading *reading, uint32_t tid)
{
	const char *command = xf_perf_command(&reading->maps, tid);

	if (command && command[0])
		return command;
	if (!tid)
		return "swapper";
	snprintf(reading->thread, sizeof(reading->thread), ":%" PRId32, (int32_t)tid);
	return reading->thread;
}

static int take_sample(struct reading *reading, const struct xf_perf_record *record)
{
	struct xf_foreign_stack *stack = &reading->stack;
	struct xf_perf_sample sample;
	int code;

	if (!xf_perf_read_sample(record, &sample)) {
		reading->damaged++;
		return 0;
	}
	stack->domain = name_thread(reading, sample.tid);
	stack->thread = sample.tid;
	stack->cpu = sample.cpu;
	stack->time = record->time;
	stack->count = 1;
	stack->nr = 0;
	code = push_all(reading, record, &sample);
	return code ? code : xf_foreign_add(&reading->foreign, stack, reading->timed);
}

/* ---- The whole ------------------------------------------------------------------------------- */

static int take_records(struct reading *reading)
{
	int code = 0;

	for (size_t i = 0; !code && i < reading->file.nr_records; i++) {
		const struct xf_perf_record *record = &reading->file.records[i];

		code = record->type == XF_PERF_SAMPLE ? take_sample(reading, record)
		                                      : xf_perf_maps_take(&reading->maps, record);
		if (code == -EBADMSG) {
			reading->damaged++;
			code = 0;
		}
	}
	return code;
}

/* One event's samples are as far apart in time as it says; of several nobody can say that. */
static uint64_t frequency_of(const struct xf_perf_file *file)
{
	uint64_t frequency = 0;
	size_t nr = 0;

	for (size_t i = 0; i < file->nr_events; i++) {
		frequency = file->events[i].samples ? file->events[i].frequency : frequency;
		nr += file->events[i].samples;
	}
	return nr == 1 ? frequency : 0;
}

static void tell_quality(const struct reading *reading, struct xf_profile *profile)
{
	const struct xf_perf_file *file = &reading->file;

	profile->frequency = frequency_of(file);
	profile->lost = profile->losses.trace = file->lost;
	profile->lost_known = true;
	profile->state.closed = !file->unfinished;
	profile->state.truncated = file->cut;
	profile->state.damaged = file->damaged + reading->damaged;
}

static int check_times(struct reading *reading, struct xf_error *error)
{
	for (size_t i = 0; i < reading->file.nr_records && !reading->timed; i++) {
		const struct xf_perf_record *record = &reading->file.records[i];

		reading->timed = record->type == XF_PERF_SAMPLE && record->time;
	}
	if (!reading->timed && reading->foreign.options->timeline == XF_TIMELINE_NEEDED)
		return xf_fail(error, -ENODATA,
		               "its samples have no times, and this output needs them: 'perf record"
		               " -T' records them");
	return 0;
}

static int read_profile(struct reading *reading, struct xf_profile **profile,
                        struct xf_error *error)
{
	int code = check_times(reading, error);

	if (!code)
		code = xf_perf_maps_open(&reading->maps);
	if (!code)
		code = take_records(reading);
	if (!code)
		code = xf_foreign_finish(&reading->foreign,
		                         reading->file.host ? reading->file.host : "perf.data",
		                         profile, error);
	if (!code)
		tell_quality(reading, *profile);
	return code;
}

int xf_perf_profile(const void *bytes, size_t size, const struct xf_profile_options *options,
                    const struct xf_perf_names *names, struct xf_profile **profile,
                    struct xf_error *error)
{
	struct reading reading = {0};
	struct xf_error why = {0};
	int code = check_magic(bytes, size, &why);

	if (!code)
		code = xf_perf_file_open(bytes, size, &reading.file, &why);
	reading.maps.file = &reading.file;
	reading.maps.names = names;
	if (!code)
		code = xf_foreign_start(&reading.foreign, options);
	if (!code)
		code = read_profile(&reading, profile, &why);
	free(reading.stack.frames);
	xf_foreign_end(&reading.foreign);
	xf_perf_maps_close(&reading.maps);
	xf_perf_file_close(&reading.file);
	if (code)
		xf_fail(error, code, "%s", why.text[0] ? why.text : "no memory for the profile");
	return code;
}
