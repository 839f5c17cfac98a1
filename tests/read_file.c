// SPDX-License-Identifier: GPL-2.0-or-later
#include "read_file.h"

#include <stdio.h>
#include <stdlib.h>

void *read_file(const char *path, size_t *size)
{
	FILE *file = fopen(path, "rb");
	void *bytes = NULL;
	long length = -1;

	if (file != NULL && fseek(file, 0, SEEK_END) == 0)
		length = ftell(file);
	if (length > 0)
		bytes = malloc((size_t)length);
	if (bytes != NULL) {
		rewind(file);
		*size = fread(bytes, 1, (size_t)length, file);
	}
	if (file != NULL)
		fclose(file);
	return bytes;
}
