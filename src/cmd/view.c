// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd/view.h"

#include <stdlib.h>
#include <string.h>

#include "cmd/debug_files.h"

/* ---- Options --------------------------------------------------------------------------------- */

bool xf_view_take_input(void *view, const char *value)
{
	((struct xf_view *)view)->input = value;
	return true;
}

bool xf_view_take_output(void *view, const char *value)
{
	((struct xf_view *)view)->output = value;
	return true;
}

bool xf_view_take_by(void *view, const char *value)
{
	struct xf_profile_options *options = &((struct xf_view *)view)->profile;
	char *copy = strdup(value);
	char *rest = copy;
	const char *word;
	bool good = copy && value[0];

	options->by_domain = options->by_vcpu = options->by_pcpu = options->by_process = false;
	options->processes = strcmp(value, "none") != 0;
	while (good && (word = strsep(&rest, ","))) {
		if (strcmp(word, "domain") == 0)
			options->by_domain = true;
		else if (strcmp(word, "vcpu") == 0)
			options->by_vcpu = true;
		else if (strcmp(word, "pcpu") == 0)
			options->by_pcpu = true;
		else if (strcmp(word, "process") == 0)
			options->by_process = true;
		else
			good = strcmp(value, "none") == 0;
	}
	free(copy);
	if (!good)
		xf_complain(0,
		            "--by wants domain, vcpu, pcpu, process, several of them with commas,"
		            " or none; not '%s'",
		            value);
	return good;
}

bool xf_view_take_domain(void *view, const char *value)
{
	((struct xf_view *)view)->profile.domain = value;
	return true;
}

bool xf_view_take_pcpu(void *view, const char *value)
{
	uint64_t number;

	if (!xf_option_number("--pcpu", value, 0, UINT16_MAX, &number))
		return false;
	((struct xf_view *)view)->profile.pcpu = (uint32_t)number;
	return true;
}

bool xf_view_take_inlines(void *view, const char *value)
{
	(void)value;
	((struct xf_view *)view)->profile.inlines = true;
	return true;
}

bool xf_view_take_debug_file(void *view, const char *value)
{
	((struct xf_view *)view)->debug_file = value;
	return true;
}

/* ---- Writing --------------------------------------------------------------------------------- */

int xf_view_refuse_itself(const char *output)
{
	return xf_complain(XF_EXIT_USAGE,
	                   "%s is the recording itself and would be overwritten; name another"
	                   " output with -o FILE",
	                   strcmp(output, "-") == 0 ? "standard output" : output);
}

static int write_output(const struct xf_view *view, const struct xf_input *input,
                        const struct xf_profile *profile, xf_view_write_t *write)
{
	struct xf_output output;
	int status;

	if (xf_input_is(input, view->output))
		return xf_view_refuse_itself(view->output);
	status = xf_output_open(view->output, &output);
	if (status)
		return status;
	status = write(view, input, profile, output.stream);
	if (!status)
		return xf_output_close(&output);
	xf_output_abandon(&output);
	return status;
}

/* Opens the debug info that @view wants. Return: an exit status. */
static int open_debug_file(const struct xf_view *view, const struct xf_input *input,
                           struct xf_debug_file *file)
{
	bool inlines = view->profile.inlines;

	if (!input->recording)
		return inlines || view->debug_file
		               ? xf_complain(XF_EXIT_INPUT,
		                             "%s: --inlines and --debug-file are about Xen, and"
		                             " want a recording of xenflame's",
		                             input->path)
		               : XF_EXIT_OK;
	if (view->debug_file)
		return xf_debug_file_open(view->debug_file, input, file);
	if (inlines || view->lines)
		xf_debug_file_find(input, inlines || view->lines == XF_LINES_ANYWHERE, file);
	return inlines && !file->debug ? xf_debug_file_refuse(input) : XF_EXIT_OK;
}

static int make(struct xf_view *view, const struct xf_input *input, xf_view_write_t *write)
{
	struct xf_debug_file debug_file = {0};
	struct xf_profile *profile = NULL;
	struct xf_error error = {0};
	int status = view->wants_profile ? open_debug_file(view, input, &debug_file) : XF_EXIT_OK;

	view->profile.debug = debug_file.debug;
	if (!status && view->wants_profile &&
	    xf_input_profile(input, &view->profile, &profile, &error))
		status = xf_input_complain(input, &error);
	if (!status && profile)
		xf_input_remark(input, profile);
	if (!status)
		status = write_output(view, input, profile, write);
	xf_profile_free(profile);
	view->profile.debug = NULL;
	xf_debug_file_close(&debug_file);
	return status;
}

int xf_view_make(struct xf_view *view, xf_view_write_t *write)
{
	struct xf_input input;
	int status = view->takes_text ? xf_input_open_any(view->input, &input)
	                              : xf_input_open(view->input, &input);

	if (!status)
		status = make(view, &input, write);
	xf_input_close(&input);
	return status;
}

int xf_view_run(const struct xf_command *command, int argc, char **argv, struct xf_view *view,
                xf_view_write_t *write)
{
	int status;

	if (!xf_options_read(command, argc, argv, view, &status))
		return status;
	if (view->settle && !view->settle(view))
		return XF_EXIT_USAGE;
	return xf_view_make(view, write);
}
