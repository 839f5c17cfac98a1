// SPDX-License-Identifier: GPL-2.0-or-later
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "profile/text_stack.h"

/* Cuts the count off @line. Return: whether there is one. */
static bool take_count(char *line, uint64_t *count)
{
	size_t size = strlen(line);
	char *blank;
	char *end;

	while (size && isspace((unsigned char)line[size - 1]))
		line[--size] = 0;
	blank = strrchr(line, ' ');
	if (!blank || !isdigit((unsigned char)blank[1]))
		return false;
	errno = 0;
	*count = strtoull(blank + 1, &end, 10);
	*blank = 0;
	return !*end && !errno;
}

static int push_frames(struct xf_foreign_stack *stack, char *line)
{
	char *rest = line;
	const char *name;
	int code = 0;

	stack->domain = strsep(&rest, ";");
	/* A stack of one frame keeps it as a frame. */
	if (!rest)
		return xf_foreign_push(stack, stack->domain, xf_foreign_kind(stack->domain));
	while (!code && (name = strsep(&rest, ";")))
		code = xf_foreign_push(stack, name, xf_foreign_kind(name));
	return code;
}

int xf_text_read_folded(struct xf_text_lines *lines, struct xf_foreign_stack *stack,
                        struct xf_error *error)
{
	int got;

	do
		got = xf_text_next_line(lines, error);
	while (got > 0 && (!lines->line[0] || lines->line[0] == '#'));
	if (got <= 0)
		return got;
	stack->nr = 0;
	if (!take_count(lines->line, &stack->count))
		return xf_fail(error, -EBADMSG,
		               "this is not a recording, and line %" PRIu64
		               " is no folded stack with a number of samples at its end: \"%.60s\"",
		               lines->number, lines->line);
	got = push_frames(stack, lines->line);
	return got ? got : 1;
}
