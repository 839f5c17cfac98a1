// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What is inferred from an ELF file's code against the file's own call frame information.
 *
 *	compare_with_cfi [--list|--line] [--starts] FILE
 *
 * Prints the counts as text; with --list every difference before them; with --line all of it in one
 * line, for tests/elf/sweep. With --starts the inference is also told where functions begin
 * according to .eh_frame_hdr. Exit status 0; 1 where the file could not be compared.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "elf/agree.h"
#include "read_file.h"
#include "unwind/cfi.h"
#include "unwind/table.h"

/* What the command line asks for. */
struct request {
	const char *path;
	bool list, line, starts;
};

/*
 * The sorted table of .eh_frame_hdr (Linux Standard Base, "DWARF extensions") in the form that
 * linkers write: pairs of 32-bit distances from the section itself, of a function's start and of
 * its rules.
 */
#define HDR_FORM  0x3b031b01u
#define HDR_TABLE 12

static int add_starts(struct xf_elf *elf)
{
	struct xf_elf_section section;
	struct xf_cursor header;
	uint64_t *entries;
	uint32_t nr;

	if (!xf_elf_section(elf, ".eh_frame_hdr", &section))
		return 0;
	header = xf_cursor_over(section.bytes, section.size);
	if (xf_cursor_u32(&header) != HDR_FORM)
		return 0;
	xf_cursor_u32(&header);
	nr = xf_cursor_u32(&header);
	if (nr > section.size / 8)
		return 0;
	entries = reallocarray(elf->entries, elf->nr_entries + nr, sizeof(*entries));
	if (entries == NULL)
		return -1;
	elf->entries = entries;
	for (uint32_t i = 0; i < nr; i++) {
		int32_t start = (int32_t)xf_cursor_u32(&header);

		xf_cursor_u32(&header);
		if (!header.failed)
			entries[elf->nr_entries++] = section.address + (uint64_t)(int64_t)start;
	}
	return 0;
}

static int compare_file(const void *bytes, size_t size, const struct request *request,
                        struct agreement *agreement, struct xf_error *error)
{
	struct xf_elf elf;
	int result = xf_elf_open(bytes, size, &elf, error);
	enum xf_cfi_section which = XF_CFI_EH_FRAME;

	if (!result && !xf_cfi_available(&elf, which))
		which = XF_CFI_DEBUG_FRAME;
	if (!result && request->starts && add_starts(&elf) != 0)
		result = xf_fail(error, -1, "out of memory");
	for (size_t i = 0; !result && i < elf.nr_pieces; i++) {
		const struct xf_code *code = &elf.pieces[i].code;
		struct xf_unwind_table *truth;

		result = xf_cfi_table(&elf, which, code, &truth, error);
		if (!result && agree(code, elf.entries, elf.nr_entries, truth, agreement) != 0)
			result = xf_fail(error, -1, "out of memory");
		xf_unwind_table_free(truth);
	}
	xf_elf_close(&elf);
	return result;
}

/* For a script: instructions, equal, the table's errors, all differences, then every kind with
 * its count. */
static void print_line(const struct agreement *agreement)
{
	unsigned long different = 0;

	for (unsigned int i = 0; i < NR_DIFFERENCES; i++)
		different += agreement->different[i];
	printf("%lu\t%lu\t%lu\t%lu\t%lu", agreement->all, agreement->equal, agreement->blind,
	       different, agreement->rbp_different);
	for (unsigned int i = 0; i < 256; i++)
		if (agreement->undefined[i] != 0)
			printf("\t%s=%lu", xf_unwind_reason_name((enum xf_unwind_reason)i),
			       agreement->undefined[i]);
	for (unsigned int i = 0; i < NR_DIFFERENCES; i++)
		if (agreement->different[i] != 0)
			printf("\t%s=%lu", difference_names[i], agreement->different[i]);
	printf("\n");
}

static bool read_arguments(int argc, char **argv, struct request *request)
{
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--list") == 0)
			request->list = true;
		else if (strcmp(argv[i], "--line") == 0)
			request->line = true;
		else if (strcmp(argv[i], "--starts") == 0)
			request->starts = true;
		else
			request->path = argv[i];
	}
	return request->path != NULL;
}

int main(int argc, char **argv)
{
	struct agreement agreement = {0};
	struct xf_error error = {0};
	struct request request = {0};
	size_t size = 0;
	void *bytes;

	if (!read_arguments(argc, argv, &request))
		return 2;
	if (request.list)
		agreement.list = stdout;
	bytes = read_file(request.path, &size);
	if (bytes == NULL || compare_file(bytes, size, &request, &agreement, &error) != 0) {
		fprintf(stderr, "%s: %s\n", request.path, bytes ? error.text : "cannot be read");
		free(bytes);
		return 1;
	}
	if (request.line)
		print_line(&agreement);
	else
		agree_report(&agreement, stdout);
	free(bytes);
	return 0;
}
