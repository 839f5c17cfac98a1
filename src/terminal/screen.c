// SPDX-License-Identifier: GPL-2.0-or-later
#define NCURSES_WIDECHAR 1
#include "terminal/screen.h"

#include <curses.h>
#include <errno.h>
#include <langinfo.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "output/text.h"
#include "terminal/model.h"
#include "terminal/palette.h"

/* Beside the lines there are: host, samples, quality, pages, heads; status. */
#define HEAD_ROWS     5
#define STATUS_ROWS   1
/* All fits into this ... */
#define GOOD_COLUMNS  80
#define GOOD_ROWS     24
/* ... and nothing makes sense below this. */
#define LEAST_COLUMNS 40
#define LEAST_ROWS    8

struct screen {
	int rows;
	int columns;
	bool utf8;
	bool coloured;
};

/* ---- Text ------------------------------------------------------------------------------------ */

/* A glyph as this terminal shows it. */
struct cell {
	wchar_t text[16];
	size_t columns;
};

/* What the terminal's character set lacks, and what it takes for another width than we do, is
   shown as an escape: the columns behind it stay where they belong. */
static void make_cell(const struct screen *screen, const struct xf_glyph *glyph, struct cell *cell)
{
	char escape[16];
	const char *text = glyph->text;

	if (!glyph->escape && glyph->character >= 0x80) {
		if (screen->utf8 && wcwidth((wchar_t)glyph->character) == glyph->columns) {
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

static size_t count_columns(const struct screen *screen, const char *text)
{
	struct xf_glyph glyph;
	struct cell cell;
	size_t columns = 0;

	while (xf_text_next(&text, &glyph)) {
		make_cell(screen, &glyph, &cell);
		columns += cell.columns;
	}
	return columns;
}

/* Writes @text where the cursor is, without its first @skip columns, cut at the line's end. */
static void put_text(const struct screen *screen, const char *text, size_t skip)
{
	int row, column;
	size_t room, wanted = count_columns(screen, text);
	bool skipped = skip > 0; /* what a mark would stand on */
	struct xf_glyph glyph;
	struct cell cell;
	bool cut;

	getyx(stdscr, row, column);
	(void)row;
	room = column < screen->columns ? (size_t)(screen->columns - column) : 0;
	cut = wanted > skip && wanted - skip > room;
	room -= cut && room;
	while (xf_text_next(&text, &glyph)) {
		make_cell(screen, &glyph, &cell);
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
	if (cut && column < screen->columns)
		addnwstr(screen->utf8 ? L"\u2026" : L"~", 1);
}

/* ---- Lines ----------------------------------------------------------------------------------- */

static attr_t kind_attributes(const struct screen *screen, enum xf_frame_kind kind)
{
	return screen->coloured ? (attr_t)COLOR_PAIR(kind + 1) : A_NORMAL;
}

static void fill_line(const struct screen *screen)
{
	int row, column;

	getyx(stdscr, row, column);
	(void)row;
	for (; column < screen->columns; column++)
		addch(' ');
}

static void draw_line(const struct screen *screen, const struct xf_model_line *line, bool selected,
                      size_t shift)
{
	attr_t base = selected ? A_REVERSE : line->heading ? A_BOLD : A_NORMAL;
	int row, column;

	getyx(stdscr, row, column);
	attrset((int)base);
	put_text(screen, line->left, 0);
	if (line->coloured)
		attrset((int)(base | kind_attributes(screen, line->kind)));
	put_text(screen, line->name, line->coloured ? shift : 0);
	put_text(screen, line->right, 0);
	if (selected) {
		attrset((int)base);
		fill_line(screen);
		mvaddch(row, column, '>');
	}
	attrset(A_NORMAL);
}

static void draw_lines(const struct screen *screen, const struct xf_model *model,
                       const struct xf_model_screen *shown)
{
	size_t rows = (size_t)(screen->rows - HEAD_ROWS - STATUS_ROWS);

	for (size_t i = 0; i < rows && shown->top + i < shown->nr; i++) {
		struct xf_model_line line;

		xf_model_line(model, shown->top + i, &line);
		move(HEAD_ROWS + (int)i, 0);
		draw_line(screen, &line, shown->top + i == shown->selected, shown->shift);
	}
}

/* ---- Head and foot --------------------------------------------------------------------------- */

static void draw_head(const struct screen *screen, const struct xf_model_screen *shown)
{
	char text[640];

	attrset(A_BOLD);
	move(0, 0);
	put_text(screen, shown->facts->host, 0);
	attrset(A_NORMAL);
	put_text(screen, "  ", 0);
	put_text(screen, shown->facts->recorded, 0);
	move(1, 0);
	snprintf(text, sizeof(text), "Samples %s", shown->facts->samples);
	put_text(screen, text, 0);
	if (shown->selection[0]) {
		attrset(A_BOLD);
		put_text(screen, "  only ", 0);
		put_text(screen, shown->selection, 0);
		attrset(A_NORMAL);
	}
	move(2, 0);
	put_text(screen, "Quality ", 0);
	put_text(screen, shown->facts->quality, 0);
	if (shown->facts->notes[0]) {
		put_text(screen, "; ", 0);
		put_text(screen, shown->facts->notes, 0);
	}
}

static void draw_pages(const struct screen *screen, const struct xf_model_screen *shown)
{
	static const char *const names[XF_PAGES] = {
	        [XF_PAGE_FUNCTIONS] = "1 Functions", [XF_PAGE_SANDWICH] = "2 Callers, callees",
	        [XF_PAGE_TREE] = "3 Call tree",      [XF_PAGE_BREAKDOWN] = "4 Domains, CPUs",
	        [XF_PAGE_HELP] = "? Help",
	};

	move(3, 0);
	for (size_t page = 0; page < XF_PAGES; page++) {
		bool current = page == shown->page;

		attrset(current ? A_BOLD : A_NORMAL);
		put_text(screen, current ? "[" : " ", 0);
		put_text(screen, names[page], 0);
		put_text(screen, current ? "]" : " ", 0);
	}
	attrset(A_UNDERLINE);
	move(4, 0);
	put_text(screen, shown->heads, 0);
	attrset(A_NORMAL);
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

static void draw_status(const struct screen *screen, const struct xf_model_screen *shown)
{
	move(screen->rows - 1, 0);
	attrset(A_BOLD);
	if (shown->typing || shown->filter[0]) {
		put_text(screen, "/", 0);
		put_text(screen, shown->filter, 0);
		put_text(screen, shown->typing ? "_  " : "  ", 0);
	}
	attrset(A_NORMAL);
	put_text(screen, shown->status, 0);
	put_text(screen, shown->status[0] ? "  " : "", 0);
	if (screen->rows < GOOD_ROWS || screen->columns < GOOD_COLUMNS)
		put_text(screen, "(80x24 shows more)  ", 0);
	if (!shown->typing)
		put_text(screen, hints(shown->page), 0);
}

static void draw_nothing(const struct screen *screen)
{
	char text[48];

	snprintf(text, sizeof(text), "%dx%d is too small:", screen->columns, screen->rows);
	move(0, 0);
	put_text(screen, text, 0);
	move(1, 0);
	put_text(screen, "80x24 is enough", 0);
}

static void draw(struct screen *screen, struct xf_model *model)
{
	struct xf_model_screen shown;

	getmaxyx(stdscr, screen->rows, screen->columns);
	erase();
	if (screen->rows < LEAST_ROWS || screen->columns < LEAST_COLUMNS) {
		draw_nothing(screen);
	} else {
		xf_model_resize(model, (size_t)(screen->rows - HEAD_ROWS - STATUS_ROWS));
		xf_model_screen(model, &shown);
		draw_head(screen, &shown);
		draw_pages(screen, &shown);
		draw_lines(screen, model, &shown);
		draw_status(screen, &shown);
	}
	refresh();
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

/* Return: false where there is no keyboard any more. */
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

/* ---- Beginning and end ----------------------------------------------------------------------- */

static void start(const struct xf_terminal *terminal, struct screen *screen)
{
	cbreak();
	noecho();
	keypad(stdscr, TRUE);
	set_escdelay(100);
	curs_set(0);
	screen->utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
	/* Without the terminal's own background no colour would be sure to be read. */
	screen->coloured = terminal->colours && has_colors() && start_color() != ERR &&
	                   use_default_colors() != ERR;
	for (short kind = 0; screen->coloured && kind < XF_FRAME_KINDS; kind++) {
		struct xf_colour colour = xf_palette((enum xf_frame_kind)kind);

		init_pair((short)(kind + 1), COLORS >= 256 ? colour.of_256 : colour.of_8, -1);
	}
}

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

static int run(const struct xf_terminal *terminal, struct screen *screen, struct xf_model *model,
               struct xf_error *error)
{
	enum xf_wish wish = XF_WISH_DRAW;
	uint32_t key;
	int code = 0;

	while (!code && wish != XF_WISH_LEAVE) {
		draw(screen, model);
		if (!read_key(&key))
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
	struct screen screen = {0};
	SCREEN *opened;
	int code;

	if (xf_model_new(profile, selection, &model))
		return xf_fail(error, -ENOMEM, "no memory for the report");
	opened = newterm(NULL, terminal->out, terminal->keyboard);
	if (!opened) {
		xf_model_free(model);
		return xf_fail(error, -ENOTTY, "cannot draw on this terminal; --stdio writes text");
	}
	start(terminal, &screen);
	code = run(terminal, &screen, model, error);
	endwin();
	delscreen(opened);
	xf_model_free(model);
	return code;
}
