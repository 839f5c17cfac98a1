// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/script.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "output/text.h"
#include "profile/guest_stacks.h"
#include "profile/processes.h"
#include "profile/stacks.h"
#include "profile/tasks.h"
#include "profile/user_stacks.h"

struct event {
	const char *domain;
	uint16_t domid;
	uint32_t vcpu;
	uint32_t pcpu;
	uint64_t time;
};

static void write_head(FILE *out, const struct event *event)
{
	struct xf_glyph glyph;
	const char *name = event->domain;
	size_t columns = 0;

	while (xf_text_next(&name, &glyph)) {
		if (glyph.size == 1 && glyph.text[0] == ' ')
			glyph.text[0] = '_';
		fwrite(glyph.text, 1, glyph.size, out);
		columns += glyph.columns;
	}
	/* Readers want two characters at least. */
	fprintf(out,
	        "%*s %u/%" PRIu32 " [%03" PRIu32 "] %" PRIu64 ".%06" PRIu64 ": 1 cpu-clock: \n",
	        columns < 2 ? (int)(2 - columns) : 0, "", event->domid, event->vcpu, event->pcpu,
	        event->time / 1000000000, event->time % 1000000000 / 1000);
}

static void write_frame(FILE *out, uint64_t address, const char *name, const char *image)
{
	fprintf(out, "\t%16" PRIx64 " ", address);
	xf_text_write(out, name, "");
	fputs(" (", out);
	xf_text_write(out, image, "()");
	fputs(")\n", out);
}

static void write_place(FILE *out, uint64_t address, const struct xf_place *place,
                        const char *image)
{
	fprintf(out, "\t%16" PRIx64 " ", address);
	xf_text_write(out, place->name, "");
	if (place->name != place->text)
		fprintf(out, "+0x%" PRIx64, place->offset);
	fputs(" (", out);
	xf_text_write(out, image, "()");
	fputs(")\n", out);
}

/* Tools for perf take what stands in brackets for a kernel. */
#define GUEST_KERNEL "[guest.kernel.kallsyms]"

static void write_user(FILE *out, const struct xf_user_stacks *stacks,
                       const struct xf_record *record, const struct xf_guest_trace *kernel,
                       const struct xf_process *process)
{
	struct xf_user_trace trace;
	char label[64];

	xf_user_stacks_walk(stacks, record, kernel, process, &trace);
	for (size_t i = 0; i < trace.nr; i++) {
		struct xf_place place;
		const char *path = xf_user_stacks_name(stacks, &trace, trace.frames[i], &place);

		write_place(out, trace.frames[i].address, &place, path ? path : "guest");
	}
	if (trace.incomplete) {
		snprintf(label, sizeof(label), XF_USER_INCOMPLETE, trace.incomplete);
		write_frame(out, 0, label, "guest");
	}
	if (!trace.nr)
		write_frame(out, kernel->user_rip, XF_GUEST_USER_NAME, "guest");
}

static void write_xen(FILE *out, const struct xf_stacks *stacks, const struct xf_record *record)
{
	struct xf_stack stack;

	xf_stacks_walk(stacks, record, &stack);
	for (size_t i = 0; i < stack.nr; i++) {
		struct xf_place place;

		xf_stacks_name(stacks, stack.frames[i], stack.entering, &place);
		write_place(out, stack.frames[i].address, &place,
		            place.livepatch ? place.livepatch : "xen");
	}
	if (stack.incomplete) {
		fprintf(out, "\t%16x [incomplete: ", 0);
		xf_text_write(out, stack.incomplete, "");
		fputs("] (xen)\n", out);
	}
}

struct script {
	FILE *out;
	const struct xf_recording *recording;
	const struct xf_profile_options *options;
	struct xf_stacks *stacks;
	struct xf_guest_stacks *guest_stacks;
	struct xf_processes *processes;
	struct xf_tasks tasks;
	struct xf_user_stacks user_stacks;
	uint64_t events; /* written */
};

static void write_kernel(FILE *out, const struct xf_guest_trace *trace, const char *domain)
{
	char label[64];

	for (size_t i = 0; i < trace->nr; i++) {
		struct xf_place place;

		xf_guest_stacks_name(trace, trace->frames[i], domain, &place);
		write_place(out, trace->frames[i].address, &place, GUEST_KERNEL);
	}
	if (trace->incomplete) {
		snprintf(label, sizeof(label), XF_GUEST_INCOMPLETE, trace->incomplete);
		write_frame(out, 0, label, GUEST_KERNEL);
	}
}

