// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdio.h>

#include "cmd/host_exit.h"
#include "cmd/options.h"
#include "xen/session.h"

static const struct xf_option options[] = {{0}};

static const char *const help[] = {
        "An agent whose recorder was killed goes quiet by itself within two seconds and takes its",
        "hands off Xen; what stays is a live patch that does nothing. This removes it. The next",
        "recording would, too.",
        NULL,
};

static int detach(void)
{
	struct xf_trace_claim *claim = NULL;
	struct xf_xen *xen = NULL;
	struct xf_error error = {0};
	bool removed = false;
	int result = xf_xen_open(&xen, &error);

	/* Not the agent of a recording that is under way. */
	if (!result)
		result = xf_trace_claim(&claim, &error);
	if (!result)
		result = xf_session_remove_agent(xen, &removed, &error);
	xf_trace_release(claim);
	xf_xen_close(xen);
	if (result)
		return xf_complain(xf_host_exit(&error), "%s", error.text);
	puts(removed ? "removed an agent that was left behind" : "no agent is there");
	return XF_EXIT_OK;
}

static int run(int argc, char **argv)
{
	int status;

	if (!xf_options_read(&xf_command_detach, argc, argv, NULL, &status))
		return status;
	return detach();
}

const struct xf_command xf_command_detach = {
        .name = "detach",
        .synopsis = "",
        .summary = "removes an agent that a killed recorder left behind",
        .help = help,
        .options = options,
        .run = run,
};
