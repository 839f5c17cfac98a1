// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the samples of a recording have cost, as the lab's emulator counted it (lab/oracle/cost.c):
 *
 *     cost RECORDING LOG TAKEN LEFT REST
 *
 * LOG is the part of the log that was written meanwhile. A pCPU's samples and the NMIs that took
 * them are in the same order in both; what its softirq wrote are the parts of the samples, in that
 * order too. Where the numbers do not fit nothing is printed, and the status is 1.
 *
 * TAKEN, LEFT and REST (tests/agent/nmi_bound) say how many instructions the agent may execute in
 * an NMI: for each stack word that it takes, for each that it looks at and leaves, and else. A
 * sample that cost more than its own words allow is an error as well.
 *
 * Where the recording has stacks of guests, what a softirq calls are not its records alone: it is
 * not shared out then, and each one that wrote something counts by itself.
 *
 * Prints one line for each part: its name, how many there were, median, 95th percentile, maximum,
 * sum. An NMI, a softirq and a tick is counted with what it calls; "agent" are the agent's own
 * instructions.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/recording.h"
#include "read_file.h"

#define PCPUS_MAX 64u
#define PAGE      4096u

struct numbers {
	uint64_t *values;
	size_t nr, allocated;
};

/* What the log says of one pCPU, and the recording. */
struct pcpu {
	struct numbers nmis, nmis_agent, nmis_xen;        /* one for each sample that was taken */
	struct numbers softirqs, softirqs_agent, records; /* one for each that wrote something */
	struct numbers ticks, ticks_agent;
	struct numbers parts, bytes, looked_at, words; /* one for each sample of the recording */
	uint64_t last_capture;
};

struct bound {
	uint64_t taken, left, rest;
};

static struct pcpu pcpus[PCPUS_MAX];
static uint64_t agent_start;
static bool with_guests;

static void add(struct numbers *numbers, uint64_t value)
{
	if (numbers->nr == numbers->allocated) {
		numbers->allocated = numbers->allocated ? numbers->allocated * 2 : 1024;
		numbers->values = realloc(numbers->values, numbers->allocated * sizeof(uint64_t));
		if (!numbers->values)
			exit(2);
	}
	numbers->values[numbers->nr++] = value;
}

static void add_line(const char *what, unsigned int cpu, uint64_t own, uint64_t all, uint64_t calls)
{
	struct pcpu *pcpu = &pcpus[cpu % PCPUS_MAX];

	if (strcmp(what, "tick") == 0) {
		add(&pcpu->ticks, all);
		add(&pcpu->ticks_agent, own);
	} else if (strcmp(what, "emit") == 0 && calls) {
		add(&pcpu->softirqs, all);
		add(&pcpu->softirqs_agent, own);
		add(&pcpu->records, calls);
	} else if (strcmp(what, "capture") == 0 && calls) {
		/* It calls Xen where it has taken a sample, and only then. */
		add(&pcpu->nmis, all);
		add(&pcpu->nmis_agent, own);
		pcpu->last_capture = all;
	} else if (strcmp(what, "nmi") == 0 && calls) {
		add(&pcpu->nmis_xen, all - pcpu->last_capture);
	}
}

static bool read_log(FILE *log)
{
	uint64_t own, all, calls;
	char line[128], what[16];
	unsigned int cpu;

	while (fgets(line, sizeof(line), log)) {
		if (sscanf(line, "agent %" SCNx64, &agent_start) == 1)
			continue;
		if (sscanf(line, "%15s %u %" SCNu64 " %" SCNu64 " %" SCNu64, what, &cpu, &own, &all,
		           &calls) != 5) {
			printf("the log says: %s", line);
			return false;
		}
		add_line(what, cpu, own, all, calls);
	}
	return true;
}

