// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/script.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "output/text.h"
#include "profile/stacks.h"

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

static void write_xen(FILE *out, const struct xf_stacks *stacks, const struct xf_record *record)
{
	struct xf_stack stack;

	xf_stacks_walk(stacks, record, &stack);
	for (size_t i = 0; i < stack.nr; i++) {
		struct xf_place place;

		xf_stacks_name(stacks, stack.frames[i], stack.entering, &place);
		fprintf(out, "\t%16" PRIx64 " ", stack.frames[i].address);
		xf_text_write(out, place.name, "");
		if (place.name != place.text)
			fprintf(out, "+0x%" PRIx64, place.offset);
		fputs(" (", out);
		xf_text_write(out, place.livepatch ? place.livepatch : "xen", "()");
		fputs(")\n", out);
	}
	if (stack.incomplete) {
		fprintf(out, "\t%16x [incomplete: ", 0);
		xf_text_write(out, stack.incomplete, "");
		fputs("] (xen)\n", out);
	}
}

/* Return: the number of events written. */
static uint64_t write_record(FILE *out, const struct xf_recording *recording,
                             const struct xf_stacks *stacks,
                             const struct xf_profile_options *options,
                             const struct xf_record *record)
{
	const struct xf_sample *sample = &record->sample;
	bool idle = record->type == XF_RECORD_IDLE || sample->flags & XF_SAMPLE_IDLE;
	uint32_t pcpu = record->type == XF_RECORD_IDLE ? record->idle.pcpu : sample->pcpu;
	uint64_t tsc = record->type == XF_RECORD_IDLE ? record->idle.tsc : sample->tsc;
	struct event event = {.domid = idle ? XF_DOMID_IDLE : sample->domid,
	                      .vcpu = idle ? pcpu : sample->vcpu,
	                      .pcpu = pcpu,
	                      .time = xf_recording_time(recording, tsc)};
	uint64_t count = record->type == XF_RECORD_IDLE ? record->idle.count : 1;
	char text[16];

	event.domain = xf_domain_name(recording, event.domid, tsc, text);
	if (!xf_profile_wants(options, event.domid, event.domain, event.pcpu))
		return 0;
	for (uint64_t i = 0; i < count && !ferror(out); i++) {
		write_head(out, &event);
		if (record->type == XF_RECORD_IDLE)
			write_frame(out, 0, "[idle]", "xen");
		else if (sample->flags & XF_SAMPLE_GUEST)
			write_frame(out, xf_sample_guest_rip(sample), xf_sample_guest_name(sample),
			            "guest");
		else
			write_xen(out, stacks, record);
		fputc('\n', out);
	}
	return count;
}

int xf_script_write(FILE *out, const struct xf_recording *recording,
                    const struct xf_profile_options *options, struct xf_error *error)
{
	struct xf_record_iterator iterator = {0};
	struct xf_record record;
	struct xf_stacks *stacks;
	uint64_t events = 0;
	int code = xf_stacks_new(recording, &stacks, error);

	if (code)
		return code;
	while (xf_recording_next(recording, &iterator, &record) && !ferror(out))
		events += write_record(out, recording, stacks, options, &record);
	xf_stacks_free(stacks);
	if (!events)
		return xf_profile_refuse(recording, options, error);
	return 0;
}
