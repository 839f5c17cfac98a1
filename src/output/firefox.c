// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The format is that of the Firefox Profiler's types (profile.ts) at its version 60, the first
 * whose threads share their stacks; the viewer brings older versions up to its own.
 *
 * Tables are columns of equal length. String, function and frame N are frame N + 1 of the tree,
 * stack N is node N + 1: the root has none. A category is a kind of frames.
 */
#include "output/firefox.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "output/facts.h"
#include "output/kinds.h"
#include "output/text.h"

#define FORMAT_VERSION 60

struct writer {
	FILE *out;
	const struct xf_profile *profile;
};

/* Nanoseconds as the milliseconds that the format has. */
static void write_time(FILE *out, uint64_t time)
{
	fprintf(out, "%" PRIu64 ".%06" PRIu64, time / 1000000, time % 1000000);
}

/* A column of @nr times the same. */
static void write_column(FILE *out, const char *name, const char *value, size_t nr)
{
	fprintf(out, ",\n\"%s\":[", name);
	for (size_t i = 0; i < nr; i++)
		fprintf(out, "%s%s", i ? "," : "", value);
	fputc(']', out);
}

/* A column that counts from 0. */
static void write_numbers(FILE *out, const char *name, size_t nr)
{
	fprintf(out, ",\n\"%s\":[", name);
	for (size_t i = 0; i < nr; i++)
		fprintf(out, "%s%zu", i ? "," : "", i);
	fputc(']', out);
}

/* ---- What holds for all ---------------------------------------------------------------------- */

static void write_fact(FILE *out, const char *label, const char *value)
{
	fprintf(out, "{\"label\":\"%s\",\"format\":\"string\",\"value\":", label);
	xf_text_write_json(out, value);
	fputc('}', out);
}

static void write_facts(FILE *out, const struct xf_facts *facts)
{
	fputs(",\n\"extra\":[{\"label\":\"xenflame\",\"entries\":[", out);
	write_fact(out, "Host", facts->host);
	fputc(',', out);
	write_fact(out, "Recorded", facts->recorded);
	fputc(',', out);
	write_fact(out, "Samples", facts->samples);
	fputc(',', out);
	write_fact(out, "Quality", facts->quality);
	fputs("]}]", out);
}

static void write_meta(struct writer *writer)
{
	const struct xf_profile *profile = writer->profile;
	FILE *out = writer->out;
	struct xf_facts facts;

	xf_facts_of(profile, &facts);
	/* "version" is that of the format in which Firefox itself would have recorded. */
	fprintf(out,
	        "{\"meta\":{\"version\":33,\"preprocessedProfileVersion\":%d,\"processType\":0,"
	        "\"stackwalk\":1,\"debug\":false,\"symbolicated\":true,\"markerSchema\":[],"
	        "\"usesOnlyOneStackType\":true,\"sourceCodeIsNotOnSearchfox\":true,"
	        "\"keepProfileThreadOrder\":true,\"importedFrom\":\"xenflame\",\n\"interval\":",
	        FORMAT_VERSION);
	write_time(out, profile->frequency ? 1000000000 / profile->frequency : 1000000);
	fputs(",\"startTime\":", out);
	write_time(out, profile->start_time);
	fputs(",\"profilingStartTime\":0,\"profilingEndTime\":", out);
	write_time(out, profile->duration);
	fputs(",\"product\":", out);
	xf_text_write_json(out, facts.host);
	write_facts(out, &facts);
	fputs(",\n\"categories\":[", out);
	for (int kind = 0; kind < XF_FRAME_KINDS; kind++)
		fprintf(out, "%s\n{\"name\":\"%s\",\"color\":\"%s\",\"subcategories\":[\"Other\"]}",
		        kind ? "," : "", xf_frame_kind_name((enum xf_frame_kind)kind),
		        xf_kind_of((enum xf_frame_kind)kind)->colour);
	fputs("]},\n\"libs\":[]", out);
}

/* ---- Stacks ---------------------------------------------------------------------------------- */

