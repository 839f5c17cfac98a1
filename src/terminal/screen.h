// SPDX-License-Identifier: GPL-2.0-or-later
/* The interactive report on a terminal: draws a model, hands it keys. */
#ifndef XF_TERMINAL_SCREEN_H
#define XF_TERMINAL_SCREEN_H

#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"
#include "profile/profile.h"

struct xf_terminal {
	FILE *out;
	FILE *keyboard;
	bool colours; /* false: none, whatever the terminal has */
	/* Builds the profile of @selection, which replaces the one before: that is freed. Return: 0
	 * or a negative errno value and @error. */
	int (*build)(void *context, const struct xf_profile_options *selection,
	             const struct xf_profile **profile, struct xf_error *error);
	void *context;
};

/* Return: whether the terminal at the file descriptor @file is one to draw on. */
bool xf_terminal_can_draw(int file);

/*
 * Shows @profile until its reader leaves. The character set is LC_CTYPE's.
 * Return: 0 or a negative errno value and @error; the terminal is as it was before.
 */
int xf_terminal_run(const struct xf_terminal *terminal, const struct xf_profile *profile,
                    const struct xf_profile_options *selection, struct xf_error *error);

#endif
