// SPDX-License-Identifier: GPL-2.0-or-later
#include "xen/libxl_config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_BYTES (1u << 20)
#define KEY_BYTES  64u
#define MOST_DEPTH 64u

/* Where the reading of the text stands. */
struct reader {
	const char *at;
	const char *end;
	unsigned int depth;      /* of objects and lists */
	char section[KEY_BYTES]; /* the key in the outermost object */
};

/* Takes the string behind a quotation mark into @text; one that is too long, or has characters
 * written as numbers, becomes empty. Return: false where it does not end. */
static bool take_string(struct reader *reader, char *text, size_t room)
{
	size_t used = 0;
	bool good = true;

	while (reader->at < reader->end && *reader->at != '"') {
		char c = *reader->at++;

		if (c == '\\') {
			if (reader->at == reader->end)
				return false;
			c = *reader->at++;
			good = good && (c == '"' || c == '\\' || c == '/');
		}
		good = good && used + 1 < room && c != '\0';
		if (good)
			text[used++] = c;
	}
	text[good ? used : 0] = '\0';
	return reader->at++ < reader->end;
}

static void skip_blanks(struct reader *reader)
{
	while (reader->at < reader->end && *reader->at && strchr(" \t\r\n", *reader->at))
		reader->at++;
}

/* Return: whether @mark comes next; moves past it then. */
static bool take_mark(struct reader *reader, char mark)
{
	skip_blanks(reader);
	if (reader->at == reader->end || *reader->at != mark)
		return false;
	reader->at++;
	return true;
}

/* A string has begun. Return: false where it is damaged; *@found where the path is taken. */
static bool read_string(struct reader *reader, char *path, size_t room, bool *found)
{
	char key[KEY_BYTES];

	if (!take_string(reader, key, sizeof(key)))
		return false;
	if (!take_mark(reader, ':'))
		return true; /* a value */
	if (reader->depth == 1)
		snprintf(reader->section, sizeof(reader->section), "%s", key);
	if (reader->depth != 2 || strcmp(key, "kernel") != 0 ||
	    strcmp(reader->section, "b_info") != 0 || !take_mark(reader, '"'))
		return true;
	*found = take_string(reader, path, room) && path[0] == '/';
	return *found;
}

bool xf_libxl_parse_kernel(const char *json, size_t size, char *path, size_t room)
{
	struct reader reader = {.at = json, .end = json + size};
	bool found = false;

	while (!found && reader.at < reader.end) {
		char c = *reader.at++;

		if (c == '{' || c == '[')
			reader.depth++;
		else if (c == '}' || c == ']')
			reader.depth--;
		else if (c == '"' && !read_string(&reader, path, room, &found))
			return false;
		if (reader.depth > MOST_DEPTH)
			return false;
	}
	return found;
}

/* It becomes part of a path. */
static bool is_uuid(const char *text)
{
	return text[0] && strspn(text, "0123456789abcdefABCDEF-") == strlen(text);
}

bool xf_libxl_kernel(const char *directory, uint16_t domid, const char *uuid, char *path,
                     size_t room)
{
	char name[512];
	char *json = malloc(MOST_BYTES);
	FILE *file = NULL;
	bool found = false;

	snprintf(name, sizeof(name), "%s/userdata-d.%u.%s.libxl-json",
	         directory ? directory : XF_LIBXL_DIRECTORY, domid, uuid);
	if (json && is_uuid(uuid))
		file = fopen(name, "re");
	if (file) {
		found = xf_libxl_parse_kernel(json, fread(json, 1, MOST_BYTES, file), path, room);
		fclose(file);
	}
	free(json);
	return found;
}