static void write_strings(struct writer *writer, size_t nr)
{
	fputs(",\n\"shared\":{\"stringArray\":[", writer->out);
	for (uint32_t i = 1; i <= nr; i++) {
		fputs(i > 1 ? ",\n" : "\n", writer->out);
		xf_text_write_json(writer->out, xf_calltree_name(writer->profile->tree,
		                                                 (struct xf_frame_id){i}));
	}
	fputc(']', writer->out);
}

static void write_functions(FILE *out, size_t nr)
{
	fprintf(out, ",\n\"funcTable\":{\"length\":%zu", nr);
	write_numbers(out, "name", nr);
	write_column(out, "isJS", "false", nr);
	write_column(out, "relevantForJS", "false", nr);
	write_column(out, "resource", "-1", nr);
	write_column(out, "source", "null", nr);
	write_column(out, "lineNumber", "null", nr);
	write_column(out, "columnNumber", "null", nr);
	fputc('}', out);
}

static void write_frames(struct writer *writer, size_t nr)
{
	FILE *out = writer->out;

	fprintf(out, ",\n\"frameTable\":{\"length\":%zu", nr);
	write_numbers(out, "func", nr);
	fputs(",\n\"category\":[", out);
	for (uint32_t i = 1; i <= nr; i++)
		fprintf(out, "%s%d", i > 1 ? "," : "",
		        (int)xf_calltree_kind(writer->profile->tree, (struct xf_frame_id){i}));
	fputc(']', out);
	write_column(out, "subcategory", "0", nr);
	write_column(out, "address", "-1", nr);
	write_column(out, "inlineDepth", "0", nr);
	write_column(out, "nativeSymbol", "null", nr);
	write_column(out, "innerWindowID", "null", nr);
	write_column(out, "line", "null", nr);
	write_column(out, "column", "null", nr);
	fputc('}', out);
}

static void write_stacks(struct writer *writer)
{
	const struct xf_calltree *tree = writer->profile->tree;
	size_t nr = xf_calltree_nr_nodes(tree);
	FILE *out = writer->out;

	fprintf(out, ",\n\"stackTable\":{\"length\":%zu,\n\"frame\":[", nr - 1);
	for (uint32_t i = 1; i < nr; i++)
		fprintf(out, "%s%" PRIu32, i > 1 ? "," : "",
		        xf_calltree_node(tree, (struct xf_node_id){i})->frame.index - 1);
	fputs("],\n\"prefix\":[", out);
	for (uint32_t i = 1; i < nr; i++) {
		uint32_t parent = xf_calltree_node(tree, (struct xf_node_id){i})->parent.index;

		fputs(i > 1 ? "," : "", out);
		if (parent)
			fprintf(out, "%" PRIu32, parent - 1);
		else
			fputs("null", out);
	}
	fputs("]}", out);
}

static void write_shared(struct writer *writer)
{
	size_t nr = xf_calltree_nr_frames(writer->profile->tree) - 1;

	write_strings(writer, nr);
	write_functions(writer->out, nr);
	write_frames(writer, nr);
	write_stacks(writer);
	fputs(",\n\"resourceTable\":{\"length\":0,\"lib\":[],\"name\":[],\"host\":[],\"type\":[]}"
	      ",\n\"nativeSymbols\":{\"length\":0,\"libIndex\":[],\"address\":[],\"name\":[],"
	      "\"functionSize\":[]}"
	      ",\n\"sources\":{\"length\":0,\"uuid\":[],\"filename\":[]}}",
	      writer->out);
}

/* ---- Threads --------------------------------------------------------------------------------- */

/* The samples of a vCPU, on whatever pCPUs it ran: neighbouring groups of one domain and vCPU. */
struct thread {
	const struct xf_profile_group *group; /* the first of them */
	const struct xf_event **samples;
	size_t nr_samples;
};

static bool same_thread(const struct xf_profile_group *a, const struct xf_profile_group *b)
{
	return a->domain.index == b->domain.index && a->vcpu == b->vcpu;
}

