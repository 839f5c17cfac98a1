// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Names as people see them. A name is bytes that somebody else chose: whatever would not show as
 * itself (control bytes, wrong UTF-8, characters that change the direction of text) is shown as an
 * escape, \x1b or \u202e, in every output.
 */
#ifndef XF_OUTPUT_TEXT_H
#define XF_OUTPUT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* One visible character or escape. */
struct xf_glyph {
	char text[12];      /* UTF-8, NUL-terminated */
	uint32_t character; /* its code point; of an escape what it stands for */
	uint8_t size;
	uint8_t columns; /* that it takes in a monospaced font: 0, 1, 2 or an escape's length */
	bool escape;
};

/* Return: true and the glyph at *@text, moving past it; false at the end. */
bool xf_text_next(const char **text, struct xf_glyph *glyph);

/* Columns that @text takes. */
size_t xf_text_columns(const char *text);

/* Writes @text with the ASCII characters in @also (may be "") escaped too. */
void xf_text_write(FILE *out, const char *text, const char *also);

/* The same with what XML's content and attributes forbid as entities, cut after @columns with an
 * ellipsis in the last one where it is longer. SIZE_MAX: never cut. */
void xf_text_write_xml(FILE *out, const char *text, size_t columns);

/* @text as a JSON string, with its quotes. Escapes of this file are text in it. */
void xf_text_write_json(FILE *out, const char *text);

/* 1234567 as "1,234,567". Return: @text. */
const char *xf_text_count(uint64_t count, char text[32]);

/* Return: how wide a column is for counts up to @largest, eleven at least, as its head is. */
int xf_text_count_columns(uint64_t largest);

/* Nanoseconds since 1970 as "2026-11-30 04:13:07 UTC". Return: @text; "" for 0. */
const char *xf_text_time(uint64_t time, char text[32]);

/* Appends to @text, which holds @size bytes, as much as fits. */
void xf_text_append(char *text, size_t size, const char *format, ...)
        __attribute__((format(printf, 3, 4)));

/* The same to an array. */
#define XF_TEXT_APPEND(array, ...) xf_text_append((array), sizeof(array), __VA_ARGS__)

/* @part of @whole in percent; 0 where @whole is. */
double xf_percent(uint64_t part, uint64_t whole);

#endif
