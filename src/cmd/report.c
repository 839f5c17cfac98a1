// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/report_terminal.h"
#include "cmd/view.h"

struct request {
	struct xf_view view;
	struct xf_report_options report;
	bool json;
	bool limited; /* --percent-limit was given */
	bool text;    /* an option that only text has was given */
};

/* The shape of the text: whoever gives it one wants text. */
static struct xf_report_options *report_of(void *request)
{
	((struct request *)request)->text = true;
	return &((struct request *)request)->report;
}

static bool take_output(void *request, const char *value)
{
	((struct request *)request)->text = true;
	return xf_view_take_output(request, value);
}

static bool take_stdio(void *request, const char *value)
{
	(void)value;
	((struct request *)request)->text = true;
	return true;
}

static bool take_views(void *request, const char *value)
{
	static const struct {
		const char *name;
		enum xf_report_view view;
	} views[] = {
	        {"summary", XF_REPORT_SUMMARY},    {"domain", XF_REPORT_SUMMARY},
	        {"function", XF_REPORT_FUNCTIONS}, {"vcpu", XF_REPORT_VCPUS},
	        {"pcpu", XF_REPORT_PCPUS},         {"process", XF_REPORT_PROCESSES},
	        {"kind", XF_REPORT_KINDS},
	};
	struct xf_report_options *report = report_of(request);
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
		xf_complain(
		        0,
		        "--by wants summary, function, domain, vcpu, pcpu, process or kind, several"
		        " of them with commas; not '%s'",
		        value);
	return good;
}

static bool take_graph(void *request, const char *value)
{
	struct xf_report_options *report = report_of(request);

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
	report_of(request)->percent_limit = limit;
	((struct request *)request)->limited = true;
	return true;
}

static bool take_callers(void *request, const char *value)
{
	report_of(request)->callers = value;
	return true;
}

static bool take_callees(void *request, const char *value)
{
	report_of(request)->callees = value;
	return true;
}

static bool take_function(void *request, const char *value)
{
	report_of(request)->function = value;
	return true;
}

static bool take_sort(void *request, const char *value)
{
	if (xf_sort_parse(value, &report_of(request)->sort))
		return true;
	xf_complain(0,
	            "--sort wants self, total, samples, name or kind, several of them with commas;"
	            " not '%s'",
	            value);
	return false;
}

static bool take_format(void *request, const char *value)
{
	struct request *asked = request;

	asked->text = true;
	asked->json = strcmp(value, "json") == 0;
	if (asked->json || strcmp(value, "text") == 0)
		return true;
	xf_complain(0, "--format wants text or json, not '%s'", value);
	return false;
}

static bool take_lines(void *request, const char *value)
{
	uint64_t number;

	if (!xf_option_number("--lines", value, 0, UINT32_MAX, &number))
		return false;
	report_of(request)->lines = (uint32_t)number;
	return true;
}

static const struct xf_option options[] = {
        XF_VIEW_INPUT,
        {"output", 'o', "FILE", "where to write (default: standard output)", take_output},
        {"by", 0, "LIST", "views: summary,function,domain,vcpu,pcpu,process,kind", take_views},
        {"call-graph", 'g', "WAY", "call tree: caller (outermost first) or callee", take_graph},
        {"callers", 0, "NAME", "who calls this function", take_callers},
        {"callees", 0, "NAME", "whom this function calls", take_callees},
        {"function", 0, "NAME", "a function's share, its callers and callees", take_function},
        {"sort", 0, "KEYS", "order of lines: self,total,samples,name,kind", take_sort},
        XF_VIEW_DOMAIN,
        XF_VIEW_PCPU,
        XF_VIEW_INLINES,
        XF_VIEW_DEBUG_FILE,
        {"percent-limit", 0, "P", "leave out lines below that share (default: 0.1)", take_limit},
        {"lines", 'n', "N", "at most so many lines per view (default: all)", take_lines},
        {"format", 0, "FORMAT", "text (default) or json", take_format},
        {"stdio", 0, NULL, "text on a terminal too, without keys", take_stdio},
        {0},
};

static int write_report(const struct xf_view *view, const struct xf_input *input,
                        const struct xf_profile *profile, FILE *out)
{
	const struct request *request = (const struct request *)view;
	struct xf_report_options report = request->report;
	struct xf_error error = {0};
	int code;

	if (!request->text && out == stdout && xf_report_can_draw())
		return xf_report_on_terminal(view, input, profile);
	if (!report.views && !report.callers && !report.callees && !report.function)
		report.views = XF_REPORT_SUMMARY | XF_REPORT_FUNCTIONS;
	/* People want no lines of one sample; a program wants what adds up. */
	if (!request->limited)
		report.percent_limit = request->json ? 0 : 0.1;
	if (request->json)
		code = xf_report_write_json(out, profile, &view->profile, &report, &error);
	else
		code = xf_report_write(out, profile, &report, &error);
	if (code)
		return xf_complain(code == -ENODATA ? XF_EXIT_INPUT : XF_EXIT_FAILURE, "%s: %s",
		                   input->path, error.text);
	return XF_EXIT_OK;
}

static int run(int argc, char **argv)
{
	struct request request = {.view = {.input = XF_DEFAULT_RECORDING,
	                                   .output = "-",
	                                   .profile = XF_PROFILE_DEFAULTS,
	                                   .wants_profile = true,
	                                   .takes_text = true},
	                          .report = {.header = true}};

	return xf_view_run(&xf_command_report, argc, argv, &request.view, write_report);
}

const struct xf_command xf_command_report = {
        .name = "report",
        .synopsis = "[-i FILE] [--by LIST] [-g caller|callee] [--function NAME] ...",
        .summary = "tells where the time went, as text or on the terminal",
        .options = options,
        .help =
                (const char *const[]){
                        "On a terminal it is a view to walk through: '?' tells the keys. Options"
                        " that shape",
                        "text give text, as --stdio does; without --by, -g, --callers, --callees"
                        " and",
                        "--function that is summary and functions. Shares are of all samples,"
                        " idle ticks",
                        "included. Self is time in the function itself, total with all that it"
                        " called. JSON",
                        "leaves nothing out unless told to.", NULL},
        .run = run,
};
