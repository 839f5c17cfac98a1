// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/flamegraph.h"

#include <stdlib.h>
#include <string.h>

#include "cmd/view.h"
#include "output/page.h"

struct request {
	struct xf_view view;
	struct xf_flamegraph_options graph;
	bool html;
};

static const char default_svg[] = "xenflame.svg";
static const char default_html[] = "xenflame.html";

static bool take_html(void *context, const char *value)
{
	struct request *request = context;

	(void)value;
	request->html = true;
	request->view.profile.timeline = true;
	if (request->view.output == default_svg)
		request->view.output = default_html;
	return true;
}

static bool take_title(void *request, const char *value)
{
	((struct request *)request)->graph.title = value;
	return true;
}

static bool take_width(void *request, const char *value)
{
	uint64_t number;

	if (!xf_option_number("--width", value, 300, 20000, &number))
		return false;
	((struct request *)request)->graph.width = (uint32_t)number;
	return true;
}

static bool take_min_width(void *request, const char *value)
{
	char *end;
	double width = strtod(value, &end);

	if (end == value || *end || !(width >= 0 && width <= 1000)) {
		xf_complain(0, "--min-width wants a number of pixels from 0 to 1000, not '%s'",
		            value);
		return false;
	}
	((struct request *)request)->graph.min_width = width;
	return true;
}

static bool take_colors(void *request, const char *value)
{
	static const char *const names[] = {[XF_COLORS_KIND] = "kind",
	                                    [XF_COLORS_DOMAIN] = "domain",
	                                    [XF_COLORS_GREY] = "grey"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(names[i], value) == 0) {
			((struct request *)request)->graph.colors = (enum xf_flamegraph_colors)i;
			return true;
		}
	}
	xf_complain(0, "--colors wants kind, domain or grey, not '%s'", value);
	return false;
}

static bool take_reverse(void *request, const char *value)
{
	(void)value;
	((struct request *)request)->graph.reverse = true;
	return true;
}

static bool take_inverted(void *request, const char *value)
{
	(void)value;
	((struct request *)request)->graph.inverted = true;
	return true;
}

static const struct xf_option options[] = {
        XF_VIEW_INPUT,
        XF_VIEW_OUTPUT("where to write (default: xenflame.svg, .html; -: standard output)"),
        {"html", 0, NULL, "a page with time, filters and more views, instead of an SVG", take_html},
        XF_VIEW_BY,
        XF_VIEW_DOMAIN,
        XF_VIEW_PCPU,
        {"title", 0, "TEXT", "instead of the title that names the host", take_title},
        {"width", 0, "PIXELS", "SVG: width where no script runs (default: 1200)", take_width},
        {"min-width", 0, "PIXELS", "SVG: leave out narrower frames (default: 0.1)", take_min_width},
        {"colors", 0, "WAY", "SVG: by kind, domain or grey (default: kind)", take_colors},
        {"reverse", 0, NULL, "innermost functions first, then their callers", take_reverse},
        {"inverted", 0, NULL, "icicle: callers on top, callees below", take_inverted},
        {0},
};

static int write_flamegraph(const struct xf_view *view, const struct xf_input *input,
                            const struct xf_profile *profile, FILE *out)
{
	const struct request *request = (const struct request *)view;
	const struct xf_page_options page = {.title = request->graph.title,
	                                     .icicle = request->graph.inverted,
	                                     .callers = request->graph.reverse};

	(void)input;
	if (request->html ? xf_page_write(out, profile, &page)
	                  : xf_flamegraph_write(out, profile, &request->graph))
		return xf_complain(XF_EXIT_FAILURE, "no memory for the flame graph");
	return XF_EXIT_OK;
}

static int run(int argc, char **argv)
{
	struct request request = {.view = {.input = XF_DEFAULT_RECORDING,
	                                   .output = default_svg,
	                                   .profile = XF_PROFILE_DEFAULTS,
	                                   .wants_profile = true},
	                          .graph = XF_FLAMEGRAPH_DEFAULTS};

	return xf_view_run(&xf_command_flamegraph, argc, argv, &request.view, write_flamegraph);
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
