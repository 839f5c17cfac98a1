// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/flamegraph.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "output/changes.h"
#include "output/embedded.h"
#include "output/facts.h"
#include "output/text.h"

#define ROW       18   /* pixels from one frame to the next */
#define PAD       14   /* beside the frames */
#define HEAD      118  /* above them: title, facts, legend */
#define FOOT      34   /* below them: the line that tells of the selected frame */
#define CHARACTER 7.25 /* pixels per column of a 12 px monospaced font */
#define SHADES    8u
#define TINTS     8u /* of domains */

struct graph {
	FILE *out;
	const struct xf_profile *profile;       /* or ... */
	const struct xf_comparison *comparison; /* ... this one; the other is NULL */
	const struct xf_calltree *tree;
	const struct xf_flamegraph_options *options;
	uint64_t *starts; /* of each node: samples to the left of it */
	double scale;     /* pixels per sample */
	uint32_t depth;   /* of the highest frame drawn */
	uint32_t domain; /* the number among domains of the one whose frames are written; 0: none */
	uint32_t nr_domains;
	bool seen[XF_FRAME_KINDS][2];
};

/* ---- What is drawn --------------------------------------------------------------------------- */

static bool is_user(const char *name)
{
	return strcmp(name, "[guest user]") == 0;
}

/* Walks through the nodes that are wide enough, from the left; sets their starts on the way. */
static bool next_frame(struct graph *graph, struct xf_calltree_walk *walk)
{
	while (xf_calltree_next(graph->tree, walk)) {
		const struct xf_node *node = xf_calltree_node(graph->tree, walk->node);
		const struct xf_node_id *children;
		uint64_t start = graph->starts[walk->node.index];
		size_t nr;

		if (walk->leaving)
			continue;
		if (node->depth && (double)node->total * graph->scale < graph->options->min_width) {
			walk->leaving = true;
			continue;
		}
		nr = xf_calltree_children(graph->tree, walk->node, &children);
		for (size_t i = 0; i < nr; i++) {
			graph->starts[children[i].index] = start;
			start += xf_calltree_node(graph->tree, children[i])->total;
		}
		return true;
	}
	return false;
}

/* Whether a frame of @kind bears the colour of the domain at its foot. */
static bool is_tinted(const struct graph *graph, enum xf_frame_kind kind)
{
	return graph->options->colors == XF_COLORS_DOMAIN && graph->domain &&
	       kind != XF_FRAME_AGENT && kind != XF_FRAME_INCOMPLETE && kind != XF_FRAME_IDLE;
}

static void enter_domain(struct graph *graph, struct xf_node_id id)
{
	const struct xf_node *node = xf_calltree_node(graph->tree, id);

	if (node->depth != 1)
		return;
	if (xf_calltree_kind(graph->tree, node->frame) == XF_FRAME_DOMAIN)
		graph->domain = ++graph->nr_domains;
	else
		graph->domain = 0;
}

static void measure(struct graph *graph)
{
	struct xf_calltree_walk walk = {0};

	while (next_frame(graph, &walk)) {
		const struct xf_node *node = xf_calltree_node(graph->tree, walk.node);
		enum xf_frame_kind kind = xf_calltree_kind(graph->tree, node->frame);

		enter_domain(graph, walk.node);
		graph->depth = node->depth > graph->depth ? node->depth : graph->depth;
		if (is_tinted(graph, kind))
			continue;
		if (kind == XF_FRAME_KERNEL || kind == XF_FRAME_USER)
			graph->seen[XF_FRAME_GUEST][kind == XF_FRAME_USER] = true;
		graph->seen[kind][kind == XF_FRAME_GUEST &&
		                  is_user(xf_calltree_name(graph->tree, node->frame))] = true;
	}
	graph->nr_domains = 0;
	graph->domain = 0;
}

/* Where the root is. */
static uint32_t frames_base(const struct graph *graph)
{
	return graph->options->inverted ? HEAD : HEAD + graph->depth * ROW;
}

static uint32_t picture_height(const struct graph *graph)
{
	return HEAD + graph->depth * ROW + ROW + FOOT;
}

