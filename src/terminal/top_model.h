// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What `top` shows on a terminal, and what a key does to it. Pure: moments and keys go in, lines
 * come out; the terminal is top_screen.h's.
 */
#ifndef XF_TERMINAL_TOP_MODEL_H
#define XF_TERMINAL_TOP_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "output/top.h"
#include "terminal/model.h"

struct xf_top_model;

enum xf_top_page {
	XF_TOP_PAGE_ALL, /* the beginning of each section */
	XF_TOP_PAGE_FUNCTIONS,
	XF_TOP_PAGE_PROCESSES,
	XF_TOP_PAGE_DOMAINS,
	XF_TOP_PAGE_PCPUS,
	XF_TOP_PAGE_HELP,
	XF_TOP_PAGES,
};

/* All that is on the screen but the lines. Texts are the model's, until the next key or moment. */
struct xf_top_screen {
	enum xf_top_page page;
	const struct xf_top_facts *facts; /* all empty where nothing has come yet */
	const char *prompt;               /* what is typed, behind its label; "" where nothing is */
	const char *status;
	size_t nr;    /* lines, from the first one on the screen */
	size_t shift; /* columns that names are moved to the left by */
};

/* Return: one that shows a moment each @delay ns; NULL without memory. Free with
 * xf_top_model_free. */
struct xf_top_model *xf_top_model_new(uint64_t delay);
void xf_top_model_free(struct xf_top_model *model);

/* @moment takes the place of the one before; what it points to outlives it. Return: 0 or -ENOMEM.
 */
int xf_top_model_show(struct xf_top_model *model, const struct xf_top_moment *moment);

/* What is to be said beside the keys, such as that the recording has ended; "": nothing. */
void xf_top_model_note(struct xf_top_model *model, const char *note);

/* So many lines fit on the screen. Return: 0 or -ENOMEM. */
int xf_top_model_resize(struct xf_top_model *model, size_t rows);

/* Return: XF_WISH_DRAW, XF_WISH_LEAVE or XF_WISH_GIVE_UP. */
enum xf_wish xf_top_model_press(struct xf_top_model *model, uint32_t key);

/* What keys have made of it. */
uint64_t xf_top_model_delay(const struct xf_top_model *model);
bool xf_top_model_paused(const struct xf_top_model *model);

void xf_top_model_screen(struct xf_top_model *model, struct xf_top_screen *screen);
void xf_top_model_line(const struct xf_top_model *model, size_t index, struct xf_model_line *line);

#endif
