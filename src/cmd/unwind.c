// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/host_exit.h"
#include "cmd/options.h"
#include "output/text.h"
#include "unwind/explain.h"
#include "xen/host.h"
#include "xen/syms.h"

/* Several times what builds of Xen make, debug information included. */
#define IMAGE_MAX (64u << 20)

struct request {
	const char *recording; /* NULL: an image is asked for */
	const char *image;     /* NULL: the running Xen's, as it is in /boot */
	const char *symbol;    /* to be explained; NULL: none */
	bool coverage;
};

/* Code and the symbols that go with it. */
struct source {
	struct xf_input input; /* a recording, or a xen-syms file */
	struct xf_host host;
	struct xf_code image;
	struct xf_symbols *image_symbols;
	const struct xf_code *code; /* of one of the above; Xen's own first */
	size_t nr;
	const struct xf_symbols *symbols;
	uint64_t *entries;
	size_t nr_entries;
	bool printed; /* something of it */
};

/* ---- Where from ------------------------------------------------------------------------------ */

static int open_recording(const char *path, struct source *source)
{
	int status = xf_input_open(path, &source->input);

	if (status)
		return status;
	source->code = xf_recording_code(source->input.recording, &source->nr);
	source->symbols = xf_recording_symbols(source->input.recording);
	if (!source->nr)
		return xf_complain(XF_EXIT_INPUT, "%s: Xen's code is not in it",
		                   source->input.path);
	return XF_EXIT_OK;
}

static int open_syms(struct source *source)
{
	struct xf_error error = {0};

	if (xf_syms_parse(source->input.bytes, source->input.size, &source->image,
	                  &source->image_symbols, &error))
		return xf_input_complain(&source->input, &error);
	source->code = &source->image;
	source->nr = 1;
	source->symbols = source->image_symbols;
	return XF_EXIT_OK;
}

/* @path is an image to boot from, which has no symbols. */
static int open_host(const char *path, struct source *source)
{
	struct xf_error error = {0};
	int result = xf_host_read_code(&source->host, path, &error);

	if (result == -EBADMSG)
		return xf_complain(XF_EXIT_INPUT,
		                   "%s; a xen-syms file, or a recording, brings its own symbols",
		                   error.text);
	if (result && path)
		xf_fail_prefix(&error, "%s has no symbols, and the running Xen's cannot be read",
		               path);
	if (result)
		return xf_complain(xf_host_exit(&error), "%s", error.text);
	source->code = &source->host.code;
	source->nr = 1;
	source->symbols = source->host.symbols;
	return XF_EXIT_OK;
}

static int recognize_image(const void *bytes, size_t size, struct xf_error *error)
{
	static const uint8_t elf[] = {0x7f, 'E', 'L', 'F'};
	static const uint8_t gzip[] = {0x1f, 0x8b};

	if (size >= 4 && (memcmp(bytes, elf, 4) == 0 || memcmp(bytes, gzip, 2) == 0))
		return 0;
	return xf_fail(error, -EBADMSG,
	               "not an image of Xen, neither an ELF file nor a gzipped one; wanted is a"
	               " xen-syms file, or the running Xen's image from /boot");
}

static int open_image(const char *path, struct source *source)
{
	int status =
	        path ? xf_input_read(path, recognize_image, IMAGE_MAX, &source->input) : XF_EXIT_OK;

	if (status)
		return status;
	if (path && xf_syms_recognize(source->input.bytes, source->input.size))
		return open_syms(source);
	return open_host(path, source);
}

static int open_source(const struct request *request, struct source *source)
{
	int status = request->recording ? open_recording(request->recording, source)
	                                : open_image(request->image, source);

	if (status)
		return status;
	source->entries = xf_symbols_entries(source->symbols, &source->nr_entries);
	return source->entries ? XF_EXIT_OK : xf_complain(XF_EXIT_FAILURE, "out of memory");
}

static void close_source(struct source *source)
{
	free(source->entries);
	xf_symbols_free(source->image_symbols);
	xf_host_close(&source->host);
	xf_input_close(&source->input);
}

/* ---- What is printed ------------------------------------------------------------------------- */

static void separate(struct source *source)
{
	if (source->printed)
		putchar('\n');
	source->printed = true;
}

static int print_coverage(struct source *source)
{
	for (size_t i = 0; i < source->nr; i++) {
		const struct xf_code *code = &source->code[i];
		struct xf_unwind_table *table = NULL;
		struct xf_error error = {0};

		if (xf_unwind_table_build(code, source->entries, source->nr_entries, &table,
		                          &error))
			return xf_complain(XF_EXIT_FAILURE, "%s", error.text);
		separate(source);
		printf("%s's code, %" PRIx64 " to %" PRIx64 "\n", i ? "a live patch" : "Xen",
		       code->address, code->address + code->size);
		xf_coverage_print(table, stdout);
		xf_unwind_table_free(table);
	}
	return XF_EXIT_OK;
}

