// SPDX-License-Identifier: GPL-2.0-or-later
#include "terminal/typing.h"

#include <string.h>

static void append(char *text, uint32_t character)
{
	size_t used = strlen(text);
	char bytes[5] = {0};

	if (character < 0x80) {
		bytes[0] = (char)character;
	} else if (character < 0x800) {
		bytes[0] = (char)(0xc0 | character >> 6);
		bytes[1] = (char)(0x80 | (character & 0x3f));
	} else if (character < 0x10000) {
		bytes[0] = (char)(0xe0 | character >> 12);
		bytes[1] = (char)(0x80 | (character >> 6 & 0x3f));
		bytes[2] = (char)(0x80 | (character & 0x3f));
	} else {
		bytes[0] = (char)(0xf0 | character >> 18);
		bytes[1] = (char)(0x80 | (character >> 12 & 0x3f));
		bytes[2] = (char)(0x80 | (character >> 6 & 0x3f));
		bytes[3] = (char)(0x80 | (character & 0x3f));
	}
	if (used + strlen(bytes) < XF_FILTER_BYTES)
		memcpy(text + used, bytes, strlen(bytes) + 1);
}

static void drop_last(char *text)
{
	size_t used = strlen(text);

	while (used && (text[used - 1] & 0xc0) == 0x80)
		used--;
	text[used ? used - 1 : 0] = 0;
}

enum xf_typed xf_type(char *text, uint32_t key)
{
	if (key == XF_KEY_ENTER)
		return XF_TYPED_DONE;
	if (key == XF_KEY_ESCAPE) {
		text[0] = 0;
		return XF_TYPED_DROPPED;
	}
	if (key == XF_KEY_BACKSPACE)
		drop_last(text);
	else if (key >= 0x20 && key < 0x110000)
		append(text, key);
	else
		return XF_TYPED_OTHER;
	return XF_TYPED_MORE;
}
