// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd/top_terminal.h"

#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/options.h"
#include "cmd/recorder.h"
#include "terminal/top_screen.h"

struct shown {
	struct xf_top_source *source;
	uint64_t count; /* of intervals, 0: no limit; each is looked at until the next one */
	uint64_t nr;
	uint64_t silence; /* as it was told last, s */
	bool ended;
	struct xf_error error;
};

/* Return: whether there is something to say now. */
static bool note_silence(struct shown *shown, struct xf_top_model *model)
{
	uint64_t seconds = xf_top_source_silence(shown->source);
	char note[64];

	if (!seconds || seconds == shown->silence)
		return false;
	shown->silence = seconds;
	snprintf(note, sizeof(note), "nothing has come for %" PRIu64 " s", seconds);
	xf_top_model_note(model, note);
	return true;
}

static enum xf_top_turn show(struct shown *shown, struct xf_top_model *model,
                             const struct xf_top_moment *moment)
{
	if (shown->count && shown->nr == shown->count)
		return XF_TOP_TURN_LEAVE;
	shown->nr++;
	xf_top_model_note(model, "");
	if (xf_top_model_show(model, moment)) {
		xf_fail(&shown->error, -ENOMEM, "no memory for the view");
		return XF_TOP_TURN_LEAVE;
	}
	return XF_TOP_TURN_DRAW;
}

static enum xf_top_turn turn(void *context, struct xf_top_model *model)
{
	struct shown *shown = context;
	struct xf_top_moment moment;

	if (xf_recorder_interrupted())
		return XF_TOP_TURN_LEAVE;
	if (shown->ended)
		return XF_TOP_TURN_IDLE;
	switch (xf_top_source_turn(shown->source, xf_top_model_delay(model),
	                           xf_top_model_paused(model), &moment, &shown->error)) {
	case XF_TOP_MOMENT:
		return show(shown, model, &moment);
	case XF_TOP_FAILED:
		return XF_TOP_TURN_LEAVE;
	case XF_TOP_ENDED:
		/* Somebody else's end leaves the last picture to look at; that of our own recorder
		   has a reason, which is told behind it. */
		shown->ended = true;
		xf_top_model_note(model, "the recording has ended");
		return shown->source->input ? XF_TOP_TURN_DRAW : XF_TOP_TURN_LEAVE;
	default:
		return note_silence(shown, model) ? XF_TOP_TURN_DRAW : XF_TOP_TURN_IDLE;
	}
}

static int run(struct shown *shown, struct xf_top_model *model, FILE *keyboard)
{
	const char *no_colour = getenv("NO_COLOR"); /* https://no-color.org */
	struct xf_top_terminal terminal = {.out = stdout,
	                                   .keyboard = keyboard,
	                                   .colours = !no_colour || !no_colour[0],
	                                   .turn = turn,
	                                   .context = shown};

	setlocale(LC_CTYPE, "");
	xf_top_terminal_run(&terminal, model, &shown->error);
	if (!shown->error.code)
		return XF_EXIT_OK;
	return xf_complain(xf_top_source_exit(shown->source, &shown->error), "%s",
	                   shown->error.text);
}

int xf_top_on_terminal(struct xf_top_source *source, const struct xf_top_moment *moment,
                       uint64_t delay, uint64_t count)
{
	struct shown shown = {.source = source, .count = count, .nr = 1};
	struct xf_top_model *model = xf_top_model_new(delay);
	bool own = isatty(STDIN_FILENO); /* otherwise the recording may come from there */
	FILE *keyboard = own ? stdin : fopen("/dev/tty", "r");
	int status;

	if (!keyboard)
		status = xf_complain(XF_EXIT_FAILURE,
		                     "cannot read keys from /dev/tty: %s; --batch writes text",
		                     strerror(errno));
	else if (!model || xf_top_model_show(model, moment))
		status = xf_complain(XF_EXIT_FAILURE, "no memory for the view");
	else
		status = run(&shown, model, keyboard);
	if (keyboard && !own)
		fclose(keyboard);
	xf_top_model_free(model);
	return status;
}
