// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/script.h"
#include "cmd/view.h"

static const struct xf_option options[] = {
        XF_VIEW_INPUT,
        XF_VIEW_OUTPUT("where to write (default: standard output)"),
        XF_VIEW_DOMAIN,
        XF_VIEW_PCPU,
        {0},
};

static int write_script(const struct xf_view *view, const struct xf_input *input,
                        const struct xf_profile *profile, FILE *out)
{
	struct xf_error error = {0};

	(void)profile;
	if (xf_script_write(out, input->recording, &view->profile, &error))
		return xf_input_complain(input, &error);
	return XF_EXIT_OK;
}

static int run(int argc, char **argv)
{
	struct xf_view view = {
	        .input = XF_DEFAULT_RECORDING, .output = "-", .profile = XF_PROFILE_DEFAULTS};

	return xf_view_run(&xf_command_script, argc, argv, &view, write_script);
}

const struct xf_command xf_command_script = {
        .name = "script",
        .synopsis = "[-i FILE] [-o FILE] [--domain NAME] [--pcpu N]",
        .summary = "writes every sample as text in the form of perf script",
        .options = options,
        .help =
                (const char *const[]){
                        "Each sample is 'DOMAIN DOMID/VCPU [PCPU] SECONDS: 1 cpu-clock:' and a"
                        " line per frame,",
                        "innermost first; stackcollapse-perf.pl and its relatives read it. Time"
                        " counts from when",
                        "sampling began. An idle tick is a sample with the one frame [idle]; ticks"
                        " are recorded",
                        "in sums, so several bear the time at which their sum was taken.", NULL},
        .run = run,
};
