// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Compares the symbols of two kernels of a recording, of one build: one that was read from its
 * image, and one from what it tells when it runs. compare_kernels RECORDING RUNNING IMAGE, by their
 * numbers.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/recording.h"
#include "read_file.h"

#define MODULES 0xffffffffc0000000ull

static struct xf_symbols *symbols_of(const struct xf_recording *recording, const char *number)
{
	const struct xf_kernels *kernels = xf_recording_kernels(recording);

	for (size_t i = 0; i < kernels->nr; i++)
		if (kernels->kernels[i].number == strtoul(number, NULL, 10))
			return xf_kernels_symbols(&kernels->kernels[i]);
	fprintf(stderr, "the recording has no kernel %s\n", number);
	exit(1);
}

/* Return: how many of the symbols of @one are not what @other has there, of *@nr. */
static size_t compare(const struct xf_symbols *one, const struct xf_symbols *other, size_t *nr)
{
	size_t different = 0;

	*nr = 0;
	for (size_t i = 0; i < xf_symbols_count(one); i++) {
		const struct xf_symbol *symbol = xf_symbols_at(one, i);
		const struct xf_symbol *found = xf_symbols_find(other, symbol->address);

		if (!symbol->name[0] || symbol->address >= MODULES)
			continue;
		++*nr;
		/* Of several names for one address both choose by the same rule. */
		symbol = xf_symbols_find(one, symbol->address);
		if (found && symbol && strcmp(found->name, symbol->name) == 0)
			continue;
		if (different++ < 10)
			printf("%" PRIx64 ": %s, %s\n", symbol ? symbol->address : 0,
			       symbol ? symbol->name : "nothing", found ? found->name : "nothing");
	}
	return different;
}

int main(int argc, char **argv)
{
	struct xf_symbols *running, *image;
	struct xf_recording *recording;
	struct xf_error error = {0};
	size_t size, nr, nr_back, different;
	void *bytes = argc == 4 ? read_file(argv[1], &size) : NULL;

	if (!bytes || xf_recording_open(bytes, size, &recording, &error)) {
		fprintf(stderr, "compare_kernels RECORDING RUNNING IMAGE: %s\n", error.text);
		return 2;
	}
	running = symbols_of(recording, argv[2]);
	image = symbols_of(recording, argv[3]);
	different = compare(image, running, &nr);
	different += compare(running, image, &nr_back);
	printf("%zu and %zu symbols, %zu differences\n", nr, nr_back, different);
	xf_symbols_free(running);
	xf_symbols_free(image);
	xf_recording_free(recording);
	free(bytes);
	return different || nr < 10000;
}
