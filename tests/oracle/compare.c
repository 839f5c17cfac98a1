// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Compares the stacks of a recording with what the lab's oracle saw (lab/oracle/oracle.c):
 *
 *     compare RECORDING LOG
 *
 * For every sample taken in Xen the log has the calls that had not returned at its NMI. Those at
 * and above the sample's RSP, whose return address is still in the captured words, are the true
 * chain. A sample counts as
 *   equal   the walk's return addresses are exactly the chain, and it reached its end;
 *   short   marked incomplete, and what it has is the inner part of the chain;
 *   wrong   anything else.
 * Prints the counts, each difference, and by reason what was short. Status 0 unless one was wrong,
 * or a sample found no NMI of its own.
 */
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab/oracle/log.h"
#include "profile/recording.h"
#include "profile/stacks.h"
#include "read_file.h"

#define PCPUS_MAX 64u
#define TOLD_MAX  20u
#define AHEAD     16u  /* samples that find where a recording begins */
#define LOST_MAX  512u /* NMIs of a pCPU that found no room, in one recording */

struct moment { /* one NMI */
	const struct oracle_call *calls;
	unsigned int nr;
};

struct pcpu {
	struct moment *moments;
	size_t nr, allocated;
	struct xf_record *samples; /* those taken in Xen */
	size_t nr_samples, allocated_samples;
	size_t *lost;                 /* for each: its moment, less its number */
	uint16_t (*behind)[LOST_MAX]; /* for each and what is lost until it: what was before */
};

struct chain {
	uint64_t returns_to[ORACLE_CALLS];
	unsigned int nr;
};

struct counts {
	uint64_t equal, cut, wrong, unmatched, guest;
	uint64_t either; /* of the equal ones: those for which two NMIs were as likely */
};

enum verdict {
	EQUAL,
	SHORT,
	WRONG,
};

static struct pcpu pcpus[PCPUS_MAX];

static void add_moment(struct pcpu *pcpu, const struct oracle_head *head)
{
	if (pcpu->nr == pcpu->allocated) {
		pcpu->allocated = pcpu->allocated ? pcpu->allocated * 2 : 1024;
		pcpu->moments = realloc(pcpu->moments, pcpu->allocated * sizeof(pcpu->moments[0]));
		if (!pcpu->moments)
			exit(2);
	}
	pcpu->moments[pcpu->nr++] = (struct moment){.calls = (const struct oracle_call *)(head + 1),
	                                            .nr = head->nr_calls};
}

static void read_log(const uint8_t *bytes, size_t size)
{
	size_t at = 0;

	while (size - at >= sizeof(struct oracle_head)) {
		const struct oracle_head *head = (const struct oracle_head *)(bytes + at);

		at += sizeof(*head);
		if (head->magic != ORACLE_MAGIC || head->cpu >= PCPUS_MAX ||
		    (size - at) / sizeof(struct oracle_call) < head->nr_calls) {
			fprintf(stderr, "compare: the log ends in the middle of an entry\n");
			exit(2);
		}
		add_moment(&pcpus[head->cpu], head);
		at += head->nr_calls * sizeof(struct oracle_call);
	}
}

/* The captured word at @slot of the stack; 0 where none was taken. */
static uint64_t word_at(const struct xf_record *record, uint64_t slot)
{
	const uint64_t *words = &record->storage[XF_SAMPLE_HEAD_BYTES / 8];

	for (unsigned int i = 0; i < record->nr_words; i++) {
		if (record->sample.rsp + 8 * (uint64_t)XF_WORD_SLOT(words[i]) == slot)
			return XF_WORD_VALUE(words[i]);
	}
	return 0;
}

/* The last place that words were taken from: beyond it nothing is known of a truncated sample. */
static uint64_t last_slot(const struct xf_record *record)
{
	const uint64_t *words = &record->storage[XF_SAMPLE_HEAD_BYTES / 8];

	if (!(record->sample.flags & XF_SAMPLE_TRUNCATED) || !record->nr_words)
		return record->sample.stack_end;
	return record->sample.rsp + 8 * (uint64_t)XF_WORD_SLOT(words[record->nr_words - 1]);
}

/* The true chain; *@gone counts the calls whose return address has been overwritten. */
static struct chain chain_of(const struct xf_record *record, const struct moment *moment,
                             unsigned int *gone)
{
	uint64_t end = last_slot(record);
	struct chain chain = {.nr = 0};

	*gone = 0;
	for (unsigned int i = 0; i < moment->nr; i++) {
		const struct oracle_call *call = &moment->calls[i];

		if (call->slot < record->sample.rsp || call->slot >= end)
			continue;
		if (word_at(record, call->slot) == call->returns_to)
			chain.returns_to[chain.nr++] = call->returns_to;
		else
			++*gone;
	}
	return chain;
}

