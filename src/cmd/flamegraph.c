// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "cmd/graph_options.h"
#include "output/flamegraph.h"
#include "output/page.h"

struct request {
	struct xf_graph_request common;
	bool html;
};

static const char default_svg[] = "xenflame.svg";
static const char default_html[] = "xenflame.html";

static bool take_html(void *context, const char *value)
{
	struct request *request = context;

	(void)value;
	request->html = true;
	request->common.view.profile.timeline = XF_TIMELINE_NEEDED;
	request->common.view.lines = XF_LINES_HERE;
	if (request->common.view.output == default_svg)
		request->common.view.output = default_html;
	return true;
}

static bool take_colors(void *request, const char *value)
{
	static const char *const names[] = {[XF_COLORS_KIND] = "kind",
	                                    [XF_COLORS_DOMAIN] = "domain",
	                                    [XF_COLORS_GREY] = "grey"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(names[i], value) == 0) {
			((struct request *)request)->common.graph.colors =
			        (enum xf_flamegraph_colors)i;
			return true;
		}
	}
	xf_complain(0, "--colors wants kind, domain or grey, not '%s'", value);
	return false;
}

static const struct xf_option options[] = {
        XF_VIEW_INPUT,
        XF_VIEW_OUTPUT("where to write (default: xenflame.svg, .html; -: standard output)"),
        {"html", 0, NULL, "a page with time, filters and more views, instead of an SVG", take_html},
        XF_VIEW_BY,
        XF_VIEW_DOMAIN,
        XF_VIEW_PCPU,
        XF_GRAPH_TITLE,
        XF_GRAPH_WIDTH,
        XF_GRAPH_MIN_WIDTH,
        {"colors", 0, "WAY", "SVG: by kind, domain or grey (default: kind)", take_colors},
        XF_GRAPH_REVERSE,
        XF_GRAPH_INVERTED,
        XF_VIEW_INLINES,
        XF_VIEW_DEBUG_FILE,
        {0},
};

static int write_flamegraph(const struct xf_view *view, const struct xf_input *input,
                            const struct xf_profile *profile, FILE *out)
{
	const struct request *request = (const struct request *)view;
	const struct xf_page_options page = {.title = request->common.graph.title,
	                                     .icicle = request->common.graph.inverted,
	                                     .callers = request->common.graph.reverse};

	(void)input;
	if (request->html ? xf_page_write(out, profile, &page)
	                  : xf_flamegraph_write(out, profile, &request->common.graph))
		return xf_complain(XF_EXIT_FAILURE, "no memory for the flame graph");
	return XF_EXIT_OK;
}

static int run(int argc, char **argv)
{
	struct request request = {.common = {.view = {.input = XF_DEFAULT_RECORDING,
	                                              .output = default_svg,
	                                              .profile = XF_PROFILE_DEFAULTS,
	                                              .wants_profile = true,
	                                              .takes_text = true},
	                                     .graph = XF_FLAMEGRAPH_DEFAULTS}};

	return xf_view_run(&xf_command_flamegraph, argc, argv, &request.common.view,
	                   write_flamegraph);
}

const struct xf_command xf_command_flamegraph = {
        .name = "flamegraph",
        .synopsis = "[--html] [-i FILE] [-o FILE] [--by LIST] [--domain NAME] [--pcpu N] ...",
        .summary = "draws an interactive flame graph (SVG or HTML)",
        .options = options,
        .help = (const char *const[]){"Open it in a browser. A frame's width is its share of all "
                                      "samples; click one to zoom,",
                                      "/ searches, Esc resets, arrow keys and Enter walk; the page "
                                      "tells more keys on ?.",
                                      "Frames that are too narrow to be seen are not drawn; their "
                                      "samples are in the frames",
                                      "below them.", NULL},
        .run = run,
};
