// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any bytes, read as a kernel's ORC: a first byte, odd where there is a header; then as many places
 * and entries as go in; then the header. tests/fuzz/run has how to build and replay.
 */
#include <stdlib.h>
#include <string.h>

#include "check_rows.h"
#include "unwind/orc.h"

#define CODE        0xffffffff81000000ull
#define CODE_BYTES  65536
#define PLACES      (CODE + CODE_BYTES)
#define HEADER_SIZE 20

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* Each part in memory of its own, so that ASan sees a read beyond it. */
static void *copy(const uint8_t *bytes, size_t size)
{
	uint8_t *part = malloc(size ? size : 1);

	if (part == NULL)
		abort();
	memcpy(part, bytes, size);
	return part;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	const struct xf_code code = {.address = CODE, .size = CODE_BYTES};
	bool has_header = size > HEADER_SIZE && bytes[0] & 1;
	struct xf_unwind_table *table = NULL;
	struct xf_error error;
	size_t nr;

	if (size == 0)
		return 0;
	nr = (size - 1 - (has_header ? HEADER_SIZE : 0)) / 10;
	struct xf_orc orc = {
	        .places = copy(bytes + 1, nr * 4),
	        .places_size = nr * 4,
	        .places_address = PLACES,
	        .entries = copy(bytes + 1 + nr * 4, nr * 6),
	        .entries_size = nr * 6,
	        .header = has_header ? copy(bytes + 1 + nr * 10, HEADER_SIZE) : NULL,
	        .header_size = has_header ? HEADER_SIZE : 0,
	};

	if (xf_orc_table(&orc, &code, &table, &error) == 0)
		check_rows(table, &code);
	xf_unwind_table_free(table);
	free((void *)orc.places);
	free((void *)orc.entries);
	free((void *)orc.header);
	return 0;
}
