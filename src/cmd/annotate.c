// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/annotate.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/debug_files.h"
#include "cmd/source_files.h"
#include "cmd/view.h"

struct request {
	struct xf_view view;
	struct xf_annotate_options annotate;
	const char *name;   /* of the function */
	const char *source; /* the directory */
};

static bool take_limit(void *request, const char *value)
{
	char *end;
	double limit = strtod(value, &end);

	if (end == value || *end || !(limit >= 0 && limit <= 100)) {
		xf_complain(0, "--percent-limit wants a number from 0 to 100, not '%s'", value);
		return false;
	}
	((struct request *)request)->annotate.percent_limit = limit;
	return true;
}

static bool take_source(void *request, const char *value)
{
	((struct request *)request)->source = value;
	return true;
}

/* Text is all that there is. */
static bool take_stdio(void *request, const char *value)
{
	(void)request;
	(void)value;
	return true;
}

static const struct xf_option options[] = {
        XF_VIEW_INPUT,
        XF_VIEW_OUTPUT("where to write (default: standard output)"),
        XF_VIEW_DOMAIN,
        XF_VIEW_PCPU,
        {"percent-limit", 'l', "P", "leave out instructions below that share (default: 0)",
         take_limit},
        XF_VIEW_DEBUG_FILE,
        {"source", 0, "DIR", "where Xen's source is: its lines are shown, too", take_source},
        {"stdio", 0, NULL, "text, which it is anyway", take_stdio},
        {0},
};

/* Lines of the source are found by debug info alone. */
static int check_source(const struct request *request, const struct xf_input *input)
{
	struct stat status;

	if (stat(request->source, &status) == 0 && !S_ISDIR(status.st_mode))
		errno = ENOTDIR;
	else if (access(request->source, R_OK | X_OK) == 0)
		return request->view.profile.debug ? XF_EXIT_OK : xf_debug_file_refuse(input);
	return xf_complain(XF_EXIT_INPUT, "cannot open %s: %s", request->source, strerror(errno));
}

static int write_annotation(const struct xf_view *view, const struct xf_input *input,
                            const struct xf_profile *profile, FILE *out)
{
	const struct request *request = (const struct request *)view;
	struct xf_annotate_options annotate = request->annotate;
	struct xf_source_files *files = NULL;
	struct xf_source_text text;
	struct xf_error error = {0};
	int status = XF_EXIT_OK;

	annotate.debug = view->profile.debug;
	if (request->source)
		status = check_source(request, input);
	if (status)
		return status;
	if (request->source)
		files = xf_source_files_new(request->source, &text);
	annotate.text = files ? &text : NULL;
	if (xf_annotate_write(out, input->recording, profile, &view->profile, request->name,
	                      &annotate, &error))
		status = xf_complain(XF_EXIT_FAILURE, "%s: %s", input->path, error.text);
	xf_source_files_free(files);
	return status;
}

static int run(int argc, char **argv)
{
	struct request request = {.view = {.input = XF_DEFAULT_RECORDING,
	                                   .output = "-",
	                                   .profile = XF_PROFILE_DEFAULTS,
	                                   .lines = XF_LINES_ANYWHERE,
	                                   .wants_profile = true}};
	int status;

	if (!xf_options_read(&xf_command_annotate, argc, argv, &request, &status))
		return status;
	if (optind < argc)
		request.name = argv[optind++];
	/* Options may stand behind the name too. */
	if (!xf_options_read(&xf_command_annotate, argc, argv, &request, &status))
		return status;
	if (!request.name || optind < argc)
		return xf_complain(XF_EXIT_USAGE,
		                   "annotate wants the name of one function;"
		                   " 'xenflame report --by function' lists those that took time");
	return xf_view_make(&request.view, write_annotation);
}

const struct xf_command xf_command_annotate = {
        .name = "annotate",
        .synopsis = "[-i FILE] [-l P] [--domain NAME] [--pcpu N] SYMBOL",
        .summary = "shows the instructions of a function of Xen's, with their shares",
        .options = options,
        .help =
                (const char *const[]){
                        "SYMBOL is a function's name, with or without the file before the '#'."
                        " An address is",
                        "that of the instruction that the NMI interrupted: it was the next to run,"
                        " and what took",
                        "the time often stands before it.", NULL},
        .takes_arguments = true,
        .run = run,
};
