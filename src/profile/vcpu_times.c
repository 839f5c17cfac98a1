// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/vcpu_times.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/grow.h"
#include "profile/profile.h"

#define NANOSECONDS 1000000000u

/* ---- Reading --------------------------------------------------------------------------------- */

static bool is_sound(const struct xf_runstate_span *span)
{
	uint64_t left = span->to - span->from;

	if (span->from >= span->to)
		return false;
	for (size_t i = 0; i < XF_RUNSTATES; i++) {
		if (span->ticks[i] > left)
			return false;
		left -= span->ticks[i];
	}
	return true;
}

int xf_runstate_spans_read(struct xf_runstate_spans *spans, struct xf_cursor content)
{
	int code = 0;

	while (xf_cursor_left(&content)) {
		const uint8_t *bytes = xf_cursor_take(&content, XF_RUNSTATE_SPAN_BYTES);
		struct xf_runstate_span span, *added;

		if (!bytes)
			return -EBADMSG;
		memcpy(&span, bytes, sizeof(span));
		if (!is_sound(&span)) {
			code = -EBADMSG;
			continue;
		}
		added = XF_GROW(spans->spans, spans->nr);
		if (!added)
			return -ENOMEM;
		*added = span;
		spans->nr++;
	}
	return code;
}

static bool is_of_one_vcpu(const struct xf_runstate_span *a, const struct xf_runstate_span *b)
{
	return a->domid == b->domid && a->vcpu == b->vcpu;
}

static int compare_spans(const void *left, const void *right)
{
	const struct xf_runstate_span *a = left;
	const struct xf_runstate_span *b = right;

	if (a->domid != b->domid)
		return a->domid < b->domid ? -1 : 1;
	if (a->vcpu != b->vcpu)
		return a->vcpu < b->vcpu ? -1 : 1;
	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	return a->to < b->to ? -1 : a->to > b->to;
}

size_t xf_runstate_spans_finish(struct xf_runstate_spans *spans)
{
	size_t kept = 0, left_out;

	if (spans->nr)
		qsort(spans->spans, spans->nr, sizeof(*spans->spans), compare_spans);
	for (size_t i = 0; i < spans->nr; i++) {
		const struct xf_runstate_span *span = &spans->spans[i];

		if (!kept || !is_of_one_vcpu(&spans->spans[kept - 1], span) ||
		    spans->spans[kept - 1].to <= span->from)
			spans->spans[kept++] = *span;
	}
	left_out = spans->nr - kept;
	spans->nr = kept;
	return left_out;
}

void xf_runstate_spans_free(struct xf_runstate_spans *spans)
{
	free(spans->spans);
	*spans = (struct xf_runstate_spans){0};
}

/* ---- Adding up ------------------------------------------------------------------------------- */

/* Between which two moments. */
struct range {
	uint64_t from;
	uint64_t to;
};

/* The row of @span's vCPU under the name that its domain has there. Return: NULL without memory. */
static struct xf_vcpu_time *row_of(struct xf_vcpu_times *times, const struct xf_runstate_span *span,
                                   const char *name)
{
	struct xf_vcpu_time *row = times->nr ? &times->rows[times->nr - 1] : NULL;

	if (row && row->domid == span->domid && row->vcpu == span->vcpu &&
	    strcmp(row->domain, name) == 0)
		return row;
	row = XF_GROW(times->rows, times->nr);
	if (!row)
		return NULL;
	row->domid = span->domid;
	row->vcpu = span->vcpu;
	row->domain = strdup(name);
	if (!row->domain)
		return NULL;
	times->nr++;
	return row;
}

/* Return: @part of @whole of @amount; UINT64_MAX where it is more than that. */
static uint64_t scale(uint64_t amount, uint64_t part, uint64_t whole)
{
	unsigned __int128 scaled = (unsigned __int128)amount * part / whole;

	return scaled > UINT64_MAX ? UINT64_MAX : (uint64_t)scaled;
}

/*
 * Scales each of @times: the sums of the first of them, so that all of them together are what their
 * sum would be and rounding leaves nothing over. Return: that sum.
 */