/* Return: the piece of code that @address lies in, NULL where it is in none. */
static const struct xf_code *find_code(const struct source *source, uint64_t address)
{
	for (size_t i = 0; i < source->nr; i++) {
		const struct xf_code *code = &source->code[i];

		if (address >= code->address && address - code->address < code->size)
			return code;
	}
	return NULL;
}

/* Where the symbol with number @index ends, by its size or by the next one. */
static uint64_t end_of(const struct source *source, size_t index, const struct xf_code *code)
{
	const struct xf_symbol *symbol = xf_symbols_at(source->symbols, index);
	const struct xf_symbol *next = symbol;

	if (symbol->size)
		return symbol->address + symbol->size;
	while (next && next->address == symbol->address)
		next = xf_symbols_at(source->symbols, ++index);
	return next ? next->address : code->address + code->size;
}

static int explain_function(struct source *source, size_t index, const struct xf_code *code)
{
	const struct xf_symbol *symbol = xf_symbols_at(source->symbols, index);
	uint64_t end = end_of(source, index, code);
	struct xf_error error = {0};

	separate(source);
	xf_text_write(stdout, symbol->name, "");
	printf(", %" PRIx64 " to %" PRIx64 "\n", symbol->address, end);
	if (xf_unwind_explain(code, source->entries, source->nr_entries, symbol->address, end,
	                      stdout, &error))
		return xf_complain(XF_EXIT_FAILURE, "%s", error.text);
	return XF_EXIT_OK;
}

/* Static functions of several files may go by one name. */
static int explain_functions(struct source *source, const char *name)
{
	bool found = false;
	int status = XF_EXIT_OK;

	for (size_t i = 0; !status && i < xf_symbols_count(source->symbols); i++) {
		const struct xf_symbol *symbol = xf_symbols_at(source->symbols, i);
		const struct xf_code *code = find_code(source, symbol->address);

		if (!code || !xf_symbol_goes_by(symbol->name, name))
			continue;
		found = true;
		status = explain_function(source, i, code);
	}
	if (!found)
		return xf_complain(XF_EXIT_FAILURE, "no function is named \"%s\"", name);
	return status;
}

/* ---- The command ----------------------------------------------------------------------------- */

static int print_source(const struct request *request, struct source *source)
{
	int status = XF_EXIT_OK;

	if (request->coverage || !request->symbol)
		status = print_coverage(source);
	if (!status && request->symbol)
		status = explain_functions(source, request->symbol);
	return status;
}

static bool take_recording(void *request, const char *value)
{
	((struct request *)request)->recording = value;
	return true;
}

static bool take_image(void *request, const char *value)
{
	((struct request *)request)->image = value;
	return true;
}

static bool take_coverage(void *request, const char *value)
{
	(void)value;
	((struct request *)request)->coverage = true;
	return true;
}

static bool take_symbol(void *request, const char *value)
{
	((struct request *)request)->symbol = value;
	return true;
}

static const struct xf_option options[] = {
        {"input", 'i', "FILE", "Xen's code and symbols as a recording holds them", take_recording},
        {"image", 0, "FILE", "a xen-syms file, or the running Xen's image (default: in /boot)",
         take_image},
        {"coverage", 0, NULL, "bytes by what is known of the stack, or why nothing is",
         take_coverage},
        {"explain", 0, "SYMBOL", "each instruction of this function, with what is known",
         take_symbol},
        {0},
};

static int run(int argc, char **argv)
{
	struct request request = {0};
	struct source source = {0};
	int status;

	if (!xf_options_read(&xf_command_unwind, argc, argv, &request, &status))
		return status;
	if (request.recording && request.image)
		return xf_complain(XF_EXIT_USAGE, "-i and --image: one of them is enough");
	status = open_source(&request, &source);
	if (!status)
		status = print_source(&request, &source);
	close_source(&source);
	return status;
}

const struct xf_command xf_command_unwind = {
        .name = "unwind",
        .synopsis = "[-i FILE | --image FILE] [--coverage] [--explain SYMBOL]",
        .summary = "tells what has been inferred from Xen's code to unwind its stacks",
        .options = options,
        .help =
                (const char *const[]){
                        "For who doubts a stack, or an [incomplete: WHY]. Without --coverage and "
                        "--explain: the",
                        "coverage. Without -i and --image it takes the running Xen's code, as root "
                        "in dom0.",
                        NULL},
        .run = run,
};
