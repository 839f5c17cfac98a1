// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Two shell commands take turns; what counts is the CPU time that each and all that it starts have
 * used, and the memory of its largest program.
 *
 *	bench_commands NAME WANTED ROUNDS OURS THEIRS
 */
#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

struct usage {
	double seconds;
	double mebibytes;
};

static double seconds(struct timeval time)
{
	return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

static void run(const char *command, struct usage *least)
{
	struct rusage usage;
	pid_t pid = fork();
	int status;
	double took;

	if (pid < 0)
		bench_fail("starting a process failed");
	if (pid == 0) {
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(127);
	}
	if (wait4(pid, &status, 0, &usage) != pid || status != 0)
		bench_fail("failed: %s", command);
	took = seconds(usage.ru_utime) + seconds(usage.ru_stime);
	if (took < least->seconds)
		*least = (struct usage){took, (double)usage.ru_maxrss / 1024};
}

int main(int argc, char **argv)
{
	struct usage ours = {.seconds = DBL_MAX}, theirs = {.seconds = DBL_MAX};

	if (argc != 6)
		bench_fail("usage: bench_commands NAME WANTED ROUNDS OURS THEIRS");
	for (int i = atoi(argv[3]); i > 0; i--) {
		run(argv[4], &ours);
		run(argv[5], &theirs);
	}
	bench_row(theirs.seconds / ours.seconds, BENCH_AT_LEAST, atof(argv[2]),
	          "%s: %.2f s / %.2f s, %.0f MiB / %.0f MiB", argv[1], theirs.seconds, ours.seconds,
	          theirs.mebibytes, ours.mebibytes);
	return 0;
}