/* NULL: it is not known which one it was. */
static void write_process(const struct script *script, const struct xf_sample *sample,
                          const struct xf_process *process)
{
	const char *name = XF_PROCESS_UNKNOWN;
	char text[128];

	if (!script->options->processes || !xf_tasks_recorded(&script->tasks, sample))
		return;
	if (process)
		name = xf_process_label(process, script->options->by_process, text);
	write_frame(script->out, 0, name, "process");
}

/* The frames of a guest's kernel and process, and the process. Return: 0 or -ENOMEM. */
static int write_guest(const struct script *script, const struct xf_record *record,
                       const char *domain)
{
	struct xf_guest_trace trace = {.switching = XF_NOT_SWITCHING};
	struct xf_process found;
	const struct xf_process *process;
	int code =
	        record->guest.nr ? xf_guest_stacks_walk(script->guest_stacks, record, &trace) : 0;

	if (code)
		return code;
	process = xf_tasks_running(&script->tasks, record, trace.switching, &found) ? &found : NULL;
	write_kernel(script->out, &trace, domain);
	if (trace.user)
		write_user(script->out, &script->user_stacks, record, &trace, process);
	write_process(script, &record->sample, process);
	return 0;
}

/* From the innermost frame outwards. Return: 0 or -ENOMEM. */
static int write_stack(const struct script *script, const struct xf_record *record,
                       const struct event *event)
{
	const struct xf_sample *sample = &record->sample;
	bool guest = record->type == XF_RECORD_SAMPLE && sample->flags & XF_SAMPLE_GUEST;
	bool stacks = record->guest.nr && event->domid != XF_DOMID_IDLE;

	if (record->type == XF_RECORD_IDLE)
		write_frame(script->out, 0, "[idle]", "xen");
	else if (!guest)
		write_xen(script->out, script->stacks, record);
	else if (!stacks)
		write_frame(script->out, xf_sample_guest_rip(sample), xf_sample_guest_name(sample),
		            "guest");
	if (record->type == XF_RECORD_SAMPLE && xf_guest_switched_away(script->recording, sample))
		write_frame(script->out, 0, XF_GUEST_SWITCHED_AWAY, "guest");
	return event->domid == XF_DOMID_IDLE ? 0 : write_guest(script, record, event->domain);
}

static int write_record(struct script *script, const struct xf_record *record)
{
	const struct xf_sample *sample = &record->sample;
	bool idle = record->type == XF_RECORD_IDLE || sample->flags & XF_SAMPLE_IDLE;
	uint32_t pcpu = record->type == XF_RECORD_IDLE ? record->idle.pcpu : sample->pcpu;
	uint64_t tsc = record->type == XF_RECORD_IDLE ? record->idle.tsc : sample->tsc;
	struct event event = {.domid = idle ? XF_DOMID_IDLE : sample->domid,
	                      .vcpu = idle ? pcpu : sample->vcpu,
	                      .pcpu = pcpu,
	                      .time = xf_recording_time(script->recording, tsc)};
	uint64_t count = record->type == XF_RECORD_IDLE ? record->idle.count : 1;
	char text[16];
	int code = 0;

	event.domain = xf_domain_name(script->recording, event.domid, tsc, text);
	if (!xf_profile_wants(script->options, event.domid, event.domain, event.pcpu))
		return 0;
	for (uint64_t i = 0; !code && i < count && !ferror(script->out); i++) {
		write_head(script->out, &event);
		code = write_stack(script, record, &event);
		fputc('\n', script->out);
	}
	script->events += count;
	return code;
}

int xf_script_write(FILE *out, const struct xf_recording *recording,
                    const struct xf_profile_options *options, struct xf_error *error)
{
	struct script script = {.out = out, .recording = recording, .options = options};
	struct xf_record_iterator iterator = {0};
	struct xf_record record;
	int code = xf_stacks_new(recording, &script.stacks, error);

	if (code)
		return code;
	script.guest_stacks = xf_guest_stacks_new(recording);
	code = script.guest_stacks
	               ? xf_processes_make(xf_recording_processes(recording),
	                                   xf_recording_tsc_hz(recording), &script.processes)
	               : -ENOMEM;
	if (!code)
		code = xf_tasks_make(&script.tasks, recording, script.processes);
	script.user_stacks = (struct xf_user_stacks){.processes = script.processes,
	                                             .places = xf_recording_user_code(recording)};
	while (!code && xf_recording_next(recording, &iterator, &record) && !ferror(out))
		code = write_record(&script, &record);
	xf_stacks_free(script.stacks);
	xf_guest_stacks_free(script.guest_stacks);
	xf_tasks_free(&script.tasks);
	xf_processes_free(script.processes);
	if (code)
		return xf_fail(error, code, "no memory for the processes and stacks of guests");
	return script.events ? 0 : xf_profile_refuse(recording, options, error);
}
