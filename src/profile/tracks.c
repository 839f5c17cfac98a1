// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/tracks.h"

#include <errno.h>
#include <stdlib.h>

/* ---- Tracks ---------------------------------------------------------------------------------- */

static int compare_numbers(const void *left, const void *right)
{
	uint32_t a = *(const uint32_t *)left;
	uint32_t b = *(const uint32_t *)right;

	return a < b ? -1 : a > b;
}

/* Return: the pCPUs that have samples, in order, *@nr of them; NULL without memory. */
static uint32_t *list_pcpus(const struct xf_profile *profile, size_t *nr)
{
	uint32_t *pcpus = calloc(profile->nr_groups + 1, sizeof(*pcpus));

	*nr = 0;
	if (!pcpus)
		return NULL;
	for (size_t i = 0; i < profile->nr_groups; i++)
		pcpus[i] = profile->groups[i].pcpu;
	qsort(pcpus, profile->nr_groups, sizeof(*pcpus), compare_numbers);
	for (size_t i = 0; i < profile->nr_groups; i++) {
		if (!i || pcpus[i] != pcpus[*nr - 1])
			pcpus[(*nr)++] = pcpus[i];
	}
	return pcpus;
}

/* Return: for each group the index of its pCPU's track; NULL without memory. */
static uint32_t *assign_tracks(const struct xf_profile *profile, const uint32_t *pcpus, size_t nr)
{
	uint32_t *tracks = calloc(profile->nr_groups + 1, sizeof(*tracks));

	for (size_t i = 0; tracks && i < profile->nr_groups; i++) {
		const uint32_t *found = bsearch(&profile->groups[i].pcpu, pcpus, nr, sizeof(*pcpus),
		                                compare_numbers);

		tracks[i] = found ? (uint32_t)(found - pcpus) : 0;
	}
	return tracks;
}

/* ---- Spans ----------------------------------------------------------------------------------- */

static uint64_t start_of(const struct xf_profile *profile, const struct xf_event *sample,
                         uint64_t before)
{
	uint64_t expected = xf_profile_nanoseconds(profile, sample->count);

	if (expected && sample->time - before > expected &&
	    sample->time - before - expected > expected)
		return sample->time - expected;
	return before;
}

/* Adds @sample to the @nr spans at @spans. Return: how many there are then. */
static size_t add_span(const struct xf_profile *profile, struct xf_span *spans, size_t nr,
                       const struct xf_event *sample)
{
	uint64_t before = nr ? spans[nr - 1].end : 0;
	uint64_t start = start_of(profile, sample, before);

	if (nr && start == before && spans[nr - 1].node.index == sample->node.index) {
		spans[nr - 1].end = sample->time;
		spans[nr - 1].count += sample->count;
		return nr;
	}
	spans[nr] = (struct xf_span){
	        .start = start, .end = sample->time, .count = sample->count, .node = sample->node};
	return nr + 1;
}

/* @track_of tells each group's track, @first has room for one number a track and one more. Each
   track gets room for all of its samples. */
static void fill_tracks(const struct xf_profile *profile, const uint32_t *track_of, size_t *first,
                        struct xf_tracks *tracks)
{
	const struct xf_timeline *timeline = &profile->timeline;

	for (size_t i = 0; i < timeline->nr; i++)
		first[track_of[timeline->events[i].group] + 1]++;
	for (size_t i = 0; i < tracks->nr; i++) {
		first[i + 1] += first[i];
		tracks->tracks[i].spans = &tracks->spans[first[i]];
	}
	for (size_t i = 0; i < timeline->nr; i++) {
		uint32_t number = track_of[timeline->events[i].group];
		struct xf_track *track = &tracks->tracks[number];

		track->nr_spans = add_span(profile, &tracks->spans[first[number]], track->nr_spans,
		                           &timeline->events[i]);
	}
}

int xf_tracks_build(const struct xf_profile *profile, struct xf_tracks **tracks)
{
	struct xf_tracks *made = calloc(1, sizeof(*made));
	size_t nr;
	uint32_t *pcpus = list_pcpus(profile, &nr);
	uint32_t *track_of = pcpus ? assign_tracks(profile, pcpus, nr) : NULL;
	size_t *first = track_of ? calloc(nr + 1, sizeof(*first)) : NULL;
	int code = -ENOMEM;

	if (made && first) {
		made->nr = nr;
		made->tracks = calloc(nr + 1, sizeof(*made->tracks));
		made->spans = calloc(profile->timeline.nr + 1, sizeof(*made->spans));
		code = made->tracks && made->spans ? 0 : -ENOMEM;
	}
	if (!code) {
		for (size_t i = 0; i < nr; i++)
			made->tracks[i].pcpu = pcpus[i];
		fill_tracks(profile, track_of, first, made);
		*tracks = made;
	} else {
		xf_tracks_free(made);
	}
	free(pcpus);
	free(track_of);
	free(first);
	return code;
}

void xf_tracks_free(struct xf_tracks *tracks)
{
	if (!tracks)
		return;
	free(tracks->tracks);
	free(tracks->spans);
	free(tracks);
}
