// SPDX-License-Identifier: GPL-2.0-or-later
/* What the benchmarks share: a clock, two sides that take turns, and the lines of the table. */
#ifndef XF_BENCH_BENCH_H
#define XF_BENCH_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Prints "bench: MESSAGE" to standard error and ends the program with status 1. */
void bench_fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* Return: seconds of CPU time that this process has used. */
double bench_clock(void);

/* One side of a comparison: does its work once. */
typedef void bench_side(void *data);

struct bench_times {
	double ours, theirs; /* seconds, of the shortest run */
};

/*
 * Lets the two sides take turns, @rounds times each, so that whatever else the machine does hits
 * both. The shortest run of each is the one that was disturbed least.
 */
struct bench_times bench_compare(bench_side *ours, bench_side *theirs, void *data,
                                 unsigned int rounds);

/* What is wanted of a ratio. */
enum bench_wish {
	BENCH_AT_MOST,
	BENCH_AT_LEAST,
};

/* Prints one line of the table: the ratio, what is wanted of it, and what it is made of. */
void bench_row(double ratio, enum bench_wish wish, double wanted, const char *format, ...)
        __attribute__((format(printf, 4, 5)));

/* Prints a line for what cannot be compared here. */
void bench_skip(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
