// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/page.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "output/columns.h"
#include "output/embedded.h"
#include "output/facts.h"
#include "output/text.h"

#define UNIT 100000u /* ns; of the samples' times */

/* ---- JSON ------------------------------------------------------------------------------------ */

/* A string in JSON that may stand in any markup: names as text.h shows them, and what markup means
   as an escape of JSON's. */
static void write_string(FILE *out, const char *text)
{
	struct xf_glyph glyph;

	fputc('"', out);
	while (xf_text_next(&text, &glyph)) {
		for (const char *c = glyph.text; *c; c++) {
			if (*c == '\\' || *c == '"')
				fprintf(out, "\\%c", *c);
			else if (*c == '<' || *c == '>' || *c == '&' || *c == '\'')
				fprintf(out, "\\u%04x", (unsigned int)*c);
			else
				fputc(*c, out);
		}
	}
	fputc('"', out);
}

static void write_field(FILE *out, const char *key, const char *text)
{
	fprintf(out, ",\n\"%s\":", key);
	write_string(out, text);
}

static void write_number(FILE *out, const char *key, uint64_t number)
{
	fprintf(out, ",\n\"%s\":%" PRIu64, key, number);
}

/* ---- About ----------------------------------------------------------------------------------- */

static const char *kind_name(enum xf_frame_kind kind)
{
	static const char *const names[XF_FRAME_KINDS] = {
	        [XF_FRAME_ROOT] = "root",       [XF_FRAME_DOMAIN] = "domain",
	        [XF_FRAME_VCPU] = "vcpu",       [XF_FRAME_PCPU] = "pcpu",
	        [XF_FRAME_GUEST] = "guest",     [XF_FRAME_XEN] = "xen",
	        [XF_FRAME_AGENT] = "agent",     [XF_FRAME_UNKNOWN] = "unknown",
	        [XF_FRAME_IDLE] = "idle",       [XF_FRAME_INCOMPLETE] = "incomplete",
	        [XF_FRAME_KERNEL] = "kernel",   [XF_FRAME_USER] = "guestUser",
	        [XF_FRAME_PROCESS] = "process", [XF_FRAME_FUNCTION] = "function",
	};

	return kind < XF_FRAME_KINDS && names[kind] ? names[kind] : "other";
}

/* Why a stack is incomplete. */
static const char *reason_of(enum xf_frame_kind kind, const char *name)
{
	static const struct {
		const char *name;
		const char *sentence;
	} reasons[] = {
#define XF_UNWIND_REASON(id, label, number, sentence) {"[incomplete: " label "]", sentence},
#include "unwind/reasons.def"
#undef XF_UNWIND_REASON
	};

	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
		if (kind == XF_FRAME_INCOMPLETE && strcmp(reasons[i].name, name) == 0)
			return reasons[i].sentence;
	}
	return NULL;
}

/* @profile is NULL where the tree is that of two. */
static void write_frames(FILE *out, const struct xf_calltree *tree,
                         const struct xf_profile *profile)
{
	fputs(",\n\"kinds\":[", out);
	for (int kind = 0; kind < XF_FRAME_KINDS; kind++)
		fprintf(out, "%s\"%s\"", kind ? "," : "", kind_name((enum xf_frame_kind)kind));
	fputs("],\n\"frames\":[", out);
	for (size_t i = 0; i < xf_calltree_nr_frames(tree); i++) {
		struct xf_frame_id frame = {.index = (uint32_t)i};
		enum xf_frame_kind kind = xf_calltree_kind(tree, frame);
		const char *name = i ? xf_calltree_name(tree, frame) : "all";
		const char *place = reason_of(kind, name);

		if (!place && profile)
			place = xf_profile_place(profile, frame);

		fprintf(out, "%s\n[%d,", i ? "," : "", (int)kind);
		write_string(out, name);
		if (place) {
			fputc(',', out);
			write_string(out, place);
		}
		fputc(']', out);
	}
	fputc(']', out);
}

static void write_groups(FILE *out, const struct xf_profile *profile)
{
	fputs(",\n\"groups\":[", out);
	for (size_t i = 0; i < profile->nr_groups; i++) {
		const struct xf_profile_group *group = &profile->groups[i];

		fprintf(out, "%s[%" PRIu32 ",%" PRIu32 ",%" PRIu32 "]", i ? "," : "",
		        group->domain.index, group->vcpu, group->pcpu);
	}
	fputc(']', out);
}

