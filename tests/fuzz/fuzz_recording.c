// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any bytes, read as a recording and taken through every output. tests/fuzz/run has how to build
 * and replay.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "output/flamegraph.h"
#include "output/folded.h"
#include "output/page.h"
#include "output/perf.h"
#include "output/report.h"
#include "output/script.h"
#include "profile/profile.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* A file of a few bytes can tell of four thousand million idle ticks: script writes them all. */
static bool is_short(const struct xf_recording *recording)
{
	struct xf_record_iterator iterator = {0};
	struct xf_record record;
	uint64_t events = 0;

	while (xf_recording_next(recording, &iterator, &record))
		events += record.type == XF_RECORD_IDLE ? record.idle.count : 1;
	return events < 10000;
}

/* With itself upside down: nothing is the same but the functions. */
static void write_comparison(FILE *out, const struct xf_profile *profile)
{
	const struct xf_flamegraph_options graph = XF_FLAMEGRAPH_DEFAULTS;
	const struct xf_comparison_options text = {.all = true};
	const struct xf_page_options page = {0};
	struct xf_comparison comparison = {.profiles = {profile, profile}, .names = {"a", "b"}};
	struct xf_difference *difference;
	struct xf_calltree *inverted;
	struct xf_sides whole;

	xf_comparison_whole(comparison.profiles, XF_MEASURE_SAMPLES, &whole);
	if (xf_calltree_invert(profile->tree, &inverted))
		return;
	if (!xf_difference_build(profile->tree, inverted, whole, true, &difference)) {
		comparison.difference = difference;
		xf_comparison_write(out, &comparison, &text);
		xf_flamegraph_write_comparison(out, &comparison, &graph);
		xf_page_write_comparison(out, &comparison, &page);
		xf_difference_free(difference);
	}
	xf_calltree_free(inverted);
}

static void write_outputs(FILE *out, const struct xf_recording *recording,
                          const struct xf_profile *profile)
{
	struct xf_flamegraph_options graph = XF_FLAMEGRAPH_DEFAULTS;
	struct xf_report_options report = {.views = 0x3f, .header = true};
	struct xf_profile_options all = XF_PROFILE_DEFAULTS;
	struct xf_page_options page = {0};

	xf_page_write(out, profile, &page);
	write_comparison(out, profile);
	xf_flamegraph_write(out, profile, &graph);
	xf_folded_write(out, profile);
	xf_report_write(out, profile, &report, NULL);
	xf_report_write_json(out, profile, &all, &report, NULL);
	if (is_short(recording))
		xf_script_write(out, recording, &all, NULL);
}

/* With addresses, and an object of each file. */
static void write_perf(FILE *out, const struct xf_recording *recording)
{
	struct xf_profile_options options = XF_PROFILE_DEFAULTS;
	struct xf_perf_images images;
	struct xf_profile *profile;
	struct xf_error error;

	options.timeline = XF_TIMELINE_NEEDED;
	options.addresses = options.guest_addresses = true;
	if (xf_profile_build(recording, &options, &profile, &error))
		return;
	xf_perf_write(out, profile);
	if (!xf_perf_images_make(recording, profile, &images)) {
		xf_perf_write_images(out, profile, &images);
		for (size_t i = 0; i < images.nr; i++)
			xf_perf_object_write(out, &images.images[i]);
	}
	xf_perf_images_free(&images);
	xf_profile_free(profile);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static const struct xf_profile_options options = {.by_domain = true,
	                                                  .by_vcpu = true,
	                                                  .by_pcpu = true,
	                                                  .processes = true,
	                                                  .by_process = true,
	                                                  .pcpu = XF_ANY_PCPU,
	                                                  .timeline = true};
	struct xf_recording *recording;
	struct xf_profile *profile;
	struct xf_error error;
	FILE *out;

	if (xf_recording_open(bytes, size, &recording, &error))
		return 0;
	out = fopen("/dev/null", "w");
	if (out && !xf_profile_build(recording, &options, &profile, &error)) {
		write_outputs(out, recording, profile);
		write_perf(out, recording);
		xf_profile_free(profile);
	}
	if (out)
		fclose(out);
	xf_recording_free(recording);
	return 0;
}
