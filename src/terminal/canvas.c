// SPDX-License-Identifier: GPL-2.0-or-later
#define NCURSES_WIDECHAR 1
#include "terminal/canvas.h"

#include <curses.h>
#include <langinfo.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "output/text.h"
#include "terminal/palette.h"

/* Nothing makes sense below this. */
#define LEAST_COLUMNS 40
#define LEAST_ROWS    8

/* ---- Text ------------------------------------------------------------------------------------ */

/* A glyph as this terminal shows it. */
struct cell {
	wchar_t text[16];
	size_t columns;
};

/* What the terminal's character set lacks, and what it takes for another width than we do, is
   shown as an escape: the columns behind it stay where they belong. */
static void make_cell(const struct xf_canvas *canvas, const struct xf_glyph *glyph,
                      struct cell *cell)
{
	char escape[16];
	const char *text = glyph->text;

	if (!glyph->escape && glyph->character >= 0x80) {
		if (canvas->utf8 && wcwidth((wchar_t)glyph->character) == glyph->columns) {
			cell->text[0] = (wchar_t)glyph->character;
			cell->text[1] = 0;
			cell->columns = glyph->columns;
			return;
		}
		snprintf(escape, sizeof(escape), "\\u%04x", glyph->character);
		text = escape;
	}
	cell->columns = strlen(text);
	for (size_t i = 0; i <= cell->columns; i++)
		cell->text[i] = (unsigned char)text[i];
}

static size_t count_columns(const struct xf_canvas *canvas, const char *text)
{
	struct xf_glyph glyph;
	struct cell cell;
	size_t columns = 0;

	while (xf_text_next(&text, &glyph)) {
		make_cell(canvas, &glyph, &cell);
		columns += cell.columns;
	}
	return columns;
}

/* Writes @text where the cursor is, without its first @skip columns, cut at the line's end. */
void xf_canvas_text(const struct xf_canvas *canvas, const char *text, size_t skip)
{
	int row, column;
	size_t room, wanted = count_columns(canvas, text);
	bool skipped = skip > 0; /* what a mark would stand on */
	struct xf_glyph glyph;
	struct cell cell;
	bool cut;

	getyx(stdscr, row, column);
	(void)row;
	room = column < canvas->columns ? (size_t)(canvas->columns - column) : 0;
	cut = wanted > skip && wanted - skip > room;
	room -= cut && room;
	while (xf_text_next(&text, &glyph)) {
		make_cell(canvas, &glyph, &cell);
		if (skip) {
			skip -= cell.columns < skip ? cell.columns : skip;
			continue;
		}
		if (skipped && !cell.columns)
			continue;
		skipped = false;
		if (cell.columns > room)
			break;
		addnwstr(cell.text, -1);
		room -= cell.columns;
	}
	if (cut && column < canvas->columns)
		addnwstr(canvas->utf8 ? L"\u2026" : L"~", 1);
}

/* ---- Lines ----------------------------------------------------------------------------------- */

static attr_t kind_attributes(const struct xf_canvas *canvas, enum xf_frame_kind kind)
{
	return canvas->coloured ? (attr_t)COLOR_PAIR(kind + 1) : A_NORMAL;
}

static void fill_line(const struct xf_canvas *canvas)
{
	int row, column;

	getyx(stdscr, row, column);
	(void)row;
	for (; column < canvas->columns; column++)
		addch(' ');
}

void xf_canvas_line(const struct xf_canvas *canvas, const struct xf_model_line *line, bool selected,
                    size_t shift)
{
	attr_t base = selected ? A_REVERSE : line->heading ? A_BOLD : A_NORMAL;
	int row, column;

	getyx(stdscr, row, column);
	attrset((int)base);
	xf_canvas_text(canvas, line->left, 0);
	if (line->coloured)
		attrset((int)(base | kind_attributes(canvas, line->kind)));
	xf_canvas_text(canvas, line->name, line->coloured ? shift : 0);
	xf_canvas_text(canvas, line->right, 0);
	if (selected) {
		attrset((int)base);
		fill_line(canvas);
		mvaddch(row, column, '>');
	}
	attrset(A_NORMAL);
}

/* ---- Keys ------------------------------------------------------------------------------------ */

static uint32_t key_of(wint_t code)
{
	switch (code) {
	case KEY_UP:
		return XF_KEY_UP;
	case KEY_DOWN:
		return XF_KEY_DOWN;
	case KEY_LEFT:
		return XF_KEY_LEFT;
	case KEY_RIGHT:
		return XF_KEY_RIGHT;
	case KEY_PPAGE:
		return XF_KEY_PAGE_UP;
	case KEY_NPAGE:
		return XF_KEY_PAGE_DOWN;
	case KEY_HOME:
		return XF_KEY_HOME;
	case KEY_END:
		return XF_KEY_END;
	case KEY_ENTER:
		return XF_KEY_ENTER;
	case KEY_BACKSPACE:
	case KEY_DC:
		return XF_KEY_BACKSPACE;
	default:
		return XF_KEY_OTHER;
	}
}

