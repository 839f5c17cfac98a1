/* SPDX-License-Identifier: GPL-2.0-or-later */
/* timers: many short sleeps on high-resolution timers, in several processes. */
#include "common.h"

#include <sys/prctl.h>
#include <sys/timerfd.h>
#include <time.h>

static void tick(long nanoseconds)
{
	struct itimerspec period = {{0, nanoseconds}, {0, nanoseconds}};
	int fd = (int)must(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC), "timerfd_create");
	uint64_t expired;

	prctl(PR_SET_TIMERSLACK, 1);
	must(timerfd_settime(fd, 0, &period, NULL), "timerfd_settime");
	for (;;) {
		struct timespec pause = {0, nanoseconds / 3};

		must(read(fd, &expired, sizeof(expired)), "timerfd read");
		nanosleep(&pause, NULL);
	}
}

int main(void)
{
	/* Periods without a common divisor, so that their expiries spread. */
	static const long periods[] = {211000, 307000, 401000};

	for (int i = 0; i < 2; i++)
		if (must(fork(), "fork") == 0)
			tick(periods[i]);
	tick(periods[2]);
}
