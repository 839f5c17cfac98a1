// SPDX-License-Identifier: GPL-2.0-or-later
/* The report of `record --self-test`: what was seen on a host goes in, lines of text come out. */
#ifndef XF_OUTPUT_SELF_TEST_H
#define XF_OUTPUT_SELF_TEST_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "profile/profile.h"

/* A line of the head: what the host is. */
struct xf_self_test_line {
	char name[24];
	char text[1280];
};

/* What a recording must leave as it was. */
struct xf_self_test_state {
	bool known;         /* false: Xen did not answer */
	char patches[1024]; /* live patches with their states, in Xen's order; "" for none */
	uint32_t mask;      /* Xen's trace event mask */
};

/* A trial on a host: a recording, then a second agent that is left alone. Texts are NULL where
 * there is nothing to tell. */
struct xf_self_test {
	const struct xf_self_test_line *head;
	size_t nr_head;

	/* The recording. */
	const char *start_error; /* the agent did not start: nothing below this holds */
	const char *early_end;   /* why it ended before its time */
	const char *stop_error;
	const char *end_error; /* what could not be undone */
	const struct xf_pcpu_statistics *books;
	size_t nr_books;
	unsigned int online_pcpus;
	uint64_t idle;    /* idle ticks that were heard of */
	uint64_t after;   /* samples and idle ticks that came after the stop */
	uint64_t skipped; /* ticks */
	uint64_t ahead;   /* samples that are, by dom0's TSC, from the future */
	bool early;       /* one is from before the beginning */
	struct xf_self_test_state before, between, last;

	/* What is in its file. */
	const struct xf_profile *profile; /* NULL: it could not be read */
	const char *profile_error;

	/* The second agent. */
	const char *second_error;     /* it did not start */
	bool second_went_quiet;       /* without a sign of life from us */
	const char *second_end_error; /* what could not be undone */

	/* Figures. */
	unsigned int frequency;
	uint64_t duration_ms;  /* of sampling */
	uint64_t start_ms;     /* how long starting took, */
	uint64_t stop_ms;      /* closing the books, */
	uint64_t end_ms;       /* and unloading */
	uint64_t lease_ms;     /* how long the second agent went on */
	uint64_t cpu_ms;       /* of dom0's that the recorder took, from start to end */
	uint64_t bytes;        /* of the file, but for what it begins with */
	uint64_t tsc_hz;       /* as Xen says */
	uint64_t measured_hz;  /* against dom0's clock; 0: not measured */
	uint64_t monotonic_ms; /* for how long that was measured */
};

/* Return: how many promises do not hold. */
unsigned int xf_self_test_write(FILE *out, const struct xf_self_test *test);

#endif
