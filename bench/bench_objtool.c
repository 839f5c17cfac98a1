// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Building a table against a command that makes one of the same code: whole processes, from reading
 * the file to the end.
 *
 *	bench_objtool NAME FILE COMMAND ARGUMENT...
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "image.h"

#define MEGA   1e6
#define MILLI  1e3
#define ROUNDS 5u

/* Starts a process. Return: 0 in it, its number here. */
static pid_t start(void)
{
	pid_t child = fork();

	if (child < 0)
		bench_fail("cannot start a process");
	return child;
}

/* Return: the CPU time of @child, which must end well, in seconds. */
static double finish(pid_t child, const char *what)
{
	struct rusage usage;
	int status;

	if (wait4(child, &status, 0, &usage) != child || !WIFEXITED(status) ||
	    WEXITSTATUS(status) != 0)
		bench_fail("%s failed", what);
	return usage.ru_utime.tv_sec + usage.ru_stime.tv_sec +
	       (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / MEGA;
}

static double time_ours(const char *path)
{
	pid_t child = start();

	if (child == 0) {
		struct bench_image image;

		bench_image_load(&image, path);
		xf_unwind_table_free(bench_table(&image));
		_exit(0);
	}
	return finish(child, "the table's maker");
}

static double time_theirs(char **command)
{
	pid_t child = start();

	if (child == 0) {
		int nowhere = open("/dev/null", O_WRONLY);

		dup2(nowhere, STDOUT_FILENO);
		dup2(nowhere, STDERR_FILENO);
		execv(command[0], command);
		_exit(127);
	}
	return finish(child, command[0]);
}

int main(int argc, char **argv)
{
	double ours = 0, theirs = 0;
	struct bench_image image;
	size_t size;

	if (argc < 4)
		bench_fail("usage: bench_objtool NAME FILE COMMAND ARGUMENT...");
	for (unsigned int i = 0; i < ROUNDS; i++) {
		double one = time_ours(argv[2]), other = time_theirs(&argv[3]);

		ours = i == 0 || one < ours ? one : ours;
		theirs = i == 0 || other < theirs ? other : theirs;
	}
	bench_image_load(&image, argv[2]);
	size = image.code.size;
	bench_image_free(&image);
	bench_row(theirs / ours, BENCH_AT_LEAST, 3,
	          "objtool / the table of %s, whole processes: %.0f ms / %.0f ms for %.2f MB, "
	          "%.1f / %.1f MB/s (objtool also checks the code)",
	          argv[1], theirs * MILLI, ours * MILLI, size / MEGA, size / theirs / MEGA,
	          size / ours / MEGA);
	return 0;
}
