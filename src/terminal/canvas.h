// SPDX-License-Identifier: GPL-2.0-or-later
/* A terminal to draw text on, and its keyboard. All of ncurses is behind this. */
#ifndef XF_TERMINAL_CANVAS_H
#define XF_TERMINAL_CANVAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "terminal/model.h"

/* All fits into this. */
#define XF_GOOD_COLUMNS 80
#define XF_GOOD_ROWS    24

struct xf_canvas {
	int rows;
	int columns;
	bool utf8;
	bool coloured;
	int keyboard; /* its file descriptor */
};

enum xf_style {
	XF_STYLE_PLAIN,
	XF_STYLE_BOLD,
	XF_STYLE_UNDERLINED,
};

/* The character set is LC_CTYPE's. Return: whether that is a terminal to draw on. */
bool xf_canvas_open(FILE *out, FILE *keyboard, bool colours, struct xf_canvas *canvas);

/* The terminal is as it was before. To be opened once in a program's life. */
void xf_canvas_close(void);

/* Begins a picture, of the size that the terminal has now. Return: false where that is too small
 * for any; it says so. */
bool xf_canvas_begin(struct xf_canvas *canvas);
/* Shows it. */
void xf_canvas_end(struct xf_canvas *canvas);

/* What is written next stands from there on. */
void xf_canvas_move(struct xf_canvas *canvas, int row);
void xf_canvas_style(struct xf_canvas *canvas, enum xf_style style);

/* Writes @text without its first @skip columns, cut at the line's end. */
void xf_canvas_text(const struct xf_canvas *canvas, const char *text, size_t skip);
void xf_canvas_line(const struct xf_canvas *canvas, const struct xf_model_line *line, bool selected,
                    size_t shift);

/* The names of pages, in a line, the current one marked. */
void xf_canvas_pages(struct xf_canvas *canvas, const char *const *names, size_t nr, size_t current);

enum xf_pressed {
	XF_PRESSED_KEY,
	XF_PRESSED_NOTHING,
	XF_PRESSED_GONE, /* there is no keyboard any more */
};

/* Waits for a key, at most @milliseconds (-1: as long as it takes). */
enum xf_pressed xf_canvas_key(struct xf_canvas *canvas, int milliseconds, uint32_t *key);

#endif
