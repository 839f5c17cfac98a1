// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Names with inlined calls and lines of the source, against llvm-symbolizer: whole processes, each
 * of which reads the same addresses and prints the same of them.
 *
 *	bench_lines FILE SYMBOLIZER SCRATCH
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "image.h"
#include "symbol/debug.h"

#define MEGA      1e6
#define MILLI     1e3
#define ROUNDS    9u
#define ADDRESSES 100000u
/* Steps through the code in an order that no cache foresees: no divisor of a size of code. */
#define STEP      611953u

static void write_addresses(const char *path, const struct xf_code *code)
{
	FILE *file = fopen(path, "w");

	if (!file || code->size < ADDRESSES)
		bench_fail("cannot write %s", path);
	for (uint64_t i = 0; i < ADDRESSES; i++)
		fprintf(file, "0x%" PRIx64 "\n", code->address + i * STEP % code->size);
	if (fclose(file) != 0)
		bench_fail("cannot write %s", path);
}

static void redirect(const char *addresses)
{
	int in = open(addresses, O_RDONLY);
	int nowhere = open("/dev/null", O_WRONLY);

	if (in < 0 || nowhere < 0 || dup2(in, STDIN_FILENO) < 0 || dup2(nowhere, STDOUT_FILENO) < 0)
		_exit(127);
}

/* As printf would, which takes a tenth of all. */
static void print_number(int number)
{
	char text[16] = ":";
	char *at = text + 1;
	int unit = 1;

	while (number / unit >= 10)
		unit *= 10;
	for (; unit; unit /= 10)
		*at++ = (char)('0' + number / unit % 10);
	*at++ = '\n';
	fwrite(text, 1, (size_t)(at - text), stdout);
}

static void print_calls(struct xf_debug *debug, uint64_t address)
{
	struct xf_call calls[XF_CALLS_MAX];
	size_t nr = xf_debug_calls(debug, address, calls, XF_CALLS_MAX);

	for (size_t i = 0; i < nr; i++) {
		fputs(calls[i].function ? calls[i].function : "??", stdout);
		putchar('\n');
		fputs(calls[i].file ? calls[i].file : "??", stdout);
		print_number(calls[i].line);
	}
	puts(nr ? "" : "??\n??:0\n");
}

static void resolve(const char *path)
{
	struct bench_image image;
	struct xf_debug *debug;
	char line[64];

	bench_image_read(&image, path);
	if (xf_debug_open(image.file, image.file_size, &debug, NULL) != 0)
		_exit(1);
	while (fgets(line, sizeof(line), stdin))
		print_calls(debug, strtoull(line, NULL, 16));
	fflush(stdout);
	_exit(0);
}

/* Return: the CPU time that one side takes, in seconds. */
static double time_side(char *const *argv, bool ours)
{
	pid_t child = fork();
	struct rusage usage;
	char object[512];
	int status;

	if (child == 0) {
		redirect(argv[3]);
		if (ours)
			resolve(argv[1]);
		snprintf(object, sizeof(object), "--obj=%s", argv[1]);
		execl(argv[2], argv[2], object, "--inlines", "--functions=linkage", (char *)NULL);
		_exit(127);
	}
	if (child < 0 || wait4(child, &status, 0, &usage) != child || !WIFEXITED(status) ||
	    WEXITSTATUS(status) != 0)
		bench_fail("%s failed", ours ? "the reader of debug info" : argv[2]);
	return usage.ru_utime.tv_sec + usage.ru_stime.tv_sec +
	       (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / MEGA;
}

int main(int argc, char **argv)
{
	double ours = 0, theirs = 0;
	struct bench_image image;

	if (argc != 4)
		bench_fail("usage: bench_lines FILE SYMBOLIZER SCRATCH");
	bench_image_load(&image, argv[1]);
	write_addresses(argv[3], &image.code);
	bench_image_free(&image);
	for (unsigned int i = 0; i < ROUNDS; i++) {
		double one = time_side(argv, true), other = time_side(argv, false);

		ours = i == 0 || one < ours ? one : ours;
		theirs = i == 0 || other < theirs ? other : theirs;
	}
	bench_row(theirs / ours, BENCH_AT_LEAST, 5,
	          "llvm-symbolizer / names, inlined calls and lines of %u addresses of Xen 4.20, in"
	          " no order, whole processes: %.0f ms / %.0f ms",
	          ADDRESSES, theirs * MILLI, ours * MILLI);
	return 0;
}
