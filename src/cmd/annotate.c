// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/annotate.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/view.h"
#include "symbol/debug.h"

#define DEBUG_FILE_MAX (1u << 30)

struct request {
	struct xf_view view;
	struct xf_annotate_options annotate;
	const char *name; /* of the function */
	const char *debug_file;
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

static bool take_debug_file(void *request, const char *value)
{
	((struct request *)request)->debug_file = value;
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
        {"debug-file", 0, "FILE", "Xen's debug info, such as a xen-syms: lines of the source",
         take_debug_file},
        {"stdio", 0, NULL, "text, which it is anyway", take_stdio},
        {0},
};

static int recognize_elf(const void *bytes, size_t size, struct xf_error *error)
{
	if (size >= 4 && memcmp(bytes, "\177ELF", 4) == 0)
		return 0;
	return xf_fail(error, -EBADMSG,
	               "not an ELF file; wanted is Xen's debug info, such as a"
	               " xen-syms file");
}

/* Debug info of another build would tell wrong lines, all of them likely. */
static int check_build(const struct xf_input *recording, const struct xf_input *file,
                       const struct xf_debug *debug)
{
	const char *wanted = xf_recording_info(recording->recording, "xen.build-id");
	const char *found = xf_debug_build_id(debug);

	if (!wanted || strcmp(wanted, found) == 0)
		return XF_EXIT_OK;
	return xf_complain(
	        XF_EXIT_INPUT,
	        "%s: of another Xen than the recording: its build-id is %s, wanted is %s",
	        file->path, found[0] ? found : "missing", wanted);
}

static int open_debug_file(const char *path, const struct xf_input *recording,
                           struct xf_input *file, struct xf_debug **debug)
{
	struct xf_error error = {0};
	int status = xf_input_read(path, recognize_elf, DEBUG_FILE_MAX, file);

	if (status)
		return status;
	if (xf_debug_open(file->bytes, file->size, debug, &error))
		return xf_input_complain(file, &error);
	return check_build(recording, file, *debug);
}

static bool find_line(void *context, uint64_t address, const char **file, int *line)
{
	return xf_debug_line(context, address, file, line);
}

static int write_annotation(const struct xf_view *view, const struct xf_input *input,
                            const struct xf_profile *profile, FILE *out)
{
	const struct request *request = (const struct request *)view;
	struct xf_annotate_options annotate = request->annotate;
	struct xf_input file = {0};
	struct xf_debug *debug = NULL;
	struct xf_lines lines = {.find = find_line};
	struct xf_error error = {0};
	int status = XF_EXIT_OK;

	if (request->debug_file)
		status = open_debug_file(request->debug_file, input, &file, &debug);
	lines.context = debug;
	annotate.lines = debug ? &lines : NULL;
	if (!status && xf_annotate_write(out, input->recording, profile, &view->profile,
	                                 request->name, &annotate, &error))
		status = xf_complain(XF_EXIT_FAILURE, "%s: %s", input->path, error.text);
	xf_debug_close(debug);
	xf_input_close(&file);
	return status;
}

static int run(int argc, char **argv)
{
	struct request request = {.view = {.input = XF_DEFAULT_RECORDING,
	                                   .output = "-",
	                                   .profile = XF_PROFILE_DEFAULTS,
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
