// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the interactive report shows, and what a key does to it. Pure: a profile and keys go in,
 * lines come out; the terminal is screen.h's.
 */
#ifndef XF_TERMINAL_MODEL_H
#define XF_TERMINAL_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "output/facts.h"
#include "profile/profile.h"

struct xf_model;

/* Characters are their code points; the other keys lie beyond them. */
enum xf_key {
	XF_KEY_TAB = '\t',
	XF_KEY_ENTER = '\n',
	XF_KEY_ESCAPE = 0x1b,
	XF_KEY_BACKSPACE = 0x7f,
	XF_KEY_UP = 0x110000,
	XF_KEY_DOWN,
	XF_KEY_LEFT,
	XF_KEY_RIGHT,
	XF_KEY_PAGE_UP,
	XF_KEY_PAGE_DOWN,
	XF_KEY_HOME,
	XF_KEY_END,
	XF_KEY_OTHER,
};

enum xf_page {
	XF_PAGE_FUNCTIONS,
	XF_PAGE_SANDWICH, /* a function between its callers and its callees */
	XF_PAGE_TREE,
	XF_PAGE_BREAKDOWN, /* domains, vCPUs, pCPUs, kinds */
	XF_PAGE_HELP,
	XF_PAGES,
};

/* What is to happen after a key. */
enum xf_wish {
	XF_WISH_DRAW,
	XF_WISH_LEAVE,
	XF_WISH_PROFILE, /* the profile of xf_model_selection, handed over with xf_model_show */
	XF_WISH_GIVE_UP, /* no memory */
};

#define XF_FILTER_BYTES 128

/* All that is on the screen but the lines. Texts are the model's, until the next key. */
struct xf_model_screen {
	enum xf_page page;
	const struct xf_facts *facts;
	const char *selection; /* "domain web-1, pCPU 2"; "" where all is shown */
	const char *heads;     /* of the columns; "" on the help page */
	const char *status;    /* what is shown in which order, how much of it */
	const char *filter;
	bool typing; /* the filter */
	size_t nr;   /* lines */
	size_t top;  /* the first one on the screen */
	size_t selected;
	size_t shift; /* columns that names are moved to the left by */
};

struct xf_model_line {
	char left[96];    /* numbers, indentation, mark */
	const char *name; /* the model's or the profile's; bytes that somebody else chose */
	char right[64];   /* behind the name */
	bool heading;
	bool coloured; /* by @kind */
	enum xf_frame_kind kind;
};

/* Return: 0 and a model of @profile, which was built for all samples and outlives it or the next
 * xf_model_show; -ENOMEM. Free with xf_model_free. */
int xf_model_new(const struct xf_profile *profile, const struct xf_profile_options *selection,
                 struct xf_model **model);
void xf_model_free(struct xf_model *model);

/* Another profile takes the place of the one before. Return: 0 or -ENOMEM. */
int xf_model_show(struct xf_model *model, const struct xf_profile *profile);

/* What XF_WISH_PROFILE is after; valid until the next key. */
const struct xf_profile_options *xf_model_selection(const struct xf_model *model);

/* So many lines fit on the screen. */
void xf_model_resize(struct xf_model *model, size_t rows);

enum xf_wish xf_model_press(struct xf_model *model, uint32_t key);

void xf_model_screen(struct xf_model *model, struct xf_model_screen *screen);
void xf_model_line(const struct xf_model *model, size_t index, struct xf_model_line *line);

#endif
