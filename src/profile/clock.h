// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The control domain's clock in terms of the TSC, by which samples are timed: straight lines
 * between pairs of readings.
 */
#ifndef XF_PROFILE_CLOCK_H
#define XF_PROFILE_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/format.h"

/* Starts zeroed; freed with xf_clock_free. */
struct xf_clock {
	struct xf_clock_pair *pairs; /* of a sound clock both values rise from one to the next */
	size_t nr;
	uint64_t tsc_hz; /* for where there is only one pair */
};

/* Makes a clock of @nr readings (copied) in any order; those that took long, and those that go back
 * in time, are left out. Return: 0 or -ENOMEM. */
int xf_clock_make(struct xf_clock *clock, const struct xf_clock_pair *pairs, size_t nr,
                  uint64_t tsc_hz);
void xf_clock_free(struct xf_clock *clock);

/* Return: true and the time, ns, at @tsc; false where there was no reading. */
bool xf_clock_time(const struct xf_clock *clock, uint64_t tsc, uint64_t *time);

/*
 * How far that time may be from the true one, ns. Where the clocks' pace before the two
 * neighbouring readings differs from that after them it may have changed anywhere between the two;
 * where it explains neither the way from one to the other, the clock may have been set anywhere
 * there; and a reading itself is no more exact than it took time.
 */
uint64_t xf_clock_doubt(const struct xf_clock *clock, uint64_t tsc);

#endif
