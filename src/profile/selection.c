// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "profile/profile.h"

/* Names and numbers, each once, with commas; the last word is "..." where they are too many. */
struct list {
	char text[400];
	bool full;
};

static bool is_listed(const struct list *list, const char *word)
{
	size_t size = strlen(word);
	const char *at = list->text;

	while ((at = strstr(at, word))) {
		bool begins = at == list->text ||
		              (at >= list->text + 2 && at[-2] == ',' && at[-1] == ' ');

		if (begins && (!at[size] || (at[size] == ',' && at[size + 1] == ' ')))
			return true;
		at++;
	}
	return false;
}

static void add(struct list *list, const char *word)
{
	size_t used = strlen(list->text);

	if (list->full || is_listed(list, word))
		return;
	if (used + strlen(word) + sizeof(", , ...") > sizeof(list->text)) {
		list->full = true;
		word = "...";
	}
	snprintf(list->text + used, sizeof(list->text) - used, "%s%s", used ? ", " : "", word);
}

/* What the samples are of. */
struct present {
	struct list domains;
	struct list pcpus;
	bool any;
	bool domain; /* the one asked for, on whatever pCPU */
};

static void look_at(const struct xf_recording *recording, const struct xf_record *record,
                    const struct xf_profile_options *options, struct present *present)
{
	const struct xf_sample *sample = &record->sample;
	bool tick = record->type == XF_RECORD_IDLE;
	bool idle = tick || sample->flags & XF_SAMPLE_IDLE;
	uint16_t domid = idle ? XF_DOMID_IDLE : sample->domid;
	uint32_t pcpu = tick ? record->idle.pcpu : sample->pcpu;
	const struct xf_profile_options by_domain = {.domain = options->domain,
	                                             .pcpu = XF_ANY_PCPU};
	char text[16], number[16];
	const char *name =
	        xf_domain_name(recording, domid, tick ? record->idle.tsc : sample->tsc, text);

	if (tick && !record->idle.count)
		return;
	present->any = true;
	add(&present->domains, name);
	if (!xf_profile_wants(&by_domain, domid, name, pcpu))
		return;
	present->domain = true;
	snprintf(number, sizeof(number), "%" PRIu32, pcpu);
	add(&present->pcpus, number);
}

int xf_profile_refuse(const struct xf_recording *recording,
                      const struct xf_profile_options *options, struct xf_error *error)
{
	struct xf_record_iterator iterator = {0};
	struct present present = {0};
	struct xf_record record;

	while (xf_recording_next(recording, &iterator, &record))
		look_at(recording, &record, options, &present);
	if (!present.any)
		return xf_fail(error, -ENODATA,
		               xf_recording_state(recording).truncated
		                       ? "the recording was cut off before its first sample"
		                       : "the recording holds no samples");
	if (!present.domain)
		return xf_fail(error, -ENODATA,
		               "no sample is of a domain '%.200s'; those there are of %s",
		               options->domain, present.domains.text);
	return xf_fail(error, -ENODATA,
	               "no sample%s%.200s%s is of pCPU %" PRIu32 "; those there are of pCPU %s",
	               options->domain ? " of domain '" : "",
	               options->domain ? options->domain : "", options->domain ? "'" : "",
	               options->pcpu, present.pcpus.text);
}