/* ---- Frames ---------------------------------------------------------------------------------- */

static uint32_t shade_of(const char *name)
{
	uint32_t hash = 2166136261u;

	for (; *name; name++)
		hash = (hash ^ (uint8_t)*name) * 16777619u;
	return (hash ^ hash >> 15) % SHADES;
}

static void write_class(const struct graph *graph, enum xf_frame_kind kind, const char *name)
{
	static const char *const classes[XF_FRAME_KINDS] = {
	        [XF_FRAME_ROOT] = "r",     [XF_FRAME_DOMAIN] = "d",   [XF_FRAME_VCPU] = "v",
	        [XF_FRAME_PCPU] = "v",     [XF_FRAME_GUEST] = "gk",   [XF_FRAME_XEN] = "x",
	        [XF_FRAME_UNKNOWN] = "u",  [XF_FRAME_IDLE] = "i",     [XF_FRAME_INCOMPLETE] = "n",
	        [XF_FRAME_AGENT] = "a",    [XF_FRAME_KERNEL] = "k",   [XF_FRAME_USER] = "gu",
	        [XF_FRAME_PROCESS] = "ps", [XF_FRAME_FUNCTION] = "x",
	};

	if (is_tinted(graph, kind))
		fprintf(graph->out, "t%" PRIu32, (graph->domain - 1) % TINTS);
	else if (kind == XF_FRAME_XEN || kind == XF_FRAME_KERNEL || kind == XF_FRAME_FUNCTION)
		fprintf(graph->out, "%s%" PRIu32, classes[kind], shade_of(name));
	else if (kind == XF_FRAME_GUEST && is_user(name))
		fputs("gu", graph->out);
	else
		fputs(classes[kind], graph->out);
}

/* What stands in a frame that has room for @columns: of a static function that does not fit with
   its file ("common/timer.c#execute_timer") the name alone. The tip has it all. */
static const char *label_of(const char *name, enum xf_frame_kind kind, size_t columns)
{
	bool function = kind == XF_FRAME_XEN || kind == XF_FRAME_AGENT;
	const char *mark = function ? strrchr(name, '#') : NULL;

	return mark && mark[1] && xf_text_columns(name) > columns ? mark + 1 : name;
}

static void write_tip(const struct graph *graph, struct xf_node_id id)
{
	uint64_t total = xf_calltree_node(graph->tree, id)->total;
	char count[32];

	if (graph->comparison)
		xf_changes_write_tip(graph->out, graph->comparison, id);
	else
		fprintf(graph->out, "%s sample%s, %.2f%%", xf_text_count(total, count),
		        total == 1 ? "" : "s", xf_percent(total, graph->profile->samples));
}

static void write_frame(const struct graph *graph, struct xf_node_id id)
{
	const struct xf_node *node = xf_calltree_node(graph->tree, id);
	enum xf_frame_kind kind = xf_calltree_kind(graph->tree, node->frame);
	const char *name = node->depth ? xf_calltree_name(graph->tree, node->frame) : "all";
	double x = PAD + (double)graph->starts[id.index] * graph->scale;
	double width = (double)node->total * graph->scale;
	uint32_t y = graph->options->inverted ? frames_base(graph) + node->depth * ROW
	                                      : frames_base(graph) - node->depth * ROW;
	size_t columns = width > 6 ? (size_t)((width - 6) / CHARACTER) : 0;
	double gap = width * 0.2 < 0.8 ? width * 0.2 : 0.8;

	fputs("<g class=\"f ", graph->out);
	if (graph->comparison)
		xf_changes_write_class(graph->out, graph->comparison, id);
	else
		write_class(graph, kind, name);
	fprintf(graph->out, "\" data-s=\"%" PRIu64 "\" data-n=\"%" PRIu64 "\"><title>",
	        graph->starts[id.index], node->total);
	xf_text_write_xml(graph->out, name, SIZE_MAX);
	fputc('\n', graph->out);
	write_tip(graph, id);
	fputs("</title>", graph->out);
	fprintf(graph->out, "<rect x=\"%.2f\" y=\"%" PRIu32 "\" width=\"%.2f\" height=\"%d\"/>", x,
	        y, width - gap, ROW - 1);
	name = label_of(name, kind, columns);
	if (columns >= 3 || (columns == 2 && xf_text_columns(name) <= 2)) {
		fprintf(graph->out, "<text x=\"%.2f\" y=\"%" PRIu32 "\">", x + 4, y + ROW - 6);
		xf_text_write_xml(graph->out, name, columns);
		fputs("</text>", graph->out);
	}
	fputs("</g>\n", graph->out);
}

