// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/folded.h"
#include "cmd/options.h"

enum {
	INPUT,
	OUTPUT,
	BY,
	DOMAIN,
	PCPU
};

static const struct xf_option options[] = {
        [INPUT] = {"input", 'i', "FILE", "the recording (default: " XF_DEFAULT_RECORDING ")"},
        [OUTPUT] = {"output", 'o', "FILE", "where to write (default: standard output)"},
        [BY] = {"by", 0, "LIST", "lowest frames: domain,vcpu,pcpu or none (default: domain)"},
        [DOMAIN] = {"domain", 0, "NAME", "only this domain, by name or number"},
        [PCPU] = {"pcpu", 0, "N", "only this physical CPU"},
        {0},
};

static int write_folded(const char *input_path, const char *output_path,
                        const struct xf_profile_options *profile_options)
{
	struct xf_profile *profile = NULL;
	struct xf_error error = {0};
	struct xf_output output;
	struct xf_input input;
	int status = xf_input_open(input_path, &input);

	if (!status && xf_profile_build(input.recording, profile_options, &profile, &error))
		status = xf_input_complain(&input, &error);
	if (!status)
		status = xf_output_open(output_path, &output);
	if (!status && xf_folded_write(output.stream, profile)) {
		xf_output_abandon(&output);
		status = xf_complain(XF_EXIT_FAILURE, "no memory for the folded stacks");
	} else if (!status) {
		status = xf_output_close(&output);
	}
	xf_profile_free(profile);
	xf_input_close(&input);
	return status;
}

static int run(int argc, char **argv)
{
	struct xf_profile_options profile_options = XF_PROFILE_DEFAULTS;
	const char *input = XF_DEFAULT_RECORDING;
	const char *output = "-";
	const char *value;
	bool good = true;
	int option;

	while (good && (option = xf_options_next(&xf_command_folded, argc, argv, &value)) >= 0) {
		switch (option) {
		case INPUT:
			input = value;
			break;
		case OUTPUT:
			output = value;
			break;
		case BY:
			good = xf_option_by(value, &profile_options);
			break;
		case DOMAIN:
			profile_options.domain = value;
			break;
		case PCPU:
			good = xf_option_pcpu(value, &profile_options);
			break;
		}
	}
	if (!good || option == XF_OPTIONS_WRONG)
		return XF_EXIT_USAGE;
	if (option == XF_OPTIONS_HELPED)
		return XF_EXIT_OK;
	if (xf_options_no_arguments(&xf_command_folded, argc, argv))
		return XF_EXIT_USAGE;
	return write_folded(input, output, &profile_options);
}

const struct xf_command xf_command_folded = {
        .name = "folded",
        .synopsis = "[-i FILE] [-o FILE] [--by LIST] [--domain NAME] [--pcpu N]",
        .summary = "writes folded stacks: one line of frames and a count per distinct stack",
        .options = options,
        .help = (const char *const[]){"flamegraph.pl, inferno, speedscope and others read it.",
                                      "A ';' in a name is written as \\x3b.", NULL},
        .run = run,
};
