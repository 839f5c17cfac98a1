// SPDX-License-Identifier: GPL-2.0-or-later
/* The format is that of the Valgrind manual's chapter "Callgrind Format Specification". */
#include "output/callgrind.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "output/facts.h"
#include "output/kinds.h"
#include "output/text.h"

/*
 * Calls as a tree of two levels: functions, on each of them those that it calls. A function's own
 * samples are its node's, those of a call the callee's node's.
 */
struct calls {
	const struct xf_calltree *tree;
	struct xf_calltree *flat;
	uint32_t *levels;       /* of each frame of @tree: how often it is on the way to here */
	struct xf_frame_id *at; /* the function of each depth, a frame of @flat */
};

/* The function that @frame is the @level'th time that it is in a stack. */
static int find_function(struct calls *calls, struct xf_frame_id frame, uint32_t level,
                         struct xf_frame_id *function)
{
	const char *name = xf_calltree_name(calls->tree, frame);
	enum xf_frame_kind kind = xf_calltree_kind(calls->tree, frame);
	char *numbered;
	int code;

	if (level == 1)
		return xf_calltree_frame(calls->flat, kind, name, function);
	if (asprintf(&numbered, "%s'%" PRIu32, name, level) < 0)
		return -ENOMEM;
	code = xf_calltree_frame(calls->flat, kind, numbered, function);
	free(numbered);
	return code;
}

static int add_node(struct calls *calls, const struct xf_node *node)
{
	struct xf_node_id caller, function, call;
	int code = find_function(calls, node->frame, ++calls->levels[node->frame.index],
	                         &calls->at[node->depth]);

	if (!code)
		code = xf_calltree_child(calls->flat, XF_CALLTREE_ROOT, calls->at[node->depth],
		                         &function);
	if (code)
		return code;
	xf_calltree_count(calls->flat, function, node->self);
	if (node->depth == 1)
		return 0;
	code = xf_calltree_child(calls->flat, XF_CALLTREE_ROOT, calls->at[node->depth - 1],
	                         &caller);
	if (!code)
		code = xf_calltree_child(calls->flat, caller, calls->at[node->depth], &call);
	if (!code)
		xf_calltree_count(calls->flat, call, node->total);
	return code;
}

static int add_nodes(struct calls *calls)
{
	struct xf_calltree_walk walk = {0};
	int code = 0;

	while (!code && xf_calltree_next(calls->tree, &walk)) {
		const struct xf_node *node = xf_calltree_node(calls->tree, walk.node);

		if (!node->depth)
			continue;
		if (walk.leaving)
			calls->levels[node->frame.index]--;
		else
			code = add_node(calls, node);
	}
	return code ? code : xf_calltree_finish(calls->flat);
}

/* ---- Writing --------------------------------------------------------------------------------- */

/* A name is written once, with a number that stands for it later on. */
static void write_name(FILE *out, const char *key, const struct calls *calls,
                       struct xf_frame_id frame, bool *written)
{
	const char *name = xf_calltree_name(calls->flat, frame);

	fprintf(out, "%s=(%" PRIu32 ")", key, frame.index);
	if (!written[frame.index]) {
		fputc(' ', out);
		/* Readers take blanks in front away. */
		for (; *name == ' '; name++)
			fputs("\\x20", out);
		xf_text_write(out, *name ? name : "[no name]", "");
	}
	fputc('\n', out);
	written[frame.index] = true;
}

static const char *object_of(const struct calls *calls, struct xf_frame_id frame)
{
	return xf_kind_of(xf_calltree_kind(calls->flat, frame))->object;
}

static void write_function(FILE *out, const struct calls *calls, struct xf_node_id id,
                           bool *written)
{
	const struct xf_node *function = xf_calltree_node(calls->flat, id);
	const struct xf_node_id *callees;
	size_t nr = xf_calltree_children(calls->flat, id, &callees);

	fprintf(out, "\nob=%s\n", object_of(calls, function->frame));
	write_name(out, "fn", calls, function->frame, written);
	fprintf(out, "0 %" PRIu64 "\n", function->self);
	for (size_t i = 0; i < nr; i++) {
		const struct xf_node *callee = xf_calltree_node(calls->flat, callees[i]);

		fprintf(out, "cob=%s\n", object_of(calls, callee->frame));
		write_name(out, "cfn", calls, callee->frame, written);
		/* How often it was called nobody knows: as often as it was seen. */
		fprintf(out, "calls=%" PRIu64 " 0\n0 %" PRIu64 "\n", callee->self, callee->self);
	}
}

static void write_head(FILE *out, const struct xf_profile *profile)
{
	struct xf_facts facts;

	xf_facts_of(profile, &facts);
	fputs("# callgrind format\nversion: 1\ncreator: xenflame " XF_VERSION "\ndesc: Host: ",
	      out);
	xf_text_write(out, facts.host, "");
	fputs("\ndesc: Recorded: ", out);
	xf_text_write(out, facts.recorded, "");
	fputs("\ndesc: Samples: ", out);
	xf_text_write(out, facts.samples, "");
	fputs("\ndesc: Quality: ", out);
	xf_text_write(out, facts.quality, "");
	fprintf(out,
	        "\npositions: line\nevent: Samples : samples\nevents: Samples\nsummary: %" PRIu64
	        "\n\nfl=(1) ???\n",
	        profile->samples);
}

static int write_calls(FILE *out, const struct xf_profile *profile, struct calls *calls)
{
	bool *written = calloc(xf_calltree_nr_frames(calls->flat), sizeof(*written));
	const struct xf_node_id *functions;
	size_t nr = xf_calltree_children(calls->flat, XF_CALLTREE_ROOT, &functions);

	if (!written)
		return -ENOMEM;
	write_head(out, profile);
	for (size_t i = 0; i < nr; i++)
		write_function(out, calls, functions[i], written);
	fprintf(out, "\ntotals: %" PRIu64 "\n", profile->samples);
	free(written);
	return 0;
}

int xf_callgrind_write(FILE *out, const struct xf_profile *profile)
{
	struct calls calls = {.tree = profile->tree, .flat = xf_calltree_new()};
	int code = -ENOMEM;

	calls.levels = calloc(xf_calltree_nr_frames(profile->tree), sizeof(*calls.levels));
	calls.at = calloc(xf_calltree_height(profile->tree) + 1, sizeof(*calls.at));
	if (calls.flat && calls.levels && calls.at)
		code = add_nodes(&calls);
	if (!code)
		code = write_calls(out, profile, &calls);
	xf_calltree_free(calls.flat);
	free(calls.levels);
	free(calls.at);
	return code;
}
