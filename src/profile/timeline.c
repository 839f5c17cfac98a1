// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/timeline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The agent tells idle ticks ten times a second: parts of a fortieth of a second are finer than
 * what can be seen, and do not fill an idle host's timeline with single ticks. */
#define PARTS_MAX 4u

int xf_timeline_add(struct xf_timeline *timeline, struct xf_event event)
{
	if (timeline->nr == timeline->allocated) {
		size_t wanted = timeline->allocated ? timeline->allocated * 2 : 1024;
		struct xf_event *grown =
		        reallocarray(timeline->events, wanted, sizeof(*timeline->events));

		if (!grown)
			return -ENOMEM;
		timeline->events = grown;
		timeline->allocated = wanted;
	}
	timeline->events[timeline->nr++] = event;
	return 0;
}

int xf_timeline_add_ticks(struct xf_timeline *timeline, struct xf_event event, uint64_t period)
{
	uint32_t parts = event.count < PARTS_MAX ? event.count : PARTS_MAX;
	uint64_t end = event.time;
	uint32_t left = event.count;
	int code = 0;

	for (uint32_t part = 0; !code && part < parts; part++) {
		uint64_t back;

		event.count = left / (parts - part);
		left -= event.count;
		/* The ticks of this part ended where those of the later ones began. */
		if (__builtin_mul_overflow(period, left, &back))
			back = UINT64_MAX;
		event.time = end > back ? end - back : 0;
		code = xf_timeline_add(timeline, event);
	}
	return code;
}

/* Merges the sorted halves [0, half) and [half, nr) of @from into @to. */
static void merge(const struct xf_event *from, size_t half, size_t nr, struct xf_event *to)
{
	size_t left = 0, right = half;

	for (size_t i = 0; i < nr; i++) {
		if (left < half && (right == nr || from[left].time <= from[right].time))
			to[i] = from[left++];
		else
			to[i] = from[right++];
	}
}

int xf_timeline_finish(struct xf_timeline *timeline, const uint32_t *places)
{
	struct xf_event *from = timeline->events;
	struct xf_event *to = timeline->nr ? calloc(timeline->nr, sizeof(*to)) : NULL;

	if (timeline->nr && !to)
		return -ENOMEM;
	for (size_t i = 0; i < timeline->nr; i++)
		from[i].group = places[from[i].group];
	for (size_t width = 1; width < timeline->nr; width *= 2) {
		struct xf_event *swap = from;

		for (size_t start = 0; start < timeline->nr; start += 2 * width) {
			size_t nr =
			        timeline->nr - start < 2 * width ? timeline->nr - start : 2 * width;

			merge(from + start, nr < width ? nr : width, nr, to + start);
		}
		from = to;
		to = swap;
	}
	timeline->events = from;
	timeline->allocated = timeline->nr;
	free(to);
	return 0;
}

void xf_timeline_free(struct xf_timeline *timeline)
{
	free(timeline->events);
	*timeline = (struct xf_timeline){0};
}
