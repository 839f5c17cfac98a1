// SPDX-License-Identifier: GPL-2.0-or-later
/* What the readers of text share: lines, and the stacks in them. For src/profile/ alone. */
#ifndef XF_PROFILE_TEXT_STACK_H
#define XF_PROFILE_TEXT_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "profile/foreign.h"

struct xf_text_lines {
	const char *at;
	const char *end;
	uint64_t number; /* of the line in @line, from 1 */
	char *line;      /* a copy without its newline, to be freed */
	size_t allocated;
};

/* Return: 1 and the next line; 0 at the end; -EBADMSG where there is a NUL in it and @error;
 * -ENOMEM.
 */
int xf_text_next_line(struct xf_text_lines *lines, struct xf_error *error);

/*
 * The readers. Each reads one stack; its names are valid until the next one is read. Frames go from
 * the outermost. Return: 1; 0 at the end; -EBADMSG and @error; -ENOMEM.
 */
int xf_text_read_folded(struct xf_text_lines *lines, struct xf_foreign_stack *stack,
                        struct xf_error *error);

/* One event of `perf script`'s. @text holds the names of its lines; it is to be freed. */
struct xf_text_script {
	char *text;
	size_t used;
	size_t allocated;
	bool pending; /* the line at hand is the next event's first */
};
int xf_text_read_script(struct xf_text_lines *lines, struct xf_text_script *script,
                        struct xf_foreign_stack *stack, struct xf_error *error);

/* Return: where @line is the first of an event, what stands behind its time, and it is cut up into
 * what @stack gets; else NULL. */
char *xf_text_is_event(char *line, struct xf_foreign_stack *stack);

#endif