static void write_quality(FILE *out, const struct xf_profile *profile)
{
	write_number(out, "count", profile->samples);
	write_number(out, "guest", profile->counts.guest);
	write_number(out, "xen", profile->counts.xen);
	write_number(out, "idle", profile->counts.idle);
	write_number(out, "incomplete", profile->counts.incomplete);
	write_number(out, "unnamed", profile->counts.unnamed);
	fprintf(out, ",\n\"lostKnown\":%s", profile->lost_known ? "true" : "false");
	write_number(out, "lostSlot", profile->losses.slot);
	write_number(out, "lostNmi", profile->losses.nmi);
	write_number(out, "lostTrace", profile->losses.trace);
	write_number(out, "skipped", profile->skipped);
}

static void write_options(FILE *out, const struct xf_page_options *options)
{
	fprintf(out, ",\n\"icicle\":%s,\n\"callers\":%s", options->icicle ? "true" : "false",
	        options->callers ? "true" : "false");
}

static void write_about(FILE *out, const struct xf_profile *profile, const char *title,
                        const struct xf_page_options *options)
{
	struct xf_facts facts;

	xf_facts_of(profile, &facts);
	fprintf(out, "<script type=\"application/json\" id=\"about\">{\n\"unit\":%u", UNIT);
	write_field(out, "title", title);
	write_field(out, "host", facts.host);
	write_field(out, "recorded", facts.recorded);
	write_field(out, "samples", facts.samples);
	write_field(out, "notes", facts.notes);
	write_number(out, "nodes", xf_calltree_nr_nodes(profile->tree));
	write_number(out, "events", profile->timeline.nr);
	write_number(out, "duration", profile->duration / UNIT);
	write_number(out, "frequency", profile->frequency);
	write_quality(out, profile);
	write_options(out, options);
	write_groups(out, profile);
	write_frames(out, profile->tree, profile);
	fputs("\n}</script>\n", out);
}

static void write_side(FILE *out, const struct xf_comparison *comparison, int side)
{
	struct xf_facts facts;
	char text[2048];

	xf_facts_of(comparison->profiles[side], &facts);
	snprintf(text, sizeof(text),
	         "%c  %.200s  \xc2\xb7  %s  \xc2\xb7  %s  \xc2\xb7  samples %s  \xc2\xb7  %s",
	         "AB"[side], comparison -> names[side], facts.host, facts.recorded, facts.samples,
	         facts.quality);
	write_string(out, text);
}

static void write_about_comparison(FILE *out, const struct xf_comparison *comparison,
                                   const char *title, const struct xf_page_options *options)
{
	const struct xf_difference *difference = comparison->difference;

	fprintf(out, "<script type=\"application/json\" id=\"about\">{\n\"unit\":%u", UNIT);
	write_field(out, "title", title);
	fprintf(out,
	        ",\n\"compare\":{\"whole\":[%" PRIu64 ",%" PRIu64
	        "],\"shares\":%s,\"absolute\":%s,\"unit\":",
	        difference->whole.count[0], difference->whole.count[1],
	        difference->shares ? "true" : "false",
	        comparison->measure == XF_MEASURE_ABSOLUTE ? "true" : "false");
	write_string(out, xf_comparison_unit(comparison));
	fputs(",\n\"sides\":[", out);
	write_side(out, comparison, 0);
	fputs(",\n", out);
	write_side(out, comparison, 1);
	fputs("]}", out);
	write_number(out, "nodes", xf_calltree_nr_nodes(difference->tree));
	fputs(",\n\"events\":0,\"duration\":0,\"groups\":[]", out);
	write_options(out, options);
	write_frames(out, difference->tree, NULL);
	fputs("\n}</script>\n", out);
}

/* ---- Columns --------------------------------------------------------------------------------- */

