// SPDX-License-Identifier: GPL-2.0-or-later
/* In libFuzzer's place: takes the files named on the command line through the fuzz target. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static int replay(const char *path)
{
	FILE *file = fopen(path, "rb");
	uint8_t *bytes = NULL;
	size_t size = 0;
	size_t got;

	if (!file) {
		perror(path);
		return 1;
	}
	do {
		bytes = realloc(bytes, size + 65536);
		got = bytes ? fread(bytes + size, 1, 65536, file) : 0;
		size += got;
	} while (got);
	fclose(file);
	LLVMFuzzerTestOneInput(bytes, size);
	free(bytes);
	printf("ok %s\n", path);
	return 0;
}

int main(int argc, char **argv)
{
	int failed = 0;

	for (int i = 1; i < argc; i++)
		failed |= replay(argv[i]);
	return failed;
}