/* How many stack words the agent has looked at for the sample. */
static uint64_t looked_at(const struct xf_record *record)
{
	const struct xf_sample *sample = &record->sample;

	if ((sample->flags & (XF_SAMPLE_GUEST | XF_SAMPLE_FOREIGN_RSP)) || sample->rsp % 8)
		return 0;
	if (sample->flags & XF_SAMPLE_IST_STACK)
		return (PAGE - sample->rsp % PAGE) / 8;
	return sample->rsp < sample->stack_end ? (sample->stack_end - sample->rsp) / 8 : 0;
}

/* Bytes in the trace buffer of what has @bytes bytes: each record has a word of its own. */
static uint64_t traced(uint64_t bytes)
{
	return bytes + 4 * ((bytes + XF_PART_BYTES - 1) / XF_PART_BYTES);
}

static uint64_t traced_of_guest(const struct xf_guest_pieces *guest)
{
	uint64_t bytes = guest->task ? traced(XF_GUEST_TASK_BYTES) : 0;

	for (unsigned int i = 0; i < guest->nr; i++)
		bytes += traced(guest->size[i]);
	return bytes;
}

static bool read_recording(const struct xf_recording *recording)
{
	struct xf_record_iterator iterator = {0};
	struct xf_record record;

	while (xf_recording_next(recording, &iterator, &record)) {
		struct pcpu *pcpu = &pcpus[record.sample.pcpu % PCPUS_MAX];
		uint64_t bytes = record.sample.bytes;
		uint64_t parts = (bytes + XF_PART_BYTES - 1) / XF_PART_BYTES;

		if (record.type != XF_RECORD_SAMPLE)
			continue;
		if (record.sample.sequence != pcpu->parts.nr) {
			printf("pCPU %u: sample %zu is missing\n", record.sample.pcpu,
			       pcpu->parts.nr);
			return false;
		}
		add(&pcpu->parts, parts);
		add(&pcpu->bytes, traced(bytes) + traced_of_guest(&record.guest));
		with_guests = with_guests || record.guest.nr;
		add(&pcpu->looked_at, looked_at(&record));
		add(&pcpu->words, record.nr_words);
	}
	return true;
}

static bool agent_is_where_it_was_seen(const struct xf_recording *recording)
{
	const struct xf_recording_livepatch *patches;
	size_t nr;

	patches = xf_recording_livepatches(recording, &nr);
	for (size_t i = 0; i < nr; i++) {
		if (strcmp(patches[i].name, XF_AGENT_NAME) == 0 &&
		    patches[i].address == agent_start)
			return true;
	}
	printf("the plugin took %" PRIx64 " for the agent, the recording has it elsewhere\n",
	       agent_start);
	return false;
}

/*
 * Shares out what each softirq cost among the samples that it wrote: those whose parts are as many
 * as the records that it wrote. Return: false where there are none such.
 */
static bool share_out(const struct pcpu *pcpu, const struct numbers *costs,
                      struct numbers *per_sample)
{
	size_t sample = 0;

	for (size_t i = 0; i < costs->nr; i++) {
		size_t first = sample;
		uint64_t parts = 0;

		while (parts < pcpu->records.values[i] && sample < pcpu->parts.nr)
			parts += pcpu->parts.values[sample++];
		if (parts != pcpu->records.values[i])
			return false;
		for (size_t j = first; j < sample; j++)
			add(per_sample, costs->values[i] / (sample - first));
	}
	return sample == pcpu->parts.nr;
}

static bool within_bound(const struct pcpu *pcpu, const struct bound *bound)
{
	for (size_t i = 0; i < pcpu->parts.nr; i++) {
		uint64_t words = pcpu->words.values[i], all = pcpu->looked_at.values[i];
		uint64_t most = words * bound->taken + (all - words) * bound->left + bound->rest;

		if (pcpu->nmis_agent.values[i] > most) {
			printf("sample %zu took %" PRIu64 " of %" PRIu64 " words with %" PRIu64
			       " instructions, not at most %" PRIu64 "\n",
			       i, words, all, pcpu->nmis_agent.values[i], most);
			return false;
		}
	}
	return true;
}