static void write_frames(struct graph *graph)
{
	struct xf_calltree_walk walk = {0};

	fputs("<g id=\"frames\">\n", graph->out);
	while (next_frame(graph, &walk)) {
		enter_domain(graph, walk.node);
		write_frame(graph, walk.node);
	}
	fputs("</g>\n", graph->out);
}

/* ---- Around them ----------------------------------------------------------------------------- */

static void write_title(const struct graph *graph, const char *element)
{
	fputs(element, graph->out);
	if (graph->options->title) {
		xf_text_write_xml(graph->out, graph->options->title, 100);
	} else if (graph->comparison) {
		fputs("What changed from A to B", graph->out);
	} else {
		fputs("Where the CPUs\xe2\x80\x99 time went", graph->out);
		if (graph->profile->host[0]) {
			fputs(" on ", graph->out);
			xf_text_write_xml(graph->out, graph->profile->host, 60);
		}
	}
}

static void write_start(const struct graph *graph)
{
	static const char *const classes[] = {[XF_COLORS_KIND] = "xenflame",
	                                      [XF_COLORS_DOMAIN] = "xenflame",
	                                      [XF_COLORS_GREY] = "xenflame grey"};
	uint32_t height = picture_height(graph);

	fprintf(graph->out,
	        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
	        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"%s\" width=\"100%%\""
	        " viewBox=\"0 0 %" PRIu32 " %" PRIu32 "\" preserveAspectRatio=\"xMidYMin meet\""
	        " data-row=\"%d\" data-pad=\"%d\" data-char=\"%.2f\" data-base=\"%" PRIu32
	        "\"%s%s>\n",
	        classes[graph->options->colors], graph->options->width, height, ROW, PAD, CHARACTER,
	        frames_base(graph), graph->options->inverted ? " data-down=\"\"" : "",
	        graph->comparison ? " data-both=\"\"" : "");
	write_title(graph, "<title>");
	fprintf(graph->out, "</title>\n<style><![CDATA[\n%s]]></style>\n",
	        xf_embedded_flamegraph_css);
	fputs("<defs><pattern id=\"stripes\" width=\"8\" height=\"8\""
	      " patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">"
	      "<rect width=\"8\" height=\"8\"/><path d=\"M2 0V8\" stroke-width=\"3\"/>"
	      "</pattern></defs>\n",
	      graph->out);
	fprintf(graph->out, "<rect id=\"bg\" width=\"%" PRIu32 "\" height=\"%" PRIu32 "\"/>\n",
	        graph->options->width, height);
	write_title(graph, "<text id=\"title\" x=\"14\" y=\"32\">");
	fputs("</text>\n", graph->out);
}

static void write_facts(const struct graph *graph)
{
	struct xf_facts facts;

	xf_facts_of(graph->profile, &facts);
	fputs("<text class=\"s\" x=\"14\" y=\"53\">", graph->out);
	xf_text_write_xml(graph->out, facts.host, SIZE_MAX);
	fputs("  \xc2\xb7  ", graph->out);
	xf_text_write_xml(graph->out, facts.recorded, SIZE_MAX);
	fputs("</text>\n<text class=\"s\" x=\"14\" y=\"71\">samples ", graph->out);
	xf_text_write_xml(graph->out, facts.samples, SIZE_MAX);
	fputs("  \xc2\xb7  ", graph->out);
	xf_text_write_xml(graph->out, facts.quality, SIZE_MAX);
	if (facts.notes[0]) {
		fputs("  \xc2\xb7  <tspan class=\"w\">", graph->out);
		xf_text_write_xml(graph->out, facts.notes, SIZE_MAX);
		fputs("</tspan>", graph->out);
	}
	fputs("</text>\n", graph->out);
}

