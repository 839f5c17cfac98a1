// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd/report_terminal.h"

#include <errno.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "terminal/screen.h"

/* The profile that is shown, where it is not the one to begin with. */
struct shown {
	const struct xf_input *input;
	struct xf_profile *profile;
};

static int build(void *context, const struct xf_profile_options *selection,
                 const struct xf_profile **profile, struct xf_error *error)
{
	struct shown *shown = context;
	int code;

	xf_profile_free(shown->profile);
	shown->profile = NULL;
	code = xf_input_profile(shown->input, selection, &shown->profile, error);
	*profile = shown->profile;
	return code;
}

bool xf_report_can_draw(void)
{
	return isatty(STDOUT_FILENO) && xf_terminal_can_draw(STDOUT_FILENO);
}

int xf_report_on_terminal(const struct xf_view *view, const struct xf_input *input,
                          const struct xf_profile *profile)
{
	struct shown shown = {.input = input};
	const char *no_colour = getenv("NO_COLOR"); /* https://no-color.org */
	struct xf_error error = {0};
	bool own = isatty(STDIN_FILENO); /* otherwise the recording may come from there */
	struct xf_terminal terminal = {.out = stdout,
	                               .keyboard = own ? stdin : fopen("/dev/tty", "r"),
	                               .colours = !no_colour || !no_colour[0],
	                               .build = build,
	                               .context = &shown};
	int code;

	if (!terminal.keyboard)
		return xf_complain(XF_EXIT_FAILURE,
		                   "cannot read keys from /dev/tty: %s; --stdio writes text",
		                   strerror(errno));
	setlocale(LC_CTYPE, "");
	code = xf_terminal_run(&terminal, profile, &view->profile, &error);
	if (!own)
		fclose(terminal.keyboard);
	xf_profile_free(shown.profile);
	if (code)
		return xf_complain(XF_EXIT_FAILURE, "%s: %s", input->path, error.text);
	return XF_EXIT_OK;
}