#define CONTROL_L 0x0c

/* Return: whether there was a key. */
static bool read_key(uint32_t *key)
{
	wint_t code;
	int got = get_wch(&code);

	if (got == ERR)
		return false;
	if (got == KEY_CODE_YES)
		*key = key_of(code);
	else if (code == '\b')
		*key = XF_KEY_BACKSPACE;
	else if (code == '\r')
		*key = XF_KEY_ENTER;
	else
		*key = code;
	if (*key == CONTROL_L)
		clearok(stdscr, TRUE);
	return true;
}

enum xf_pressed xf_canvas_key(struct xf_canvas *canvas, int milliseconds, uint32_t *key)
{
	struct pollfd keyboard = {.fd = canvas->keyboard, .events = POLLIN};
	int ready;

	if (milliseconds < 0)
		return read_key(key) ? XF_PRESSED_KEY : XF_PRESSED_GONE;
	/* A changed size is told as a key too, and ends the wait. */
	ready = poll(&keyboard, 1, milliseconds);
	timeout(0);
	if (read_key(key))
		return XF_PRESSED_KEY;
	return ready > 0 ? XF_PRESSED_GONE : XF_PRESSED_NOTHING;
}

/* ---- Pictures -------------------------------------------------------------------------------- */

static void draw_nothing(const struct xf_canvas *canvas)
{
	char text[48];

	snprintf(text, sizeof(text), "%dx%d is too small:", canvas->columns, canvas->rows);
	move(0, 0);
	xf_canvas_text(canvas, text, 0);
	move(1, 0);
	xf_canvas_text(canvas, "80x24 is enough", 0);
}

bool xf_canvas_begin(struct xf_canvas *canvas)
{
	getmaxyx(stdscr, canvas->rows, canvas->columns);
	erase();
	if (canvas->rows >= LEAST_ROWS && canvas->columns >= LEAST_COLUMNS)
		return true;
	draw_nothing(canvas);
	return false;
}

void xf_canvas_end(struct xf_canvas *canvas)
{
	(void)canvas;
	refresh();
}

void xf_canvas_move(struct xf_canvas *canvas, int row)
{
	(void)canvas;
	move(row, 0);
}

void xf_canvas_style(struct xf_canvas *canvas, enum xf_style style)
{
	(void)canvas;
	attrset(style == XF_STYLE_BOLD         ? A_BOLD
	        : style == XF_STYLE_UNDERLINED ? A_UNDERLINE
	                                       : A_NORMAL);
}

void xf_canvas_pages(struct xf_canvas *canvas, const char *const *names, size_t nr, size_t current)
{
	for (size_t page = 0; page < nr; page++) {
		xf_canvas_style(canvas, page == current ? XF_STYLE_BOLD : XF_STYLE_PLAIN);
		xf_canvas_text(canvas, page == current ? "[" : " ", 0);
		xf_canvas_text(canvas, names[page], 0);
		xf_canvas_text(canvas, page == current ? "]" : " ", 0);
	}
	xf_canvas_style(canvas, XF_STYLE_PLAIN);
}

/* ---- Beginning and end ----------------------------------------------------------------------- */

bool xf_canvas_open(FILE *out, FILE *keyboard, bool colours, struct xf_canvas *canvas)
{
	*canvas = (struct xf_canvas){.keyboard = fileno(keyboard)};
	if (!newterm(NULL, out, keyboard))
		return false;
	cbreak();
	noecho();
	keypad(stdscr, TRUE);
	set_escdelay(100);
	curs_set(0);
	canvas->utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
	/* Without the terminal's own background no colour would be sure to be read. */
	canvas->coloured =
	        colours && has_colors() && start_color() != ERR && use_default_colors() != ERR;
	for (short kind = 0; canvas->coloured && kind < XF_FRAME_KINDS; kind++) {
		struct xf_colour colour = xf_palette((enum xf_frame_kind)kind);

		init_pair((short)(kind + 1), COLORS >= 256 ? colour.of_256 : colour.of_8, -1);
	}
	return true;
}

/* "delscreen" of the ncurses of Debian 13 (6.5) reads what it has freed, and a program has one
 * screen: what it holds goes with the program. */
void xf_canvas_close(void)
{
	endwin();
}
