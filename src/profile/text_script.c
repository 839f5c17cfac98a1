// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * `perf script` prints a line for each event, with its command, thread, CPU and time and more
 * behind them, then a line per frame, from the innermost, then an empty one:
 *
 *	COMMAND PID/TID [CPU] SECONDS.FRACTION: PERIOD EVENT:
 *	<tab>ADDRESS NAME+0xOFFSET (IMAGE)
 *
 * Of a recording without stacks the command is padded with blanks in front, the frame stands
 * behind the event, and no line is empty.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/text_stack.h"

/* ---- An event's line ------------------------------------------------------------------------- */

/* "12.345678:" as nanoseconds. Return: whether @word is that. */
static bool read_time(const char *word, size_t size, uint64_t *time)
{
	uint64_t unit = 1000000000;
	size_t digits = strspn(word, "0123456789");

	if (!digits || digits > 10 || word[digits] != '.')
		return false;
	*time = strtoull(word, NULL, 10) * unit;
	word += digits + 1;
	for (size -= digits + 1; size > 1 && isdigit((unsigned char)*word); size--) {
		unit /= 10;
		*time += (uint64_t)(*word++ - '0') * unit;
	}
	return size == 1 && *word == ':';
}

/* "[003]" */
static bool read_cpu(const char *word, uint32_t *cpu)
{
	char *end;

	if (word[0] != '[' || !isdigit((unsigned char)word[1]))
		return false;
	*cpu = (uint32_t)strtoul(word + 1, &end, 10);
	return *end == ']';
}

/* "TID" or "PID/TID" */
static bool read_thread(const char *word, uint32_t *thread)
{
	char *end;

	*thread = (uint32_t)strtol(word, &end, 10);
	if (end > word && *end == '/')
		*thread = (uint32_t)strtol(word = end + 1, &end, 10);
	return end > word && (!*end || *end == ' ');
}

/* The word before @end; *@end becomes its start, and what follows it is cut off. NULL: none. */
static char *last_word(char *line, char **end)
{
	char *last = *end;

	while (last > line && last[-1] == ' ')
		last--;
	*last = 0;
	*end = last;
	while (*end > line && (*end)[-1] != ' ')
		(*end)--;
	return *end < last ? *end : NULL;
}

/* Cuts up what stands before the time. */
static bool read_owner(char *line, char *time, struct xf_foreign_stack *stack)
{
	char *end = time;
	char *word = last_word(line, &end);

	stack->cpu = 0;
	if (word && read_cpu(word, &stack->cpu))
		word = last_word(line, &end);
	if (!word || !read_thread(word, &stack->thread))
		return false;
	*word = 0;
	for (end = word; end > line && end[-1] == ' '; end--)
		end[-1] = 0;
	if (*line == ' ' || word > line)
		stack->domain = line[strspn(line, " ")] ? line + strspn(line, " ") : "[no name]";
	return *line == ' ' || word > line;
}

/* Return: the word of @line that is its time; NULL where none is. */
static char *find_time(char *line, uint64_t *time)
{
	for (char *word = line; *word;) {
		size_t size = strcspn(word, " ");

		if (word > line && read_time(word, size, time))
			return word;
		word += size;
		word += strspn(word, " ");
	}
	return NULL;
}

char *xf_text_is_event(char *line, struct xf_foreign_stack *stack)
{
	char *time = find_time(line, &stack->time);
	char *rest = time ? time + strcspn(time, " ") : NULL;

	return time && read_owner(line, time, stack) ? rest : NULL;
}

/* ---- A frame's line -------------------------------------------------------------------------- */

/* Cuts "(IMAGE)" off the end; there may be brackets in it. Return: the image, "" where there is
   none. */
static char *cut_image(char *text)
{
	char *last = text + strlen(text);
	char *image = last;
	size_t depth = 0;

	if (last == text || last[-1] != ')')
		return last;
	do {
		image--;
		depth += *image == ')';
		depth -= *image == '(';
	} while (depth && image > text);
	if (depth || image == text || image[-1] != ' ')
		return last;
	last[-1] = 0;
	image[-1] = 0;
	return image + 1;
}

