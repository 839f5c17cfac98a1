// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>

struct range {
	uint32_t first;
	uint32_t last;
};

/* Characters that show nothing or turn the text around, what XML forbids, and what is not a
   character at all. */
static const struct range hidden[] = {
        {0x00, 0x1f},     {0x7f, 0x9f},     {0xad, 0xad},        {0x061c, 0x061c}, {0x180e, 0x180e},
        {0x200b, 0x200f}, {0x2028, 0x202e}, {0x2060, 0x206f},    {0xe000, 0xf8ff}, {0xfdd0, 0xfdef},
        {0xfeff, 0xfeff}, {0xfff0, 0xffff}, {0xe0000, 0x10ffff},
};

/* Characters of East Asian scripts and pictures, two columns wide. */
static const struct range wide[] = {
        {0x1100, 0x115f}, {0x2e80, 0xa4cf},   {0xac00, 0xd7a3},
        {0xf900, 0xfaff}, {0xfe30, 0xfe6f},   {0xff00, 0xff60},
        {0xffe0, 0xffe6}, {0x1f300, 0x1faff}, {0x20000, 0x3fffd},
};

/* Marks that stand on the character before them. */
static const struct range combining[] = {
        {0x0300, 0x036f}, {0x1ab0, 0x1aff}, {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f},
};

static bool is_in(const struct range *ranges, size_t nr, uint32_t character)
{
	for (size_t i = 0; i < nr; i++) {
		if (character >= ranges[i].first && character <= ranges[i].last)
			return true;
	}
	return false;
}

#define IS_IN(ranges, character) is_in((ranges), sizeof(ranges) / sizeof((ranges)[0]), (character))

/* Decodes one UTF-8 character. Return: its bytes; 0 where it is not UTF-8. */
static size_t decode(const uint8_t *bytes, uint32_t *character)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t size = bytes[0] < 0x80         ? 1
	              : bytes[0] >> 5 == 0x6  ? 2
	              : bytes[0] >> 4 == 0xe  ? 3
	              : bytes[0] >> 3 == 0x1e ? 4
	                                      : 0;

	if (!size)
		return 0;
	*character = size == 1 ? bytes[0] : bytes[0] & (0x7fu >> size);
	for (size_t i = 1; i < size; i++) {
		if (bytes[i] >> 6 != 2) /* the NUL at the end is caught here too */
			return 0;
		*character = *character << 6 | (bytes[i] & 0x3f);
	}
	if (*character < least[size] || *character > 0x10ffff)
		return 0;
	return *character >= 0xd800 && *character <= 0xdfff ? 0 : size;
}

bool xf_text_next(const char **text, struct xf_glyph *glyph)
{
	const uint8_t *bytes = (const uint8_t *)*text;
	uint32_t character = 0;
	size_t size;

	if (!*bytes)
		return false;
	size = decode(bytes, &character);
	glyph->character = size ? character : *bytes;
	glyph->escape = !size || IS_IN(hidden, character);
	if (glyph->escape) {
		if (!size || character < 0x100)
			snprintf(glyph->text, sizeof(glyph->text), "\\x%02x",
			         size ? character : *bytes);
		else
			snprintf(glyph->text, sizeof(glyph->text), "\\u%04" PRIx32, character);
		glyph->size = (uint8_t)strlen(glyph->text);
		glyph->columns = glyph->size;
	} else {
		memcpy(glyph->text, bytes, size);
		glyph->text[size] = 0;
		glyph->size = (uint8_t)size;
		glyph->columns = IS_IN(combining, character) ? 0 : IS_IN(wide, character) ? 2 : 1;
	}
	*text += size ? size : 1;
	return true;
}

size_t xf_text_columns(const char *text)
{
	struct xf_glyph glyph;
	size_t columns = 0;

	while (xf_text_next(&text, &glyph))
		columns += glyph.columns;
	return columns;
}

void xf_text_write(FILE *out, const char *text, const char *also)
{
	struct xf_glyph glyph;

	while (xf_text_next(&text, &glyph)) {
		if (glyph.size == 1 && strchr(also, glyph.text[0]))
			fprintf(out, "\\x%02x", (uint8_t)glyph.text[0]);
		else
			fwrite(glyph.text, 1, glyph.size, out);
	}
}

static void write_xml_glyph(FILE *out, const struct xf_glyph *glyph)
{
	const char *entity = NULL;

	switch (glyph->size == 1 ? glyph->text[0] : 0) {
	case '&':
		entity = "&amp;";
		break;
	case '<':
		entity = "&lt;";
		break;
	case '>':
		entity = "&gt;";
		break;
	case '"':
		entity = "&quot;";
		break;
	case '\'':
		entity = "&#39;";
		break;
	}
	if (entity)
		fputs(entity, out);
	else
		fwrite(glyph->text, 1, glyph->size, out);
}

void xf_text_write_xml(FILE *out, const char *text, size_t columns)
{
	bool cut = columns != SIZE_MAX && xf_text_columns(text) > columns;
	size_t left = cut ? columns - (columns > 0) : SIZE_MAX;
	struct xf_glyph glyph;

	while (xf_text_next(&text, &glyph) && glyph.columns <= left) {
		write_xml_glyph(out, &glyph);
		left -= glyph.columns;
	}
	if (cut && columns)
		fputs("\xe2\x80\xa6", out);
}

void xf_text_write_json(FILE *out, const char *text)
{
	struct xf_glyph glyph;

	fputc('"', out);
	while (xf_text_next(&text, &glyph)) {
		for (const char *c = glyph.text; *c; c++) {
			if (*c == '"' || *c == '\\')
				fputc('\\', out);
			fputc(*c, out);
		}
	}
	fputc('"', out);
}

const char *xf_text_count(uint64_t count, char text[32])
{
	char digits[24];
	int size = snprintf(digits, sizeof(digits), "%" PRIu64, count);
	char *end = text;

	for (int i = 0; i < size; i++) {
		if (i && (size - i) % 3 == 0)
			*end++ = ',';
		*end++ = digits[i];
	}
	*end = 0;
	return text;
}

int xf_text_count_columns(uint64_t largest)
{
	char text[32];
	int size = (int)strlen(xf_text_count(largest, text));

	return size > 11 ? size : 11;
}

const char *xf_text_time(uint64_t time, char text[32])
{
	time_t seconds = (time_t)(time / 1000000000);
	struct tm broken;

	text[0] = 0;
	if (time && gmtime_r(&seconds, &broken))
		strftime(text, 32, "%Y-%m-%d %H:%M:%S UTC", &broken);
	return text;
}

void xf_text_append(char *text, size_t size, const char *format, ...)
{
	size_t used = strlen(text);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text + used, size - used, format, arguments);
	va_end(arguments);
}

double xf_percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}
