// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Writes a recording of many samples to standard output, the same bytes each time: 20,000
 * stacks of 25 frames on average in a hypervisor of 5,000 made functions, a few of them much more
 * frequent than the others.
 *
 *	make_recording SAMPLES > FILE
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "profile/recording.h"
#include "samples.h"

#define NR_FUNCTIONS 5000u
#define NR_STACKS    20000u
#define LEAST_DEEP   15u
#define MOST_DEEP    35u
#define NR_DOMAINS   4u
#define NR_PCPUS     4u
#define TSC_HZ       2000000000ull
#define BETWEEN_TSC  500000ull

static int write_bytes(void *context, const void *bytes, size_t size)
{
	return fwrite(bytes, 1, size, context) == size ? 0 : -EIO;
}

static void must(int code)
{
	if (code)
		bench_fail("writing the recording: %s", strerror(-code));
}

static void write_image(struct xf_recording_writer *writer, const struct bench_image *image)
{
	struct xf_symbols *symbols = xf_symbols_new();
	char name[64];

	if (!symbols)
		bench_fail("out of memory");
	for (size_t i = 0; i < image->nr_entries; i++) {
		snprintf(name, sizeof(name), "function_%llx",
		         (unsigned long long)(image->entries[i] - image->code.address));
		must(xf_symbols_add(symbols, image->entries[i], 0, 't', name));
	}
	xf_symbols_finish(symbols);
	must(xf_recording_write_symbols(writer, symbols));
	must(xf_recording_write_code(writer, image->code.address, image->code.bytes,
	                             image->code.size));
	must(xf_recording_write_info(writer, "tsc.hz", "%llu", TSC_HZ));
	must(xf_recording_write_info(writer, "text.start", "0x%llx",
	                             (unsigned long long)image->code.address));
	must(xf_recording_write_info(writer, "text.end", "0x%llx",
	                             (unsigned long long)(image->code.address + image->code.size)));
	xf_symbols_free(symbols);
}

/* How often, of @all, each of @nr stacks is drawn up to itself: the i-th as 1/i. */
static double *cumulated_shares(size_t nr)
{
	double *shares = calloc(nr, sizeof(*shares)), sum = 0;

	if (!shares)
		bench_fail("out of memory");
	for (size_t i = 0; i < nr; i++)
		shares[i] = sum += 1.0 / (double)(i + 1);
	for (size_t i = 0; i < nr; i++)
		shares[i] /= sum;
	return shares;
}

static size_t draw_stack(const double *shares, size_t nr, uint64_t *seed)
{
	size_t low = 0, high = nr - 1;
	double at;

	*seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
	at = (double)(*seed >> 11) / (double)(1ull << 53);
	while (low < high) {
		size_t middle = (low + high) / 2;

		if (shares[middle] < at)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void write_sample(struct xf_recording_writer *writer, const struct xf_walk_input *stack,
                         uint64_t number)
{
	uint64_t storage[XF_SAMPLE_HEAD_BYTES / 8 + XF_MAX_WORDS] = {0};
	struct xf_sample *sample = (struct xf_sample *)storage;

	sample->sequence = (uint32_t)(number / NR_PCPUS);
	sample->bytes = (uint16_t)(XF_SAMPLE_HEAD_BYTES + 8 * stack->nr_words);
	sample->tsc = TSC_HZ + number * BETWEEN_TSC;
	sample->pcpu = (uint16_t)(number % NR_PCPUS);
	sample->domid = (uint16_t)(number / 7 % NR_DOMAINS);
	sample->rip = stack->rip;
	sample->rsp = stack->rsp;
	sample->rbp = stack->rbp;
	sample->stack_end = stack->stack_end;
	memcpy(sample->words, stack->words, 8 * stack->nr_words);
	must(xf_recording_write_sample(writer, sample));
}

int main(int argc, char **argv)
{
	struct xf_recording_sink sink = {write_bytes, stdout};
	struct xf_recording_writer *writer;
	struct bench_samples stacks;
	struct bench_image image;
	struct xf_error error;
	uint64_t seed = 1, nr;
	double *shares;

	if (argc != 2)
		bench_fail("usage: make_recording SAMPLES > FILE");
	nr = strtoull(argv[1], NULL, 10);
	bench_image_chain(&image, NR_FUNCTIONS);
	bench_samples_make(&stacks, &image, NR_STACKS, LEAST_DEEP, MOST_DEEP);
	shares = cumulated_shares(NR_STACKS);
	if (xf_recording_writer_new(sink, &writer, &error))
		bench_fail("%s", error.text);
	write_image(writer, &image);
	for (uint64_t i = 0; i < nr; i++)
		write_sample(writer, &stacks.inputs[draw_stack(shares, NR_STACKS, &seed)], i);
	must(xf_recording_write_end(writer));
	must(xf_recording_flush(writer));
	xf_recording_writer_free(writer);
	free(shares);
	bench_samples_free(&stacks);
	bench_image_free(&image);
	return fflush(stdout) ? 1 : 0;
}
