// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The table's maker: its time against Zydis decoding the same bytes with operands, its size against
 * the kernel's own table (ORC) of the same code, and what twice the code takes.
 *
 *	bench_table NAME FILE
 */
#include <Zydis/Zydis.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "image.h"

#define MEGA           1e6
#define MILLI          1e3
/* malloc's, where nothing has been freed yet. */
#define MMAP_THRESHOLD (128 * 1024)
#define HOSTILE_BYTES  ((size_t)1000000)
#define LARGE          4000000u
/* What a row takes in the kernel: struct orc_entry, and its place in .orc_unwind_ip. */
#define ORC_BYTES      (6 + 4)

static void infer(void *data)
{
	xf_unwind_table_free(bench_table(data));
}

static void decode(void *data)
{
	const struct xf_code *code = &((const struct bench_image *)data)->code;
	ZydisDecoder decoder;
	ZydisDecodedInstruction insn;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	size_t offset = 0;

	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	while (offset < code->size)
		offset += ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code->bytes + offset,
		                                              code->size - offset, &insn, operands))
		                  ? insn.length
		                  : 1;
}

static void compare_time(const char *name, struct bench_image *image)
{
	unsigned int rounds = image->code.size > LARGE ? 5 : 15;
	struct bench_times times = bench_compare(infer, decode, image, rounds);

	bench_row(times.ours / times.theirs, BENCH_AT_MOST, 2,
	          "table of %s / Zydis decoding it with operands: "
	          "%.1f ms / %.1f ms for %.2f MB, %.1f MB/s",
	          name, times.ours * MILLI, times.theirs * MILLI, image->code.size / MEGA,
	          image->code.size / times.ours / MEGA);
}

static void compare_size(const char *name, const struct bench_image *image)
{
	struct xf_unwind_table *table = bench_table(image);
	struct xf_unwind_table_size size = xf_unwind_table_measure(table);

	xf_unwind_table_free(table);
	if (image->nr_orc == 0)
		return;
	bench_row((double)size.table_bytes / (image->nr_orc * ORC_BYTES), BENCH_AT_MOST, 1,
	          "table of %s / its ORC table: %zu bytes / %zu bytes; %zu rows / %zu rows", name,
	          size.table_bytes, image->nr_orc * ORC_BYTES, size.nr_rows, image->nr_orc);
}

struct cost {
	double seconds;
	double bytes;
};

/* Return: the number behind @key in what the system says of this process's memory, in bytes. */
static double memory_of(const char *key)
{
	FILE *status = fopen("/proc/self/status", "r");
	char line[256];
	double bytes = 0;

	while (status != NULL && fgets(line, sizeof(line), status) != NULL)
		if (strncmp(line, key, strlen(key)) == 0)
			bytes = strtod(line + strlen(key), NULL) * 1024;
	if (status != NULL)
		fclose(status);
	return bytes;
}

/* Reads all of @code, so that its pages are there and count as such. */
static void touch(const struct xf_code *code)
{
	volatile uint8_t byte;

	for (size_t i = 0; i < code->size; i += 4096)
		byte = code->bytes[i];
	(void)byte;
}

/* What building the table once takes, in a process that has built none: what a first one left
 * behind would hide what a second one takes. */
static struct cost cost_of(const struct bench_image *image)
{
	struct cost cost = {0};
	int ends[2], status;
	pid_t child;

	if (pipe(ends) != 0 || (child = fork()) < 0)
		bench_fail("cannot start a process");
	if (child == 0) {
		double before;

		/* What was freed before this process began has taught malloc to keep more. */
		mallopt(M_MMAP_THRESHOLD, MMAP_THRESHOLD);
		malloc_trim(0);
		touch(&image->code);
		before = memory_of("VmRSS:");
		cost.seconds = -bench_clock();
		bench_table(image);
		cost.seconds += bench_clock();
		cost.bytes = memory_of("VmHWM:") - before;
		_exit(write(ends[1], &cost, sizeof(cost)) != sizeof(cost));
	}
	close(ends[1]);
	if (read(ends[0], &cost, sizeof(cost)) != sizeof(cost) ||
	    waitpid(child, &status, 0) != child)
		bench_fail("a process that builds a table died");
	close(ends[0]);
	return cost;
}

static void keep_least(struct cost *least, struct cost cost)
{
	if (least->seconds == 0 || cost.seconds < least->seconds)
		least->seconds = cost.seconds;
	if (least->bytes == 0 || cost.bytes < least->bytes)
		least->bytes = cost.bytes;
}

static void compare_growth(const char *name, const struct bench_image *once,
                           const struct bench_image *twice)
{
	struct cost one = {0}, two = {0};

	for (unsigned int i = 0; i < 5; i++) {
		keep_least(&one, cost_of(once));
		keep_least(&two, cost_of(twice));
	}
	bench_row(two.seconds / one.seconds, BENCH_AT_MOST, 2.5,
	          "%s, twice as much / once, time: %.1f ms / %.1f ms (fresh processes)", name,
	          two.seconds * MILLI, one.seconds * MILLI);
	bench_row(two.bytes / one.bytes, BENCH_AT_MOST, 2.2,
	          "%s, twice as much / once, peak memory beyond the code: %.1f MB / %.1f MB", name,
	          two.bytes / MEGA, one.bytes / MEGA);
}

/* Twice the same code in a row, and what nobody compiled: bytes drawn from those that jump, call,
 * push and move RSP. */
static void show_growth(const char *name, const struct bench_image *image)
{
	struct bench_image once, twice;

	bench_image_double(&twice, image);
	compare_growth(name, image, &twice);
	bench_image_free(&twice);
	bench_image_draw(&once, HOSTILE_BYTES);
	bench_image_draw(&twice, 2 * HOSTILE_BYTES);
	compare_growth("random bytes", &once, &twice);
	bench_image_free(&once);
	bench_image_free(&twice);
}

int main(int argc, char **argv)
{
	struct bench_image image;

	if (argc != 3)
		bench_fail("usage: bench_table NAME FILE");
	bench_image_load(&image, argv[2]);
	compare_time(argv[1], &image);
	compare_size(argv[1], &image);
	if (image.code.size <= LARGE)
		show_growth(argv[1], &image);
	bench_image_free(&image);
	return 0;
}
