// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How failures travel: a room returns a negative errno value and fills one message that says what
 * was tried, on what, why it failed and, where there is something, what the user can do. Only
 * src/cmd prints it.
 */
#ifndef XF_BASE_ERROR_H
#define XF_BASE_ERROR_H

#include <stddef.h>

struct xf_error {
	int code;        /* negative errno value; 0 while nothing has failed */
	char text[1024]; /* one message, UTF-8, without a newline at its end */
};

/*
 * Fills @error (which may be NULL) with @code and the formatted text.
 * Return: @code, so that a caller can write `return xf_fail(...)`. A positive @code is negated.
 */
int xf_fail(struct xf_error *error, int code, const char *format, ...)
        __attribute__((format(printf, 3, 4)));

/*
 * Puts "PREFIX: " in front of the text already in @error and keeps its code.
 * Return: the code in @error.
 */
int xf_fail_prefix(struct xf_error *error, const char *format, ...)
        __attribute__((format(printf, 2, 3)));

/* Puts the formatted text behind the text already in @error (which may be NULL). */
void xf_fail_suffix(struct xf_error *error, const char *format, ...)
        __attribute__((format(printf, 2, 3)));

#endif