static bool in_xen(const struct xf_record *record)
{
	return record->type == XF_RECORD_SAMPLE && !(record->sample.flags & XF_SAMPLE_GUEST) &&
	       !(record->sample.flags & XF_SAMPLE_FOREIGN_RSP);
}

/* How well a moment explains a sample's stack: a point for each call that is found in it. */
static int points(const struct pcpu *pcpu, size_t index, size_t moment)
{
	unsigned int gone;
	struct chain chain;

	if (moment >= pcpu->nr)
		return -1;
	chain = chain_of(&pcpu->samples[index], &pcpu->moments[moment], &gone);
	return gone ? -1 : (int)chain.nr;
}

/* The moment of the recording's sample 0, as the first samples have it. */
static size_t first_moment(const struct pcpu *pcpu)
{
	size_t best = 0;
	int most = INT_MIN;

	for (size_t first = 0; first < pcpu->nr; first++) {
		int sum = 0;

		for (size_t i = 0; i < AHEAD && i < pcpu->nr_samples; i++)
			sum += points(pcpu, i, first + pcpu->samples[i].sample.sequence);
		if (sum > most) {
			most = sum;
			best = first;
		}
	}
	return best;
}

/*
 * Finds each sample's moment. A sample's number does not count NMIs that found no room: the moments
 * fall behind the numbers, now and then and never back. Of all ways to do so, the one with the most
 * points is right: a shift by one explains next to nothing.
 */
static void align(struct pcpu *pcpu)
{
	size_t first = first_moment(pcpu);
	int sums[LOST_MAX] = {0};

	pcpu->lost = calloc(pcpu->nr_samples + 1, sizeof(pcpu->lost[0]));
	pcpu->behind = calloc(pcpu->nr_samples + 1, sizeof(pcpu->behind[0]));
	if (!pcpu->lost || !pcpu->behind)
		exit(2);
	for (size_t lost = 1; lost < LOST_MAX; lost++)
		sums[lost] = INT_MIN / 2;
	for (size_t i = 0; i < pcpu->nr_samples; i++) {
		size_t number = first + pcpu->samples[i].sample.sequence;
		size_t before = 0;
		int best = sums[0];

		for (size_t lost = 0; lost < LOST_MAX; lost++) {
			if (sums[lost] > best) {
				best = sums[lost];
				before = lost;
			}
			pcpu->behind[i][lost] = (uint16_t)before;
			sums[lost] = best + points(pcpu, i, number + lost);
		}
	}
	size_t lost = 0;

	for (size_t other = 1; other < LOST_MAX; other++) {
		if (sums[other] > sums[lost])
			lost = other;
	}
	for (size_t i = pcpu->nr_samples; i-- > 0; lost = pcpu->behind[i][lost])
		pcpu->lost[i] = first + lost;
}

static void tell(const struct xf_stacks *stacks, const char *what, const struct xf_record *record,
                 const struct xf_stack *stack, const struct chain *chain)
{
	struct xf_place place;

	printf("%s: pCPU %u, sample %u, %s\n", what, record->sample.pcpu, record->sample.sequence,
	       stack->incomplete ? stack->incomplete : "marked complete");
	for (size_t i = 0; i < stack->nr; i++) {
		xf_stacks_name(stacks, stack->frames[i], stack->entering, &place);
		printf("  walk   %016" PRIx64 " %s+0x%" PRIx64 "%s\n", stack->frames[i].address,
		       place.name, place.offset,
		       stack->frames[i].interrupted ? " interrupted" : "");
	}
	for (unsigned int i = 0; i < chain->nr; i++) {
		struct xf_frame frame = {.address = chain->returns_to[i]};

		xf_stacks_name(stacks, frame, stack->entering, &place);
		printf("  oracle %016" PRIx64 " %s+0x%" PRIx64 "\n", frame.address, place.name,
		       place.offset);
	}
}

static enum verdict judge(const struct xf_stack *stack, const struct chain *chain)
{
	unsigned int returns = 0;

	for (size_t i = 0; i < stack->nr; i++) {
		if (stack->frames[i].interrupted)
			continue;
		if (returns == chain->nr || chain->returns_to[returns] != stack->frames[i].address)
			return WRONG;
		returns++;
	}
	if (stack->incomplete)
		return SHORT;
	return returns == chain->nr ? EQUAL : WRONG;
}

/*
 * Where NMIs were lost beside this sample it is open on which side of it they were: whether another
 * moment explains the sample's words as well as the chosen one, and its chain is the walk's.
 */
