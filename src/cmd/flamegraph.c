// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/flamegraph.h"
#include "cmd/view.h"

struct request {
	struct xf_view view;
	struct xf_flamegraph_options graph;
};

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

static const struct xf_option options[] = {
        XF_VIEW_INPUT,
        XF_VIEW_OUTPUT("where to write (default: xenflame.svg; -: standard output)"),
        XF_VIEW_BY,
        XF_VIEW_DOMAIN,
        XF_VIEW_PCPU,
        {"title", 0, "TEXT", "instead of the title that names the host", take_title},
        {"width", 0, "PIXELS", "width where no script runs (default: 1200)", take_width},
        {0},
};

static int write_flamegraph(const struct xf_view *view, const struct xf_input *input,
                            const struct xf_profile *profile, FILE *out)
{
	const struct request *request = (const struct request *)view;

	(void)input;
	if (xf_flamegraph_write(out, profile, &request->graph))
		return xf_complain(XF_EXIT_FAILURE, "no memory for the flame graph");
	return XF_EXIT_OK;
}

static int run(int argc, char **argv)
{
	struct request request = {.view = {.input = XF_DEFAULT_RECORDING,
	                                   .output = "xenflame.svg",
	                                   .profile = XF_PROFILE_DEFAULTS,
	                                   .wants_profile = true},
	                          .graph = XF_FLAMEGRAPH_DEFAULTS};

	return xf_view_run(&xf_command_flamegraph, argc, argv, &request.view, write_flamegraph);
}

const struct xf_command xf_command_flamegraph = {
        .name = "flamegraph",
        .synopsis = "[-i FILE] [-o FILE] [--by LIST] [--domain NAME] [--pcpu N]",
        .summary = "draws an interactive flame graph (SVG)",
        .options = options,
        .help =
                (const char *const[]){
                        "Open it in a browser. A frame's width is its share of all samples; click "
                        "one"
                        " to zoom,",
                        "/ searches, Esc resets, arrow keys and Enter walk. Frames narrower than a "
                        "tenth"
                        " of a",
                        "pixel are not drawn; their samples are in the frames below them.", NULL},
        .run = run,
};