/* Numbers each node in @numbers by its place in the page. */
static void write_nodes(FILE *out, const struct xf_calltree *tree, uint32_t *numbers)
{
	struct xf_columns columns = {.out = out};
	struct xf_calltree_walk walk = {0};
	uint32_t depth = 0;
	uint32_t number = 0;

	fputs("<script type=\"text/plain\" id=\"nodes\">", out);
	while (xf_calltree_next(tree, &walk)) {
		const struct xf_node *node = xf_calltree_node(tree, walk.node);

		if (walk.leaving)
			continue;
		numbers[walk.node.index] = number++;
		if (!node->depth)
			continue;
		xf_columns_put(&columns, depth + 1 - node->depth);
		xf_columns_put(&columns, node->frame.index);
		depth = node->depth;
	}
	xf_columns_end(&columns);
	fputs("</script>\n", out);
}

static void write_samples(FILE *out, const struct xf_timeline *timeline, const uint32_t *numbers)
{
	struct xf_columns columns = {.out = out};
	uint64_t before = 0;

	fputs("<script type=\"text/plain\" id=\"samples\">", out);
	for (size_t i = 0; i < timeline->nr; i++) {
		const struct xf_event *event = &timeline->events[i];
		uint64_t node = numbers[event->node.index];

		xf_columns_put(&columns, event->time / UNIT - before);
		xf_columns_put(&columns, event->group);
		xf_columns_put(&columns, node << 1 | (event->count != 1));
		if (event->count != 1)
			xf_columns_put(&columns, event->count);
		before = event->time / UNIT;
	}
	xf_columns_end(&columns);
	fputs("</script>\n", out);
}

static void write_sides(FILE *out, const struct xf_difference *difference)
{
	struct xf_columns columns = {.out = out};
	struct xf_calltree_walk walk = {0};

	fputs("<script type=\"text/plain\" id=\"sides\">", out);
	while (xf_calltree_next(difference->tree, &walk)) {
		if (walk.leaving || !walk.node.index)
			continue;
		xf_columns_put(&columns, difference->self[walk.node.index].count[0]);
		xf_columns_put(&columns, difference->self[walk.node.index].count[1]);
	}
	xf_columns_end(&columns);
	fputs("</script>\n", out);
}

/* ---- The page -------------------------------------------------------------------------------- */

/* Up to the data. */
static void write_start(FILE *out, const char *title)
{
	/* Whatever should get into the page: it loads nothing, and sends nothing anywhere. */
	fputs("<!DOCTYPE html>\n"
	      "<html xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\"><head><meta"
	      " charset=\"utf-8\"/>\n"
	      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none';"
	      " style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none';"
	      " form-action 'none'\"/>\n"
	      "<meta name=\"viewport\" content=\"width=device-width\"/>\n<title>",
	      out);
	xf_text_write_xml(out, title, 100);
	fprintf(out, "</title>\n<style>/*<![CDATA[*/\n%s/*]]>*/</style>\n</head>\n%s",
	        xf_embedded_page_css, xf_embedded_page_html);
}

static void write_end(FILE *out)
{
	fprintf(out,
	        "<script>/*<![CDATA[*/\n(function () {\n\"use "
	        "strict\";\n%s})();\n/*]]>*/</script>\n"
	        "</body></html>\n",
	        xf_embedded_page_js);
}

int xf_page_write(FILE *out, const struct xf_profile *profile,
                  const struct xf_page_options *options)
{
	uint32_t *numbers = calloc(xf_calltree_nr_nodes(profile->tree), sizeof(*numbers));
	const char *title = options->title;
	char own[256];

	if (!numbers)
		return -ENOMEM;
	snprintf(own, sizeof(own), "Where the CPUs\xe2\x80\x99 time went%s%.200s",
	         profile->host[0] ? " on " : "", profile->host);
	title = title ? title : own;
	write_start(out, title);
	write_about(out, profile, title, options);
	write_nodes(out, profile->tree, numbers);
	write_samples(out, &profile->timeline, numbers);
	write_end(out);
	free(numbers);
	return 0;
}

int xf_page_write_comparison(FILE *out, const struct xf_comparison *comparison,
                             const struct xf_page_options *options)
{
	const struct xf_calltree *tree = comparison->difference->tree;
	uint32_t *numbers = calloc(xf_calltree_nr_nodes(tree), sizeof(*numbers));
	const char *title = options->title ? options->title : "What changed from A to B";

	if (!numbers)
		return -ENOMEM;
	write_start(out, title);
	write_about_comparison(out, comparison, title, options);
	write_nodes(out, tree, numbers);
	write_sides(out, comparison->difference);
	write_end(out);
	free(numbers);
	return 0;
}