/* An offset of a name in brackets is part of it, but for the 0 that perf adds. */
static void cut_offset(char *name)
{
	char *offset = NULL;

	for (char *c = name; (c = strstr(c, "+0x")); c++)
		offset = c;
	if (!offset || offset == name || offset[3 + strspn(offset + 3, "0123456789abcdef")])
		return;
	if (name[0] != '[' || strcmp(offset, "+0x0") == 0)
		*offset = 0;
}

/* Lines that do not begin with an address are about the frame before. */
static int push_frame(struct xf_foreign_stack *stack, char *line)
{
	char *text = line + strspn(line, " \t");
	size_t digits = strspn(text, "0123456789abcdef");
	const char *image;

	if (!digits || text[digits] != ' ')
		return 0;
	text += digits + 1;
	image = cut_image(text);
	cut_offset(text);
	return xf_foreign_push(stack, *text ? text : "[unknown]", xf_foreign_kind_in(text, image));
}

/* What an event without lines of frames may have behind its name: " PERIOD EVENT: ADDRESS NAME
 * (IMAGE)". Return: 0 or -ENOMEM. */
static int push_frame_behind(struct xf_foreign_stack *stack, char *rest)
{
	size_t size;

	rest += strspn(rest, " ");
	rest += strspn(rest, "0123456789");
	rest += strspn(rest, " ");
	size = strcspn(rest, " ");
	return size && rest[size - 1] == ':' ? push_frame(stack, rest + size) : 0;
}

/* ---- Events ---------------------------------------------------------------------------------- */

/* Lines as they are, one behind the other. Return: 0 or -ENOMEM. */
static int keep_line(struct xf_text_script *script, const char *line)
{
	size_t size = strlen(line) + 1;

	if (script->used + size > script->allocated) {
		size_t wanted = (script->used + size) * 2;
		char *grown = realloc(script->text, wanted);

		if (!grown)
			return -ENOMEM;
		script->text = grown;
		script->allocated = wanted;
	}
	memcpy(script->text + script->used, line, size);
	script->used += size;
	return 0;
}

/* Whether @line, behind an event's first, is another's first. */
static bool begins_event(char *line)
{
	const char *word = line + strspn(line, " \t");
	size_t digits = strspn(word, "0123456789abcdef");
	uint64_t time;

	if (!isspace((unsigned char)line[0]))
		return true;
	return !(line[0] == '\t' && digits && word[digits] == ' ') && find_time(line, &time);
}

/* An event ends before an empty line, or the next event. Return: as xf_text_next_line. */
static int collect(struct xf_text_lines *lines, struct xf_text_script *script,
                   struct xf_error *error)
{
	int got = script->pending ? 1 : xf_text_next_line(lines, error);

	while (got > 0 && (!lines->line[0] || lines->line[0] == '#'))
		got = xf_text_next_line(lines, error);
	script->pending = false;
	script->used = 0;
	if (got <= 0)
		return got;
	if (keep_line(script, lines->line))
		return -ENOMEM;
	while ((got = xf_text_next_line(lines, error)) > 0 && lines->line[0]) {
		if (begins_event(lines->line)) {
			script->pending = true;
			return 1;
		}
		if (keep_line(script, lines->line))
			return -ENOMEM;
	}
	return got < 0 ? got : 1;
}

int xf_text_read_script(struct xf_text_lines *lines, struct xf_text_script *script,
                        struct xf_foreign_stack *stack, struct xf_error *error)
{
	int got = collect(lines, script, error);
	char *line = script->text;
	char *rest;
	size_t size;

	if (got <= 0)
		return got;
	stack->nr = 0;
	stack->count = 1;
	size = strlen(line) + 1;
	rest = xf_text_is_event(line, stack);
	if (!rest)
		return xf_fail(error, -EBADMSG,
		               "before line %llu there is something else than an event of perf"
		               " script's: \"%.60s\"",
		               (unsigned long long)lines->number, line);
	for (line += size; line < script->text + script->used; line += size) {
		size = strlen(line) + 1;
		if (push_frame(stack, line))
			return -ENOMEM;
	}
	xf_foreign_reverse(stack);
	if (!stack->nr && push_frame_behind(stack, rest))
		return -ENOMEM;
	if (stack->nr)
		return 1;
	return xf_foreign_push(stack, "[no stack]", XF_FRAME_UNKNOWN) ? -ENOMEM : 1;
}
