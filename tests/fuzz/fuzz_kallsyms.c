// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The read-only data of a kernel's image, with its own tables of symbols or what looks like them.
 * What is taken for them must be lines that can be read back, in the order of their addresses.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "symbol/kallsyms.h"
#include "symbol/kallsyms_image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct xf_error error = {0};
	struct xf_kallsyms_line line;
	size_t text_size, lines = 0, newlines = 0;
	uint64_t before = 0;
	const char *next;
	char *text;

	if (xf_kallsyms_of_image(data, size, 0xffffffff81200000ull, 0xffffffff81000000ull, &text,
	                         &text_size, &error)) {
		if (!error.text[0])
			abort();
		return 0;
	}
	for (size_t i = 0; i < text_size; i++)
		newlines += text[i] == '\n';
	for (next = text; xf_kallsyms_next(&next, text + text_size, &line); lines++) {
		if (line.address < before || line.module)
			abort();
		before = line.address;
	}
	if (lines != newlines)
		abort();
	free(text);
	return 0;
}