static void write_legend(const struct graph *graph)
{
	static const struct {
		enum xf_frame_kind kind;
		bool user;
		const char *class;
		const char *label;
	} entries[] = {
	        {XF_FRAME_XEN, false, "x3", "Xen"},
	        {XF_FRAME_FUNCTION, false, "x3", "function"},
	        {XF_FRAME_AGENT, false, "a", "xenflame itself"},
	        {XF_FRAME_GUEST, false, "gk", "guest kernel"},
	        {XF_FRAME_GUEST, true, "gu", "guest user"},
	        {XF_FRAME_IDLE, false, "i", "idle"},
	        {XF_FRAME_INCOMPLETE, false, "n", "incomplete stack"},
	        {XF_FRAME_UNKNOWN, false, "u", "no name"},
	        {XF_FRAME_DOMAIN, false, "d", "domain"},
	        {XF_FRAME_VCPU, false, "v", "vCPU, pCPU"},
	        {XF_FRAME_PROCESS, false, "ps", "process"},
	};
	uint32_t x = PAD;

	fputs("<g id=\"legend\">", graph->out);
	for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
		bool pcpu = entries[i].kind == XF_FRAME_VCPU && graph->seen[XF_FRAME_PCPU][0];

		if (!graph->seen[entries[i].kind][entries[i].user] && !pcpu)
			continue;
		fprintf(graph->out,
		        "<g class=\"%s\"><rect x=\"%" PRIu32
		        "\" y=\"84\" width=\"11\" height=\"11\" rx=\"2\"/></g>"
		        "<text class=\"l\" x=\"%" PRIu32 "\" y=\"94\">%s</text>",
		        entries[i].class, x, x + 17, entries[i].label);
		x += 38 + (uint32_t)strlen(entries[i].label) * 63 / 10; /* a guess at its width */
	}
	fputs("</g>\n", graph->out);
}

static void write_end(const struct graph *graph)
{
	fprintf(graph->out,
	        "<text id=\"status\" class=\"s\" x=\"%d\" y=\"%" PRIu32
	        "\">Click a frame to zoom, / to search, arrow keys and Enter to walk, Esc to"
	        " reset</text>\n",
	        PAD, picture_height(graph) - 12);
	fprintf(graph->out, "<script><![CDATA[\n%s]]></script>\n</svg>\n",
	        xf_embedded_flamegraph_js);
}

static int draw(struct graph *graph)
{
	graph->starts = calloc(xf_calltree_nr_nodes(graph->tree), sizeof(*graph->starts));
	if (!graph->starts)
		return -ENOMEM;
	graph->scale = (double)(graph->options->width - 2 * PAD) /
	               (double)xf_calltree_node(graph->tree, XF_CALLTREE_ROOT)->total;
	measure(graph);
	write_start(graph);
	if (graph->comparison) {
		xf_changes_write_facts(graph->out, graph->comparison);
		xf_changes_write_legend(graph->out, PAD);
	} else {
		write_facts(graph);
		write_legend(graph);
	}
	write_frames(graph);
	write_end(graph);
	free(graph->starts);
	return 0;
}

int xf_flamegraph_write(FILE *out, const struct xf_profile *profile,
                        const struct xf_flamegraph_options *options)
{
	struct graph graph = {
	        .out = out, .profile = profile, .tree = profile->tree, .options = options};
	struct xf_calltree *reversed = NULL;
	int code;

	if (options->reverse && xf_calltree_invert(profile->tree, &reversed))
		return -ENOMEM;
	if (reversed)
		graph.tree = reversed;
	code = draw(&graph);
	xf_calltree_free(reversed);
	return code;
}

int xf_flamegraph_write_comparison(FILE *out, const struct xf_comparison *comparison,
                                   const struct xf_flamegraph_options *options)
{
	struct graph graph = {.out = out,
	                      .comparison = comparison,
	                      .tree = comparison->difference->tree,
	                      .options = options};

	return draw(&graph);
}