static bool equals_neighbour(const struct pcpu *pcpu, size_t index, const struct xf_stack *stack)
{
	uint32_t sequence = pcpu->samples[index].sample.sequence;
	size_t chosen = pcpu->lost[index];
	size_t from = index > 0 ? pcpu->lost[index - 1] : chosen;
	size_t to = index + 1 < pcpu->nr_samples ? pcpu->lost[index + 1] : chosen;
	int least = points(pcpu, index, chosen + sequence);

	for (size_t lost = from; lost <= to; lost++) {
		unsigned int gone;
		struct chain chain;

		if (lost == chosen || points(pcpu, index, lost + sequence) < least)
			continue;
		chain = chain_of(&pcpu->samples[index], &pcpu->moments[lost + sequence], &gone);
		if (judge(stack, &chain) == EQUAL)
			return true;
	}
	return false;
}

static void compare(const struct xf_stacks *stacks, const struct pcpu *pcpu, size_t index,
                    struct counts *counts)
{
	const struct xf_record *record = &pcpu->samples[index];
	size_t moment = pcpu->lost[index] + record->sample.sequence;
	enum verdict verdict;
	struct chain chain;
	struct xf_stack stack;
	unsigned int gone;

	if (moment >= pcpu->nr) {
		counts->unmatched++;
		return;
	}
	chain = chain_of(record, &pcpu->moments[moment], &gone);
	xf_stacks_walk(stacks, record, &stack);
	verdict = judge(&stack, &chain);
	if (verdict == WRONG && equals_neighbour(pcpu, index, &stack)) {
		verdict = EQUAL;
		counts->either++;
	}
	counts->equal += verdict == EQUAL;
	counts->cut += verdict == SHORT;
	counts->wrong += verdict == WRONG;
	if (verdict == SHORT && counts->cut <= TOLD_MAX)
		tell(stacks, "short", record, &stack, &chain);
	if (verdict == WRONG && counts->wrong <= TOLD_MAX)
		tell(stacks, "wrong", record, &stack, &chain);
}

static void add_sample(struct pcpu *pcpu, const struct xf_record *record)
{
	if (pcpu->nr_samples == pcpu->allocated_samples) {
		pcpu->allocated_samples =
		        pcpu->allocated_samples ? pcpu->allocated_samples * 2 : 1024;
		pcpu->samples =
		        realloc(pcpu->samples, pcpu->allocated_samples * sizeof(pcpu->samples[0]));
		if (!pcpu->samples)
			exit(2);
	}
	pcpu->samples[pcpu->nr_samples++] = *record;
}

static void compare_pcpu(const struct xf_stacks *stacks, struct pcpu *pcpu, struct counts *counts)
{
	align(pcpu);
	for (size_t i = 0; i < pcpu->nr_samples; i++)
		compare(stacks, pcpu, i, counts);
}

int main(int argc, char **argv)
{
	struct xf_record_iterator iterator = {0};
	struct xf_recording *recording;
	struct xf_stacks *stacks;
	struct xf_error error = {0};
	struct counts counts = {0};
	struct xf_record record;
	size_t size, log_size;

	if (argc != 3) {
		fprintf(stderr, "usage: compare RECORDING LOG\n");
		return 2;
	}
	const void *bytes = read_file(argv[1], &size);
	const void *log = read_file(argv[2], &log_size);

	if (!bytes || !log) {
		fprintf(stderr, "compare: cannot read %s\n", bytes ? argv[2] : argv[1]);
		return 2;
	}
	read_log(log, log_size);
	if (xf_recording_open(bytes, size, &recording, &error) ||
	    xf_stacks_new(recording, &stacks, &error)) {
		fprintf(stderr, "compare: %s: %s\n", argv[1], error.text);
		return 2;
	}
	while (xf_recording_next(recording, &iterator, &record)) {
		if (in_xen(&record))
			add_sample(&pcpus[record.sample.pcpu % PCPUS_MAX], &record);
		else
			counts.guest++;
	}
	for (unsigned int i = 0; i < PCPUS_MAX; i++)
		compare_pcpu(stacks, &pcpus[i], &counts);
	printf("%" PRIu64 " samples in Xen: %" PRIu64 " equal, %" PRIu64 " short, %" PRIu64
	       " wrong, %" PRIu64 " without their NMI; %" PRIu64
	       " equal to one of two as likely NMIs; %" PRIu64 " not compared (guests, idle)\n",
	       counts.equal + counts.cut + counts.wrong + counts.unmatched, counts.equal,
	       counts.cut, counts.wrong, counts.unmatched, counts.either, counts.guest);
	return counts.wrong || counts.unmatched || !counts.equal;
}
