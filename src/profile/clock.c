// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/clock.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NANOSECONDS 1000000000ull

/* A reading that took so many times as long as the quickest one was interrupted. */
#define TOO_WIDE 8u

static int compare_pairs(const void *left, const void *right)
{
	const struct xf_clock_pair *a = left;
	const struct xf_clock_pair *b = right;

	if (a->tsc != b->tsc)
		return a->tsc < b->tsc ? -1 : 1;
	return a->time < b->time ? -1 : a->time > b->time;
}

static uint64_t widest(const struct xf_clock_pair *pairs, size_t nr)
{
	uint64_t least = UINT64_MAX;

	for (size_t i = 0; i < nr; i++)
		least = pairs[i].width < least ? pairs[i].width : least;
	return least > UINT64_MAX / TOO_WIDE ? UINT64_MAX : least * TOO_WIDE;
}

int xf_clock_make(struct xf_clock *clock, const struct xf_clock_pair *pairs, size_t nr,
                  uint64_t tsc_hz)
{
	uint64_t limit = widest(pairs, nr);
	size_t kept = 0;

	*clock = (struct xf_clock){.tsc_hz = tsc_hz};
	if (!nr)
		return 0;
	clock->pairs = calloc(nr, sizeof(*pairs));
	if (!clock->pairs)
		return -ENOMEM;
	memcpy(clock->pairs, pairs, nr * sizeof(*pairs));
	qsort(clock->pairs, nr, sizeof(*pairs), compare_pairs);
	for (size_t i = 0; i < nr; i++) {
		const struct xf_clock_pair *pair = &clock->pairs[i];

		if (pair->width <= limit && (!kept || (pair->tsc > clock->pairs[kept - 1].tsc &&
		                                       pair->time > clock->pairs[kept - 1].time)))
			clock->pairs[kept++] = *pair;
	}
	clock->nr = kept;
	return 0;
}

void xf_clock_free(struct xf_clock *clock)
{
	free(clock->pairs);
	*clock = (struct xf_clock){0};
}

/* The time at @tsc on the line from @from that rises by @time in @ticks. */
static uint64_t on_line(const struct xf_clock_pair *from, uint64_t tsc, uint64_t time,
                        uint64_t ticks)
{
	bool before = tsc < from->tsc;
	unsigned __int128 distance = before ? from->tsc - tsc : tsc - from->tsc;
	unsigned __int128 passed = distance * time / ticks;

	if (before)
		return passed > from->time ? 0 : from->time - (uint64_t)passed;
	return passed > UINT64_MAX - from->time ? UINT64_MAX : from->time + (uint64_t)passed;
}

/* Return: the first of the two neighbouring pairs that @tsc lies between. */
static const struct xf_clock_pair *find_line(const struct xf_clock *clock, uint64_t tsc)
{
	size_t low = 0;
	size_t high = clock->nr - 1;

	while (low + 1 < high) {
		size_t middle = low + (high - low) / 2;

		if (clock->pairs[middle].tsc <= tsc)
			low = middle;
		else
			high = middle;
	}
	return &clock->pairs[low];
}

bool xf_clock_time(const struct xf_clock *clock, uint64_t tsc, uint64_t *time)
{
	const struct xf_clock_pair *first = clock->pairs;
	const struct xf_clock_pair *last;

	if (!clock->nr)
		return false;
	last = &clock->pairs[clock->nr - 1];
	if (clock->nr == 1) {
		*time = on_line(first, tsc, NANOSECONDS,
		                clock->tsc_hz ? clock->tsc_hz : NANOSECONDS);
	} else if (tsc < first->tsc || tsc > last->tsc) {
		/* Over a longer time the readings' own errors weigh less. */
		*time = on_line(tsc < first->tsc ? first : last, tsc, last->time - first->time,
		                last->tsc - first->tsc);
	} else {
		first = find_line(clock, tsc);
		*time = on_line(first, tsc, first[1].time - first->time, first[1].tsc - first->tsc);
	}
	return true;
}

/* Nanoseconds a tick, from the reading at @index to the next. */
static double pace(const struct xf_clock *clock, size_t index)
{
	const struct xf_clock_pair *pair = &clock->pairs[index];

	return (double)(pair[1].time - pair->time) / (double)(pair[1].tsc - pair->tsc);
}

uint64_t xf_clock_doubt(const struct xf_clock *clock, uint64_t tsc)
{
	double doubt, earlier, later, step, ticks;
	size_t index;

	if (clock->nr < 3)
		return 0;
	index = (size_t)(find_line(clock, tsc) - clock->pairs);
	ticks = (double)(clock->pairs[index + 1].tsc - clock->pairs[index].tsc);
	earlier = pace(clock, index ? index - 1 : index);
	later = pace(clock, index + 2 < clock->nr ? index + 1 : index);
	/* Two lines of these paces through the two readings meet, at worst in the middle, so far
	   from the straight line: a quarter of what they would part by over the whole distance. */
	doubt = fabs(later - earlier) / 4 * ticks;
	/* What they do not explain is a step, which may have been anywhere. */
	step = fabs(pace(clock, index) - (earlier + later) / 2) * ticks;
	doubt += step;
	doubt += pace(clock, index) * (double)clock->pairs[index].width / 2;
	return doubt < (double)NANOSECONDS ? (uint64_t)doubt : NANOSECONDS;
}
