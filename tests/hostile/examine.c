// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Examines recordings of a host whose guests enter Xen with stack pointers of their choice
 * (lab/workloads/hostile.c, lab/guest/hostile.c):
 *
 *     examine RECORDING...
 *
 * The *gap* is where Xen's code runs on a guest's stack pointer: every place at which a sample with
 * a foreign RSP was ever taken. For every sample in Xen there must hold
 *   marked   the mark of a foreign RSP is there exactly where RSP is not on this pCPU's stack;
 *   bounded  no word comes from beyond what may be read, or is of another kind than is taken;
 *   alone    in the gap, wherever RSP points, nothing is shown as a caller.
 * Prints each sample that breaks one of these, and counts. Status 0 unless one did.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/recording.h"
#include "profile/stacks.h"
#include "read_file.h"
#include "xenflame/agent.h"

#define PAGE         4096u
#define PRIMARY_PAGE 6u
#define STACK_PAGES  (XF_STACK_BYTES / PAGE)
#define PLACES_MAX   256u
#define TOLD_MAX     20u

struct range {
	uint64_t start, end;
};

/* Of all recordings, which are of one boot of one host. */
static struct place {
	uint64_t rip;
	uint64_t hits;
} gap[PLACES_MAX];
static size_t nr_gap;

static struct counts {
	uint64_t xen, guest, foreign, wrong;
	uint64_t own[STACK_PAGES]; /* in the gap, by the page of the own stack that RSP points to */
	uint64_t beyond;           /* of them, at or above the guest's frame */
	uint64_t complete;         /* of them, shown as complete */
} counts;

static bool in_xen(const struct xf_record *record)
{
	return record->type == XF_RECORD_SAMPLE && !(record->sample.flags & XF_SAMPLE_GUEST);
}

static uint64_t stack_of(const struct xf_sample *sample)
{
	return sample->stack_end & ~(uint64_t)(XF_STACK_BYTES - 1);
}

static bool on_own_stack(const struct xf_sample *sample)
{
	return sample->rsp - stack_of(sample) < XF_STACK_BYTES;
}

/* Return: the place, NULL where @rip is none. */
static struct place *find_place(uint64_t rip)
{
	for (size_t i = 0; i < nr_gap; i++)
		if (gap[i].rip == rip)
			return &gap[i];
	return NULL;
}

static void complain(const struct xf_record *record, const char *what)
{
	const struct xf_sample *sample = &record->sample;

	if (counts.wrong++ >= TOLD_MAX)
		return;
	printf("%s: pCPU %u domain %u flags 0x%x rip %" PRIx64 " rsp %" PRIx64 " stack_end %" PRIx64
	       " words %u\n",
	       what, sample->pcpu, sample->domid, sample->flags, sample->rip, sample->rsp,
	       sample->stack_end, record->nr_words);
}

/* Could RSP be Xen's own? Aligned, on this stack, and on none of its guard pages. */
static bool may_be_xens(const struct xf_sample *sample)
{
	uint64_t page = (sample->rsp - stack_of(sample)) / PAGE;

	return on_own_stack(sample) && sample->rsp % 8 == 0 && page != 0 &&
	       page != PRIMARY_PAGE - 1;
}

/* The address up to which words may be read from RSP: RSP itself where none may. */
static uint64_t readable_end(const struct xf_sample *sample)
{
	uint64_t page = (sample->rsp - stack_of(sample)) / PAGE;

	if (!may_be_xens(sample))
		return sample->rsp;
	if (page < PRIMARY_PAGE)
		return stack_of(sample) + (page + 1) * PAGE;
	return sample->rsp < sample->stack_end ? sample->stack_end : sample->rsp;
}

static bool within(struct range range, uint64_t value)
{
	return value - range.start < range.end - range.start;
}

static void check_words(const struct xf_record *record, struct range text, struct range livepatch)
{
	const struct xf_sample *sample = &record->sample;
	const uint64_t *words = &record->storage[XF_SAMPLE_HEAD_BYTES / 8];
	struct range stack = {stack_of(sample), stack_of(sample) + XF_STACK_BYTES};

	for (unsigned int i = 0; i < record->nr_words; i++) {
		uint64_t value = XF_WORD_VALUE(words[i]);

		if (sample->rsp + 8 * (uint64_t)XF_WORD_SLOT(words[i]) >= readable_end(sample)) {
			complain(record, "a word from beyond");
			return;
		}
		if (!within(text, value) && !within(livepatch, value) && !within(stack, value)) {
			complain(record, "a word that is neither text nor stack");
			return;
		}
	}
}

