// SPDX-License-Identifier: GPL-2.0-or-later
#include "terminal/top_screen.h"

#include <errno.h>

#include "terminal/canvas.h"

/* Beside the lines there are: title, samples, quality, cost, pages; status. */
#define HEAD_ROWS   5
#define STATUS_ROWS 1
#define WAIT_MS     100

static void draw_fact(struct xf_canvas *canvas, int row, const char *label, const char *text)
{
	xf_canvas_move(canvas, row);
	xf_canvas_text(canvas, label, 0);
	xf_canvas_text(canvas, text[0] ? text : "-", 0);
}

static void draw_head(struct xf_canvas *canvas, const struct xf_top_screen *shown)
{
	static const char *const pages[XF_TOP_PAGES] = {
	        [XF_TOP_PAGE_ALL] = "1 All",
	        [XF_TOP_PAGE_FUNCTIONS] = "2 Functions",
	        [XF_TOP_PAGE_PROCESSES] = "3 Processes",
	        [XF_TOP_PAGE_DOMAINS] = "4 Domains",
	        [XF_TOP_PAGE_PCPUS] = "5 Physical CPUs",
	        [XF_TOP_PAGE_HELP] = "? Help",
	};

	xf_canvas_style(canvas, XF_STYLE_BOLD);
	draw_fact(canvas, 0, "", shown->facts->title);
	xf_canvas_style(canvas, XF_STYLE_PLAIN);
	draw_fact(canvas, 1, "Samples  ", shown->facts->samples);
	draw_fact(canvas, 2, "Quality  ", shown->facts->quality);
	draw_fact(canvas, 3, "Own cost ", shown->facts->cost);
	xf_canvas_move(canvas, 4);
	xf_canvas_pages(canvas, pages, XF_TOP_PAGES, shown->page);
}

static void draw_lines(struct xf_canvas *canvas, const struct xf_top_model *model,
                       const struct xf_top_screen *shown)
{
	int rows = canvas->rows - HEAD_ROWS - STATUS_ROWS;

	for (int i = 0; i < rows && (size_t)i < shown->nr; i++) {
		struct xf_model_line line;

		xf_top_model_line(model, (size_t)i, &line);
		xf_canvas_move(canvas, HEAD_ROWS + i);
		xf_canvas_line(canvas, &line, false, shown->shift);
	}
}

static void draw_status(struct xf_canvas *canvas, const struct xf_top_screen *shown)
{
	xf_canvas_move(canvas, canvas->rows - 1);
	xf_canvas_style(canvas, XF_STYLE_BOLD);
	xf_canvas_text(canvas, shown->prompt, 0);
	xf_canvas_style(canvas, XF_STYLE_PLAIN);
	xf_canvas_text(canvas, shown->prompt[0] ? "  " : "", 0);
	xf_canvas_text(canvas, shown->status, 0);
	if (canvas->rows < XF_GOOD_ROWS || canvas->columns < XF_GOOD_COLUMNS)
		xf_canvas_text(canvas, "  (80x24 shows more)", 0);
	xf_canvas_text(canvas, "  p hold  d + - time  / filter  s order  h help  q quit", 0);
}

/* Return: 0 or -ENOMEM. */
static int draw(struct xf_canvas *canvas, struct xf_top_model *model)
{
	struct xf_top_screen shown;
	int code = 0;

	if (xf_canvas_begin(canvas)) {
		code = xf_top_model_resize(model, (size_t)(canvas->rows - HEAD_ROWS - STATUS_ROWS));
		xf_top_model_screen(model, &shown);
		draw_head(canvas, &shown);
		draw_lines(canvas, model, &shown);
		draw_status(canvas, &shown);
	}
	xf_canvas_end(canvas);
	return code;
}

/* Return: 0 or -ENOMEM. */
static int run(const struct xf_top_terminal *terminal, struct xf_canvas *canvas,
               struct xf_top_model *model)
{
	enum xf_top_turn turn = XF_TOP_TURN_DRAW;
	enum xf_wish wish = XF_WISH_DRAW;
	int code = 0;

	while (!code && turn != XF_TOP_TURN_LEAVE && wish == XF_WISH_DRAW) {
		enum xf_pressed pressed;
		uint32_t key;

		if (turn == XF_TOP_TURN_DRAW)
			code = draw(canvas, model);
		pressed = xf_canvas_key(canvas, WAIT_MS, &key);
		if (pressed == XF_PRESSED_GONE)
			break;
		if (pressed == XF_PRESSED_KEY)
			wish = xf_top_model_press(model, key);
		turn = terminal->turn(terminal->context, model);
		if (turn == XF_TOP_TURN_IDLE && pressed == XF_PRESSED_KEY)
			turn = XF_TOP_TURN_DRAW;
	}
	return wish == XF_WISH_GIVE_UP ? -ENOMEM : code;
}

int xf_top_terminal_run(const struct xf_top_terminal *terminal, struct xf_top_model *model,
                        struct xf_error *error)
{
	struct xf_canvas canvas;
	int code;

	if (!xf_canvas_open(terminal->out, terminal->keyboard, terminal->colours, &canvas))
		return xf_fail(error, -ENOTTY, "cannot draw on this terminal; --batch writes text");
	code = run(terminal, &canvas, model);
	xf_canvas_close();
	return code ? xf_fail(error, code, "no memory for the view") : 0;
}
