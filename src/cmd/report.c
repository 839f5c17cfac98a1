// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/options.h"

enum {
	INPUT,
	OUTPUT,
	BY,
	GRAPH,
	CALLERS,
	CALLEES,
	DOMAIN,
	PCPU,
	LIMIT,
	LINES
};

static const struct xf_option options[] = {
        [INPUT] = {"input", 'i', "FILE", "the recording (default: " XF_DEFAULT_RECORDING ")"},
        [OUTPUT] = {"output", 'o', "FILE", "where to write (default: standard output)"},
        [BY] = {"by", 0, "LIST", "views: summary,function,domain,vcpu,pcpu"},
        [GRAPH] = {"call-graph", 'g', "WAY", "call tree: caller (outermost first) or callee"},
        [CALLERS] = {"callers", 0, "NAME", "who calls this function"},
        [CALLEES] = {"callees", 0, "NAME", "whom this function calls"},
        [DOMAIN] = {"domain", 0, "NAME", "only this domain, by name or number"},
        [PCPU] = {"pcpu", 0, "N", "only this physical CPU"},
        [LIMIT] = {"percent-limit", 0, "P", "leave out lines below that share (default: 0.1)"},
        [LINES] = {"lines", 'n', "N", "at most so many lines per view (default: all)"},
        {0},
};

struct request {
	const char *input;
	const char *output;
	struct xf_profile_options profile;
	struct xf_report_options report;
};

static int write_report(const struct request *request)
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
	if (!status && xf_report_write(output.stream, profile, &request->report, &error)) {
		xf_output_abandon(&output);
		status = xf_complain(XF_EXIT_FAILURE, "%s: %s", input.path, error.text);
	} else if (!status) {
		status = xf_output_close(&output);
	}
	xf_profile_free(profile);
	xf_input_close(&input);
	return status;
}

static bool take_views(const char *value, struct xf_report_options *report)
{
	static const struct {
		const char *name;
		enum xf_report_view view;
	} views[] = {
	        {"summary", XF_REPORT_SUMMARY},    {"domain", XF_REPORT_SUMMARY},
	        {"function", XF_REPORT_FUNCTIONS}, {"vcpu", XF_REPORT_VCPUS},
	        {"pcpu", XF_REPORT_PCPUS},
	};
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

static bool take_graph(const char *value, struct xf_report_options *report)
{
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

static bool take_limit(const char *value, struct xf_report_options *report)
{
	char *end;
	double limit = strtod(value, &end);

	if (end == value || *end || !(limit >= 0 && limit <= 100)) {
		xf_complain(0, "--percent-limit wants a number from 0 to 100, not '%s'", value);
		return false;
	}
	report->percent_limit = limit;
	return true;
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
		return take_views(value, &request->report);
	case GRAPH:
		return take_graph(value, &request->report);
	case CALLERS:
		request->report.callers = value;
		break;
	case CALLEES:
		request->report.callees = value;
		break;
	case DOMAIN:
		request->profile.domain = value;
		break;
	case PCPU:
		return xf_option_pcpu(value, &request->profile);
	case LIMIT:
		return take_limit(value, &request->report);
	case LINES:
		if (!xf_option_number("--lines", value, 0, UINT32_MAX, &number))
			return false;
		request->report.lines = (uint32_t)number;
		break;
	}
	return true;
}

static int run(int argc, char **argv)
{
	struct request request = {.input = XF_DEFAULT_RECORDING,
	                          .output = "-",
	                          .profile = XF_PROFILE_DEFAULTS,
	                          .report = {.header = true, .percent_limit = 0.1}};
	const char *value;
	int option;

	while ((option = xf_options_next(&xf_command_report, argc, argv, &value)) >= 0) {
		if (!take_option(option, value, &request))
			return XF_EXIT_USAGE;
	}
	if (option == XF_OPTIONS_HELPED)
		return XF_EXIT_OK;
	if (option == XF_OPTIONS_WRONG || xf_options_no_arguments(&xf_command_report, argc, argv))
		return XF_EXIT_USAGE;
	if (!request.report.views && !request.report.callers && !request.report.callees)
		request.report.views = XF_REPORT_SUMMARY | XF_REPORT_FUNCTIONS;
	return write_report(&request);
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