static void write_samples(FILE *out, const struct thread *thread)
{
	fprintf(out, ",\n\"samples\":{\"length\":%zu,\"weightType\":\"samples\",\n\"weight\":[",
	        thread->nr_samples);
	for (size_t i = 0; i < thread->nr_samples; i++)
		fprintf(out, "%s%" PRIu32, i ? "," : "", thread->samples[i]->count);
	fputs("],\n\"stack\":[", out);
	for (size_t i = 0; i < thread->nr_samples; i++)
		fprintf(out, "%s%" PRIu32, i ? "," : "", thread->samples[i]->node.index - 1);
	fputs("],\n\"time\":[", out);
	for (size_t i = 0; i < thread->nr_samples; i++) {
		fputs(i ? "," : "", out);
		write_time(out, thread->samples[i]->time);
	}
	fputs("]}", out);
}

static void write_thread(struct writer *writer, const struct thread *thread, size_t number)
{
	const char *domain = xf_calltree_name(writer->profile->tree, thread->group->domain);
	FILE *out = writer->out;

	fprintf(out, "%s\n{\"name\":\"vCPU %" PRIu32 "\",\"processName\":", number ? "," : "",
	        thread->group->vcpu);
	xf_text_write_json(out, domain);
	fprintf(out,
	        ",\"isMainThread\":false,\"pid\":\"%" PRIu32 "\",\"tid\":%zu,"
	        "\"processType\":\"default\",\"processStartupTime\":0,"
	        "\"processShutdownTime\":null,\"registerTime\":0,\"unregisterTime\":null,"
	        "\"pausedRanges\":[]",
	        thread->group->domain.index, number);
	fputs(",\"markers\":{\"length\":0,\"data\":[],\"name\":[],\"startTime\":[],"
	      "\"endTime\":[],\"phase\":[],\"category\":[]}",
	      out);
	write_samples(out, thread);
	fputc('}', out);
}

/* Gives each thread its part of @room: enough for all samples. Return: how many threads there are.
 */
static size_t sort_out(const struct xf_profile *profile, struct thread *threads,
                       uint32_t *thread_of, const struct xf_event **room)
{
	size_t nr = 0;

	for (size_t i = 0; i < profile->nr_groups; i++) {
		if (!i || !same_thread(threads[nr - 1].group, &profile->groups[i]))
			threads[nr++].group = &profile->groups[i];
		thread_of[i] = (uint32_t)(nr - 1);
	}
	for (size_t i = 0; i < profile->timeline.nr; i++)
		threads[thread_of[profile->timeline.events[i].group]].nr_samples++;
	for (size_t i = 0; i < nr; i++) {
		threads[i].samples = room;
		room += threads[i].nr_samples;
		threads[i].nr_samples = 0;
	}
	for (size_t i = 0; i < profile->timeline.nr; i++) {
		struct thread *thread = &threads[thread_of[profile->timeline.events[i].group]];

		thread->samples[thread->nr_samples++] = &profile->timeline.events[i];
	}
	return nr;
}

int xf_firefox_write(FILE *out, const struct xf_profile *profile)
{
	struct writer writer = {.out = out, .profile = profile};
	struct thread *threads = calloc(profile->nr_groups + 1, sizeof(*threads));
	uint32_t *thread_of = calloc(profile->nr_groups + 1, sizeof(*thread_of));
	const struct xf_event **room = calloc(profile->timeline.nr + 1, sizeof(const void *));
	int code = threads && thread_of && room ? 0 : -ENOMEM;

	if (!code) {
		size_t nr = sort_out(profile, threads, thread_of, room);

		write_meta(&writer);
		write_shared(&writer);
		fputs(",\n\"threads\":[", out);
		for (size_t i = 0; i < nr; i++)
			write_thread(&writer, &threads[i], i);
		fputs("]}\n", out);
	}
	free(threads);
	free(thread_of);
	free(room);
	return code;
}
