// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/facts.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "output/text.h"

static void tell_host(const struct xf_profile *profile, struct xf_facts *facts)
{
	XF_TEXT_APPEND(facts->host, "%.200s", profile->host[0] ? profile->host : "unnamed host");
	if (profile->xen_version[0])
		XF_TEXT_APPEND(facts->host, ", Xen %.100s", profile->xen_version);
	if (profile->nr_pcpus)
		XF_TEXT_APPEND(facts->host, ", %" PRIu32 " pCPU%s", profile->nr_pcpus,
		               profile->nr_pcpus == 1 ? "" : "s");
}

static void tell_time(const struct xf_profile *profile, struct xf_facts *facts)
{
	char time[32];

	if (!profile->start_time && !profile->duration && !profile->frequency) {
		XF_TEXT_APPEND(facts->recorded, "time not known");
		return;
	}
	if (xf_text_time(profile->start_time, time)[0])
		XF_TEXT_APPEND(facts->recorded, "%s, ", time);
	XF_TEXT_APPEND(facts->recorded, "%" PRIu64 ".%" PRIu64 " s", profile->duration / 1000000000,
	               profile->duration / 100000000 % 10);
	if (profile->frequency)
		XF_TEXT_APPEND(facts->recorded, " at %" PRIu64 " Hz", profile->frequency);
}

static void tell_notes(const struct xf_profile *profile, struct xf_facts *facts)
{
	const struct xf_recording_state *state = &profile->state;

	if (state->truncated)
		XF_TEXT_APPEND(facts->notes, "the file was cut off; ");
	else if (!state->closed)
		XF_TEXT_APPEND(facts->notes, "the recorder did not finish; ");
	if (state->damaged)
		XF_TEXT_APPEND(facts->notes, "%" PRIu64 " damaged parts left out; ",
		               state->damaged);
	if (state->stray_stacks)
		XF_TEXT_APPEND(facts->notes, "%" PRIu64 " stacks of guests without their sample; ",
		               state->stray_stacks);
	if (state->unknown_chunks || state->unknown_records)
		XF_TEXT_APPEND(facts->notes,
		               "%" PRIu64 " parts of a kind that this version does not know; ",
		               state->unknown_chunks + state->unknown_records);
	if (facts->notes[0])
		facts->notes[strlen(facts->notes) - 2] = 0;
}

static void tell_stacks(const struct xf_profile_counts *counts, struct xf_facts *facts)
{
	char text[32];

	if (counts->switched_away)
		XF_TEXT_APPEND(facts->quality, ", guest switched away %s",
		               xf_text_count(counts->switched_away, text));
	if (!counts->stacks)
		return;
	XF_TEXT_APPEND(facts->quality, ", guest stacks %s (kernel incomplete ",
	               xf_text_count(counts->stacks, text));
	XF_TEXT_APPEND(facts->quality, "%s, ", xf_text_count(counts->kernel_incomplete, text));
	if (counts->user_incomplete)
		XF_TEXT_APPEND(facts->quality, "user incomplete %s, ",
		               xf_text_count(counts->user_incomplete, text));
	XF_TEXT_APPEND(facts->quality, "user part not known %s)",
	               xf_text_count(counts->user_unknown, text));
}

static void tell_processes(const struct xf_profile_counts *counts, struct xf_facts *facts)
{
	char text[32];

	if (counts->process_unknown)
		XF_TEXT_APPEND(facts->quality, ", process not known %s",
		               xf_text_count(counts->process_unknown, text));
}

void xf_facts_of(const struct xf_profile *profile, struct xf_facts *facts)
{
	const struct xf_profile_counts *counts = &profile->counts;
	char text[32];

	memset(facts, 0, sizeof(*facts));
	tell_host(profile, facts);
	tell_time(profile, facts);
	XF_TEXT_APPEND(facts->samples, "%s (", xf_text_count(profile->samples, text));
	XF_TEXT_APPEND(facts->samples, "guests %s, ", xf_text_count(counts->guest, text));
	XF_TEXT_APPEND(facts->samples, "Xen %s, ", xf_text_count(counts->xen, text));
	XF_TEXT_APPEND(facts->samples, "idle %s", xf_text_count(counts->idle, text));
	if (counts->other)
		XF_TEXT_APPEND(facts->samples, ", others %s", xf_text_count(counts->other, text));
	XF_TEXT_APPEND(facts->samples, ")");
	XF_TEXT_APPEND(facts->quality, "lost %s, ",
	               profile->lost_known ? xf_text_count(profile->lost, text) : "not known");
	if (profile->skipped)
		XF_TEXT_APPEND(facts->quality, "skipped %s, ",
		               xf_text_count(profile->skipped, text));
	XF_TEXT_APPEND(facts->quality, "incomplete %s", xf_text_count(counts->incomplete, text));
	if (counts->incomplete && !counts->other)
		XF_TEXT_APPEND(facts->quality, " (%.1f%% of Xen's)",
		               xf_percent(counts->incomplete, counts->xen));
	if (counts->unnamed)
		XF_TEXT_APPEND(facts->quality, ", with unnamed frames %s",
		               xf_text_count(counts->unnamed, text));
	tell_stacks(counts, facts);
	tell_processes(counts, facts);
	tell_notes(profile, facts);
}