static void check_mark(const struct xf_record *record)
{
	bool marked = record->sample.flags & XF_SAMPLE_FOREIGN_RSP;

	if (marked == may_be_xens(&record->sample))
		complain(record, marked ? "marked, but RSP may be Xen's" : "not marked");
}

static void check_gap(const struct xf_stacks *stacks, const struct xf_record *record)
{
	const struct xf_sample *sample = &record->sample;
	struct place *place = find_place(sample->rip);
	struct xf_stack stack;

	if (!place)
		return;
	place->hits++;
	xf_stacks_walk(stacks, record, &stack);
	if (stack.nr != 1)
		complain(record, "a caller in the gap");
	if (sample->flags & XF_SAMPLE_FOREIGN_RSP) {
		counts.foreign++;
		if (!stack.entering)
			complain(record, "not recognized as entering or leaving Xen");
		return;
	}
	counts.own[(sample->rsp - stack_of(sample)) / PAGE]++;
	counts.beyond += sample->rsp >= sample->stack_end;
	counts.complete += !stack.incomplete;
}

static void find_gap(const struct xf_recording *recording)
{
	struct xf_record_iterator iterator = {0};
	struct xf_record record;

	while (xf_recording_next(recording, &iterator, &record))
		if (in_xen(&record) && record.sample.flags & XF_SAMPLE_FOREIGN_RSP &&
		    !find_place(record.sample.rip) && nr_gap < PLACES_MAX)
			gap[nr_gap++].rip = record.sample.rip;
}

static void examine(const struct xf_recording *recording)
{
	struct range text = {xf_recording_info_number(recording, "text.start", 0),
	                     xf_recording_info_number(recording, "text.end", 0)};
	struct range livepatch = {xf_recording_info_number(recording, "livepatch.start", 0),
	                          xf_recording_info_number(recording, "livepatch.end", 0)};
	struct xf_record_iterator iterator = {0};
	struct xf_error error = {0};
	struct xf_stacks *stacks;
	struct xf_record record;

	if (xf_stacks_new(recording, &stacks, &error)) {
		fprintf(stderr, "examine: %s\n", error.text);
		exit(2);
	}
	while (xf_recording_next(recording, &iterator, &record)) {
		if (!in_xen(&record)) {
			counts.guest++;
			continue;
		}
		counts.xen++;
		check_mark(&record);
		check_words(&record, text, livepatch);
		check_gap(stacks, &record);
	}
	xf_stacks_free(stacks);
}

static void with_each(char **paths, int nr, void (*look)(const struct xf_recording *))
{
	for (int i = 0; i < nr; i++) {
		struct xf_recording *recording;
		struct xf_error error = {0};
		size_t size;
		void *bytes = read_file(paths[i], &size);

		if (!bytes) {
			fprintf(stderr, "examine: cannot read %s\n", paths[i]);
			exit(2);
		}
		if (xf_recording_open(bytes, size, &recording, &error)) {
			fprintf(stderr, "examine: %s: %s\n", paths[i], error.text);
			exit(2);
		}
		look(recording);
		xf_recording_free(recording);
		free(bytes);
	}
}

static void tell(void)
{
	uint64_t own = 0;

	for (unsigned int page = 0; page < STACK_PAGES; page++)
		own += counts.own[page];
	printf("in Xen %" PRIu64 ", guests and idle %" PRIu64 "; foreign %" PRIu64
	       " at %zu places, own %" PRIu64 " at the same, wrong %" PRIu64 "\n",
	       counts.xen, counts.guest, counts.foreign, nr_gap, own, counts.wrong);
	printf("own by page:");
	for (unsigned int page = 0; page < STACK_PAGES; page++)
		printf(" %" PRIu64, counts.own[page]);
	printf("; above the guest's frame %" PRIu64 "; shown as complete %" PRIu64 "\n",
	       counts.beyond, counts.complete);
	for (size_t i = 0; i < nr_gap; i++)
		printf("at %" PRIx64 ": %" PRIu64 "\n", gap[i].rip, gap[i].hits);
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		fprintf(stderr, "usage: examine RECORDING...\n");
		return 2;
	}
	with_each(argv + 1, argc - 1, find_gap);
	with_each(argv + 1, argc - 1, examine);
	tell();
	return counts.wrong != 0;
}