static uint64_t scale_all(uint64_t times[XF_RUNSTATES], uint64_t part, uint64_t whole)
{
	uint64_t sum = 0, before = 0;

	for (size_t i = 0; i < XF_RUNSTATES; i++) {
		uint64_t scaled;

		sum += times[i];
		scaled = scale(sum, part, whole);
		times[i] = scaled - before;
		before = scaled;
	}
	return before;
}

/* Adds what of @span lies in the range, in ticks: of one that reaches over its ends in proportion.
 */
static void add_span(struct xf_vcpu_time *row, const struct xf_runstate_span *span,
                     struct range range)
{
	uint64_t from = span->from > range.from ? span->from : range.from;
	uint64_t to = span->to < range.to ? span->to : range.to;
	struct xf_runstate_span inside = *span;

	scale_all(inside.ticks, to - from, span->to - span->from);
	for (size_t i = 0; i < XF_RUNSTATES; i++)
		row->time[i] += inside.ticks[i];
}

/* From ticks to nanoseconds, and what is missing to all of the range. */
static void settle(struct xf_vcpu_time *row, struct range range, uint64_t tsc_hz)
{
	uint64_t whole = scale(range.to - range.from, NANOSECONDS, tsc_hz);

	row->unknown = whole - scale_all(row->time, NANOSECONDS, tsc_hz);
}

static int compare_rows(const void *left, const void *right)
{
	const struct xf_vcpu_time *a = left;
	const struct xf_vcpu_time *b = right;
	int names;

	if (a->domid != b->domid)
		return a->domid < b->domid ? -1 : 1;
	names = strcmp(a->domain, b->domain);
	if (names)
		return names;
	return a->vcpu < b->vcpu ? -1 : a->vcpu > b->vcpu;
}

static int collect(const struct xf_recording *recording, const struct xf_profile_options *options,
                   struct range range, struct xf_vcpu_times *times)
{
	const struct xf_runstate_spans *spans = xf_recording_runstates(recording);

	for (size_t i = 0; i < spans->nr; i++) {
		const struct xf_runstate_span *span = &spans->spans[i];
		char text[16];
		const char *name = xf_domain_name(recording, span->domid, span->from, text);
		struct xf_vcpu_time *row;

		if (span->to <= range.from || span->from >= range.to ||
		    !xf_profile_wants(options, span->domid, name, XF_ANY_PCPU))
			continue;
		row = row_of(times, span, name);
		if (!row)
			return -ENOMEM;
		add_span(row, span, range);
	}
	return 0;
}

int xf_vcpu_times_add_up(const struct xf_recording *recording,
                         const struct xf_profile_options *options, uint64_t from, uint64_t to,
                         struct xf_vcpu_times *times)
{
	struct range range = {.from = from, .to = to};
	int code;

	if (from >= to || options->pcpu != XF_ANY_PCPU)
		return 0;
	code = collect(recording, options, range, times);
	if (code || !times->nr)
		return code;
	for (size_t i = 0; i < times->nr; i++)
		settle(&times->rows[i], range, xf_recording_tsc_hz(recording));
	qsort(times->rows, times->nr, sizeof(*times->rows), compare_rows);
	return 0;
}

void xf_vcpu_times_free(struct xf_vcpu_times *times)
{
	for (size_t i = 0; i < times->nr; i++)
		free(times->rows[i].domain);
	free(times->rows);
	*times = (struct xf_vcpu_times){0};
}

size_t xf_vcpu_times_domain(const struct xf_vcpu_times *times, size_t first,
                            struct xf_vcpu_time *sum)
{
	const struct xf_vcpu_time *row = &times->rows[first];
	size_t nr = 0;

	*sum = (struct xf_vcpu_time){.domain = row->domain, .domid = row->domid};
	for (; first + nr < times->nr && row[nr].domid == row->domid &&
	       strcmp(row[nr].domain, row->domain) == 0;
	     nr++) {
		for (size_t i = 0; i < XF_RUNSTATES; i++)
			sum->time[i] += row[nr].time[i];
		sum->unknown += row[nr].unknown;
	}
	return nr;
}

uint64_t xf_vcpu_time_whole(const struct xf_vcpu_time *time)
{
	uint64_t whole = time->unknown;

	for (size_t i = 0; i < XF_RUNSTATES; i++)
		whole += time->time[i];
	return whole;
}
