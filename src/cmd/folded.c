// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/folded.h"
#include "cmd/view.h"

static const struct xf_option options[] = {
        XF_VIEW_INPUT,      XF_VIEW_OUTPUT("where to write (default: standard output)"),
        XF_VIEW_BY,         XF_VIEW_DOMAIN,
        XF_VIEW_PCPU,       XF_VIEW_INLINES,
        XF_VIEW_DEBUG_FILE, {0},
};

static int write_folded(const struct xf_view *view, const struct xf_input *input,
                        const struct xf_profile *profile, FILE *out)
{
	(void)view;
	(void)input;
	if (xf_folded_write(out, profile))
		return xf_complain(XF_EXIT_FAILURE, "no memory for the folded stacks");
	return XF_EXIT_OK;
}

static int run(int argc, char **argv)
{
	struct xf_view view = {.input = XF_DEFAULT_RECORDING,
	                       .output = "-",
	                       .profile = XF_PROFILE_DEFAULTS,
	                       .wants_profile = true,
	                       .takes_text = true};

	return xf_view_run(&xf_command_folded, argc, argv, &view, write_folded);
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
