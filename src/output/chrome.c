// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The format is that of Chromium's "Trace Event Format" document: an object with an array of
 * events. Begin and end events, not complete ones: where a slice has the same times as the one
 * below it, the order in the file says which is the outer one.
 */
#include "output/chrome.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "output/facts.h"
#include "output/text.h"
#include "profile/tracks.h"

struct writer {
	FILE *out;
	const struct xf_calltree *tree;
	uint32_t pcpu;
	struct xf_node_id *path; /* of the next span */
	struct xf_node_id *open; /* slices, the outermost first ... */
	uint64_t *counts;        /* ... and the samples of each */
	size_t nr_open;
};

/* Times are in microseconds; three decimals keep the nanoseconds. */
static void write_event(struct writer *writer, char phase, uint64_t time)
{
	fprintf(writer->out,
	        ",\n{\"ph\":\"%c\",\"pid\":1,\"tid\":%" PRIu32 ",\"ts\":%" PRIu64 ".%03" PRIu64,
	        phase, writer->pcpu, time / 1000, time % 1000);
}

static void close_slices(struct writer *writer, size_t depth, uint64_t time)
{
	while (writer->nr_open > depth) {
		writer->nr_open--;
		write_event(writer, 'E', time);
		fprintf(writer->out, ",\"args\":{\"samples\":%" PRIu64 "}}",
		        writer->counts[writer->nr_open]);
	}
}

static void open_slice(struct writer *writer, struct xf_node_id node, uint64_t time)
{
	struct xf_frame_id frame = xf_calltree_node(writer->tree, node)->frame;

	write_event(writer, 'B', time);
	fputs(",\"name\":", writer->out);
	xf_text_write_json(writer->out, xf_calltree_name(writer->tree, frame));
	fprintf(writer->out, ",\"cat\":\"%s\"}",
	        xf_frame_kind_name(xf_calltree_kind(writer->tree, frame)));
	writer->open[writer->nr_open] = node;
	writer->counts[writer->nr_open++] = 0;
}

static void write_span(struct writer *writer, const struct xf_span *span, uint64_t before)
{
	size_t depth = xf_calltree_path(writer->tree, span->node, writer->path);
	size_t same = 0;

	while (span->start == before && same < depth && same < writer->nr_open &&
	       writer->path[same].index == writer->open[same].index)
		same++;
	close_slices(writer, same, before);
	for (size_t i = same; i < depth; i++)
		open_slice(writer, writer->path[i], span->start);
	for (size_t i = 0; i < depth; i++)
		writer->counts[i] += span->count;
}

static void write_track(struct writer *writer, const struct xf_track *track)
{
	uint64_t before = 0;

	writer->pcpu = track->pcpu;
	fprintf(writer->out,
	        ",\n{\"ph\":\"M\",\"pid\":1,\"tid\":%" PRIu32 ",\"name\":\"thread_name\","
	        "\"args\":{\"name\":\"pCPU %" PRIu32 "\"}}"
	        ",\n{\"ph\":\"M\",\"pid\":1,\"tid\":%" PRIu32 ",\"name\":\"thread_sort_index\","
	        "\"args\":{\"sort_index\":%" PRIu32 "}}",
	        track->pcpu, track->pcpu, track->pcpu, track->pcpu);
	for (size_t i = 0; i < track->nr_spans; i++) {
		write_span(writer, &track->spans[i], before);
		before = track->spans[i].end;
	}
	close_slices(writer, 0, before);
}

static void write_head(FILE *out, const struct xf_facts *facts)
{
	fputs("{\"displayTimeUnit\":\"ms\",\n\"otherData\":{\"host\":", out);
	xf_text_write_json(out, facts->host);
	fputs(",\"recorded\":", out);
	xf_text_write_json(out, facts->recorded);
	fputs(",\"samples\":", out);
	xf_text_write_json(out, facts->samples);
	fputs(",\"quality\":", out);
	xf_text_write_json(out, facts->quality);
	fputs("},\n\"traceEvents\":[\n{\"ph\":\"M\",\"pid\":1,\"name\":\"process_name\","
	      "\"args\":{\"name\":",
	      out);
	xf_text_write_json(out, facts->host);
	fputs("}}", out);
}

int xf_chrome_write(FILE *out, const struct xf_profile *profile)
{
	size_t height = xf_calltree_height(profile->tree);
	struct writer writer = {.out = out, .tree = profile->tree};
	struct xf_tracks *tracks = NULL;
	struct xf_facts facts;
	int code = -ENOMEM;

	writer.path = calloc(height + 1, sizeof(*writer.path));
	writer.open = calloc(height + 1, sizeof(*writer.open));
	writer.counts = calloc(height + 1, sizeof(*writer.counts));
	if (writer.path && writer.open && writer.counts)
		code = xf_tracks_build(profile, &tracks);
	if (!code) {
		xf_facts_of(profile, &facts);
		write_head(out, &facts);
		for (size_t i = 0; i < tracks->nr; i++)
			write_track(&writer, &tracks->tracks[i]);
		fputs("\n]}\n", out);
	}
	xf_tracks_free(tracks);
	free(writer.path);
	free(writer.open);
	free(writer.counts);
	return code;
}
