// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/script.h"
#include "cmd/options.h"

enum {
	INPUT,
	OUTPUT,
	DOMAIN,
	PCPU
};

static const struct xf_option options[] = {
        [INPUT] = {"input", 'i', "FILE", "the recording (default: " XF_DEFAULT_RECORDING ")"},
        [OUTPUT] = {"output", 'o', "FILE", "where to write (default: standard output)"},
        [DOMAIN] = {"domain", 0, "NAME", "only this domain, by name or number"},
        [PCPU] = {"pcpu", 0, "N", "only this physical CPU"},
        {0},
};

static int write_script(const char *input_path, const char *output_path,
                        const struct xf_profile_options *profile_options)
{
	struct xf_error error = {0};
	struct xf_output output;
	struct xf_input input;
	int status = xf_input_open(input_path, &input);

	if (!status)
		status = xf_output_open(output_path, &output);
	if (status) {
		xf_input_close(&input);
		return status;
	}
	if (xf_script_write(output.stream, input.recording, profile_options, &error)) {
		xf_output_abandon(&output);
		status = xf_input_complain(&input, &error);
	} else {
		status = xf_output_close(&output);
	}
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

	while (good && (option = xf_options_next(&xf_command_script, argc, argv, &value)) >= 0) {
		switch (option) {
		case INPUT:
			input = value;
			break;
		case OUTPUT:
			output = value;
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
	if (xf_options_no_arguments(&xf_command_script, argc, argv))
		return XF_EXIT_USAGE;
	return write_script(input, output, &profile_options);
}

const struct xf_command xf_command_script = {
        .name = "script",
        .synopsis = "[-i FILE] [-o FILE] [--domain NAME] [--pcpu N]",
        .summary = "writes every sample as text in the form of perf script",
        .options = options,
        .help =
                (const char *const[]){
                        "Each sample is 'DOMAIN DOMID/VCPU [PCPU] SECONDS: 1 cpu-clock:' and a "
                        "line per"
                        " frame,",
                        "innermost first; stackcollapse-perf.pl and its relatives read it. Time "
                        "counts"
                        " from the",
                        "recording's start. An idle tick is a sample with the one frame [idle]; "
                        "ticks"
                        " are recorded",
                        "in sums, so several bear the time at which their sum was taken.", NULL},
        .run = run,
};
