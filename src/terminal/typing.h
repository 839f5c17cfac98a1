// SPDX-License-Identifier: GPL-2.0-or-later
/* A line that is typed. */
#ifndef XF_TERMINAL_TYPING_H
#define XF_TERMINAL_TYPING_H

#include <stdint.h>

#include "terminal/model.h"

enum xf_typed {
	XF_TYPED_MORE,    /* @text has changed, or could not */
	XF_TYPED_DONE,    /* Enter */
	XF_TYPED_DROPPED, /* Esc: @text is empty */
	XF_TYPED_OTHER,   /* a key that writes nothing */
};

/* Applies @key to @text, UTF-8, of XF_FILTER_BYTES bytes. */
enum xf_typed xf_type(char *text, uint32_t key);

#endif
