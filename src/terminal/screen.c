// SPDX-License-Identifier: GPL-2.0-or-later
#include "terminal/screen.h"

#include <errno.h>

#include "terminal/canvas.h"
#include "terminal/model.h"

/* Beside the lines there are: host, samples, quality, pages, heads; status. */
#define HEAD_ROWS   5
#define STATUS_ROWS 1

/* ---- Lines ----------------------------------------------------------------------------------- */

static void draw_lines(struct xf_canvas *canvas, const struct xf_model *model,
                       const struct xf_model_screen *shown)
{
	size_t rows = (size_t)(canvas->rows - HEAD_ROWS - STATUS_ROWS);

	for (size_t i = 0; i < rows && shown->top + i < shown->nr; i++) {
		struct xf_model_line line;

		xf_model_line(model, shown->top + i, &line);
		xf_canvas_move(canvas, HEAD_ROWS + (int)i);
		xf_canvas_line(canvas, &line, shown->top + i == shown->selected, shown->shift);
	}
}

/* ---- Head and foot --------------------------------------------------------------------------- */

static void draw_head(struct xf_canvas *canvas, const struct xf_model_screen *shown)
{
	char text[640];

	xf_canvas_style(canvas, XF_STYLE_BOLD);
	xf_canvas_move(canvas, 0);
	xf_canvas_text(canvas, shown->facts->host, 0);
	xf_canvas_style(canvas, XF_STYLE_PLAIN);
	xf_canvas_text(canvas, "  ", 0);
	xf_canvas_text(canvas, shown->facts->recorded, 0);
	xf_canvas_move(canvas, 1);
	snprintf(text, sizeof(text), "Samples %s", shown->facts->samples);
	xf_canvas_text(canvas, text, 0);
	if (shown->selection[0]) {
		xf_canvas_style(canvas, XF_STYLE_BOLD);
		xf_canvas_text(canvas, "  only ", 0);
		xf_canvas_text(canvas, shown->selection, 0);
		xf_canvas_style(canvas, XF_STYLE_PLAIN);
	}
	xf_canvas_move(canvas, 2);
	xf_canvas_text(canvas, "Quality ", 0);
	xf_canvas_text(canvas, shown->facts->quality, 0);
	if (shown->facts->notes[0]) {
		xf_canvas_text(canvas, "; ", 0);
		xf_canvas_text(canvas, shown->facts->notes, 0);
	}
}

static void draw_pages(struct xf_canvas *canvas, const struct xf_model_screen *shown)
{
	static const char *const names[XF_PAGES] = {
	        [XF_PAGE_FUNCTIONS] = "1 Functions", [XF_PAGE_SANDWICH] = "2 Callers, callees",
	        [XF_PAGE_TREE] = "3 Call tree",      [XF_PAGE_BREAKDOWN] = "4 Domains, CPUs",
	        [XF_PAGE_HELP] = "? Help",
	};

	xf_canvas_move(canvas, 3);
	xf_canvas_pages(canvas, names, XF_PAGES, shown->page);
	xf_canvas_style(canvas, XF_STYLE_UNDERLINED);
	xf_canvas_move(canvas, 4);
	xf_canvas_text(canvas, shown->heads, 0);
	xf_canvas_style(canvas, XF_STYLE_PLAIN);
}

static const char *hints(enum xf_page page)
{
	switch (page) {
	case XF_PAGE_FUNCTIONS:
		return "Enter callers and callees  / filter  s order  ? help  q quit";
	case XF_PAGE_SANDWICH:
		return "Enter go there  / filter  s order  Esc back  ? help  q quit";
	case XF_PAGE_TREE:
		return "Enter open  e all  i turn over  / filter  ? help  q quit";
	case XF_PAGE_BREAKDOWN:
		return "Enter only this one  / filter  Esc back  ? help  q quit";
	default:
		return "Esc back  q quit";
	}
}

static void draw_status(struct xf_canvas *canvas, const struct xf_model_screen *shown)
{
	xf_canvas_move(canvas, canvas->rows - 1);
	xf_canvas_style(canvas, XF_STYLE_BOLD);
	if (shown->typing || shown->filter[0]) {
		xf_canvas_text(canvas, "/", 0);
		xf_canvas_text(canvas, shown->filter, 0);
		xf_canvas_text(canvas, shown->typing ? "_  " : "  ", 0);
	}
	xf_canvas_style(canvas, XF_STYLE_PLAIN);
	xf_canvas_text(canvas, shown->status, 0);
	xf_canvas_text(canvas, shown->status[0] ? "  " : "", 0);
	if (canvas->rows < XF_GOOD_ROWS || canvas->columns < XF_GOOD_COLUMNS)
		xf_canvas_text(canvas, "(80x24 shows more)  ", 0);
	if (!shown->typing)
		xf_canvas_text(canvas, hints(shown->page), 0);
}

static void draw(struct xf_canvas *canvas, struct xf_model *model)
{
	struct xf_model_screen shown;

	if (xf_canvas_begin(canvas)) {
		xf_model_resize(model, (size_t)(canvas->rows - HEAD_ROWS - STATUS_ROWS));
		xf_model_screen(model, &shown);
		draw_head(canvas, &shown);
		draw_pages(canvas, &shown);
		draw_lines(canvas, model, &shown);
		draw_status(canvas, &shown);
	}
	xf_canvas_end(canvas);
}

/* ---- Beginning and end ----------------------------------------------------------------------- */

static int show_selection(const struct xf_terminal *terminal, struct xf_model *model,
                          struct xf_error *error)
{
	const struct xf_profile *profile;
	int code = terminal->build(terminal->context, xf_model_selection(model), &profile, error);

	if (code)
		return code;
	return xf_model_show(model, profile) ? xf_fail(error, -ENOMEM, "no memory for the report")
	                                     : 0;
}

static int run(const struct xf_terminal *terminal, struct xf_canvas *canvas, struct xf_model *model,
               struct xf_error *error)
{
	enum xf_wish wish = XF_WISH_DRAW;
	uint32_t key;
	int code = 0;

	while (!code && wish != XF_WISH_LEAVE) {
		draw(canvas, model);
		if (xf_canvas_key(canvas, -1, &key) != XF_PRESSED_KEY)
			break;
		wish = xf_model_press(model, key);
		if (wish == XF_WISH_GIVE_UP)
			code = xf_fail(error, -ENOMEM, "no memory for the report");
		if (wish == XF_WISH_PROFILE)
			code = show_selection(terminal, model, error);
	}
	return code;
}

int xf_terminal_run(const struct xf_terminal *terminal, const struct xf_profile *profile,
                    const struct xf_profile_options *selection, struct xf_error *error)
{
	struct xf_model *model;
	struct xf_canvas canvas;
	int code;

	if (xf_model_new(profile, selection, &model))
		return xf_fail(error, -ENOMEM, "no memory for the report");
	if (!xf_canvas_open(terminal->out, terminal->keyboard, terminal->colours, &canvas)) {
		xf_model_free(model);
		return xf_fail(error, -ENOTTY, "cannot draw on this terminal; --stdio writes text");
	}
	code = run(terminal, &canvas, model, error);
	xf_canvas_close();
	xf_model_free(model);
	return code;
}
