// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/text_input.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "profile/text_stack.h"

/* ---- Lines and stacks ------------------------------------------------------------------------ */

int xf_text_next_line(struct xf_text_lines *lines, struct xf_error *error)
{
	size_t left = (size_t)(lines->end - lines->at);
	const char *newline;
	size_t size;

	if (!left)
		return 0;
	newline = memchr(lines->at, '\n', left);
	size = newline ? (size_t)(newline - lines->at) : left;
	lines->number++;
	if (memchr(lines->at, 0, size))
		return xf_fail(error, -EBADMSG, "line %" PRIu64 " is no text", lines->number);
	if (!lines->line || size >= lines->allocated) {
		char *grown = realloc(lines->line, size * 2 + 256);

		if (!grown)
			return -ENOMEM;
		lines->line = grown;
		lines->allocated = size * 2 + 256;
	}
	memcpy(lines->line, lines->at, size);
	size -= size && lines->line[size - 1] == '\r';
	lines->line[size] = 0;
	lines->at = newline ? newline + 1 : lines->end;
	return 1;
}

/* ---- The whole ------------------------------------------------------------------------------- */

/* How many of @size bytes are of no character in UTF-8, or of none that is in a text. */
static size_t strange_bytes(const uint8_t *bytes, size_t size)
{
	size_t strange = 0;

	for (size_t i = 0; i < size; i++) {
		size_t more = bytes[i] < 0xc2 ? 0 : bytes[i] < 0xe0 ? 1 : bytes[i] < 0xf0 ? 2 : 3;
		size_t has = 0;

		if (bytes[i] < 0x80) {
			strange += bytes[i] < 0x20 && !isspace(bytes[i]);
			continue;
		}
		while (has < more && i + 1 < size && bytes[i + 1] >> 6 == 2) {
			has++;
			i++;
		}
		strange += !more || (has < more && i + 1 < size);
	}
	return strange;
}

int xf_text_recognize(const void *bytes, size_t size, struct xf_error *error)
{
	/* A name may have anything in it, but not all of the text. */
	if (memchr(bytes, 0, size) || strange_bytes(bytes, size) > size / 8)
		return xf_fail(error, -EBADMSG, "it is no text");
	return 0;
}

/* Return: whether the first line that says something is an event of perf script's. */
static bool is_script(struct xf_text_lines lines)
{
	struct xf_foreign_stack stack = {0};
	bool found = false;
	int got;

	lines.line = NULL;
	lines.allocated = 0;
	do
		got = xf_text_next_line(&lines, NULL);
	while (got > 0 && lines.line && (!lines.line[0] || lines.line[0] == '#'));
	if (got > 0 && lines.line)
		found = xf_text_is_event(lines.line, &stack);
	free(lines.line);
	return found;
}

static int read_stacks(struct xf_foreign *foreign, struct xf_text_lines *lines, bool script,
                       struct xf_error *error)
{
	struct xf_foreign_stack stack = {0};
	struct xf_text_script event = {0};
	int got;
	int code = 0;

	do {
		got = script ? xf_text_read_script(lines, &event, &stack, error)
		             : xf_text_read_folded(lines, &stack, error);
		code = got > 0 ? xf_foreign_add(foreign, &stack, script) : got;
	} while (got > 0 && !code);
	free(stack.frames);
	free(event.text);
	if (code == -EOVERFLOW)
		return xf_fail(error, code,
		               "line %" PRIu64 ": that is more samples than 64 bits hold",
		               lines->number);
	return code;
}

static int check_options(const struct xf_profile_options *options, bool script,
                         struct xf_error *error)
{
	if (script)
		return 0;
	if (options->timeline == XF_TIMELINE_NEEDED)
		return xf_fail(error, -ENODATA,
		               "folded stacks have no times, and this output needs them; give it a"
		               " recording, or perf script's text");
	if (options->by_vcpu || options->by_pcpu || options->pcpu != XF_ANY_PCPU)
		return xf_fail(error, -ENODATA, "folded stacks do not tell vCPUs and pCPUs");
	return 0;
}

static int read_profile(struct xf_foreign *foreign, struct xf_text_lines *lines,
                        struct xf_profile **profile, struct xf_error *error)
{
	bool script = is_script(*lines);
	int code = check_options(foreign->options, script, error);

	if (!code)
		code = read_stacks(foreign, lines, script, error);
	if (!code)
		code = xf_foreign_finish(foreign, script ? "text of perf script" : "folded stacks",
		                         profile, error);
	if (!code)
		(*profile)->without_cpus = !script;
	return code;
}

int xf_text_profile(const void *bytes, size_t size, const struct xf_profile_options *options,
                    struct xf_profile **profile, struct xf_error *error)
{
	struct xf_text_lines lines = {.at = bytes, .end = (const char *)bytes + size};
	struct xf_foreign foreign;
	struct xf_error why = {0};
	int code = xf_foreign_start(&foreign, options);

	if (!code)
		code = read_profile(&foreign, &lines, profile, &why);
	free(lines.line);
	xf_foreign_end(&foreign);
	if (code)
		xf_fail(error, code, "%s", why.text[0] ? why.text : "no memory for the profile");
	return code;
}
