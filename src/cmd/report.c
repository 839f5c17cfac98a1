// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/report.h"

#include <stdlib.h>
#include <string.h>

#include "cmd/view.h"

struct request {
	struct xf_view view;
	struct xf_report_options report;
};

static bool take_views(void *request, const char *value)
{
	static const struct {
		const char *name;
		enum xf_report_view view;
	} views[] = {
	        {"summary", XF_REPORT_SUMMARY},    {"domain", XF_REPORT_SUMMARY},
	        {"function", XF_REPORT_FUNCTIONS}, {"vcpu", XF_REPORT_VCPUS},
	        {"pcpu", XF_REPORT_PCPUS},
	};
	struct xf_report_options *report = &((struct request *)request)->report;
	char *copy = strdup(value);
	char *rest = copy;
	const char *word;
	bool good = copy != NULL;

	while (good && (word = strsep(&rest, ","))) {
		good = false;
		for (size_t i = 0; i < sizeof(views) / sizeof(views[0]); i++) {
			if (strcmp(views[i].name, word) == 0) {
				report->views |= views[i].view;
				good = true;
			}
		}
	}
	free(copy);
	if (!good)
		xf_complain(0,
		            "--by wants summary, function, domain, vcpu or pcpu, several of them"
		            " with commas; not '%s'",
		            value);
	return good;
}

static bool take_graph(void *request, const char *value)
{
	struct xf_report_options *report = &((struct request *)request)->report;

	if (strcmp(value, "caller") == 0)
		report->views |= XF_REPORT_CALLERS_FIRST;
	else if (strcmp(value, "callee") == 0)
		report->views |= XF_REPORT_CALLEES_FIRST;
	else {
		xf_complain(0, "-g wants caller or callee, not '%s'", value);
		return false;
	}
	return true;
}

static bool take_limit(void *request, const char *value)
{
	char *end;
	double limit = strtod(value, &end);

	if (end == value || *end || !(limit >= 0 && limit <= 100)) {
		xf_complain(0, "--percent-limit wants a number from 0 to 100, not '%s'", value);
		return false;
	}
	((struct request *)request)->report.percent_limit = limit;
	return true;
}

static bool take_callers(void *request, const char *value)
{
	((struct request *)request)->report.callers = value;
	return true;
}

static bool take_callees(void *request, const char *value)
{
	((struct request *)request)->report.callees = value;
	return true;
}

static bool take_lines(void *request, const char *value)
{
	uint64_t number;

	if (!xf_option_number("--lines", value, 0, UINT32_MAX, &number))
		return false;
	((struct request *)request)->report.lines = (uint32_t)number;
	return true;
}

static const struct xf_option options[] = {
        XF_VIEW_INPUT,
        XF_VIEW_OUTPUT("where to write (default: standard output)"),
        {"by", 0, "LIST", "views: summary,function,domain,vcpu,pcpu", take_views},
        {"call-graph", 'g', "WAY", "call tree: caller (outermost first) or callee", take_graph},
        {"callers", 0, "NAME", "who calls this function", take_callers},
        {"callees", 0, "NAME", "whom this function calls", take_callees},
        XF_VIEW_DOMAIN,
        XF_VIEW_PCPU,
        {"percent-limit", 0, "P", "leave out lines below that share (default: 0.1)", take_limit},
        {"lines", 'n', "N", "at most so many lines per view (default: all)", take_lines},
        {0},
};

static int write_report(const struct xf_view *view, const struct xf_input *input,
                        const struct xf_profile *profile, FILE *out)
{
	struct xf_report_options report = ((const struct request *)view)->report;
	struct xf_error error = {0};

	if (!report.views && !report.callers && !report.callees)
		report.views = XF_REPORT_SUMMARY | XF_REPORT_FUNCTIONS;
	if (xf_report_write(out, profile, &report, &error))
		return xf_complain(XF_EXIT_FAILURE, "%s: %s", input->path, error.text);
	return XF_EXIT_OK;
}

static int run(int argc, char **argv)
{
	struct request request = {.view = {.input = XF_DEFAULT_RECORDING,
	                                   .output = "-",
	                                   .profile = XF_PROFILE_DEFAULTS,
	                                   .wants_profile = true},
	                          .report = {.header = true, .percent_limit = 0.1}};

	return xf_view_run(&xf_command_report, argc, argv, &request.view, write_report);
}

const struct xf_command xf_command_report = {
        .name = "report",
        .synopsis = "[-i FILE] [--by LIST] [-g caller|callee] [--callers NAME] ...",
        .summary = "tells as text where the time went",
        .options = options,
        .help = (const char *const[]){"Without --by, -g, --callers and --callees: summary and "
                                      "functions. Shares are of"
                                      " all",
                                      "samples, idle ticks included. Self is time in the function "
                                      "itself, total with"
                                      " all that it",
                                      "called.", NULL},
        .run = run,
};
