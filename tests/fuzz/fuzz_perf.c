// SPDX-License-Identifier: GPL-2.0-or-later
/* Any bytes, read as a perf.data with and without times, and written as folded stacks.
 * tests/fuzz/run has how to build and replay. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "output/folded.h"
#include "profile/perf_input.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* Some have names. */
static const char *find_name(void *context, const struct xf_perf_place *place)
{
	(void)context;
	return place->build_id_size && place->build_id[0] & 1 ? place->path : NULL;
}

static void read_once(const uint8_t *bytes, size_t size, const struct xf_profile_options *options)
{
	const struct xf_perf_names names = {.find = find_name};
	struct xf_profile *profile = NULL;
	struct xf_error error = {0};
	uint64_t events = 0;
	char *text = NULL;
	size_t text_size;
	FILE *out;

	if (xf_perf_profile(bytes, size, options, &names, &profile, &error)) {
		if (profile || !error.text[0])
			abort();
		return;
	}
	for (size_t i = 0; i < profile->timeline.nr; i++)
		events += profile->timeline.events[i].count;
	if (options->timeline == XF_TIMELINE_NEEDED && events != profile->samples)
		abort();
	out = open_memstream(&text, &text_size);
	if (out) {
		xf_folded_write(out, profile);
		fclose(out);
	}
	free(text);
	xf_profile_free(profile);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct xf_profile_options options = XF_PROFILE_DEFAULTS;

	if (!xf_perf_begins(bytes, size))
		return 0;
	read_once(bytes, size, &options);
	options.by_vcpu = options.by_pcpu = true;
	options.timeline = XF_TIMELINE_NEEDED;
	read_once(bytes, size, &options);
	return 0;
}
