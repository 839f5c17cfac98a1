// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/flamegraph.h"
#include "cmd/options.h"

enum {
	INPUT,
	OUTPUT,
	BY,
	DOMAIN,
	PCPU,
	TITLE,
	WIDTH
};

static const struct xf_option options[] = {
        [INPUT] = {"input", 'i', "FILE", "the recording (default: " XF_DEFAULT_RECORDING ")"},
        [OUTPUT] = {"output", 'o', "FILE",
                    "where to write (default: xenflame.svg; -: standard output)"},
        [BY] = {"by", 0, "LIST", "lowest frames: domain,vcpu,pcpu or none (default: domain)"},
        [DOMAIN] = {"domain", 0, "NAME", "only this domain, by name or number"},
        [PCPU] = {"pcpu", 0, "N", "only this physical CPU"},
        [TITLE] = {"title", 0, "TEXT", "instead of the title that names the host"},
        [WIDTH] = {"width", 0, "PIXELS", "width where no script runs (default: 1200)"},
        {0},
};

struct request {
	const char *input;
	const char *output;
	struct xf_profile_options profile;
	struct xf_flamegraph_options graph;
};

static int write_flamegraph(const struct request *request)
{
	struct xf_profile *profile = NULL;
	struct xf_error error = {0};
	struct xf_output output;
	struct xf_input input;
	int status = xf_input_open(request->input, &input);

	if (!status && xf_profile_build(input.recording, &request->profile, &profile, &error))
		status = xf_input_complain(&input, &error);
	if (!status)
		status = xf_output_open(request->output, &output);
	if (!status && xf_flamegraph_write(output.stream, profile, &request->graph)) {
		xf_output_abandon(&output);
		status = xf_complain(XF_EXIT_FAILURE, "no memory for the flame graph");
	} else if (!status) {
		status = xf_output_close(&output);
	}
	xf_profile_free(profile);
	xf_input_close(&input);
	return status;
}

/* Return: whether @value makes sense for @option. */
static bool take_option(int option, const char *value, struct request *request)
{
	uint64_t number;

	switch (option) {
	case INPUT:
		request->input = value;
		break;
	case OUTPUT:
		request->output = value;
		break;
	case BY:
		return xf_option_by(value, &request->profile);
	case DOMAIN:
		request->profile.domain = value;
		break;
	case PCPU:
		return xf_option_pcpu(value, &request->profile);
	case TITLE:
		request->graph.title = value;
		break;
	case WIDTH:
		if (!xf_option_number("--width", value, 300, 20000, &number))
			return false;
		request->graph.width = (uint32_t)number;
		break;
	}
	return true;
}

static int run(int argc, char **argv)
{
	struct request request = {.input = XF_DEFAULT_RECORDING,
	                          .output = "xenflame.svg",
	                          .profile = XF_PROFILE_DEFAULTS,
	                          .graph = XF_FLAMEGRAPH_DEFAULTS};
	const char *value;
	int option;

	while ((option = xf_options_next(&xf_command_flamegraph, argc, argv, &value)) >= 0) {
		if (!take_option(option, value, &request))
			return XF_EXIT_USAGE;
	}
	if (option == XF_OPTIONS_HELPED)
		return XF_EXIT_OK;
	if (option == XF_OPTIONS_WRONG ||
	    xf_options_no_arguments(&xf_command_flamegraph, argc, argv))
		return XF_EXIT_USAGE;
	return write_flamegraph(&request);
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
