// SPDX-License-Identifier: GPL-2.0-or-later
/* The format is that of speedscope's file-format-spec.ts, as of its version 1.25. */
#include "output/speedscope.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "output/facts.h"
#include "output/text.h"
#include "profile/tracks.h"

struct writer {
	FILE *out;
	const struct xf_profile *profile;
	struct xf_node_id *path; /* room for any */
};

/* The root's frame is left out: frame N of the tree is number N - 1 here. */
static void write_frames(struct writer *writer)
{
	const struct xf_calltree *tree = writer->profile->tree;

	for (uint32_t i = 1; i < xf_calltree_nr_frames(tree); i++) {
		fputs(i > 1 ? ",\n{\"name\":" : "\n{\"name\":", writer->out);
		xf_text_write_json(writer->out, xf_calltree_name(tree, (struct xf_frame_id){i}));
		fputc('}', writer->out);
	}
}

static void write_stack(struct writer *writer, struct xf_node_id node)
{
	const struct xf_calltree *tree = writer->profile->tree;
	size_t depth = xf_calltree_path(tree, node, writer->path);

	fputc('[', writer->out);
	for (size_t i = 0; i < depth; i++)
		fprintf(writer->out, "%s%" PRIu32, i ? "," : "",
		        xf_calltree_node(tree, writer->path[i])->frame.index - 1);
	fputc(']', writer->out);
}

static uint64_t weight_of(const struct writer *writer, uint64_t count)
{
	return writer->profile->frequency ? xf_profile_nanoseconds(writer->profile, count) : count;
}

/* All of a profile. */
static void write_track(struct writer *writer, const char *name, const struct xf_span *spans,
                        size_t nr)
{
	FILE *out = writer->out;
	uint64_t count = 0;

	for (size_t i = 0; i < nr; i++)
		count += spans[i].count;
	fputs("{\"type\":\"sampled\",\"name\":", out);
	xf_text_write_json(out, name);
	fprintf(out, ",\"unit\":\"%s\",\"startValue\":0,\"endValue\":%" PRIu64 ",\n\"samples\":[",
	        writer->profile->frequency ? "nanoseconds" : "none", weight_of(writer, count));
	for (size_t i = 0; i < nr; i++) {
		fputs(i ? ",\n" : "\n", out);
		write_stack(writer, spans[i].node);
	}
	fputs("],\n\"weights\":[", out);
	for (size_t i = 0; i < nr; i++)
		fprintf(out, "%s%" PRIu64, i ? "," : "", weight_of(writer, spans[i].count));
	fputs("]}", out);
}

static int write_tracks(struct writer *writer)
{
	struct xf_tracks *tracks;
	char name[32];
	int code = xf_tracks_build(writer->profile, &tracks);

	if (code)
		return code;
	for (size_t i = 0; i < tracks->nr; i++) {
		const struct xf_track *track = &tracks->tracks[i];

		snprintf(name, sizeof(name), "pCPU %" PRIu32, track->pcpu);
		fputs(i ? ",\n" : "\n", writer->out);
		write_track(writer, name, track->spans, track->nr_spans);
	}
	xf_tracks_free(tracks);
	return 0;
}

/* Without times: every stack once, in the order of the tree. */
static int write_stacks(struct writer *writer)
{
	const struct xf_calltree *tree = writer->profile->tree;
	struct xf_span *spans = calloc(xf_calltree_nr_nodes(tree), sizeof(*spans));
	struct xf_calltree_walk walk = {0};
	size_t nr = 0;

	if (!spans)
		return -ENOMEM;
	while (xf_calltree_next(tree, &walk)) {
		uint64_t self = xf_calltree_node(tree, walk.node)->self;

		if (!walk.leaving && self)
			spans[nr++] = (struct xf_span){.node = walk.node, .count = self};
	}
	fputc('\n', writer->out);
	write_track(writer, "all", spans, nr);
	free(spans);
	return 0;
}

int xf_speedscope_write(FILE *out, const struct xf_profile *profile)
{
	struct writer writer = {.out = out, .profile = profile};
	struct xf_facts facts;
	int code;

	writer.path = calloc(xf_calltree_height(profile->tree) + 1, sizeof(*writer.path));
	if (!writer.path)
		return -ENOMEM;
	xf_facts_of(profile, &facts);
	fputs("{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n"
	      "\"exporter\":\"xenflame@" XF_VERSION "\",\"name\":",
	      out);
	xf_text_write_json(out, facts.host);
	fputs(",\n\"shared\":{\"frames\":[", out);
	write_frames(&writer);
	fputs("]},\n\"profiles\":[", out);
	code = profile->timeline.nr ? write_tracks(&writer) : write_stacks(&writer);
	fputs("]}\n", out);
	free(writer.path);
	return code;
}