static bool adds_up(unsigned int cpu, const struct bound *bound)
{
	const struct pcpu *pcpu = &pcpus[cpu];

	if (pcpu->nmis.nr != pcpu->parts.nr || pcpu->nmis_xen.nr != pcpu->nmis.nr) {
		printf("pCPU %u: %zu samples recorded, %zu taken in %zu NMIs\n", cpu,
		       pcpu->parts.nr, pcpu->nmis.nr, pcpu->nmis_xen.nr);
		return false;
	}
	return within_bound(pcpu, bound);
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void print(const char *name, struct numbers *all)
{
	uint64_t sum = 0;

	if (all->nr)
		qsort(all->values, all->nr, sizeof(all->values[0]), compare);
	for (size_t i = 0; i < all->nr; i++)
		sum += all->values[i];
	printf("%s %zu %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", name, all->nr,
	       all->nr ? all->values[(all->nr - 1) / 2] : 0,
	       all->nr ? all->values[(all->nr * 95 + 99) / 100 - 1] : 0,
	       all->nr ? all->values[all->nr - 1] : 0, sum);
}

/* Of all pCPUs. */
static void print_part(const char *name, size_t member)
{
	struct numbers all = {0};

	for (unsigned int i = 0; i < PCPUS_MAX; i++) {
		const struct numbers *numbers =
		        (const struct numbers *)((const char *)&pcpus[i] + member);

		for (size_t j = 0; j < numbers->nr; j++)
			add(&all, numbers->values[j]);
	}
	print(name, &all);
}

static bool print_softirqs(const char *name, size_t member)
{
	struct numbers all = {0};

	for (unsigned int i = 0; i < PCPUS_MAX; i++) {
		const struct numbers *costs =
		        (const struct numbers *)((const char *)&pcpus[i] + member);

		for (size_t j = 0; with_guests && j < costs->nr; j++)
			add(&all, costs->values[j]);
		if (!with_guests && !share_out(&pcpus[i], costs, &all)) {
			printf("pCPU %u: the records written are not those of the samples\n", i);
			return false;
		}
	}
	print(name, &all);
	return true;
}

static bool print_all(const struct bound *bound)
{
	for (unsigned int i = 0; i < PCPUS_MAX; i++) {
		if (!adds_up(i, bound))
			return false;
	}
	if (!print_softirqs("softirq", offsetof(struct pcpu, softirqs)) ||
	    !print_softirqs("softirq-agent", offsetof(struct pcpu, softirqs_agent)))
		return false;
	print_part("nmi", offsetof(struct pcpu, nmis));
	print_part("nmi-agent", offsetof(struct pcpu, nmis_agent));
	print_part("nmi-xen", offsetof(struct pcpu, nmis_xen));
	print_part("tick", offsetof(struct pcpu, ticks));
	print_part("tick-agent", offsetof(struct pcpu, ticks_agent));
	print_part("looked-at", offsetof(struct pcpu, looked_at));
	print_part("words", offsetof(struct pcpu, words));
	print_part("bytes", offsetof(struct pcpu, bytes));
	return true;
}

int main(int argc, char **argv)
{
	struct xf_recording *recording;
	struct xf_error error = {0};
	struct bound bound;
	size_t size;
	FILE *log;

	if (argc != 6) {
		fprintf(stderr, "usage: cost RECORDING LOG TAKEN LEFT REST\n");
		return 2;
	}
	const void *bytes = read_file(argv[1], &size);

	log = fopen(argv[2], "re");
	if (!bytes || !log) {
		fprintf(stderr, "cost: cannot read %s\n", bytes ? argv[2] : argv[1]);
		return 2;
	}
	if (xf_recording_open(bytes, size, &recording, &error)) {
		fprintf(stderr, "cost: %s: %s\n", argv[1], error.text);
		return 2;
	}
	bound.taken = strtoull(argv[3], NULL, 10);
	bound.left = strtoull(argv[4], NULL, 10);
	bound.rest = strtoull(argv[5], NULL, 10);
	return !(read_log(log) && read_recording(recording) &&
	         agent_is_where_it_was_seen(recording) && print_all(&bound));
}
