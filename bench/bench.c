// SPDX-License-Identifier: GPL-2.0-or-later
#include "bench.h"

#include <float.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

void bench_fail(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	fputs("bench: ", stderr);
	vfprintf(stderr, format, arguments);
	fputc('\n', stderr);
	va_end(arguments);
	exit(1);
}

double bench_clock(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

static void time_side(bench_side *side, void *data, double *shortest)
{
	double before = bench_clock(), took;

	side(data);
	took = bench_clock() - before;
	if (took < *shortest)
		*shortest = took;
}

struct bench_times bench_compare(bench_side *ours, bench_side *theirs, void *data,
                                 unsigned int rounds)
{
	struct bench_times times = {DBL_MAX, DBL_MAX};

	for (unsigned int i = 0; i < rounds; i++) {
		time_side(ours, data, &times.ours);
		time_side(theirs, data, &times.theirs);
	}
	return times;
}

void bench_row(double ratio, enum bench_wish wish, double wanted, const char *format, ...)
{
	bool met = wish == BENCH_AT_MOST ? ratio <= wanted : ratio >= wanted;
	va_list arguments;

	printf("%8.2f  %s %5.1f %s  ", ratio, wish == BENCH_AT_MOST ? "<=" : ">=", wanted,
	       met ? "met   " : "MISSED");
	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	putchar('\n');
	fflush(stdout);
}

void bench_skip(const char *format, ...)
{
	va_list arguments;

	printf("       -              SKIPPED ");
	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	putchar('\n');
	fflush(stdout);
}
